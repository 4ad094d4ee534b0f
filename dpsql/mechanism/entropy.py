"""Where noise comes from. ``SystemEntropy`` is the only source outside the tests; nothing here can be seeded.

Randomness is an argument everywhere, so that tests can pass their own; nothing that a user of the package can reach
passes any other than this.
"""

import math
import secrets
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

from dpsql.errors import InternalError
from dpsql.mechanism.gaussian_noise import gaussian_noise, pays
from dpsql.mechanism.single_gaussian import single_gaussian

LARGEST_SIGMA = 1 << 50
"""Counts: the largest noise that is drawn; beyond it counts and noise would not fit a signed 64-bit integer."""


class Entropy(Protocol):
    """Fair coins and exact discrete Gaussians; every call is independent of all others."""

    def bits(self, n: int) -> int:
        """Uniform on the integers 0 <= k < 2^n."""
        ...

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        """``size`` independent draws with probability proportional to exp(-x^2 / (2 sigma^2)) on the integers.

        A source may draw at a slightly larger sigma, never at a smaller one. ``InternalError`` when sigma <= 0.
        """
        ...

    def noisy_max(self, scores: list[int], scale: Fraction) -> int:
        """The position of a largest score after independent exponential noise of ``scale`` on each.

        A source may draw at a slightly larger scale, never at a smaller one.
        """
        ...

    def gumbel_max(self, scores: list[int], scale: Fraction, size: int) -> list[int]:
        """``size`` independent positions, each i with probability proportional to exp(scores[i] / scale).

        A source may draw at a slightly larger scale, never at a smaller one.
        """
        ...


class SystemEntropy:
    """The operating system's entropy: ``secrets`` for coins, of which discrete Gaussians are made; OpenDP for choices.

    OpenDP draws from its cryptographic generator, which the operating system seeds and which seeds itself anew in a
    forked process and in every thread. Draws are variable-time (docs/known-vulnerabilities.md).

    >>> 0 <= SystemEntropy().bits(8) < 256
    True
    """

    def bits(self, n: int) -> int:
        """Uniform on the integers 0 <= k < 2^n."""
        return secrets.randbits(n)

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        """Discrete Gaussians of this very sigma: many from one table of tails, few or wide ones one by one."""
        if sigma <= 0:
            raise InternalError("noise needs sigma > 0", hint="take sigma from the plan")
        if pays(sigma, size):
            return gaussian_noise(sigma, size, self.bits)
        return [single_gaussian(sigma, self.bits) for _ in range(size)]

    def noisy_max(self, scores: list[int], scale: Fraction) -> int:
        """Report noisy max on i64; the scale is rounded up to a double when it is not one."""
        return int(_chooser(_at_least(scale))(scores))

    def gumbel_max(self, scores: list[int], scale: Fraction, size: int) -> list[int]:
        """Report noisy max with Gumbel noise on i64; the scale is rounded up to a double when it is not one."""
        draw = _gumbel_chooser(_at_least(scale))
        return [int(draw(scores)) for _ in range(size)]


def _at_least(scale: Fraction) -> float:
    double = float(scale)
    return math.nextafter(double, math.inf) if Fraction(double) < scale else double


@lru_cache(maxsize=64)
def _chooser(scale: float) -> Any:
    from opendp.measures import max_divergence

    return _noisy_max(max_divergence(), scale)


@lru_cache(maxsize=64)
def _gumbel_chooser(scale: float) -> Any:
    from opendp.measures import zero_concentrated_divergence

    return _noisy_max(zero_concentrated_divergence(), scale)


def _noisy_max(measure: Any, scale: float) -> Any:
    """Exponential noise for the max divergence, Gumbel noise for the concentrated one; both exact."""
    # imported at the first draw: it loads a large library, which help texts and explanations never need
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.metrics import linf_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_noisy_max(vector_domain(atom_domain(T="i64")), linf_distance(T="i64"), measure, scale=scale)
