"""What DuckDB says of public work is told as it is true of the analyst's statement."""

from contextlib import closing

import pyarrow as pa
import pytest

from dpsql.errors import DataError, ProgrammingError
from dpsql.public import DuckDbPublicSql


def test_positions_of_order_by_are_not_counted_with_columns_that_nobody_wrote() -> None:
    public = DuckDbPublicSql({"t": pa.table({"a": [1]})}.__getitem__)
    with closing(public), pytest.raises(ProgrammingError, match="ORDER BY names a position") as caught:
        public.run("SELECT a, a AS hidden FROM t ORDER BY 5", {}, ["t"])
    assert "between 1 and 2" not in str(caught.value)
    assert caught.value.hint == "positions run from 1 to the number of its columns"


@pytest.mark.parametrize("text", ["DATE '2018-06'", "d > '31.01.2020'", "d::TIMESTAMP > '2018-06-01 x'"])
def test_days_that_cannot_be_read_are_told_how_days_are_written(text: str) -> None:
    public = DuckDbPublicSql({"t": pa.table({"d": pa.array([0], pa.date32())})}.__getitem__)
    with closing(public), pytest.raises(DataError) as caught:
        public.run(f"SELECT {text} FROM t", {}, ["t"])
    assert caught.value.hint == "write a day as '2024-01-31', a moment as '2024-01-31 10:00:00'"


def test_a_string_beside_a_number_is_told_so() -> None:
    public = DuckDbPublicSql({"t": pa.table({"s": ["<=50K"]})}.__getitem__)
    with closing(public), pytest.raises(DataError, match="Could not convert string") as caught:
        public.run("SELECT s = 50000 FROM t", {}, ["t"])
    assert "compare strings with strings" in caught.value.hint


@pytest.mark.parametrize("operator", ["%", "//"])
def test_a_division_by_zero_is_told_what_works_here(operator: str) -> None:
    """DuckDB advises TRY and a setting, which are not answered."""
    public = DuckDbPublicSql({"t": pa.table({"u": [5, 0]})}.__getitem__)
    with closing(public):
        with pytest.raises(DataError, match=r"^Division by zero in expression") as caught:
            public.run(f"SELECT 7 {operator} u FROM t", {}, ["t"])
        assert "TRY" not in str(caught.value) and "SET" not in str(caught.value)
        assert "nullif(y, 0)" in caught.value.hint
        found = public.run(f"SELECT 7 {operator} nullif(u, 0) AS x FROM t", {}, ["t"])
    assert found.column("x").to_pylist()[1] is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a0 % 0", "Division by zero"),
        ("7 // (g1 - 5)", "Division by zero"),
        ("a0::TINYINT", "Type INT64 with value 1000 can't be cast because the value is out of range for the "),
        ("'a0 g1'::INT", "Could not convert string 'a0 g1' to INT32"),
    ],
)
def test_names_that_nobody_wrote_are_left_out(text: str, told: str) -> None:
    public = DuckDbPublicSql({"t": pa.table({"a0": [1000], "g1": [5]})}.__getitem__)
    with closing(public), pytest.raises(DataError) as caught:
        public.run(f"SELECT {text} FROM t", {}, ["t"])
    assert str(caught.value).startswith(told)
    assert "expression" not in str(caught.value) and "source column" not in str(caught.value)


@pytest.mark.parametrize("text", ["code > 5", "code BETWEEN 1 AND 5", "2.5 < code"])
def test_text_beside_a_number_is_told_to_be_cast(text: str) -> None:
    public = DuckDbPublicSql({"t": pa.table({"code": ["5", "11"], "u": [1, 2]})}.__getitem__)
    with closing(public):
        with pytest.raises(ProgrammingError, match="explicit") as caught:
            public.run(f"SELECT {text} FROM t", {}, ["t"])
        assert "TRY_CAST(x AS DOUBLE) > 5" in caught.value.hint
        public.run(f"SELECT {text.replace('code', 'TRY_CAST(code AS DOUBLE)')} FROM t", {}, ["t"])


def test_other_types_are_told_to_be_cast() -> None:
    public = DuckDbPublicSql({"t": pa.table({"d": pa.array([0], pa.date32())})}.__getitem__)
    with closing(public), pytest.raises(ProgrammingError, match="explicit cast") as caught:
        public.run("SELECT d > 5 FROM t", {}, ["t"])
    assert caught.value.hint.startswith("cast one of the two")


@pytest.mark.parametrize("operator", ["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE", "GLOB"])
def test_patterns_of_what_is_no_text_are_shown_as_they_are_written(operator: str) -> None:
    public = DuckDbPublicSql({"t": pa.table({"d": pa.array([0], pa.date32())})}.__getitem__)
    with closing(public):
        with pytest.raises(ProgrammingError, match=rf"'{operator}\(DATE, ") as caught:
            public.run(f"SELECT d {operator} 'a%' FROM t", {}, ["t"])
        assert "~" not in str(caught.value)
        assert "CAST(x AS VARCHAR) LIKE 'a%'" in caught.value.hint
        public.run(f"SELECT CAST(d AS VARCHAR) {operator} 'a%' FROM t", {}, ["t"])


def test_a_function_that_takes_no_such_types_is_told_to_be_given_others() -> None:
    public = DuckDbPublicSql({"t": pa.table({"d": pa.array([0], pa.date32())})}.__getitem__)
    with closing(public), pytest.raises(ProgrammingError, match="argument types 'abs") as caught:
        public.run("SELECT abs(d) FROM t", {}, ["t"])
    assert caught.value.hint.startswith("cast to a type that is taken here")


@pytest.mark.parametrize("text", ["d + i", "d - i", "i + d", "DATE '2020-01-31' + i", "d + x", "d + 1.5"])
def test_numbers_that_no_date_takes_are_told_to_be_cast(text: str) -> None:
    public = DuckDbPublicSql({"t": pa.table({"d": pa.array([0], pa.date32()), "i": [1], "x": [1.0]})}.__getitem__)
    with closing(public):
        with pytest.raises(ProgrammingError, match="argument types '") as caught:
            public.run(f"SELECT {text} FROM t", {}, ["t"])
        assert caught.value.hint == "days are added to a date as INTEGER: write DATE '2020-01-31' + x::INT"
        number = next(n for n in ("1.5", "i", "x") if n in text.split())
        cast = " ".join(f"{n}::INT" if n == number else n for n in text.split())
        public.run(f"SELECT {cast} FROM t", {}, ["t"])


@pytest.mark.parametrize("text", ["i - d", "d * i", "t + i"])
def test_what_no_cast_to_integer_helps_is_not_told_so(text: str) -> None:
    columns = {"d": pa.array([0], pa.date32()), "i": [1], "t": pa.array([0], pa.timestamp("us"))}
    public = DuckDbPublicSql({"t": pa.table(columns)}.__getitem__)
    with closing(public), pytest.raises(ProgrammingError, match="argument types '") as caught:
        public.run(f"SELECT {text} FROM t", {}, ["t"])
    assert caught.value.hint.startswith("cast to a type that is taken here")


@pytest.mark.parametrize("name", ["x", "s.x"])
def test_a_column_that_a_subquery_does_not_have_is_told_where_to_find_one(name: str) -> None:
    public = DuckDbPublicSql({"t": pa.table({"a": [1]})}.__getitem__)
    with closing(public), pytest.raises(ProgrammingError, match='"x"') as caught:
        public.run(f"SELECT {name} FROM (SELECT a AS y FROM t) AS s", {}, ["t"])
    assert caught.value.hint == "name a column of the inner SELECT as it is called there, by its alias if it has one"
