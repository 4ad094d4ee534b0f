"""Averages are asked for as distances from the end of their values that is nearest to 0: noise of their range."""

from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.domain import CategoryDomain, IntegerDomain, NumberDomain, TableDomain
from dpsql.errors import UnsupportedQuery
from dpsql.hypothesis import MODEL_RULES
from dpsql.policy import Policy, Privacy
from dpsql.sql import Block, FrontEnd
from tests.support.contingency import Counted
from tests.support.exact import answer, public_sql

YEARS = TableDomain(
    "years",
    (
        IntegerDomain("year", 1990, 2025),
        IntegerDomain("below", -12, -3, nullable=False),
        IntegerDomain("around", -5, 5, nullable=False),
        CategoryDomain("kind", ("walk", "talk"), nullable=False),
        NumberDomain("income", (1000.0, 2000.0, 4000.0), nullable=False),
    ),
)
ROWS = [
    (1990 + i * i % 36 if i % 7 else None, -3 - i % 10, i % 11 - 5, "walk" if i % 3 else "talk", 1000.0 + 9 * i)
    for i in range(300)
]
RULES = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (YEARS,))


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return FrontEnd(RULES, public_sql())


@pytest.fixture(scope="module")
def tables() -> dict[str, Counted]:
    return {"years": Counted(YEARS, ROWS)}


def block(front: FrontEnd, value: str, rest: str = "") -> Block:
    return front.lower(f"SELECT AVG({value}) FROM years {rest}").blocks[0]


@pytest.mark.parametrize(
    ("value", "center", "unit", "ends"),
    [
        ("year", 1990, 35, (1990, 2025)),
        ("year + 1", 1991, 35, (1991, 2026)),
        ("2 * year", 3980, 70, (3980, 4050)),
        ("year::DOUBLE / 4", 497, 9, (497.5, 506.25)),
        ("-year", -1990, 35, (-2025, -1990)),
        ("below", -3, 9, (-12, -3)),
        ("around", 0, 5, (-5, 5)),
        ("year + below", 1987, 35, (1978, 2022)),
        ("income / 100", 10, 30, (10, 40)),
        ("income / 100 + year", 2000, 35, (2000, 2065)),
        ("year - income / 100", 1990, 35, (1950, 2015)),
        ("CASE WHEN year > 2020 THEN year END", 2021, 4, (2021, 2025)),
        ("CASE WHEN kind = 'walk' THEN 7 ELSE 0 END", 0, 1, (0, 7)),
        ("kind = 'walk'", 0, 1, (0, 1)),
    ],
)
def test_values_are_taken_less_their_end(
    front: FrontEnd, value: str, center: float, unit: float, ends: tuple[float, float]
) -> None:
    """``unit``: the most that a row adds to a part of the sum."""
    whole = "(kind = 'walk')::INTEGER" if value == "kind = 'walk'" else value
    (found,) = block(front, whole).aggregates
    assert (found.centers or (0.0,)) == (center,)
    assert (found.low, found.high) == ends
    sizes = [abs(t.coefficient) for t in found.numerator[0].terms]
    assert max(sizes) == pytest.approx(7 if "THEN 7" in value else unit, abs=0.3)


def test_sums_are_of_the_values_themselves(front: FrontEnd) -> None:
    total, averaged = front.lower("SELECT SUM(year), AVG(year) FROM years").blocks[0].aggregates
    assert [t.coefficient for t in total.numerator[0].terms] == [2025]
    assert [t.coefficient for t in averaged.numerator[0].terms] == [35]


@pytest.mark.parametrize("value", ["year", "below", "around", "2 * year - 1", "year::VARCHAR::DOUBLE", "year - below"])
@pytest.mark.parametrize("rest", ["", "WHERE kind = 'walk' AND below < -4", "WHERE year BETWEEN 1995 AND 2014"])
def test_averages_are_duckdbs(front: FrontEnd, tables: dict[str, Counted], value: str, rest: str) -> None:
    cast = "::DOUBLE" if "DOUBLE" in value else ""
    for text in (
        f"SELECT AVG({value}) FROM years {rest}",
        f"SELECT kind, AVG({value}), SUM({value}) FROM years {rest} GROUP BY kind",
        f"SELECT AVG({value}) FILTER (WHERE below < -6) FROM years {rest}",
        f"SELECT AVG(v) FROM (SELECT {value} AS v FROM years {rest} UNION ALL SELECT below{cast} FROM years)",
    ):
        _, rows = answer(front.lower(text), tables)
        truth = tables["years"].connection.execute(text).fetchall()
        assert len(rows) == len(truth)
        for row, true in zip(sorted(rows, key=repr), sorted(truth, key=repr), strict=True):
            assert row == pytest.approx(true)


def test_values_that_no_float_tells_apart_are_refused_as_they_are(front: FrontEnd) -> None:
    (found,) = block(front, "1e15 + year").aggregates
    assert found.centers == (1e15 + 1990,)
    with pytest.raises(UnsupportedQuery, match="cannot be summed"):
        block(front, "1e16 + year")


def test_ledgers_of_older_rules_ask_as_before() -> None:
    assert [rules.distances for rules in MODEL_RULES.values()] == [False] * 10 + [True] * (len(MODEL_RULES) - 10)
    (found,) = block(FrontEnd(RULES, public_sql(), distances=False), "year").aggregates
    assert found.centers == () and [t.coefficient for t in found.numerator[0].terms] == [2025]


@pytest.mark.parametrize("value", ["income / 100 + year", "year + income / 100", "income / 100 - year", "income"])
def test_averages_of_a_number_column_beside_another_are_duckdbs(tables: dict[str, Counted], value: str) -> None:
    """To what fixed point leaves of a bin's places."""
    policy = Policy(Privacy(Fraction(50), Fraction(1, 10**6), planned_queries=10), (YEARS,))
    asked, counted = f"SELECT kind, AVG({value}) FROM years GROUP BY kind", tables["years"]
    true = dict(counted.connection.execute(asked).fetchall())
    (block,) = FrontEnd(policy, public_sql()).lower(asked).blocks
    (found,) = block.aggregates
    assert found.denominator is not None
    for group, ((kind,), center) in enumerate(zip(block.groups, found.centers, strict=True)):
        top, bottom = (counted.exact(forms[group]) for forms in (found.numerator, found.denominator))
        assert top / bottom + center == pytest.approx(true[kind], rel=1e-4)


@pytest.mark.parametrize("planned", [10, 1000])
def test_an_average_of_years_is_known_to_a_part_of_their_range(planned: int, tmp_path: Path) -> None:
    """Two thousand times what a row is off by, as it was before, would be all of the range and more."""
    asked, path = "SELECT AVG(year) FROM years WHERE kind = 'walk'", tmp_path / "years.duckdb"
    with duckdb.connect(str(path)) as source:
        source.execute("CREATE TABLE years (year BIGINT, below BIGINT, around BIGINT, kind VARCHAR, income DOUBLE)")
        source.executemany("INSERT INTO years VALUES (?, ?, ?, ?, ?)", ROWS)
        ((truth,),) = source.execute(asked).fetchall()
    policy = Policy(Privacy(Fraction(8), Fraction(1, 10**6), planned_queries=planned), (YEARS,))
    with dpsql.connect(path, policy=policy, ledger=":memory:") as con:
        cursor = con.execute(asked)
        ((found,),), (told,) = cursor.fetchall(), cursor.answers
    assert told.error is not None and told.error < 12
    assert abs(found - truth) <= 3 * told.error
