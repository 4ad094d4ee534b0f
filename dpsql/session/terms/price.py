"""What a bound that an analyst names costs, from the plan alone. Public.

The price is known, and can be refused, before any data are looked at: a translation from error bound to privacy loss
(APEx, Ge et al. 2019), which for Gaussian noise is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from dpsql.accounting import Plan
from dpsql.accounting.profile import SMOOTHING
from dpsql.confidence import DEVIATIONS
from dpsql.planning import Share
from dpsql.planning.measured_axes import own_sds
from dpsql.query import LinearQuery

SIGMA_BITS = 12
"""Of noise that a bound asks for: a grid this fine is held exactly by doubles."""
MOST_SIGMA = Fraction(1 << 40)
"""More noise than that is no use to anybody, and all counts are smaller."""


_NEARLY = 1 - 1e-12  # of a bound: sds are doubles


@dataclass(frozen=True, eq=False)
class Priced:
    """One release for queries of one outline, and what it takes; ``sds`` of their answers (counts) at a noise of 1."""

    queries: Sequence[LinearQuery]
    sds: tuple[float, ...]
    share: Share


def priced(plan: Plan, l2_squared: int, queries: Sequence[LinearQuery], within: Sequence[float]) -> Priced | None:
    """One release that gives each query a 95 % bound of at most its ``within`` > 0 counts; none where no noise that the
    plan can charge is so small.
    """
    sds = tuple(own_sds(queries, 1.0))
    share = price(plan, l2_squared, queries, sds, within)
    return None if share is None else Priced(queries, sds, share)


def price(
    plan: Plan, l2_squared: int, queries: Sequence[LinearQuery], sds: Sequence[float], within: Sequence[float]
) -> Share | None:
    """What such a release takes, where the queries' sds at a noise of 1 are known.

    The bound is ``error_bound``'s: ceil(1.96 sd), one more for a query that is floored. So 1.96 sd has to be at most a
    whole number, and sd is sigma times what the query's parts make of it.
    """
    limits = [floor(most) - (not q.is_indicator) for q, most in zip(queries, within, strict=True)]
    least = Fraction(1, 1 << SIGMA_BITS)
    most = min(limit / (DEVIATIONS * sd) for limit, sd in zip(limits, sds, strict=True))
    sigma = min(MOST_SIGMA, floor(Fraction(most * _NEARLY) / least) * least)
    if sigma <= 0 or (plan.alpha is None and sigma * sigma <= SMOOTHING):
        return None
    return Share(plan.release_cost(sigma, l2_squared), sigma)
