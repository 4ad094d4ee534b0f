"""What the sources' accountings say of a run, beside what the ledger charges. Public numbers; nothing here is charged.

T rounds of s draws at rate eta over n rows; the draws of round t are each pure with eps_t = 2 eta (t - 1) / n. All are
in terms of replace-one neighbours and rows as units. Gong 2021, sections 3 and 4; Gaboardi et al. 2014.
"""

from dataclasses import dataclass
from math import ceil, expm1, log, log1p, sqrt


@dataclass(frozen=True)
class Run:
    """``rounds`` T, ``samples`` s, ``rate`` eta, ``rows`` n."""

    rounds: int
    samples: int
    rate: float
    rows: int

    @property
    def last(self) -> float:
        """eps_T, of one draw of the last round."""
        return 2 * self.rate * (self.rounds - 1) / self.rows


def pure_epsilon(run: Run) -> float:
    """Sum of s eps_t = s eta T (T - 1) / n: basic composition; delta is 0.

    >>> pure_epsilon(Run(3, 10, 0.5, 100))
    0.3
    """
    return run.samples * run.rate * run.rounds * (run.rounds - 1) / run.rows


def advanced_epsilon(run: Run, delta: float) -> float:
    """The original's: advanced composition with every eps_t as large as the last (Gong 2021, section 3).

    eps_T (sqrt(2 s (T - 1) ln(1/delta)) + s (T - 1) (exp(eps_T) - 1)).
    """
    draws = run.samples * (run.rounds - 1)
    return run.last * (sqrt(2 * draws * log(1 / delta)) + draws * expm1(run.last))


def concentrated(run: Run) -> float:
    """rho = sum of s eps_t^2 / 2 = s eta^2 (T - 1) T (2 T - 1) / (3 n^2) (Gong 2021, section 3, first display)."""
    t = run.rounds
    return run.samples * run.rate**2 * (t - 1) * t * (2 * t - 1) / (3 * run.rows**2)


def ranged(run: Run, width: int) -> float:
    """rho = sum of s r_t^2 / 8 with r_t = eta (t - 1) width / n: the bounded range (Cesar and Rogers 2021, Lemma 3.4).

    A quarter of ``concentrated`` for width 2, replace-one, and a sixteenth for width 1, add-remove.
    """
    return concentrated(run) * width**2 / 16


def zcdp_epsilon(rho: float, delta: float) -> float:
    """rho + 2 sqrt(rho ln(1/delta)) (Bun and Steinke 2016, Prop. 1.3), as Gong 2021, section 3 converts."""
    return rho + 2 * sqrt(rho * log(1 / delta))


@dataclass(frozen=True)
class Goal:
    """``alpha``-accurate (in shares of the rows) with probability 1 - ``beta``: |Q| = ``queries``, |X| = ``cells``."""

    alpha: float
    beta: float
    queries: int
    cells: int

    @property
    def run(self) -> tuple[int, int, float]:
        """(T, s, eta) = (16 ln|Q| / alpha^2, 48 ln(2 |X| T / beta) / alpha^2, alpha / 4): Gaboardi et al., Thm 3.4.

        >>> Goal(0.5, 0.1, 16, 16).run
        (178, 2103, 0.125)
        """
        rounds = ceil(16 * log(self.queries) / self.alpha**2)
        return rounds, ceil(48 * log(2 * self.cells * rounds / self.beta) / self.alpha**2), self.alpha / 4

    @property
    def sample(self) -> int:
        """Rows of the subsampled form: m = 2 ln(2 |Q| / beta) / alpha^2 (Gong 2021, section 4)."""
        return ceil(2 * log(2 * self.queries / self.beta) / self.alpha**2)

    @property
    def subsampled(self) -> "Goal":
        """What the run on the sample is for: half the alpha, so T' = 64 ln|Q| / alpha^2 and eta' = alpha / 8."""
        return Goal(self.alpha / 2, self.beta, self.queries, self.cells)

    def epsilon(self, rows: int, delta: float) -> float:
        """256 ln(|Q|)^1.5 sqrt(6 ln(1/delta) ln(2 |X| T / beta)) / (alpha^3 n) (Gong 2021, claim 3, first display)."""
        inside = 6 * log(1 / delta) * log(2 * self.cells * self.run[0] / self.beta)
        return 256 * sqrt(log(self.queries) ** 3 * inside) / (self.alpha**3 * rows)


def amplified(epsilon: float, delta: float, share: float) -> tuple[float, float]:
    """(epsilon, delta) of a mechanism on a sample without replacement of a ``share`` of the rows, under replace-one.

    (ln(1 + share (e^epsilon - 1)), share delta): Balle, Barthe and Gaboardi 2018, Theorem 9.

    >>> amplified(1.0, 1e-6, 1.0)
    (1.0, 1e-06)
    """
    if epsilon > 700:
        return epsilon + log(share), share * delta  # the 1 is below the last digit
    return log1p(share * expm1(epsilon)), share * delta


def claimed(goal: Goal, rows: int, delta: float) -> tuple[float, float]:
    """Claim 3 as printed (Gong 2021, section 4): 2 m / n times the epsilon of alpha / 2 on *n* rows, 2 m / n delta."""
    share = 2 * goal.sample / rows
    return share * 8 * goal.epsilon(rows, delta), share * delta


def subsampled(goal: Goal, rows: int, delta: float) -> tuple[float, float]:
    """What the subsampling lemma gives: the run sees *m* rows, so its epsilon has m where the claim has n."""
    sample = goal.sample
    return amplified(goal.subsampled.epsilon(sample, delta), delta, sample / rows)
