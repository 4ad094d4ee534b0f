"""What a number of rounds costs and how exact each is: a choice and a measurement for each, of equal cost. Public."""

import math
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting import Plan
from dpsql.errors import BudgetExhausted, InternalError
from dpsql.mechanism.entropy import LARGEST_SIGMA

CHOSEN = 0.5
"""Share of a round's cost that its choice gets where the query is measured too."""
MOST_ROUNDS = 2000
"""Each costs a pass over the universe, and a record in the ledger."""
_BISECTIONS = 60
_LARGEST_EPSILON = 16.0
_LEAST_EPSILON = 2e-6


@dataclass(frozen=True)
class Rounds:
    """``count`` rounds: each chooses with ``epsilon`` and measures with noise ``sigma`` (counts), for ``cost`` units.

    ``sigma`` 0: the round only chooses. ``sensitivity``: rows of one unit.
    """

    count: int
    epsilon: Fraction
    sigma: Fraction
    sensitivity: int
    cost: int

    def choice_error(self, candidates: int, beta: float) -> float:
        """F: with probability 1 - beta the choice is at most this much (counts) below the best of ``candidates``.

        Noise of scale b = 2 sensitivity / epsilon, exponential: the largest of k exceeds b ln(k / beta) with
        probability at most beta (McKenna and Sheldon 2020 make it no worse than the exponential mechanism, whose
        bound this is: McSherry and Talwar 2007; Gupta-Roth-Ullman 2011, Def. 7.1).
        """
        return 2 * self.sensitivity / float(self.epsilon) * math.log(candidates / beta)

    def noise_bound(self, answers: int, beta: float) -> float:
        """With probability 1 - beta every one of ``answers`` measurements is at most this far off (counts).

        sigma sqrt(2 ln(2 m / beta)): a discrete Gaussian is subgaussian (Canonne, Kamath, Steinke 2020, Cor. 17).
        """
        return float(self.sigma) * math.sqrt(2 * math.log(2 * answers / beta))


def plan_rounds(plan: Plan, units: int, count: int, chosen: float, sensitivity: int) -> Rounds:
    """``count`` rounds for ``units`` in all; ``chosen``: the share of a round that its choice costs, 1 for all.

    BudgetExhausted when that buys nothing.
    """
    if count < 1 or not 0 < chosen <= 1:
        raise InternalError("rounds need a number and a share above 0")
    each = units // count
    epsilon = pure_epsilon(plan, int(each * chosen)) if each > 0 else None
    if epsilon is None:
        raise BudgetExhausted(
            "the privacy budget for this synthetic table is too small for its rounds",
            requested=0.0,
            remaining=plan.as_epsilon(max(units, 0)),
            hint="give it more of the budget, or fewer rounds with --option rounds=N",
        )
    choice = plan.pure_cost(epsilon)
    left, sigma = each - choice, Fraction(0)
    if chosen < 1:
        sigma = min(plan.release_sigma(left, sensitivity * sensitivity), Fraction(LARGEST_SIGMA))
        left -= plan.release_cost(sigma, sensitivity * sensitivity)
    if left < 0:
        raise InternalError("a round costs more than its share")
    return Rounds(count, epsilon, sigma, sensitivity, each - left)


def pure_epsilon(plan: Plan, cost: int) -> Fraction | None:
    """The largest epsilon, to a double's digits, whose pure release costs at most ``cost`` units; ``None`` for none."""
    low, high = _LEAST_EPSILON, _LARGEST_EPSILON
    if plan.pure_cost(Fraction(low)) > cost:
        return None
    if plan.pure_cost(Fraction(high)) <= cost:
        return Fraction(high)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if plan.pure_cost(Fraction(middle)) <= cost else (low, middle)
    return Fraction(low)


def usual_rounds(balanced: float, density: float) -> int:
    """How many rounds there are where nobody says: density sqrt(balanced), at least 1.

    The worst case wants as many as balance its terms, thousands with steps of the textbook; steps that follow a
    measurement do in a few what those do in many, and fewer rounds are each more exact (docs/papers/mwem.md).
    """
    return min(MOST_ROUNDS, max(1, round(density * math.sqrt(balanced))))


def balanced_rounds(
    plan: Plan, units: int, chosen: float, sensitivity: int, row_count: float, log_cells: float, queries: int
) -> float:
    """The number of rounds at which both terms of the worst-case error are equal, 0 for no budget.

    2 n sqrt(ln|X| / T) = 2 c ln|Q| / epsilon_T with epsilon_T = epsilon_1 / sqrt(T), as noise is charged: T =
    n sqrt(ln|X|) epsilon_1 / (c ln|Q|) (Ullman's slides, "now, set T optimally").
    """
    whole = pure_epsilon(plan, int(units * chosen))
    if whole is None:
        return 0.0
    return row_count * math.sqrt(log_cells) * float(whole) / (sensitivity * math.log(max(queries, 2)))
