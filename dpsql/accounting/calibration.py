"""From (epsilon, delta) to a plan: the largest precision of all releases that one order pays. Public, deterministic.

The search runs in floats; the plan it ends in is rounded to the private side and checked exactly by ``Plan`` itself.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from dpsql.accounting.curve import (
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
from dpsql.errors import PolicyError

_ORDERS = (0.05, 1e7)
_GRID = 240
_LEAST_SLOPE = Fraction(1, 10**5)  # below it the test's table would have millions of entries


def default_measure_share(hard_rounds: int) -> float:
    """The share f of a hard round's precision that its measurement gets: .4 up to T = 10, .3 from T = 30 on."""
    if hard_rounds <= 10:
        return 0.4
    if hard_rounds >= 30:
        return 0.3
    return 0.4 - 0.1 * math.log(hard_rounds / 10) / math.log(3)


def calibrate(
    epsilon: Fraction,
    delta: Fraction,
    *,
    hard_rounds: int,
    measure_share: float | None = None,
    release_share: float = 0.0,
    delta_purse: Fraction = Fraction(0),
) -> Plan:
    """The plan of the least noise, at sensitivity 1.

    ``hard_rounds``: T >= 0; with T = 0 everything goes to releases. ``measure_share``: f in (0, 1).
    ``release_share``: share in [0, 1) of the squared precision S_total for planned releases outside hard rounds; the
    rest S gives each hard round 1/sigma^2 = f S/T and slope^2 = (1 - f) S/T. S_total is the largest for which
    T s(slope, a)/a + alpha f S/2 + alpha release_share S_total/2 meets (epsilon, delta - delta_purse) at the best
    alpha, which the plan freezes (docs/privacy.md). ``PolicyError`` for numbers out of range.

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

    def precision(alpha: float) -> float:
        budget = approximate_budget(float(epsilon), alpha, float(delta - delta_purse))
        return _largest_precision(budget, alpha, hard_rounds, share, release_share)

    alpha = _frozen_order(_best_order(precision))
    total = budget_units(epsilon, alpha, delta, delta_purse)
    slope = sigma = Fraction(0)
    test_cost = measure_cost = 0
    net, shrink = (1 - release_share) * precision(float(alpha)), 1e-9
    while hard_rounds > 0:
        slope = slope_below(math.sqrt((1 - share) * net / hard_rounds))
        if slope < _LEAST_SLOPE:
            raise PolicyError(
                "epsilon is too small for so many hard rounds", path="privacy.epsilon", hint="lower hard_rounds"
            )
        sigma = sigma_from_variance(Fraction(hard_rounds / (share * net)))
        test_cost = units(hard_round_cost(slope + TABLE_MARGIN, alpha))
        measure_cost = units(gaussian_cost(alpha, Fraction(1), sigma))
        if hard_rounds * (test_cost + measure_cost) <= total:
            break
        net, shrink = net * (1 - shrink), min(0.5, 2 * shrink)  # the search's floats were a little generous
    return Plan(
        epsilon, delta, delta_purse, alpha, hard_rounds, slope, sigma, test_cost, measure_cost, total_units=total
    )


def _largest_precision(budget: float, alpha: float, rounds: int, share: float, released: float) -> float:
    """S_total at this order, by bisection; 0 when the order leaves no budget. Every cost is >= alpha S_total / 2."""
    if budget <= 0:
        return 0.0
    high = 2 * budget / alpha
    if rounds == 0:
        return high
    low = 0.0
    for _ in range(60):
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
    for _ in range(30):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if precision(1 + math.exp(left)) < precision(1 + math.exp(right)):
            low = left
        else:
            high = right
    return 1 + math.exp((low + high) / 2)


def _frozen_order(alpha: float) -> Fraction:
    """1 + a with a cut to 10 bits: the precision is flat at its best order, and below it is the safe side."""
    mantissa, exponent = math.frexp(alpha - 1)
    return 1 + Fraction(math.floor(mantissa * 1024), 1024) * Fraction(2) ** exponent
