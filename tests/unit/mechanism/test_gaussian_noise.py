"""Noise drawn together: where the coins fall between tails that mpmath says, and that nothing is rounded there."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.mechanism import SystemEntropy
from dpsql.mechanism.gaussian_noise import first_tails, gaussian_noise, pays
from dpsql.mechanism.gaussian_tail import WIDEST, all_tail_bounds, tail_bounds

SIGMAS = [Fraction(1, 1000), Fraction(1, 2), Fraction(9, 2), Fraction(122713, 4096)]
WORD = 1 << 64
PLACES = 63 + 4 * 64


class Given:
    """Coins as given: the words of the first call, then one word for each call, which begins to repeat its last."""

    def __init__(self, first: int, more: list[int]) -> None:
        self.first, self.more, self.calls = first, more, 0

    def bits(self, n: int) -> int:
        assert n == 64
        self.calls += 1
        return self.first if self.calls == 1 else self.more[min(self.calls - 2, len(self.more) - 1)]


def drawn(known: int, sign: int, sigma: Fraction) -> tuple[int, int]:
    """The draw whose coins, most significant first, are the ``PLACES`` bits ``known``; how often coins were drawn."""
    words = [known >> 64 * i & WORD - 1 for i in reversed(range(4))]
    given = Given(known >> 256 << 1 | sign, words)
    (x,) = gaussian_noise(sigma, 1, given.bits)
    return x, given.calls


def two_sided_tail(sigma: Fraction, above: int) -> mpmath.mpf:
    """P[abs(Z) > above]."""
    s, reach = mpmath.mpf(sigma.numerator) / sigma.denominator, int(40 * sigma) + above + 3
    weight = [mpmath.exp(-mpmath.mpf(k * k) / (2 * s * s)) for k in range(reach)]
    return 2 * mpmath.fsum(weight[above + 1 :]) / (2 * mpmath.fsum(weight) - 1)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("sign", [0, 1])
def test_every_magnitude_begins_where_its_tail_does(sigma: Fraction, sign: int) -> None:
    """319 bits on either side of a tail: one draw is above it, the other is not."""
    with mpmath.workdps(220):
        for above in sorted({0, 1, int(sigma), int(2 * sigma), int(6 * sigma), int(9 * sigma)}):
            tail = int(two_sided_tail(sigma, above) * mpmath.mpf(2) ** PLACES)
            if tail < 2:
                continue
            for known, wanted in ((tail - 1, above + 1), (tail + 1, above)):
                x, _ = drawn(known, sign, sigma)
                assert x == (-wanted if sign else wanted)


def test_few_coins_decide_unless_they_are_next_to_a_tail() -> None:
    sigma = Fraction(9, 2)
    lows, highs = first_tails(sigma)
    for low, high in zip(lows.tolist()[-9:], highs.tolist()[-9:], strict=True):
        assert 0 < high - low <= 2
        for first, alone in ((low - 1, True), (low, False), (high - 1, False), (high, True)):
            assert (drawn(first << 256 | 3 << 200, 0, sigma)[1] == 1) is alone


def test_coins_that_are_all_zero_are_drawn_on_without_end() -> None:
    """No tail is cut off: the largest draw of the table is not the largest of all."""
    sigma = Fraction(3)
    x, calls = drawn(1, 0, sigma)
    assert calls > 4
    assert x > len(first_tails(sigma)[0])


def test_bounds_are_whole_numbers_all_the_way() -> None:
    """63 bits are more than a double holds; one unit is seen at every tail."""
    lows, highs = first_tails(Fraction(30))
    assert lows.dtype == highs.dtype == np.uint64
    assert int(highs.max()) > 1 << 62
    assert [int(h) % 1024 for h in highs[-50:]].count(0) < 5
    assert np.all(np.diff(lows.astype(object)) >= 0)
    assert lows[0] == 0


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(41, 4), Fraction(1500)])
@pytest.mark.parametrize("bits", [128, 192])
def test_all_bounds_are_those_of_each(sigma: Fraction, bits: int) -> None:
    found = all_tail_bounds(sigma, bits)
    for above in (0, 1, int(sigma), len(found) - 1):
        assert tail_bounds(sigma, above, bits) == found[min(above, len(found) - 1)]
    assert found[-1][0] == 0
    assert tail_bounds(sigma, len(found) + 7, bits) == found[-1]
    assert all(0 <= high - low < 1 << 20 for low, high in found)
    for side in zip(*found, strict=True):
        assert list(side) == sorted(side, reverse=True)


def test_sizes_and_what_is_out_of_range() -> None:
    coins = SystemEntropy().bits
    assert gaussian_noise(Fraction(3), 0, coins) == []
    draws = gaussian_noise(Fraction(3), 5, coins)
    assert len(draws) == 5
    assert all(type(x) is int for x in draws)
    for sigma, size in ((Fraction(0), 1), (Fraction(-1), 1), (Fraction(WIDEST + 1), 1), (Fraction(1), -1)):
        with pytest.raises(InternalError):
            gaussian_noise(sigma, size, coins)


def test_wide_noise_and_few_draws_have_no_table() -> None:
    assert not pays(Fraction(WIDEST + 1), 10**9)
    assert not pays(Fraction(1), 20)
    assert pays(Fraction(WIDEST), 10**5)
    draws = SystemEntropy().discrete_gaussian(Fraction(10**9), 100)
    assert len(set(draws)) == 100
