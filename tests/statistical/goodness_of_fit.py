"""Tests of integer samples against an exact distribution, and the constants that all statistical tests share."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import stats

DRAWS = 20_000
ALPHA = 1e-9
"""Probability that a correct sampler is rejected, per test."""


def gaussian_law(sigma: float) -> dict[int, float]:
    """Probabilities of the discrete Gaussian, to 1e-16."""
    reach = math.ceil(10 * sigma) + 2
    weights = {x: math.exp(-x * x / (2 * sigma * sigma)) for x in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def chi_square(draws: Sequence[int], law: dict[int, float]) -> float:
    """The p-value of the draws; outcomes with fewer than 10 expected draws are pooled, on both sides together.

    Where these are fewer than 10 together, the rarest of the others is with them: two where 0.03 are expected is no
    rare event, and a statistic of 144.
    """
    seen = Counter(draws)
    cells = [x for x, probability in law.items() if probability * len(draws) >= 10]
    if (1.0 - math.fsum(law[x] for x in cells)) * len(draws) < 10:
        cells.remove(min(cells, key=law.__getitem__))
    observed = [seen[x] for x in cells]
    expected = [law[x] * len(draws) for x in cells]
    observed.append(len(draws) - sum(observed))
    expected.append(len(draws) - sum(expected))
    statistic = sum((o - e) ** 2 / max(e, 1e-9) for o, e in zip(observed, expected, strict=True))
    return float(stats.chi2.sf(statistic, len(cells)))


def variance(draws: Sequence[int], law: dict[int, float]) -> float:
    """Two-sided p-value of the mean square against the law's, by its exact fourth moment."""
    second = math.fsum(p * x**2 for x, p in law.items())
    fourth = math.fsum(p * x**4 for x, p in law.items())
    mean_square = float(np.mean(np.square(np.asarray(draws, dtype=np.float64))))
    z = (mean_square - second) / math.sqrt((fourth - second**2) / len(draws))
    return float(2 * stats.norm.sf(abs(z)))


def fits(draws: Sequence[int], law: dict[int, float]) -> bool:
    """Whether neither test rejects at ALPHA / 2."""
    return min(chi_square(draws, law), variance(draws, law)) >= ALPHA / 2


def frequency_fits(successes: int, trials: int, probability: float) -> bool:
    """Exact two-sided binomial test at ALPHA."""
    return bool(stats.binomtest(successes, trials, probability).pvalue >= ALPHA)
