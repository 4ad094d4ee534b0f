"""What is drawn, from which scores and with how much noise; and that private rows are counted once, when it is paid."""

import json
from fractions import Fraction

import numpy as np

from dpsql.synthesis.offline.distinguisher import Distinguisher
from dpsql.synthesis.offline.rounds import Rounds
from dpsql.synthesis.offline.weights import Weights
from tests.support.offline import Exactly, bench_of, marginals
from tests.support.simulated import table_of

TABLE = table_of([2, 3])
CELLS = np.array([[5, 0, 7], [1, 30, 2]])
ROUNDS = Rounds(3, Fraction(1, 10), Fraction(9), 4, 1)


class Listening(Exactly):
    """No noise, and everything that it was asked for."""

    def __init__(self) -> None:
        self.scores: list[list[int]] = []
        self.scales: list[Fraction] = []
        self.sigmas: list[Fraction] = []

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        assert size == 1
        self.sigmas.append(sigma)
        return [3]

    def noisy_max(self, scores: list[int], scale: Fraction) -> int:
        self.scores.append(scores)
        self.scales.append(scale)
        return super().noisy_max(scores, scale)


def heard(cells: np.ndarray, entropy: Listening) -> Distinguisher:
    return Distinguisher("t", Weights(TABLE, marginals(TABLE, 1)), ROUNDS, bench_of(TABLE, cells, entropy))


def test_the_largest_difference_is_chosen_and_measured_with_the_noise_that_was_paid() -> None:
    entropy = Listening()
    drawn = heard(CELLS, entropy).choice(np.array([12, 33, 5, 35, 9]))()
    assert entropy.scores == [[0, 0, 1, 5, 0]]
    assert drawn == json.loads(json.dumps(drawn)) == {"query": 3, "answer": 33}
    assert entropy.scales == [2 * 4 / Fraction(1, 10)]
    assert entropy.sigmas == [Fraction(9)]


def test_both_signs_of_every_difference_are_candidates_where_nothing_is_measured() -> None:
    entropy = Listening()
    private = heard(CELLS, entropy)
    assert private.signed_choice(np.array([12, 33, 5, 35, 9]))() == {"query": 3, "above": False}
    assert private.signed_choice(np.array([12, 13, 5, 35, 9]))() == {"query": 1, "above": True}
    assert entropy.scores[0] == [0, 0, 1, -5, 0, 0, 0, -1, 5, 0]
    assert entropy.sigmas == []


def test_rows_are_counted_at_the_first_draw_and_never_again() -> None:
    entropy = Listening()
    bench = bench_of(TABLE, CELLS, entropy)
    private = Distinguisher("t", Weights(TABLE, marginals(TABLE, 1)), ROUNDS, bench)
    draw = private.choice(np.zeros(5, dtype=np.int64))
    assert bench.engine.looks == []  # type: ignore[attr-defined]
    draw()
    private.signed_choice(np.zeros(5, dtype=np.int64))()
    assert bench.engine.looks == [("a",), ("b",)]  # type: ignore[attr-defined]


def test_no_score_moves_by_more_than_the_rows_of_a_unit() -> None:
    """Four rows come, or four go and four others come, anywhere: the sensitivity that the noise is scaled to."""
    rng, estimates = np.random.default_rng(5), np.array([3, 60, 12, 0, 31])
    for _ in range(60):
        left, came = np.zeros(6, dtype=np.int64), rng.multinomial(4, np.ones(6) / 6)
        full = CELLS + 4
        if rng.random() < 0.5:
            left = rng.multinomial(4, np.ones(6) / 6)
        entropies = Listening(), Listening()
        for entropy, cells in zip(entropies, (full, full - left.reshape(2, 3) + came.reshape(2, 3)), strict=True):
            private = heard(cells, entropy)
            private.choice(estimates)()
            private.signed_choice(estimates)()
        for one, two in zip(entropies[0].scores, entropies[1].scores, strict=True):
            assert np.abs(np.subtract(one, two)).max() <= ROUNDS.sensitivity
