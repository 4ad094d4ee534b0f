"""Randomised response: its loss is that of its integer, each bit has a coin of its own, and nothing else goes in."""

from decimal import ROUND_DOWN, Context, Decimal, Inexact, Overflow, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.mechanism.randomized_response import EVEN, RESPONSE_BITS, least_flips, randomized_response, response_epsilon
from dpsql.private import Private
from tests.support.entropy import SeededEntropy

WHOLE = 1 << RESPONSE_BITS


class Told(SeededEntropy):
    """Each bit's coin is the next of these integers, over and over."""

    def __init__(self, *coins: int) -> None:
        super().__init__(1)
        self.coins = coins

    def bits(self, n: int) -> int:
        number = n // RESPONSE_BITS
        coins = np.resize(np.array(self.coins, dtype="<u4"), number)
        return int.from_bytes(coins.tobytes(), "little")


@pytest.mark.parametrize("flips", [1, 9, 1000, 1155096890, EVEN - 1, EVEN])
def test_the_loss_covers_the_exact_ratio_of_probabilities(flips: int) -> None:
    """An audit without sampling: of a bit's two answers the likelier is (2^32 - flips) / flips times as likely."""
    with localcontext() as context:
        context.prec = 80
        ratio, loss = Decimal(WHOLE - flips) / flips, response_epsilon(flips)
        charged = (Decimal(loss.numerator) / loss.denominator).exp()
        less = (Decimal(loss.numerator) / loss.denominator - Decimal("2e-40")).exp()
    assert ratio < charged
    assert less < ratio  # and it is not charged for more


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 5), Fraction(1), Fraction(3), Fraction(20)])
def test_the_fewest_flips_for_an_epsilon(epsilon: Fraction) -> None:
    flips = least_flips(epsilon)
    assert response_epsilon(flips) <= epsilon < response_epsilon(flips - 1)


@pytest.mark.parametrize("bit", [False, True])
def test_a_bit_flips_exactly_below_the_integer(bit: bool) -> None:
    bits, flips = np.full(4, bit), 12345
    told = randomized_response(Private(bits), flips, Told(0, flips - 1, flips, WHOLE - 1))
    assert (told ^ bits).tolist() == [True, True, False, False]


def test_every_bit_of_many_has_its_own_coin() -> None:
    bits = np.zeros((1 << 20) + 5, dtype=np.bool_)
    told = randomized_response(Private(bits), EVEN, SeededEntropy(3))
    halves = told[: 1 << 19], told[1 << 19 : 1 << 20]
    assert abs(float(told.mean()) - 0.5) < 0.003
    assert abs(float((halves[0] == halves[1]).mean()) - 0.5) < 0.005
    assert randomized_response(Private(bits), 1, Told(0, 5))[-5:].tolist() == [True, False, True, False, True]


@pytest.mark.parametrize("flips", [-1, 0, EVEN + 1, WHOLE])
def test_flips_out_of_range_are_refused(flips: int) -> None:
    with pytest.raises(InternalError):
        randomized_response(Private(np.zeros(1, dtype=np.bool_)), flips, SeededEntropy(1))
    with pytest.raises(InternalError):
        response_epsilon(flips)


def test_an_epsilon_that_buys_nothing_is_refused() -> None:
    with pytest.raises(InternalError):
        least_flips(Fraction(1, 10**12))


@pytest.mark.parametrize("bits", [np.zeros((2, 2), dtype=np.bool_), np.zeros(2, dtype=np.int64)])
def test_only_vectors_of_bits_are_told(bits: np.ndarray) -> None:  # type: ignore[type-arg]
    with pytest.raises(InternalError):
        randomized_response(Private(bits), EVEN, SeededEntropy(1))


def test_the_loss_does_not_depend_on_the_callers_decimal_context() -> None:
    expected = [response_epsilon(flips) for flips in (1, 9, 1155096890)]
    for context in (Context(prec=3, traps=[Inexact]), Context(prec=9, rounding=ROUND_DOWN, Emax=3, traps=[Overflow])):
        with localcontext(context):
            assert [response_epsilon(flips) for flips in (1, 9, 1155096890)] == expected
