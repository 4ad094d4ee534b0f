"""Disjunctions that no grid holds: counted as all rows less those for which no part is TRUE."""

import pytest

from dpsql.errors import UnsupportedQuery
from dpsql.sql import FrontEnd
from dpsql.sql.counting import alternatives
from tests.support.contingency import TWIN, Counted, random_rows, seeded
from tests.support.exact import front_end
from tests.support.predicates import atom

ROWS = 400


@pytest.fixture(scope="module")
def twins() -> Counted:
    return Counted(TWIN, random_rows(7, ROWS))


@pytest.fixture
def front(monkeypatch: pytest.MonkeyPatch) -> FrontEnd:
    """One that takes every grid of more than six cells for too large, where it can do without."""
    monkeypatch.setattr(alternatives, "MAX_CELLS", 6)
    return front_end()


def terms(front: FrontEnd, where: str) -> list[tuple[float, int]]:
    """Coefficients, and how many factors their queries have."""
    (block,) = front.lower(f"SELECT COUNT(*) FROM twins WHERE {where}").blocks
    return [(t.coefficient, len(t.query.factors)) for t in block.aggregates[0].numerator[0].terms]


@pytest.mark.parametrize("seed", range(60))
def test_it_counts_what_duckdb_counts(front: FrontEnd, twins: Counted, seed: int) -> None:
    """With NULLs, parts that share columns, nested ORs and ANDs, and conditions beside them."""
    rng = seeded(seed)
    parts = [atom(rng, text=True) for _ in range(rng.randint(2, 5))]
    joined = f"({' OR '.join(parts[:-1])}) OR ({parts[-1]} AND {atom(rng, text=True)})"
    if seed % 2:
        joined = "NOT (" + " AND ".join(f"NOT ({p})" for p in parts) + ")"
    where = f"({joined}) AND {atom(rng, text=True)}" if seed % 3 == 0 else f"({joined})"
    (block,) = front.lower(f"SELECT COUNT(*) FROM twins WHERE {where}").blocks
    ((truth,),) = twins.connection.execute(f"SELECT COUNT(*) FROM twins WHERE {where}").fetchall()
    assert twins.exact(block.aggregates[0].numerator[0]) == pytest.approx(truth)


def test_it_is_all_rows_less_a_product(front: FrontEnd) -> None:
    assert terms(front, "age > 20 OR sex = 'Male' OR city = 'Bonn'") == [(1.0, 0), (-1.0, 3)]
    assert terms(front, "NOT (age <= 20 AND sex = 'Male' AND city = 'Bonn')") == [(1.0, 0), (-1.0, 3)]


def test_parts_that_share_a_column_are_one_condition(front: FrontEnd) -> None:
    assert terms(front, "age > 20 OR sex = 'Male' OR age < 19") == [(1.0, 0), (-1.0, 2)]


def test_small_disjunctions_are_one_query() -> None:
    assert terms(front_end(), "age > 20 OR sex = 'Male'") == [(1.0, 1)]


def test_what_is_no_disjunction_is_refused_as_before(monkeypatch: pytest.MonkeyPatch, front: FrontEnd) -> None:
    monkeypatch.setattr("dpsql.sql.counting.evaluate.MAX_CELLS", 6)
    with pytest.raises(UnsupportedQuery, match="tied together"):
        front.lower("SELECT COUNT(*) FROM twins WHERE (age > 20) = (sex = 'Male')")
