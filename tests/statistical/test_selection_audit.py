"""Key selection on neighbouring tables: what one unit alone holds is shown as rarely as the plan says, not more often.

And keys are selected with the frequencies of the discrete Gaussian, on both sides.
"""

from fractions import Fraction
from functools import lru_cache

import pytest
from scipy import stats

from dpsql.accounting import selection_threshold
from dpsql.mechanism import drawn_alone, select_keys
from dpsql.private import Private
from dpsql.query import key_counts
from tests.statistical.goodness_of_fit import ALPHA, chi_square, gaussian_law
from tests.support.entropy import SeededEntropy
from tests.support.rare import rare

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


COUNTED = {"a": 48, "b": 48, "c": 48, "d": 50, "e": 47, "f": 52, "g": 48}


def sets_shown(listed: bool, seed: int) -> list[int]:
    """The sets that RUNS selections show, each as a number; keys that may be counted are listed or counted."""
    entropy, found = SeededEntropy(seed), key_counts(COUNTED)
    private = Private(found if listed else rare(found, drawn_alone(SIGMA, 50)))
    shown = (select_keys(private, SIGMA, 50, entropy) for _ in range(RUNS))
    return [sum(1 << i for i, k in enumerate(COUNTED) if k in keys) for keys in shown]


def law_of_sets(sigma: float) -> dict[int, float]:
    """The law of the set that is shown when each key has noise of its own."""
    law, noise = {0: 1.0}, gaussian_law(sigma)
    for i, count in enumerate(COUNTED.values()):
        chance = sum(p for z, p in noise.items() if count + z > 50)
        law = {s | hit << i: p * (chance if hit else 1 - chance) for s, p in law.items() for hit in (0, 1)}
    return law


@pytest.mark.parametrize("listed", [True, False])
def test_counted_keys_are_shown_with_the_law_of_listed_ones(listed: bool) -> None:
    sets = sets_shown(listed, 4)
    assert chi_square(sets, law_of_sets(float(SIGMA))) > ALPHA
    for wrong in (0.8, 1.25):
        assert chi_square(sets, law_of_sets(wrong * float(SIGMA))) < ALPHA


def test_rare_keys_of_one_unit_are_hidden_as_promised_when_they_are_counted() -> None:
    threshold = selection_threshold(SIGMA, DELTA, 1)
    found, entropy = (
        Private(rare(key_counts({"own": 1, "common": 1000}), drawn_alone(SIGMA, threshold))),
        SeededEntropy(5),
    )
    assert not exceeds(sum("own" in select_keys(found, SIGMA, threshold, entropy) for _ in range(RUNS)), float(DELTA))
    lower = Private(rare(key_counts({"own": 1}), drawn_alone(SIGMA, threshold - int(2 * SIGMA))))
    times = sum("own" in select_keys(lower, SIGMA, threshold - int(2 * SIGMA), entropy) for _ in range(RUNS))
    assert exceeds(times, float(DELTA))
