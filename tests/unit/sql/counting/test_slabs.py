"""Groups that are one value of a column of a large grid ask what they ask of a small one, and what DuckDB counts."""

from typing import Any

import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.query import Form
from dpsql.sql import Block
from dpsql.sql.counting import slabs
from tests.support.contingency import Counted, seeded
from tests.support.exact import front_of

SMALL = TableDomain(
    "t",
    (
        IntegerDomain("k", 0, 9),
        CategoryDomain("g", ("a", "b", "c")),
        BooleanDomain("p", nullable=False),
        NumberDomain("x", (0.0, 1.0, 5.0, 20.0)),
        TextDomain("s"),
    ),
)
TIED = "k < 4 OR g = 'a'"
COUNTS = (
    f"SELECT k, COUNT(*) FROM t WHERE {TIED} GROUP BY k",
    f"SELECT k, COUNT(*) FILTER (WHERE g = 'b' OR (p AND k > 2)), COUNT(g) FROM t WHERE {TIED} GROUP BY k",
    "SELECT k, p, COUNT(*) FROM t WHERE k = 3 OR g = 'a' OR p GROUP BY ALL",
    "SELECT k % 3, g, COUNT(*) FROM t WHERE k > 6 OR g = 'c' OR p GROUP BY ALL",
    "SELECT g, SUM(CASE WHEN k > 3 THEN 2 ELSE -1 END) FROM t WHERE k < 4 OR g = 'a' OR p GROUP BY g",
    "SELECT k, SUM(k), AVG(2 * k - 7) FROM t WHERE k = 0 OR g = 'a' GROUP BY k",
    "SELECT k, COUNT(*) FROM t WHERE x >= 5 OR (k > 2 AND p) GROUP BY k",
    "SELECT k, COUNT(*) FROM t WHERE s = 'u' OR k > 2 GROUP BY k",
    "SELECT k, s, COUNT(*) FROM t WHERE s IN ('u', 'v') AND (k > 2 OR g = 'a') GROUP BY ALL",
)
SUMS = (
    "SELECT k, COUNT(*), SUM(d), SUM(k * d) FROM t WHERE k < 200 OR d > 250 GROUP BY k",
    "SELECT d, COUNT(*), SUM(k), SUM(3 * x - 2) FROM t WHERE k < 4 OR d > 250 OR x >= 8 GROUP BY d",
    "SELECT k, COUNT(*) FILTER (WHERE x < 3 OR d = 7), SUM(x) FROM t WHERE k < 200 OR d > 250 GROUP BY k",
)
LARGE = TableDomain(
    "t", (IntegerDomain("k", 0, 255), IntegerDomain("d", 1, 300, nullable=False), NumberDomain("x", (0.0, 8.0, 20.0)))
)


def lowered(table: TableDomain, sql: str) -> Block:
    (block,) = front_of(table).lower(sql).blocks
    return block


def asked(block: Block) -> Any:
    """By group and aggregate, what is asked: coefficient, doubt and the question's name."""

    def told(form: Form) -> Any:
        return sorted((t.coefficient, t.doubt, t.query.digest) for t in form.terms)

    return [(group, [told(a.numerator[i]) for a in block.aggregates]) for i, group in enumerate(block.groups)]


@pytest.mark.parametrize("sql", COUNTS)
def test_a_slab_asks_what_the_whole_grid_asks(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = asked(lowered(SMALL, sql))
    monkeypatch.setattr(slabs, "SPLIT_CELLS", 0)
    assert asked(lowered(SMALL, sql)) == whole
    assert len(whole) > 1


@pytest.fixture(scope="module")
def counted() -> Counted:
    rng = seeded(1)
    some = (
        lambda: rng.choice([None, 0, 1, 3, 199, 200, rng.randrange(256)]),
        lambda: rng.choice([1, 7, 250, 251, 300]),
    )
    return Counted(LARGE, [(some[0](), some[1](), rng.choice([None, 0.0, 2.5, 3.0, 8.0, 20.0])) for _ in range(3000)])


@pytest.mark.parametrize("sql", SUMS)
def test_the_numbers_of_a_large_grid_are_those_of_duckdb(sql: str, counted: Counted) -> None:
    block = lowered(LARGE, sql)
    truth = {row[0]: row[1:] for row in counted.connection.execute(sql).fetchall()}
    assert set(truth) <= {group for (group,) in block.groups}
    for i, (group,) in enumerate(block.groups):
        for aggregate, expected in zip(block.aggregates, truth.get(group, (0,) * len(block.aggregates)), strict=True):
            form = aggregate.numerator[i]
            assert max([f.weights.size for t in form.terms for f in t.query.factors], default=0) <= 301 * 5
            assert counted.doubt(form) == 0.0
            assert counted.exact(form) == pytest.approx(float(expected or 0), abs=1e-2)
