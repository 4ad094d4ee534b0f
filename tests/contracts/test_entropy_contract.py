"""What every source of entropy keeps: sizes, types, ranges, and the law of its draws."""

from abc import ABC, abstractmethod
from fractions import Fraction

import pytest

from dpsql.mechanism import Entropy, SystemEntropy
from tests.statistical.goodness_of_fit import fits, gaussian_law
from tests.support.entropy import SeededEntropy


class EntropyContract(ABC):
    """The suite; a subclass makes the source."""

    @abstractmethod
    def make(self) -> Entropy: ...

    @pytest.mark.parametrize("size", [0, 1, 7])
    def test_as_many_integers_as_asked(self, size: int) -> None:
        draws = self.make().discrete_gaussian(Fraction(10, 3), size)
        assert len(draws) == size
        assert all(type(draw) is int for draw in draws)

    @pytest.mark.parametrize("n", [1, 3, 128])
    def test_bits_are_in_range_and_reach_both_halves(self, n: int) -> None:
        entropy = self.make()
        draws = [entropy.bits(n) for _ in range(200)]
        assert all(0 <= draw < 1 << n for draw in draws)
        assert 40 < sum(draw >> (n - 1) for draw in draws) < 160

    @pytest.mark.parametrize("sigma", [Fraction(2, 5), Fraction(1), Fraction(25, 2)])
    def test_draws_are_discrete_gaussian(self, sigma: Fraction) -> None:
        assert fits(self.make().discrete_gaussian(sigma, 4000), gaussian_law(float(sigma)))

    def test_a_choice_is_a_position_and_mostly_the_best(self) -> None:
        entropy = self.make()
        found = [entropy.noisy_max([0, 30, 20], Fraction(5)) for _ in range(300)]
        assert all(type(i) is int and 0 <= i < 3 for i in found)
        assert 200 < found.count(1) < 300
        assert entropy.noisy_max([-7], Fraction(1, 3)) == 0

    def test_calls_are_independent(self) -> None:
        entropy = self.make()
        wide = Fraction(10**9)
        assert entropy.discrete_gaussian(wide, 4) != entropy.discrete_gaussian(wide, 4)
        assert entropy.bits(128) != entropy.bits(128)


class TestSystemEntropy(EntropyContract):
    def make(self) -> Entropy:
        return SystemEntropy()


class TestSeededEntropy(EntropyContract):
    def make(self) -> Entropy:
        return SeededEntropy(41)
