"""From (epsilon, delta) to a plan: the largest precision of all releases. Public, deterministic.

Accounted at one Renyi order or by the privacy profile of the whole plan, whichever allows less noise. Searches run in
floats; the plan they end in is rounded to the private side and checked by ``Plan`` itself.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpsql.accounting.curve import (
    UNITS,
    approximate_budget,
    approximate_hard_round_cost,
    budget_units,
    gaussian_cost,
    hard_round_cost,
    units,
)
from dpsql.accounting.grid import sigma_from_variance, slope_below
from dpsql.accounting.net import TABLE_MARGIN
from dpsql.accounting.plan import Plan
from dpsql.accounting.profile import SMOOTHING, covers, noise_cost
from dpsql.errors import PolicyError

_ORDERS = (0.05, 1e7)
_GRID = 240
_STEPS = 26  # halvings in the search by profile
_HALVINGS = 60  # in the search at one order
_SECTIONS = 30  # golden sections between two orders of the grid
_ORDER_BITS = 10  # of alpha - 1
_LEAST_SLOPE = Fraction(1, 10**5)  # below it the test's table would have millions of entries
_MOST_SLOPE = Fraction(3)  # and above 4 none worth the name; the pole of an order keeps far below


def default_measure_share(hard_rounds: int) -> float:
    """The share f of a hard round's precision that its measurement gets: .4 up to T = 10, .3 from T = 30 on."""
    if hard_rounds <= 10:
        return 0.4
    if hard_rounds >= 30:
        return 0.3
    return 0.4 - 0.1 * math.log(hard_rounds / 10) / math.log(3)


@lru_cache(maxsize=256)
def calibrate(
    epsilon: Fraction,
    delta: Fraction,
    *,
    hard_rounds: int,
    measure_share: float | None = None,
    release_share: float = 0.0,
    delta_purse: Fraction = Fraction(0),
    releases: int = 1,
) -> Plan:
    """The plan of the least noise, at sensitivity 1.

    ``hard_rounds``: T >= 0; with T = 0 everything goes to releases. ``measure_share``: f in (0, 1).
    ``release_share``: share in [0, 1) of the squared precision S_total for planned releases outside hard rounds; the
    rest S gives each hard round 1/sigma^2 = f S/T and slope^2 = (1 - f) S/T. S_total is the largest for which
    T s(slope, a)/a + alpha f S/2 + alpha release_share S_total/2 meets (epsilon, delta - delta_purse) at the best
    alpha, which the plan freezes (docs/privacy.md); or for which the privacy profile does, where that is less noise in
    each of about ``releases`` releases of equal shares (0: never). ``PolicyError`` for numbers out of range.

    >>> plan = calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=10)
    >>> round(float(plan.slope), 3), round(float(plan.sigma)), plan.threshold(10_000)
    (0.041, 30, 243)
    """
    share = default_measure_share(hard_rounds) if measure_share is None else measure_share
    if epsilon <= 0:
        raise PolicyError("epsilon must be above 0", path="privacy.epsilon", hint="1.0 is a common choice")
    if not 0 <= delta_purse < delta < 1:
        raise PolicyError("delta must be above its purse and below 1", path="privacy.delta", hint="try 1e-6")
    if hard_rounds < 0:
        raise PolicyError("hard_rounds must not be negative", path="mechanism.hard_rounds", hint="try 30, or drop it")
    if not 0 < share < 1 or not 0 <= release_share < 1:
        raise PolicyError("a share must lie between 0 and 1", path="mechanism", hint="drop the key for the default")

    setting = _Setting(epsilon, delta, delta_purse, hard_rounds, share, release_share)
    by_order, precision = _by_order(setting)
    if SMOOTHING * precision >= releases:
        return by_order
    # n / S + 4 < n / precision: the noise of one of n releases
    by_profile = _by_profile(setting, precision / (1 - SMOOTHING * precision / releases))
    return by_order if by_profile is None else by_profile


@dataclass(frozen=True)
class _Setting:
    epsilon: Fraction
    delta: Fraction
    delta_purse: Fraction
    hard_rounds: int
    share: float
    release_share: float

    def slope(self, net: float) -> Fraction:
        """Of each hard round's test, where hard rounds have ``net`` of the squared precision."""
        return slope_below(math.sqrt((1 - self.share) * net / self.hard_rounds))


def _by_order(s: _Setting) -> tuple[Plan, float]:
    """The plan of one Renyi order, and its S_total."""

    def precision(alpha: float) -> float:
        budget = approximate_budget(float(s.epsilon), alpha, float(s.delta - s.delta_purse))
        return _largest_precision(budget, alpha, s.hard_rounds, s.share, s.release_share)

    alpha = _frozen_order(_best_order(precision))
    whole = precision(float(alpha))
    total = budget_units(s.epsilon, alpha, s.delta, s.delta_purse)
    slope = sigma = Fraction(0)
    test_cost = measure_cost = 0
    net, shrink = (1 - s.release_share) * whole, 1e-9
    while s.hard_rounds > 0:
        slope = s.slope(net)
        if slope < _LEAST_SLOPE:
            fewer = f", or write hard_rounds below {s.hard_rounds}" if s.hard_rounds > 1 else ""
            raise PolicyError(
                "epsilon is too small for so many hard rounds", path="privacy.epsilon", hint=f"raise it{fewer}"
            )
        sigma = sigma_from_variance(Fraction(s.hard_rounds / (s.share * net)))
        test_cost = units(hard_round_cost(slope + TABLE_MARGIN, alpha))
        measure_cost = units(gaussian_cost(alpha, Fraction(1), sigma))
        if s.hard_rounds * (test_cost + measure_cost) <= total:
            break
        net, shrink = net * (1 - shrink), min(0.5, 2 * shrink)  # the search's floats were a little generous
    costs = test_cost, measure_cost, total
    return Plan(s.epsilon, s.delta, s.delta_purse, alpha, s.hard_rounds, slope, sigma, *costs), whole


def _by_profile(s: _Setting, least: float) -> Plan | None:
    """The plan of the largest S_total above ``least`` whose profile keeps (epsilon, delta); ``None`` if none."""
    low, high = least, 2 * least
    if not _profile_covers(s, low):
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _profile_covers(s, middle):
            low = middle
        else:
            high = middle
    slope, sigma, measure_cost, noise = _profile_parts(s, low)
    test_cost = units((slope + TABLE_MARGIN) ** 2) if s.hard_rounds else 0  # half the variance of its dominating loss
    costs = test_cost, measure_cost, noise + s.hard_rounds * test_cost
    return Plan(s.epsilon, s.delta, s.delta_purse, None, s.hard_rounds, slope, sigma, *costs)


def _profile_covers(s: _Setting, whole: float) -> bool:
    slope, _, measure_cost, noise = _profile_parts(s, whole)
    fits = _LEAST_SLOPE <= slope <= _MOST_SLOPE and s.hard_rounds * measure_cost <= noise
    if s.hard_rounds > 0 and not fits:
        return False
    step = slope + TABLE_MARGIN
    return covers(s.epsilon, s.delta, s.delta_purse, Fraction(2 * noise, UNITS), s.hard_rounds, step)


def _profile_parts(s: _Setting, whole: float) -> tuple[Fraction, Fraction, int, int]:
    """(slope, sigma, units of a measurement, units for all noise) where all releases have S_total = ``whole``."""
    noise = math.ceil(UNITS * whole / 2)
    if s.hard_rounds == 0:
        return Fraction(0), Fraction(0), 0, noise
    net = (1 - s.release_share) * whole
    noise = math.ceil(UNITS * (s.share * net + s.release_share * whole) / 2) + s.hard_rounds
    sigma = sigma_from_variance(Fraction(s.hard_rounds / (s.share * net)) + SMOOTHING)
    return s.slope(net), sigma, units(noise_cost(Fraction(1), sigma)), noise


def _largest_precision(budget: float, alpha: float, rounds: int, share: float, released: float) -> float:
    """S_total at this order, by bisection; 0 when the order leaves no budget. Every cost is >= alpha S_total / 2."""
    if budget <= 0:
        return 0.0
    high = 2 * budget / alpha
    if rounds == 0:
        return high
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        net = (1 - released) * middle
        test = approximate_hard_round_cost(math.sqrt((1 - share) * net / rounds), alpha)
        if rounds * test + alpha * (share * net + released * middle) / 2 <= budget:
            low = middle
        else:
            high = middle
    return low


def _best_order(precision: Callable[[float], float]) -> float:
    """The order that maximises ``precision``: a geometric grid of a = alpha - 1, then golden section."""
    ratio = (_ORDERS[1] / _ORDERS[0]) ** (1 / _GRID)
    grid = [_ORDERS[0] * ratio**i for i in range(_GRID + 1)]
    best = max(grid, key=lambda a: precision(1 + a))
    low, high = math.log(best / ratio), math.log(best * ratio)
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(_SECTIONS):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if precision(1 + math.exp(left)) < precision(1 + math.exp(right)):
            low = left
        else:
            high = right
    return 1 + math.exp((low + high) / 2)


def _frozen_order(alpha: float) -> Fraction:
    """1 + a with a cut to 10 bits: the precision is flat at its best order, and below it is the safe side."""
    mantissa, exponent = math.frexp(alpha - 1)
    whole = 1 << _ORDER_BITS
    return 1 + Fraction(math.floor(mantissa * whole), whole) * Fraction(2) ** exponent
