"""Parameters: values of the right type in the right place, never text."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.errors import DataError, Error, ProgrammingError, UnsupportedQuery
from dpsql.sql import FrontEnd
from dpsql.sql.text.parameters import literals
from tests.support.exact import front_end, public_sql

COUNT = "SELECT COUNT(*) FROM people WHERE "
FRONT = front_end()
PUBLIC = public_sql()


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return FRONT


def keys(front: FrontEnd, where: str, parameters: Any = None) -> list[tuple[float, str]]:
    (block,) = front.lower(COUNT + where, parameters).blocks
    return [(t.coefficient, t.query.digest) for t in block.aggregates[0].numerator[0].terms]


@pytest.mark.parametrize(
    ("where", "parameters", "written"),
    [
        ("age > ? AND (sex = ? OR (kids = ? AND name IN (?, ?)))", [20, "Male", 1, "a", "b"],
         "age > 20 AND (sex = 'Male' OR (kids = 1 AND name IN ('a', 'b')))"),
        ("kids > $2 AND sex = $1", ("Male", 1), "kids > 1 AND sex = 'Male'"),
        ("sex = $s AND kids = $k AND sex = $s", {"k": 1, "s": "Male"}, "sex = 'Male' AND kids = 1"),
        ("age IN ?", [[18, 19]], "age IN (18, 19)"),
        ("age IN (?)", [(18, 19)], "age IN (18, 19)"),
        ("age IN ?", [np.array([18, 19])], "age IN (18, 19)"),
        ("age IN ?", [18], "age IN (18)"),
        ("age NOT IN ?", [[18, None]], "age NOT IN (18, NULL)"),
        ("name IN $names", {"names": ["b", "a"]}, "name IN ('a', 'b')"),
        ("kids = ?", [np.int64(1)], "kids = 1"),
        ("kids - 3 = ?", [-2], "kids - 3 = -2"),
        ("3 - ? = kids", [-1], "3 - (-1) = kids"),
        ("hours > ?", [0.1], "hours > 1e-1"),
        ("hours > ?", [np.float32(10.25)], "hours > 10.25"),
        ("hours > ?", [Decimal("10.4")], "hours > 10.4"),
        ("member = ?", [True], "member = TRUE"),
        ("member = ?", [np.bool_(False)], "member = FALSE"),
        ("joined >= ?", [date(2020, 1, 1)], "joined >= DATE '2020-01-01'"),
        ("joined >= ?", [datetime(2020, 1, 1, 3)], "joined >= TIMESTAMP '2020-01-01 03:00:00'"),  # noqa: DTZ001
        ("joined >= ?", [np.datetime64("2020-01-01T03", "ns")], "joined >= TIMESTAMP '2020-01-01 03:00:00'"),
        ("joined >= ?", [np.datetime64("2020-01-01", "D")], "joined >= DATE '2020-01-01'"),
        ("joined IN ?", [np.array(["2020-01-01T03"], "M8[ns]")], "joined IN (TIMESTAMP '2020-01-01 03:00:00')"),
        ("joined >= ?", [pd.Timestamp("2020-01-01 03:00")], "joined >= TIMESTAMP '2020-01-01 03:00:00'"),
        ("hours IS DISTINCT FROM ?", [None], "hours IS NOT NULL"),
        ("hours IS DISTINCT FROM ?", [pd.NaT], "hours IS NOT NULL"),
        ("hours IS DISTINCT FROM ?", [np.datetime64("NaT")], "hours IS NOT NULL"),
        ("hours IS DISTINCT FROM ?", [np.timedelta64("NaT", "ns")], "hours IS NOT NULL"),
        ("age IN ?", [np.array(18)], "age IN (18)"),
        ("age IN ?", [[np.array(18), 19]], "age IN (18, 19)"),
        ("age = ?", [np.array(18)], "age = 18"),
        ("name = ?", ["O'x"], "name = 'O''x'"),
        ("age > ?::INT", ["20"], "age > 20"),
        ("joined + INTERVAL ? MONTH > ?", [1, "2020-01-01"], "joined + INTERVAL 1 MONTH > '2020-01-01'"),
        ("city = '?' OR age = ?", [20], "age = 20"),
    ],
)  # fmt: skip
def test_bound_as_values(front: FrontEnd, where: str, parameters: Any, written: str) -> None:
    assert keys(front, where, parameters) == keys(front, written)


@pytest.mark.parametrize(
    ("where", "parameters", "error", "message"),
    [
        ("age = ?", None, ProgrammingError, "none given"),
        ("age = ?", [], ProgrammingError, "^1 parameter wanted, 0 given"),
        ("age = ?", [1, 2], ProgrammingError, "^1 parameter wanted, 2 given"),
        ("age = ? AND age = ?", {"a": 1}, ProgrammingError, "2 positional parameters wanted, a mapping given"),
        ("age = $a", [1], ProgrammingError, "named parameters wanted"),
        ("age = $a", {"b": 1}, ProgrammingError, r"no value for \$a"),
        ("age = $a", {"a": 1, "b": 1}, ProgrammingError, r"no placeholder \$b"),
        ("age = $2", [1, 2], ProgrammingError, "skip a number"),
        ("age = ? AND kids = $1", [1], ProgrammingError, "mixed"),
        ("age = 1", [1], ProgrammingError, "^1 parameter for no placeholder"),
        ("age = ?", "1", ProgrammingError, "list, tuple or mapping"),
        ("age = ?", 1, ProgrammingError, "list, tuple or mapping"),
        ("age = ?", {1}, ProgrammingError, "list, tuple or mapping"),
        ("age = ?", [object()], DataError, "type object"),
        ("age = ?", [b"1"], DataError, "type bytes"),
        ("age = ?", [1j], DataError, "type complex"),
        ("age = ?", [[1]], DataError, "only a value for IN"),
        ("age IN ?", [[[1]]], DataError, "type list"),
        ("name IN ?", ["ab"], DataError, "no list"),
        ("age = ?", [2**200], DataError, "128 bits"),
        ("age = ?", [Decimal("NaN")], DataError, "DECIMAL"),
        ("name = ?", ["a\0"], DataError, "NUL"),
        ("name = ?", ["\ud800"], DataError, "surrogate"),
        ("joined = ?", [datetime(2020, 1, 1, tzinfo=UTC)], DataError, "a timestamp parameter has a time zone"),
        ("joined = ?", [np.datetime64(1, "ns")], DataError, "finer than microseconds"),
        ("joined = ?", [pd.Timestamp("2020-01-01 00:00:00.000000001")], DataError, "finer than microseconds"),
        ("joined = ?", [np.datetime64("20240")], DataError, r"datetime64\[Y\]"),
        ("age = ?", [np.datetime64(600_000, "Y")], DataError, "datetime64"),
        ("age = ?", [np.timedelta64(3, "ns")], DataError, "timedelta64"),
        ("age IN ?", [np.array([3], "m8[Y]")], DataError, "timedelta64"),
        ("age = ?", [np.timedelta64(3, "D")], DataError, "timedelta"),
        ("age = ?", [time(1, 2, tzinfo=UTC)], DataError, "time zone"),
        ("age = ?", np.array(3), ProgrammingError, "list, tuple or mapping"),
        ("name = ?", [5], UnsupportedQuery, "no string literal"),
    ],
)
def test_refused(front: FrontEnd, where: str, parameters: Any, error: type[Error], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        front.lower(COUNT + where, parameters)
    assert caught.value.hint


def test_a_moment_with_a_zone_is_refused_with_the_way_to_utc(front: FrontEnd) -> None:
    """Without its zone alone it would be another moment."""
    with pytest.raises(DataError) as caught:
        front.lower(COUNT + "joined = ?", [datetime(2020, 1, 1, tzinfo=UTC)])
    assert "astimezone(UTC)" in caught.value.hint


def test_a_column_of_pandas_is_refused_with_the_list_to_pass(front: FrontEnd) -> None:
    with pytest.raises(DataError, match="type Series") as caught:
        front.lower(COUNT + "age IN ?", [pd.Series([1, 2])])
    assert "tolist()" in caught.value.hint
    assert front.lower(COUNT + "age IN ?", [pd.Series([1, 2]).tolist()])


def test_a_parameter_is_no_text(front: FrontEnd) -> None:
    attack = "x' OR 1 = 1 --"
    assert keys(front, "city = ?", [attack]) == []
    (term,) = front.lower(COUNT + "name = ?", [attack]).blocks[0].aggregates[0].numerator[0].terms
    assert term.query.keyed is not None
    assert term.query.keyed.strings == ((attack,),)


def test_order_of_question_marks(front: FrontEnd) -> None:
    outer = front.lower("SELECT ? + 1 AS a, (SELECT ? WHERE ? > 1) AS b, ?", [10, 20, 30, 40]).outer_sql
    assert outer == "SELECT 10 + 1 AS a, (SELECT 20 WHERE 30 > 1) AS b, 40"


@pytest.mark.parametrize(
    ("text", "parameters", "outer"),
    [
        ("SELECT 1 IN ($a,$b)", {"a": 1, "b": 2}, "SELECT 1 IN (1, 2)"),
        ("SELECT 1 IN ($1,$2), $2,$1", [1, 2], "SELECT 1 IN (1, 2), 2, 1"),
        ("SELECT '$a,$', $a,$b -- $a,$", {"a": 1, "b": 2}, "SELECT '$a,$', 1, 2"),
        ("SELECT /* /* */ it's $a,$b */ 'x $a,$b y', $a,$b", {"a": 1, "b": 2}, "SELECT 'x $a,$b y', 1, 2"),
        ("SELECT 1 IN (:a,:b)", {"a": 1, "b": 2}, "SELECT 1 IN (1, 2)"),
        ("SELECT {'a':1,\"b\":$x,c:$y, 'd': :x}", {"x": 2, "y": 3}, "SELECT {'a': 1, 'b': 2, 'c': 3, 'd': 2}"),
        ("SELECT map{'a':1}, map {1:2}", None, "SELECT MAP {'a': 1}, MAP {1: 2}"),
        ("SELECT {'a':length('x'),'b':NULL}", None, "SELECT {'a': LENGTH('x'), 'b': NULL}"),
        ("SELECT x:1", None, "SELECT 1 AS x"),
    ],
)
def test_parameters_without_blanks(front: FrontEnd, text: str, parameters: Any, outer: str) -> None:
    assert (front.lower(text, parameters).outer_sql or "").endswith(outer)  # behind its comments


def test_equal_values_of_other_types_are_other_statements(front: FrontEnd) -> None:
    one, other = (front.lower("SELECT ? AS x", [v]).outer_sql for v in (1, True))
    assert (one, other) == ("SELECT 1 AS x", "SELECT TRUE AS x")
    assert front.lower("SELECT ? AS x", [1.0]).outer_sql == "SELECT 10e-1 AS x"


@settings(deadline=None)  # the first one starts the process
@given(
    st.none()
    | st.booleans()
    | st.integers(-(2**126), 2**126)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
    | st.dates()
    | st.datetimes(min_value=datetime(1, 1, 1))  # noqa: DTZ001
    | st.times()
)
def test_values_come_back_unchanged(value: Any) -> None:
    outer = FRONT.lower("SELECT ? AS x", [value]).outer_sql
    assert outer is not None
    back = PUBLIC.run(outer, {}).column(0).to_pylist()[0]
    assert repr(back) == repr(value) or back == value
    if isinstance(value, (bool, float, date, time)):
        assert type(back) is type(value)


@pytest.mark.parametrize("values", [[{"a": 1}, {"a": 1}], [[1], [1]]])
def test_lists_of_nested_values_are_refused(values: list[object]) -> None:
    """As one of them is: they cannot be told apart as keys."""
    with pytest.raises(DataError, match="cannot be bound"):
        literals(pa.chunked_array([pa.array(values)]))


def test_a_string_for_a_list_is_told_how_lists_are_passed(front: FrontEnd) -> None:
    """``-p n=18,19`` is a string, whatever the column holds."""
    with pytest.raises(DataError, match="no list") as caught:
        front.lower(COUNT + "age IN $n", {"n": "18,19"})
    assert "[1, 2] for numbers" in caught.value.hint and "-p" in caught.value.hint
    assert front.lower(COUNT + "age IN $n", {"n": [18, 19]})
    assert front.lower(COUNT + "age IN ($a, $b)", {"a": 18, "b": 19})
