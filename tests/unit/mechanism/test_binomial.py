"""Exact binomial draws and subsets: every path of the coins is followed, against laws computed in fractions."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import Any

import pytest

from dpsql.errors import InternalError
from dpsql.mechanism.binomial import binomial, subset
from tests.support.entropy import SeededEntropy

LEAST = Fraction(1, 1 << 30)


class Path(Exception):
    """Coins are needed beyond those that are given; so many."""


class Given:
    """Entropy that gives these coins and then says how many more are asked for."""

    def __init__(self, coins: tuple[int, ...]) -> None:
        self.coins = list(coins)

    def bits(self, n: int) -> int:
        if not self.coins:
            raise Path(n)
        return self.coins.pop(0)


def law(draw: Callable[[Any], Any], branches: Callable[[int], list[tuple[int, int]]], least: Fraction = LEAST) -> Any:
    """The weight of each outcome over all coins, and the weight of paths that were left as too rare.

    ``branches``: from a number of coins to draws and how many equally likely draws each stands for.
    """
    found: Counter[Any] = Counter()
    left, open_paths = Fraction(0), [((), Fraction(1))]
    while open_paths:
        coins, weight = open_paths.pop()
        try:
            found[draw(Given(coins))] += weight
        except Path as more:
            n = more.args[0]
            for value, times in branches(n):
                part = weight * times / (1 << n)
                if part < least:
                    left += part
                else:
                    open_paths.append(((*coins, value), part))
    return found, left


def by_ones(n: int) -> list[tuple[int, int]]:
    return [((1 << k) - 1, comb(n, k)) for k in range(n + 1)]


@pytest.mark.parametrize("trials", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(5, 8), Fraction(1, 100), Fraction(0), Fraction(99, 100)])
def test_every_outcome_has_its_binomial_probability(trials: int, p: Fraction) -> None:
    def exact(bits: int) -> tuple[int, int]:
        return int((1 << bits) * p), int((1 << bits) * p)

    found, left = law(lambda coins: binomial(trials, exact, coins), by_ones)
    assert left < Fraction(1, 1000)
    for k in range(trials + 1):
        wanted = comb(trials, k) * p**k * (1 - p) ** (trials - k)
        assert found[k] <= wanted <= found[k] + left


def test_bounds_that_do_not_decide_a_bit_are_asked_again() -> None:
    asked: list[int] = []

    def third(bits: int) -> tuple[int, int]:
        asked.append(bits)
        near = (1 << bits) // 3
        return (near, near) if bits > 160 else (0, 1 << 159)  # nothing known but that p <= 1 / 2

    found, left = law(lambda coins: binomial(2, third, coins), by_ones)
    assert found[0] <= Fraction(4, 9) <= found[0] + left
    assert set(asked) == {160, 320}


def test_p_is_not_a_little_more_or_less() -> None:
    """The enumeration tells probabilities apart that differ by a millionth."""

    def near(bits: int) -> tuple[int, int]:
        return (value := int((1 << bits) * (Fraction(1, 3) + Fraction(1, 10**6)))), value

    found, left = law(lambda coins: binomial(1, near, coins), by_ones)
    assert not found[1] <= Fraction(1, 3) <= found[1] + left


@pytest.mark.parametrize(("total", "size"), [(1, 1), (3, 1), (3, 2), (4, 2), (4, 3), (5, 0)])
def test_every_subset_is_equally_likely(total: int, size: int) -> None:
    def every(n: int) -> list[tuple[int, int]]:
        return [(value, 1) for value in range(1 << n)]

    found, left = law(lambda coins: tuple(subset(total, size, coins)), every, Fraction(1, 1 << 14))
    assert len(found) == comb(total, size)
    assert all(len(set(s)) == size and list(s) == sorted(s) for s in found)
    assert len(set(found.values())) == 1
    assert left < Fraction(1, 4)


def test_large_draws_are_near_their_mean() -> None:
    third = (1 << 160) // 3
    drawn = binomial(10**6, lambda bits: (third << (bits - 160), third << (bits - 160)), SeededEntropy(4))
    assert abs(drawn - 10**6 / 3) < 6 * (10**6 * 2 / 9) ** 0.5


def test_draws_that_cannot_be() -> None:
    with pytest.raises(InternalError):
        binomial(-1, lambda bits: (0, 0), SeededEntropy(1))
    for total, size in ((2, 3), (2, -1)):
        with pytest.raises(InternalError):
            subset(total, size, SeededEntropy(1))
