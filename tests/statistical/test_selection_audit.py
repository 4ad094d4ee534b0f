"""Key selection on neighbouring tables: what one unit alone holds is shown as rarely as the plan says, not more often.

And keys are selected with the frequencies of the discrete Gaussian, on both sides.
"""

from fractions import Fraction
from functools import lru_cache

import pytest
from scipy import stats

from dpsql.accounting import selection_threshold
from dpsql.mechanism import select_keys
from dpsql.private import Private
from dpsql.query import key_counts
from tests.statistical.goodness_of_fit import ALPHA, gaussian_law
from tests.support.entropy import SeededEntropy

pytestmark = pytest.mark.statistical

SIGMA, DELTA, RUNS = Fraction(4), Fraction(1, 25), 4000


@lru_cache
def shown(threshold: int, count: int, seed: int) -> int:
    """In how many of RUNS selections a key with ``count`` rows is shown, beside one that always is."""
    entropy = SeededEntropy(seed)
    found = Private(key_counts({"own": count, "common": 1000}))
    results = [select_keys(found, SIGMA, threshold, entropy) for _ in range(RUNS)]
    assert all(r in (("common",), ("common", "own")) for r in results)
    return sum("own" in r for r in results)


def exceeds(times: int, probability: float) -> bool:
    """Whether so many of RUNS are more than the probability allows, at level ALPHA."""
    return bool(stats.binom.sf(times - 1, RUNS, probability) < ALPHA)


@pytest.mark.parametrize("rows", [1, 4])
def test_the_only_holder_of_a_string_is_hidden_as_promised(rows: int) -> None:
    threshold = selection_threshold(SIGMA, DELTA, rows)
    assert not exceeds(shown(threshold, rows, 1), float(DELTA) / rows)


@pytest.mark.parametrize("rows", [1, 4])
def test_a_lower_threshold_is_noticed(rows: int) -> None:
    threshold = selection_threshold(SIGMA, DELTA, rows)
    assert exceeds(shown(threshold - int(2 * SIGMA), rows, 2), float(DELTA))


@pytest.mark.parametrize("gap", [-4, 3])
def test_keys_are_shown_with_the_frequency_of_the_noise(gap: int) -> None:
    times = shown(50, 50 - gap, 3)

    def p_value(sigma: float) -> float:
        chance = sum(p for z, p in gaussian_law(sigma).items() if z > gap)
        return float(stats.binomtest(times, RUNS, chance).pvalue)

    assert p_value(float(SIGMA)) > ALPHA
    assert p_value(0.7 * float(SIGMA)) < ALPHA
    assert p_value(1.5 * float(SIGMA)) < ALPHA
