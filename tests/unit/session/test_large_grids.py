"""Two columns of thousands of values: what is counted are the parts that a question tells apart, never their grid."""

from fractions import Fraction

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.engine.memory import MemoryEngine
from dpsql.engine.partition import Partition
from dpsql.first import bench
from dpsql.ledger import MemoryLedger
from dpsql.planning import make_plan
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.private import Private
from dpsql.query import Counts, Factor, LinearQuery, linear_query
from dpsql.result import Answer
from dpsql.session.asker import Asker
from tests.support.asking import ask
from tests.support.entropy import SeededEntropy

VERTICES = 1100  # squared, a little more than GRID_CELLS
IDS = tuple(IntegerDomain(c, 0, VERTICES - 1, nullable=False) for c in ("src", "dst"))
EDGES = TableDomain("edges", IDS)
RNG = np.random.default_rng(2)
ROWS = {"src": RNG.integers(0, VERTICES // 2, 3000).tolist(), "dst": RNG.integers(300, VERTICES, 3000).tolist()}


class Counting(MemoryEngine):
    """Remembers the cells of what it is asked for."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy, {"edges": ROWS})
        self.cells: list[int] = []

    def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
        self.cells.append(int(np.prod(EDGES.shape(columns))))
        return super().contingency(table, columns)

    def part_counts(self, table: str, partitions: tuple[Partition, ...]) -> Private[Counts]:
        self.cells.append(int(np.prod([p.size for p in partitions])))
        return super().part_counts(table, partitions)


def cuts(number: int) -> list[LinearQuery]:
    rng, out = np.random.default_rng(8), []
    for unit in [1, 1, 3] * number:
        chosen = [Factor((c,), rng.integers(0, u + 1, VERTICES), u) for c, u in (("src", unit), ("dst", 1))]
        found = linear_query(EDGES, chosen)
        assert found is not None
        out.append(found)
    return out[:number]


def answers(strategy: str, planned: int) -> tuple[list[Answer], Counting]:
    privacy = Privacy(Fraction(4), Fraction(1, 10**6), planned_queries=planned)
    policy = Policy(privacy, (EDGES,), Mechanism(strategy))
    engine = Counting(policy)
    asker = Asker(policy, make_plan(policy), engine, MemoryLedger({}), SeededEntropy(6))
    return [ask(asker, query) for query in cuts(5)], engine


@pytest.mark.parametrize(("strategy", "planned"), [("pmw", 1000), ("auto", 5)])
def test_answers_from_parts_are_those_from_the_grid(
    monkeypatch: pytest.MonkeyPatch, strategy: str, planned: int
) -> None:
    """The same noise: tests, hard rounds and releases see the same numbers, weighted queries included."""
    from_parts, engine = answers(strategy, planned)
    assert max(engine.cells) <= 64
    monkeypatch.setattr(bench, "GRID_CELLS", EDGES.cells)
    from_grid, counted = answers(strategy, planned)
    assert max(counted.cells) == EDGES.cells
    assert from_parts == from_grid
    assert any(a.charged for a in from_parts)
