"""The optimal adaptive adversary of hard rounds and noise, by dynamic programming, against theorem 2 (docs/privacy.md).

The adversary picks rate and direction of every test, and when to spend noise, after seeing all outcomes: it steers its
loss. Its best delta must stay below ``delta_bound``, and is all of it for one hard round.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import gammaln, ndtr

from dpsql.accounting.profile import delta_bound, hard_round_losses

Floats = npt.NDArray[np.float64]
GRID = 32  # grid steps of the loss in one step of a test
PIECES = 4  # releases into which the adversary may cut the precision
NUMERICS = 3e-4  # relative, of the game: between grid points its values are taken from above


def gaussian(epsilon: Floats, precision: float) -> Floats:
    """E[(1 - exp(epsilon - G))_+] for G ~ N(precision / 2, precision)."""
    if precision == 0:
        return np.maximum(0.0, -np.expm1(np.minimum(epsilon, 0.0)))
    m = math.sqrt(precision)
    return np.asarray(ndtr(m / 2 - epsilon / m) - np.exp(epsilon) * ndtr(-m / 2 - epsilon / m))


# --- the theorem's bound, by quadrature -------------------------------------------------------------------------


def density(x: Floats, rounds: int, step: float) -> Floats:
    """Of X_T, the difference of two gammas of rates A and B, at each x > 0 or < 0.

    (A B)^T exp(-A x) / (T-1)! times the integral over y > 0 of (x + y)^(T-1) y^(T-1) exp(-(A + B) y) / (T-1)!, in
    binomial terms; below 0 with A and B exchanged.
    """
    up, down = 1 / math.expm1(step), -1 / math.expm1(-step)
    j = np.arange(rounds)[:, None]
    terms = gammaln(rounds + j) - gammaln(j + 1) - gammaln(rounds - j) - (rounds + j) * math.log(up + down)
    terms = np.logaddexp.reduce(terms + (rounds - 1 - j) * np.log(np.abs(x)))
    return np.asarray(np.exp(terms + rounds * math.log(up * down) - gammaln(rounds) - np.where(x > 0, up, -down) * x))


def exact_bound(epsilon: float, precision: float, rounds: int = 0, step: float = 0.0) -> float:
    """E[(1 - exp(epsilon - X_T - G_S))_+], to about 1e-6 of it."""
    if rounds == 0:
        return float(gaussian(np.array(epsilon), precision))
    sd = math.sqrt(rounds * (math.expm1(step) ** 2 + math.expm1(-step) ** 2))
    width = sd / 2 if precision == 0 else max(sd / 20, min(sd / 2, math.sqrt(precision)))
    edges = np.arange(-30 * sd, epsilon + 60 * sd, width)
    edges = np.unique(np.concatenate([edges, [0.0, epsilon]]))  # the density has a cusp, and so has the payoff
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(edges)[:, None] / 2
    x = (edges[:-1, None] + half * (1 + nodes)).ravel()
    return float(np.sum((half * weights).ravel() * density(x, rounds, step) * gaussian(epsilon - x, precision)))


# --- the game ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Losses:
    """A grid of losses ln(P/Q) - epsilon; values on it are 0 far below and 1 - exp(-loss) far above."""

    at: Floats
    gap: float

    @property
    def stop(self) -> Floats:
        """What the adversary has when it stops."""
        return gaussian(-self.at, 0.0)

    def moved(self, values: Floats, cells: int) -> Floats:
        """The values ``cells`` grid points further up."""
        if cells <= 0:
            return np.concatenate([np.zeros(-cells), values[: len(values) + cells]])
        return np.concatenate([values[cells:], -np.expm1(-self.at[-cells:] - cells * self.gap)])

    def shifted(self, values: Floats, loss: float) -> Floats:
        """The values at + loss, from above: linear in exp(-loss), in which they are convex."""
        cells = math.floor(loss / self.gap)
        share = math.expm1(cells * self.gap - loss) / math.expm1(-self.gap)
        return (1 - share) * self.moved(values, cells) + share * self.moved(values, cells + 1)

    def noisy(self, values: Floats, precision: float) -> Floats:
        """The values after a Gaussian release."""
        reach = min(len(self.at) // 2, math.ceil(9 * math.sqrt(precision) / self.gap))
        x = np.arange(-reach, reach + 1) * self.gap
        law = np.exp(-((x + precision / 2) ** 2) / (2 * precision))
        return np.convolve(values - self.stop, law / law.sum(), "same") + gaussian(-self.at, precision)


def best_deltas(precision: float, rounds: int, step: float) -> tuple[Floats, Floats]:
    """(epsilons, the adversary's best delta at each), with easy outcomes that move the loss along the grid."""
    gap = step / GRID
    size = math.ceil(max(40 * step, 9 * math.sqrt(precision)) / gap)
    losses = Losses(np.arange(-size, size + 1) * gap, gap)
    tests = []  # cells moved and probability of an easy outcome; probability and loss of a hard one
    for u in (step, -step):
        for cells in (1, 4, 16, 64):
            rate = cells * gap / abs(math.expm1(u))
            hard, other = -math.expm1(-rate), -math.expm1(-math.exp(u) * rate)
            tests.append((cells if u > 0 else -cells, math.exp(-rate), hard, math.log(hard / other)))
    pieces = PIECES if precision > 0 else 0
    best = {(0, 0): losses.stop}
    for used in [(t, s) for t in range(rounds + 1) for s in range(pieces + 1)][1:]:
        t, s = used
        value = losses.stop
        if s > 0:
            value = np.maximum(value, losses.noisy(best[t, s - 1], precision / pieces))
        if t > 0:
            hard_parts = [hard * losses.shifted(best[t - 1, s], loss) for _, _, hard, loss in tests]
            value = np.maximum(value, best[t - 1, s])
            for _ in range(4000):  # as many tests as the adversary likes
                before = value
                for (cells, easy, _, _), hard_part in zip(tests, hard_parts, strict=True):
                    value = np.maximum(value, easy * losses.moved(before, cells) + hard_part)
                if np.max(value - before) < 1e-8 * step:
                    break
        best[used] = value
    return -losses.at[::-1], best[rounds, pieces][::-1]


def reached(epsilon: float, precision: float, rounds: int, step: float) -> float:
    return float(np.interp(epsilon, *best_deltas(precision, rounds, step)))


# --- laws -------------------------------------------------------------------------------------------------------

SETTINGS = [
    (0.0, 1, 0.03),
    (0.05, 1, 0.03),
    (0.2, 1, 0.3),
    (0.0, 2, 0.3),
    (0.002, 3, 0.03),
    (0.05, 4, 0.02),
    (0.5, 3, 1.0),
    (0.0, 10, 0.05),
]


@pytest.mark.parametrize(("precision", "rounds", "step"), SETTINGS)
def test_the_optimal_adversary_stays_below_the_bound(precision: float, rounds: int, step: float) -> None:
    epsilons, deltas = best_deltas(precision, rounds, step)
    sd = math.sqrt(precision + rounds * step**2)
    for epsilon in np.linspace(0, 4.5 * sd, 10):
        delta, bound = float(np.interp(epsilon, epsilons, deltas)), delta_bound(epsilon, precision, rounds, step)
        assert delta <= bound * (1 + NUMERICS)
        if rounds == 1:
            assert delta >= bound * (1 - 0.003)


WRONG = [
    pytest.param((3.0, 0.05, 1, 0.03), (0.98 * 0.05, 1, 0.03), id="noise charged 2 % too little"),
    pytest.param((4.0, 0.0, 1, 0.03), (0.0, 1, 0.98 * 0.03), id="tests 2 % steeper than charged"),
    pytest.param((2.0, 0.0, 2, 0.03), (0.0, 1, 0.03), id="half the hard rounds"),
    pytest.param((2.0, 0.01, 6, 0.03), (0.01, 3, 0.03), id="half the hard rounds, of more"),
    pytest.param((3.0, 0.05, 4, 0.1), (0.05 + 4 * 0.1**2, 0, 0.0), id="hard rounds as noise of their variance"),
    pytest.param((6.0, 0.0, 1, 0.03), (2 * 0.03**2, 0, 0.0), id="one hard round as noise of twice its variance"),
    pytest.param((2.0, 0.05, 4, 0.1), (0.05, 3, 0.1), id="a hard round that is not counted"),
]


@pytest.mark.parametrize(("setting", "claim"), WRONG)
def test_wrong_bounds_are_broken(setting: tuple[float, float, int, float], claim: tuple[float, int, float]) -> None:
    sds, precision, rounds, step = setting
    epsilon = sds * math.sqrt(precision + rounds * step**2)
    delta = reached(epsilon, precision, rounds, step)
    assert delta > 1.01 * exact_bound(epsilon, *claim)
    assert delta > 1.01 * delta_bound(epsilon, *claim)


@pytest.mark.parametrize("step", [0.03, 0.3, 1.0])
def test_an_adversary_that_may_turn_around_beats_the_one_sided_loss(step: float) -> None:
    """The loss of one hard round is not -v + (r - 1) E: the adversary takes u = -v once it is ahead."""
    epsilon, r = 2 * step, math.exp(step)
    one_sided = math.exp(-(epsilon + step) / (r - 1)) * (1 - 1 / r)
    assert reached(epsilon, 0.0, 1, step) > 1.2 * one_sided


@pytest.mark.parametrize("step", [0.03, 0.3, 1.0, 4.0])
def test_one_hard_round_has_its_closed_form(step: float) -> None:
    """The oracle, and the bound: (r - 1)/(r + 1) exp(-epsilon / (r - 1)) (docs/privacy.md, F of the key inequality)."""
    r = math.exp(step)
    for epsilon in (0.0, 1.5 * step, 8 * step):
        exact = (r - 1) / (r + 1) * math.exp(-epsilon / (r - 1))
        assert exact_bound(epsilon, 0.0, 1, step) == pytest.approx(exact, rel=1e-9)
        assert exact <= delta_bound(epsilon, 0.0, 1, step) <= 1.01 * exact


@pytest.mark.parametrize("rounds", [0, 1, 2, 10, 30, 100])
@pytest.mark.parametrize("step", [0.002, 0.03, 0.4])
@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0, 20.0])
def test_the_bound_is_the_integral_from_above(rounds: int, step: float, noise: float) -> None:
    """``noise``: the precision, in units of the tests' variance."""
    precision = noise * max(1, rounds) * step**2
    sd = math.sqrt(precision + rounds * step**2)
    for sds in (0.0, 1.0, 3.0, 5.0):
        exact = exact_bound(sds * sd, precision, rounds, step)
        bound = delta_bound(sds * sd, precision, rounds, step)
        assert exact * (1 - 1e-7) <= bound <= 1.01 * exact + 2e-14


@pytest.mark.parametrize("step", [1e-9, 1e-7, 1e-5, 0.03, 1.0])
def test_the_grid_keeps_both_laws_of_a_hard_round_however_small_its_step(step: float) -> None:
    losses, masses, above = hard_round_losses(1, step)
    assert math.fsum(masses) + above == pytest.approx(1.0, abs=1e-13)
    assert math.fsum(masses * np.expm1(-losses)) == pytest.approx(0.0, abs=1e-5 * step**2)  # the other law's mass
    # spread over two grid points at most, a loss has a little more variance; P's mean is about half of it
    assert 1.0 <= math.fsum(masses * losses) / (math.expm1(step) + math.expm1(-step)) <= 1.002
