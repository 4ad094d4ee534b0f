"""The papers' own constants: noise, threshold and updates of an online release; how far they are from usable. Public.

Gupta, Roth, Ullman 2011: Algorithm 1 (sigma, T), Theorem 4.9 (5T/4-accurate) and equation (3). Their noise is never
less than the plan's, so a plan pays for it whatever they say; lecture 11's accuracy of sparse vector stands beside.
"""

from dataclasses import dataclass
from math import inf, log, sqrt

from dpsql.domain import TableDomain
from dpsql.hypothesis import Construction
from dpsql.policy import Privacy

NOISE = 1000.0
"""In Algorithm 1's sigma = 1000 sqrt(B) ln(4/delta) / epsilon."""
BETA = 0.05
"""The probability with which the papers' accuracy may fail, all planned queries together."""
USABLE = 0.1
"""Share of the rows that an answer may be off by to be called usable."""
MOST_ROWS = 1e30
_HALVINGS = 200


@dataclass(frozen=True)
class PaperConstants:
    """Algorithm 1 for at most ``updates`` B: ``noise`` sigma of Lap(sigma) and ``threshold`` T, in counts."""

    updates: int
    noise: float
    threshold: float

    @property
    def alpha(self) -> float:
        """3 T / 4, the least that Theorem 4.9 allows (equation 3)."""
        return 0.75 * self.threshold

    @property
    def accuracy(self) -> float:
        """5 T / 4: all answers are this close with probability 1 - BETA (Theorem 4.9)."""
        return 1.25 * self.threshold


def algorithm_one(privacy: Privacy, updates: float) -> tuple[float, float]:
    """(sigma, T) of Algorithm 1 for B = ``updates``: 1000 sqrt(B) ln(4/delta) / epsilon and 4 sigma ln(2k/beta).

    >>> from fractions import Fraction
    >>> [round(x) for x in algorithm_one(Privacy(Fraction(1), Fraction(1, 10**6)), 100.0)]
    [152018, 9243795]
    """
    sigma = NOISE * sqrt(updates) * log(4.0 / float(privacy.delta)) / float(privacy.epsilon)
    return sigma, 4.0 * sigma * log(2.0 * privacy.planned_queries / BETA)


def paper_constants(privacy: Privacy, updates: int) -> PaperConstants:
    """The constants for B = ``updates``, a whole number of at least 1."""
    return PaperConstants(updates, *algorithm_one(privacy, float(updates)))


def solved_alpha(privacy: Privacy, table: TableDomain, construction: Construction, rows: float) -> float:
    """The alpha (counts) with alpha = 3 T(alpha) / 4, where T is made for B(alpha) updates: equation (3).

    As printed the equation has ln(k/beta) where T has ln(2k/beta); T's is taken here. By bisection: B falls in alpha.
    """
    low, high = 0.0, 1.0
    while not _suffices(privacy, table, construction, rows, high):
        high *= 2.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if middle > 0.0 and _suffices(privacy, table, construction, rows, middle):
            high = middle
        else:
            low = middle
    return high


def _suffices(privacy: Privacy, table: TableDomain, construction: Construction, rows: float, alpha: float) -> bool:
    updates = construction.update_bound(table, rows, alpha, privacy.planned_queries)
    return alpha >= 0.75 * algorithm_one(privacy, updates)[1]


def solved_updates(privacy: Privacy, table: TableDomain, construction: Construction, rows: float) -> float:
    """B(alpha) at the alpha of equation (3); below 1 where the noise of one update is more than the rows allow."""
    alpha = solved_alpha(privacy, table, construction, rows)
    return construction.update_bound(table, rows, alpha, privacy.planned_queries)


def rows_needed(privacy: Privacy, table: TableDomain, construction: Construction, share: float = USABLE) -> float:
    """The fewest rows n for which equation (3) has an alpha of at most ``share`` n; infinite beyond MOST_ROWS."""
    low, high = 1.0, 2.0
    while not _suffices(privacy, table, construction, high, share * high):
        if high > MOST_ROWS:
            return inf
        low, high = high, 2.0 * high
    while high - low > 1e-3 * high:
        middle = (low + high) / 2.0
        if _suffices(privacy, table, construction, middle, share * middle):
            high = middle
        else:
            low = middle
    return high


def distance(
    privacy: Privacy, table: TableDomain, construction: Construction, constants: PaperConstants, rows: str | None
) -> str:
    """How far the papers' constants are from usable for a table of so many ``rows`` (``None``: unknown), in words."""
    needed = rows_needed(privacy, table, construction)
    number = "more rows than there can be" if needed == inf else f"n >= {needed:.2g} rows"
    against = "" if rows is None else f", against {rows}"
    times = "once" if constants.updates == 1 else f"{constants.updates:,} times"
    return (
        f"{table.name}, the papers' constants: {construction.words} may be updated {times}, with noise of "
        f"{constants.noise:,.0f} and a threshold of {constants.threshold:,.0f}, and answers are within "
        f"{constants.accuracy:,.0f}{against}; for answers within a tenth of the rows they need {number}"
    )


def sparse_vector_accuracy(
    epsilon: float, above: int, queries: int, beta: float, rows: float, delta: float | None = None
) -> float:
    """alpha, as a fraction of n, of the lecture's sparse vector over ``queries`` k, at most ``above`` c of them high.

    4 c (ln k + ln(2/beta)) / (epsilon n) (lecture 11, Theorem 2); with ``delta`` sqrt(128 c ln(1/delta)) in place of
    4 c (Theorem 5). It fails with probability at most ``beta``.

    >>> round(sparse_vector_accuracy(1.0, 10, 1000, 0.05, 10_000.0), 4)
    0.0424
    """
    scale = 4.0 * above if delta is None else sqrt(128.0 * above * log(1.0 / delta))
    return scale * (log(queries) + log(2.0 / beta)) / (epsilon * rows)
