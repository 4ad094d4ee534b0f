"""The privacy curves: what each step costs in Renyi divergence of one order alpha = 1 + a. Public, no randomness.

Exact functions take fractions and return a ``Decimal`` whose absolute error is below ``ROUNDING`` for costs below 1e6.
Budgets are integers, in *units*: one unit is ``1 / UNITS`` of Renyi divergence at the plan's order.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, localcontext
from fractions import Fraction

from dpsql.decimals import exact
from dpsql.errors import InternalError

UNITS = 10**15
"""Units per 1 of Renyi divergence: totals up to epsilon = 9000 fit a signed 64-bit integer."""

ROUNDING = Decimal("1e-45")
"""Bound on the rounding error of every exact function here; added whenever a cost becomes units."""

_DIGITS = 60


@contextmanager
def exact_context() -> Iterator[None]:
    """60 digits whatever the caller's decimal context; ``exp`` and ``ln`` of ``decimal`` are correctly rounded."""
    with localcontext(exact(_DIGITS)):
        yield


def to_decimal(value: Fraction) -> Decimal:
    """The fraction in the current context's precision."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def hard_round_curve(v: Fraction, a: Fraction) -> Decimal:
    """s(v, a) = -a v - ln(1 - a (exp(v) - 1)): log moment of order a of one hard outcome.

    ``v`` = slope times sensitivity, >= 0; ``a`` = alpha - 1 > 0. ``InternalError`` at and beyond the pole
    a (exp(v) - 1) = 1, where an unlimited stream of tests has no finite cost.

    >>> round(float(hard_round_curve(Fraction(1, 10), Fraction(5))), 4)
    0.2462
    """
    with exact_context():
        order, step = to_decimal(a), to_decimal(v)
        rest = 1 - order * (step.exp() - 1)
        if v < 0 or a <= 0 or rest <= 0:
            raise InternalError(
                "the test's slope is outside the range of its order", hint="lower the slope or the order of the plan"
            )
        return -order * step - rest.ln()


def hard_round_cost(v: Fraction, alpha: Fraction) -> Decimal:
    """s(v, a) / a with a = alpha - 1: the charge of one hard outcome. Easy outcomes are free."""
    with exact_context():
        return hard_round_curve(v, alpha - 1) / to_decimal(alpha - 1)


def gaussian_cost(alpha: Fraction, l2_squared: Fraction, sigma: Fraction) -> Fraction:
    """alpha D2^2 / (2 sigma^2), exact: one (discrete) Gaussian release with squared L2 sensitivity ``l2_squared``.

    Canonne, Kamath, Steinke 2020, Thm 4 (discrete), for integer vectors.

    >>> gaussian_cost(Fraction(20), Fraction(1), Fraction(10))
    Fraction(1, 10)
    """
    if sigma <= 0:
        raise InternalError("a Gaussian release needs sigma > 0", hint="take sigma from the plan")
    return alpha * l2_squared / (2 * sigma * sigma)


def pure_cost(alpha: Fraction, epsilon: Fraction) -> Fraction:
    """min(eps, alpha eps^2 / 2), exact: one pure eps-DP release (Bun, Steinke 2016, Prop. 3.3).

    >>> pure_cost(Fraction(20), Fraction(1, 10)), pure_cost(Fraction(20), Fraction(1))
    (Fraction(1, 10), Fraction(1, 1))
    """
    return min(epsilon, alpha * epsilon * epsilon / 2)


def range_cost(alpha: Fraction, width: Fraction) -> Fraction:
    """min(r, alpha r^2 / 8), exact: one draw of the exponential mechanism of bounded range r = ``width``.

    Cesar and Rogers 2021, Lemma 3.4; docs/privacy.md, weighted draws. A quarter of ``pure_cost`` where that is small.

    >>> range_cost(Fraction(20), Fraction(1, 10)), range_cost(Fraction(20), Fraction(1))
    (Fraction(1, 40), Fraction(1, 1))
    """
    return min(width, alpha * width * width / 8)


def conversion(alpha: Fraction, delta: Fraction) -> Decimal:
    """epsilon minus the Renyi budget: ln(1 - 1/alpha) - ln(delta alpha) / (alpha - 1).

    Canonne, Kamath, Steinke 2020, Prop. 12. Needs alpha > 1 and 0 < delta < 1.
    """
    with exact_context():
        return to_decimal(1 - 1 / alpha).ln() - to_decimal(delta * alpha).ln() / to_decimal(alpha - 1)


def epsilon_at(budget: int, alpha: Fraction, delta: Fraction) -> Decimal:
    """The epsilon that ``budget`` units at order ``alpha`` give for ``delta`` (CKS20, Prop. 12)."""
    with exact_context():
        return Decimal(budget) / UNITS + conversion(alpha, delta)


def budget_units(epsilon: Fraction, alpha: Fraction, delta: Fraction, delta_purse: Fraction = Fraction(0)) -> int:
    """The largest budget that is certain to stay within (epsilon, delta) at order ``alpha``; may be negative.

    ``delta_purse`` of ``delta`` goes to key selections, which also cost -ln(1 - delta_purse) of epsilon
    (docs/privacy.md, step 5).
    """
    with exact_context():
        kept = to_decimal(epsilon) + to_decimal(1 - delta_purse).ln()
        room = (kept - conversion(alpha, delta - delta_purse) - 2 * ROUNDING) * UNITS
        return math.floor(room)


def units(cost: Fraction | Decimal) -> int:
    """A cost rounded up to whole units; a ``Decimal`` is first raised by its rounding error.

    >>> units(Fraction(1, 3)) * 3 >= UNITS
    True
    """
    if isinstance(cost, Fraction):
        return math.ceil(cost * UNITS)
    with exact_context():
        return math.ceil((cost + ROUNDING) * UNITS)


def approximate_hard_round_cost(v: float, alpha: float) -> float:
    """Float twin of ``hard_round_cost`` for planning; infinity at and beyond the pole.

    >>> abs(approximate_hard_round_cost(.1, 6.) - float(hard_round_cost(Fraction(1, 10), Fraction(6)))) < 1e-12
    True
    """
    a = alpha - 1
    rest = a * math.expm1(v)
    return -v - math.log1p(-rest) / a if rest < 1 else math.inf


def approximate_budget(epsilon: float, alpha: float, delta: float) -> float:
    """Float twin of ``budget_units``, in Renyi divergence, for planning."""
    return epsilon - math.log1p(-1 / alpha) + math.log(delta * alpha) / (alpha - 1)
