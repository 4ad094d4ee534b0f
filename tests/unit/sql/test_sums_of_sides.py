"""SUM and AVG of sums and differences of columns: each side over the rows in which no side is NULL."""

import pytest

from dpsql.sql.statement import Aggregate, Block
from tests.support.contingency import TWIN, Counted, random_rows
from tests.support.exact import front_end

EXPRESSIONS = [
    "age - kids",
    "age + hours",
    "2 * age - (kids + hours)",
    "age + kids * 2 - hours / 2",
    "age + CASE WHEN sex = 'Male' THEN 3 END",
    "CASE WHEN member THEN 1 ELSE 0 END - age",
    "(age) - ((kids))",
    "(age + kids) / 2",
    "2 * (age - kids) / 3",
    "-(age + hours)",
    "-0.5 * -(age - (kids + hours)) * 4",
    "(age - age) / 2",
    "(age + kids) * 0",
    "age - age",
    "age + kids - age",
    "coalesce(kids, 0) + age",
]


@pytest.fixture(scope="module")
def twins() -> Counted:
    return Counted(TWIN, random_rows(11, 400))


def block_of(text: str) -> Block:
    (block,) = front_end().lower(text).blocks
    return block


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("where", ["TRUE", "city = 'Bonn' OR kids > 0"])
def test_they_are_those_of_duckdb(twins: Counted, expression: str, where: str) -> None:
    text = f"SELECT SUM({expression}), AVG({expression}), COUNT({expression}) FROM twins WHERE {where}"
    summed, averaged, counted = block_of(text).aggregates
    total, average, number = twins.connection.execute(text).fetchall()[0]
    doubt = sum(t.doubt for t in summed.numerator[0].terms)  # number columns are summed at the middle of their bins
    if not doubt and "hours" not in expression:
        assert twins.exact(summed.numerator[0]) == pytest.approx(total or 0, abs=1e-3)
        center = averaged.centers[0] if averaged.centers else 0.0
        assert twins.exact(averaged.numerator[0]) == pytest.approx(((average or 0) - center) * number, abs=1e-3)
    assert averaged.denominator is not None
    assert twins.exact(averaged.denominator[0]) == twins.exact(counted.numerator[0]) == number


def scopes(aggregate: Aggregate) -> set[tuple[str, ...]]:
    return {f.columns for f in aggregate.numerator[0].terms for f in f.query.factors}


def test_sides_that_share_no_column_are_summed_apart() -> None:
    (summed,) = block_of("SELECT SUM(age - kids) FROM twins").aggregates
    assert all(len(columns) == 1 for columns in scopes(summed))
    (halved,) = block_of("SELECT SUM(-(age - kids) / 2) FROM twins").aggregates
    assert all(len(columns) == 1 for columns in scopes(halved))
    (joint,) = block_of("SELECT SUM(age - kids * age) FROM twins").aggregates
    assert any(len(columns) == 2 for columns in scopes(joint))


def test_an_average_of_a_sum_lies_between_the_sums_of_the_ends() -> None:
    (averaged,) = block_of("SELECT AVG(age - kids) FROM twins").aggregates
    ages, kids = TWIN.finite_domain("age"), TWIN.finite_domain("kids")
    ends = [float(str(v)) for c in (ages, kids) for v in (min(c.values, key=str), max(c.values, key=str))]  # type: ignore[type-var]
    assert (averaged.low, averaged.high) == (ends[0] - ends[3], ends[1] - ends[2])
    (scaled,) = block_of("SELECT AVG(-(age - kids) / 2) FROM twins").aggregates
    assert (scaled.low, scaled.high) == ((ends[2] - ends[1]) / 2, (ends[3] - ends[0]) / 2)
    two = "(SELECT age AS v, kids AS w FROM twins UNION ALL SELECT age, kids FROM twins)"
    (united,) = block_of(f"SELECT AVG(v - w) FROM {two}").aggregates
    assert (united.low, united.high) == (None, None)
