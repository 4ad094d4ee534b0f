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
from dpsql.confidence import DEVIATIONS, error_bound
from dpsql.planning import Share
from dpsql.planning.measured_axes import own_sds
from dpsql.query import LinearQuery

SIGMA_BITS = 12
"""Of noise that a bound asks for: a grid this fine is held exactly by doubles."""
MOST_SIGMA = Fraction(1 << 40)
"""More noise than that is no use to anybody, and all counts are smaller."""


@dataclass(frozen=True, eq=False)
class Priced:
    """One release for queries of one outline, and what it takes."""

    queries: tuple[LinearQuery, ...]
    share: Share


def price(plan: Plan, l2_squared: int, queries: tuple[LinearQuery, ...], within: Sequence[float]) -> Priced | None:
    """One release that gives each query a 95 % bound of at most its ``within`` > 0 counts; none where no noise that the
    plan can charge is so small.

    The bound is ``error_bound``'s: ceil(1.96 sd), one more for a query that is floored. So 1.96 sd has to be at most a
    whole number, and sd is sigma times what the query's parts make of it.
    """
    limits = [floor(most) - (not q.is_indicator) for q, most in zip(queries, within, strict=True)]
    least = Fraction(1, 1 << SIGMA_BITS)
    most = min(Fraction(limit / (DEVIATIONS * sd)) for limit, sd in zip(limits, own_sds(queries, 1.0), strict=True))
    sigma = min(MOST_SIGMA, floor(most / least) * least)
    if sigma > 0 and not _keeps(queries, sigma, limits):  # floats, at the edge of a whole number
        sigma -= least
    if sigma <= 0 or (plan.alpha is None and sigma * sigma <= SMOOTHING):
        return None
    return Priced(queries, Share(plan.release_cost(sigma, l2_squared), sigma))


def _keeps(queries: Sequence[LinearQuery], sigma: Fraction, limits: Sequence[int]) -> bool:
    sds = own_sds(queries, float(sigma))
    return all(error_bound(sd) <= limit for sd, limit in zip(sds, limits, strict=True))
