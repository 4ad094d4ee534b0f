"""All answers at once are those of each query alone, on counts exactly, whichever way they are worked out."""

import numpy as np
import pytest

from dpsql.query import Factor, LinearQuery
from dpsql.synthesis.offline import evaluation
from dpsql.synthesis.offline.evaluation import Contracted, Evaluation, Gathered, spread
from tests.support.offline import CellsEngine, exact, marginals
from tests.support.simulated import table_of

TABLE = table_of([3, 2, 4, 2])
COLUMNS = ("a", "b", "c", "d")


def queries(rng: np.random.Generator) -> list[LinearQuery]:
    out = list(marginals(TABLE, 2))
    for _ in range(30):
        joint = Factor(("a", "c"), rng.integers(0, 4, (3, 4)), 3)
        single = Factor(("b",), rng.integers(0, 2, 2))
        out.append(LinearQuery("t", (joint, single)))
        out.append(LinearQuery("t", (single, Factor(("d",), rng.integers(0, 2, 2)), Factor((), np.array(1), 2))))
    return out


@pytest.mark.parametrize("gathered", [1 << 20, 0])
def test_answers_are_those_of_a_mask_over_the_universe(gathered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "GATHERED", gathered)
    monkeypatch.setattr(evaluation, "CHUNK", 16)
    rng = np.random.default_rng(1)
    asked, cells = queries(rng), rng.integers(0, 50, (3, 2, 4, 2))
    every, engine = Evaluation(COLUMNS, asked), CellsEngine(TABLE, cells)
    counts = {s: engine.contingency("t", s).reveal() for s in every.scopes}
    assert every.on_counts(counts).tolist() == [exact(q, TABLE, cells) for q in asked]
    on_tensor = every.on_tensor(cells.astype(float))
    one_by_one = [(spread(q, COLUMNS) * cells).sum() for q in asked]
    assert np.allclose(on_tensor, one_by_one)


def test_both_ways_are_used() -> None:
    asked = queries(np.random.default_rng(2))
    every = Evaluation(COLUMNS, asked)
    assert len(every.scopes) > 5
    cells = np.ones((3, 2, 4, 2), dtype=np.int64)
    one = Gathered(("a",), np.array([0]), np.array([0, 2]), np.array([1, 5]), np.array([0]))
    assert one.numerators(np.array([1, 10, 100])).tolist() == [501]
    product = Contracted(("a", "b"), np.array([0]), (np.array([[1, 0, 1]]), np.array([[0, 1]])))
    assert product.numerators(cells.sum(axis=(2, 3))).tolist() == [16]


def test_a_query_that_counts_nothing_is_zero_and_moves_no_other() -> None:
    none = LinearQuery("t", (Factor(("a",), np.zeros(3, dtype=np.int64)),))
    some = LinearQuery("t", (Factor(("a",), np.array([0, 1, 1])),))
    every = Evaluation(("a",), [none, some, none])
    assert every.on_tensor(np.array([1.0, 2.0, 4.0])).tolist() == [0.0, 6.0, 0.0]
