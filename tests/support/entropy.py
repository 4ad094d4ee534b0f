"""Seeded entropy for tests: reproducible, exact, and not importable from the package."""

import itertools
import math
import random
from fractions import Fraction


class SeededEntropy:
    """Twin of ``SystemEntropy`` over a seeded generator; Canonne, Kamath, Steinke 2020, Alg. 3."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - tests want the same draws every time

    def bits(self, n: int) -> int:
        return self._random.getrandbits(n)

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        if sigma <= 0:
            raise ValueError("sigma must be positive")
        sigma = Fraction(sigma)
        return [self._gaussian(sigma.numerator, sigma.denominator) for _ in range(size)]

    def noisy_max(self, scores: list[int], scale: Fraction) -> int:
        """Permute-and-flip, which has the law of noisy max with exponential noise (Ding, Kifer and others 2021)."""
        order = list(range(len(scores)))
        self._random.shuffle(order)
        for i in itertools.cycle(order):
            if self._bernoulli_exp((max(scores) - scores[i]) * scale.denominator, scale.numerator):
                return i
        raise ValueError("a choice among no scores")

    def gumbel_max(self, scores: list[int], scale: Fraction, size: int) -> list[int]:
        """The exponential mechanism, in floats: a multinomial draw by inverse cumulated weights."""
        exponents = [(score - max(scores)) / float(scale) for score in scores]
        return self._random.choices(range(len(scores)), [math.exp(x) for x in exponents], k=size)

    def _bernoulli(self, numerator: int, denominator: int) -> bool:
        return self._random.randrange(denominator) < numerator

    def _bernoulli_exp(self, numerator: int, denominator: int) -> bool:
        """True with probability exp(-numerator / denominator): Alg. 1."""
        while numerator > denominator:
            if not self._bernoulli_exp_unit(1, 1):
                return False
            numerator -= denominator
        return self._bernoulli_exp_unit(numerator, denominator)

    def _bernoulli_exp_unit(self, numerator: int, denominator: int) -> bool:
        k = 1
        while self._bernoulli(numerator, denominator * k):
            k += 1
        return k % 2 == 1

    def _laplace(self, t: int) -> int:
        """Discrete Laplace of scale t: Alg. 2 with s = 1."""
        while True:
            u = self._random.randrange(t)
            if not self._bernoulli_exp(u, t):
                continue
            v = 0
            while self._bernoulli_exp_unit(1, 1):
                v += 1
            magnitude = u + t * v
            negative = self._random.getrandbits(1)
            if negative and magnitude == 0:
                continue
            return -magnitude if negative else magnitude

    def _gaussian(self, n: int, d: int) -> int:
        """Discrete Gaussian of sigma = n / d: Alg. 3, with integers only."""
        t = n // d + 1
        while True:
            y = self._laplace(t)
            # exp(-(|y| - sigma^2 / t)^2 / (2 sigma^2)) = exp(-(|y| t d^2 - n^2)^2 / (2 n^2 d^2 t^2))
            gap = abs(y) * t * d * d - n * n
            if self._bernoulli_exp(gap * gap, 2 * n * n * d * d * t * t):
                return y


class Easy(SeededEntropy):
    """Every test is passed."""

    def bits(self, n: int) -> int:
        return 0


class ScriptedEntropy:
    """Coins that come out as told: ``bits`` returns all zeros (easy) or all ones (hard); noise is a list or zero."""

    def __init__(self, easy: list[bool], noise: list[int] | None = None) -> None:
        self.easy = list(easy)
        self.noise = noise
        self.calls: list[tuple[str, int]] = []

    def bits(self, n: int) -> int:
        self.calls.append(("bits", n))
        return 0 if self.easy.pop(0) else (1 << n) - 1

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        self.calls.append(("discrete_gaussian", size))
        return [0] * size if self.noise is None else self.noise[:size]


def continuous_rounded(seed: int, sigma: float, size: int) -> list[int]:
    """A wrong sampler: twice a rounded half-scale Gaussian, right in scale, even numbers only."""
    generator = random.Random(seed)  # noqa: S311 - wrong on purpose
    return [2 * math.floor(generator.gauss(0, sigma / 2) + 0.5) for _ in range(size)]
