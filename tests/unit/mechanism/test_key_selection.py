"""Key selection: the threshold against exact sums, the comparison itself, and what it refuses."""

from fractions import Fraction
from math import ceil

import mpmath
import numpy as np
import pytest

from dpsql.accounting import selection_threshold
from dpsql.errors import InternalError
from dpsql.mechanism import compared_counts, drawn_alone, select_keys
from dpsql.private import Private
from dpsql.query import KeyCounts, key_counts
from tests.statistical.goodness_of_fit import ALPHA, chi_square, gaussian_law
from tests.support.entropy import SeededEntropy
from tests.support.rare import rare


class Fixed:
    """Entropy that draws the given noise."""

    def __init__(self, noise: list[int]) -> None:
        self.noise = noise

    def bits(self, n: int) -> int:
        raise NotImplementedError

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        assert size == len(self.noise)
        return self.noise


def tail(sigma: Fraction, least: int) -> mpmath.mpf:
    """P[Z >= least] for a discrete Gaussian, summed term by term."""
    s, reach = mpmath.mpf(sigma.numerator) / sigma.denominator, ceil(40 * sigma) + abs(least)
    weight = [mpmath.exp(-mpmath.mpf(k * k) / (2 * s * s)) for k in range(-reach, reach + 1)]
    return mpmath.fsum(weight[least + reach :]) / mpmath.fsum(weight)


def splits(rows: int, most: int | None = None) -> list[list[int]]:
    """Every way in which a unit's rows can lie on keys of its own."""
    most = rows if most is None else most
    out: list[list[int]] = [[]]
    for first in range(1, min(rows, most) + 1):
        out += [[first, *rest] for rest in splits(rows - first, first)]
    return out


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(3), Fraction(41, 4)])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("delta", [Fraction(1, 4 * 10**6), Fraction(1, 10**9), Fraction(1, 100)])
def test_a_unit_s_own_keys_stay_hidden_whatever_their_counts(sigma: Fraction, rows: int, delta: Fraction) -> None:
    threshold = selection_threshold(sigma, delta, rows)

    def shown(threshold: int) -> mpmath.mpf:
        """Probability that one of them is shown, for the worst way to spread the rows: exceeds the threshold."""

        def one(counts: list[int]) -> mpmath.mpf:
            hidden = mpmath.fprod(1 - tail(sigma, threshold - c + 1) for c in counts)
            return 1 - hidden

        return max(one(counts) for counts in splits(rows))

    with mpmath.workdps(40):
        assert shown(threshold) <= delta
        # and not much higher than it has to be
        assert shown(threshold - 2 - ceil(sigma * Fraction(rows + 1, 4))) > delta


def test_noise_too_small_for_one_count_still_hides_it() -> None:
    assert selection_threshold(Fraction(1, 1000), Fraction(1, 10**6), 1) >= 2


@pytest.mark.parametrize("arguments", [(0, Fraction(1, 2), 1), (1, 0, 1), (1, 1, 1), (1, Fraction(1, 2), 0)])
def test_thresholds_for_nothing_are_refused(arguments: tuple[Fraction, Fraction, int]) -> None:
    sigma, delta, rows = arguments
    with pytest.raises(InternalError):
        selection_threshold(Fraction(sigma), Fraction(delta), rows)


FOUND = key_counts({"b": 10, "a": 11, "c": 12, "d": 3})


def test_a_key_is_shown_when_its_noisy_count_exceeds_the_threshold() -> None:
    assert select_keys(Private(FOUND), Fraction(1), 10, Fixed([0, 0, 0, 0])) == ("a", "c")
    assert select_keys(Private(FOUND), Fraction(1), 10, Fixed([-1, 1, -2, 8])) == ("b", "d")


def test_keys_that_are_counted_below_the_line_are_refused() -> None:
    assert drawn_alone(Fraction(1), 10) == 11
    select_keys(Private(rare(FOUND, 11)), Fraction(1), 10, SeededEntropy(1))
    for sigma, least in ((Fraction(1), 12), (Fraction(5000), 11)):  # too many are counted; noise too wide for tails
        with pytest.raises(InternalError, match="by name"):
            select_keys(Private(rare(FOUND, least)), sigma, 10, SeededEntropy(1))


def test_keys_that_are_counted_and_shown_are_sorted_among_the_others() -> None:
    found = key_counts({f"k{i:02}": 20 if i % 3 else 12 for i in range(60)})
    keys = select_keys(Private(rare(found, 13)), Fraction(3), 12, SeededEntropy(1))
    assert list(keys) == sorted(keys)
    assert 40 < len(keys) < 60


def test_nothing_occurs_nothing_is_shown() -> None:
    nothing = KeyCounts((), np.zeros(0, dtype=np.int64))
    assert select_keys(Private(nothing), Fraction(1), 1, Fixed([])) == ()


@pytest.mark.parametrize(("sigma", "threshold"), [(0, 5), (-1, 5), (2**51, 5), (1, 0), (1, -3)])
def test_a_selection_without_noise_or_threshold_is_refused(sigma: int, threshold: int) -> None:
    with pytest.raises(InternalError):
        select_keys(Private(FOUND), Fraction(sigma), threshold, SeededEntropy(1))


def test_no_repr_shows_a_string_or_a_count() -> None:
    found = key_counts({"secret": 1234567})
    for text in (repr(found), str(found), f"{found}", repr(Private(found))):
        assert "secret" not in text
        assert "1234567" not in text


@pytest.mark.parametrize("shown", [True, False])
def test_what_was_compared_is_on_its_side_of_the_threshold(shown: bool) -> None:
    counts = np.array([0, 3, 45, 54, 55, 60, 400], dtype=np.int64)
    for seed in range(20):
        found = compared_counts(Private(counts), Fraction(10), 54, SeededEntropy(seed), shown=shown)
        assert found.dtype == np.int64
        if shown:
            assert found.min() > 54
            assert abs(found[-1] - 400) < 70  # where nearly all noise is above, it is all noise
        else:
            assert found.max() <= 54
            assert abs(found[0]) < 70


def test_with_the_selection_it_has_the_law_of_the_noise_that_was_compared() -> None:
    """Whether shown or hidden, count and noise are one draw: as if nobody had looked which side it is on."""
    entropy, found, drawn = SeededEntropy(11), Private(key_counts({"k": 50})), []
    counts = Private(np.array([50], dtype=np.int64))
    for _ in range(4_000):
        shown = select_keys(found, Fraction(4), 53, entropy) == ("k",)
        drawn.append(int(compared_counts(counts, Fraction(4), 53, entropy, shown=shown)[0]) - 50)
    assert chi_square(drawn, gaussian_law(4.0)) > ALPHA
    for wrong in (3.2, 5.0):
        assert chi_square(drawn, gaussian_law(wrong)) < ALPHA


def test_what_was_compared_is_of_whole_counts_and_noise() -> None:
    with pytest.raises(InternalError):
        compared_counts(Private(np.array([1.5])), Fraction(10), 54, SeededEntropy(1), shown=True)  # type: ignore[arg-type]
    with pytest.raises(InternalError):
        compared_counts(Private(np.array([1])), Fraction(0), 54, SeededEntropy(1), shown=True)
