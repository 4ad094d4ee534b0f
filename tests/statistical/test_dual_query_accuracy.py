"""DualQuery is alpha-accurate with the paper's T, s and eta; with a sign wrong, or without complements, it is not."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.mechanism import Entropy
from dpsql.private import Private
from dpsql.query import Counts
from dpsql.synthesis.dual_query import method
from dpsql.synthesis.dual_query.accounting import Goal
from dpsql.synthesis.dual_query.response import Responder, Response
from tests.support.dual import NEEDS_SOLVER, ORDERED, Rows, booleans, cells, run, shares, task_of
from tests.support.entropy import SeededEntropy

pytestmark = [pytest.mark.statistical, NEEDS_SOLVER]

TABLE = booleans(3)
ONES = tuple(q for q in cells(TABLE, 1) if q.factors[0].weights[1] == 1)
GOAL = Goal(0.4, 0.05, 2 * len(ONES), 8)
CODES = (np.random.default_rng(2).random((1000, 3)) < np.array([0.95, 0.3, 0.05])).astype(np.int64)
COPIES = 10**7
"""So many of each row: the budget is then no matter, and what is left is the theorem's error."""


def largest_error(monkeypatch: pytest.MonkeyPatch, seed: int = 1) -> float:
    counted = Rows.contingency
    monkeypatch.setattr(
        Rows,
        "contingency",
        lambda self, table, columns: counted(self, table, columns).map(lambda cells: cells * COPIES),
    )
    rounds, samples, rate = GOAL.run
    n = len(CODES) * COPIES
    options = {"rounds": rounds, "samples": samples, "rate": rate, "wanted": rounds}
    found = run(task_of(TABLE, n, ONES, ORDERED.total_units, **options), CODES, entropy=SeededEntropy(seed))
    return float(np.abs(shares(TABLE, ONES, found.codes) - shares(TABLE, ONES, CODES)).max())


def test_the_table_is_as_accurate_as_the_theorem_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gaboardi et al. 2014, Theorem 3.4: with probability 1 - beta all errors are at most alpha."""
    assert largest_error(monkeypatch) <= GOAL.alpha


@pytest.mark.slow
def test_it_is_so_in_nineteen_of_twenty_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(20):
        with monkeypatch.context() as patch:
            assert largest_error(patch, seed) <= GOAL.alpha


def test_records_that_answer_the_draws_worst_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[..., Response] = Responder.respond

    def wrong(self: Responder, weights: Mapping[int, int], coins: np.random.Generator) -> Response:
        return right(self, {i: -w for i, w in weights.items()}, coins)

    monkeypatch.setattr(Responder, "respond", wrong)
    assert largest_error(monkeypatch) > GOAL.alpha


def scores_made(monkeypatch: pytest.MonkeyPatch, change: Callable[[Counts], Any]) -> None:
    right = method.draw_weighted

    def wrong(scores: Private[Counts], scale: Fraction, size: int, entropy: Entropy) -> list[int]:
        return right(scores.map(change), scale, size, entropy)

    monkeypatch.setattr(method, "draw_weighted", wrong)


def test_weights_of_the_wrong_sign_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    scores_made(monkeypatch, lambda scores: -scores)
    assert largest_error(monkeypatch) > GOAL.alpha


def test_weights_that_forget_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries drawn evenly for ever: the records are as good as coins."""
    scores_made(monkeypatch, lambda scores: scores * 0)
    assert largest_error(monkeypatch) > GOAL.alpha


def test_missing_complements_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    least = -(1 << 55)
    scores_made(monkeypatch, lambda scores: np.where(np.arange(len(scores)) < len(scores) // 2, scores, least))
    assert largest_error(monkeypatch) > GOAL.alpha
