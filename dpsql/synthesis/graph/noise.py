"""Noise on every pair of vertices, once: which is the least for what may be spent, its release, and how it is read.

Randomised response tells each pair as a bit. Gaussian noise on the same 0 or 1 is charged by its precision, which is
less where a plan has no order and the share is small (docs/papers/graph.md, which noise).
"""

import base64
import math
import zlib
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from dpsql.accounting import Plan
from dpsql.errors import DataError, InternalError
from dpsql.ledger.event import Payload
from dpsql.mechanism import Entropy, measure
from dpsql.mechanism.entropy import LARGEST_SIGMA
from dpsql.mechanism.randomized_response import (
    RESPONSE_BITS,
    Bits,
    least_flips,
    randomized_response,
    response_epsilon,
)
from dpsql.private import Private
from dpsql.synthesis.graph.pairs import Matrix

Kind = Literal["randomised-response", "gaussian"]

MOST_GAUSSIAN_PAIRS = 1 << 18
"""Pairs that get exact Gaussian noise, 12 microseconds each; with more they get randomised response."""
_LARGEST_EPSILON = Fraction(20)
"""Of one pair: flips once in 5e8; nothing is left to hide, and ``Plan.pure_cost`` ends there."""
_LEAST_EPSILON = Fraction(2, 10**6)
"""Of one pair: noise of half a million edges; ``Plan.pure_cost`` begins at half of it."""


@dataclass(frozen=True)
class Noise:
    """Noise for each pair and what all of it costs. ``flips`` of 2^32, or ``sigma`` of a discrete Gaussian."""

    kind: Kind
    cost: int
    flips: int = 0
    sigma: Fraction = Fraction(0)

    @property
    def variance(self) -> float:
        """Of the unbiased estimate of one pair, whether it is an edge or not."""
        if self.kind == "gaussian":
            return float(self.sigma) ** 2
        f: float = self.flips / 2**RESPONSE_BITS
        return f * (1 - f) / (1 - 2 * f) ** 2

    @property
    def proxy(self) -> float:
        """The estimate's error is sub-Gaussian with this scale: half of its range, or sigma. At least its sd."""
        return float(self.sigma) if self.kind == "gaussian" else 0.5 / (1 - 2 * self.flips / 2**RESPONSE_BITS)

    def released(self, adjacency: Private[Bits], entropy: Entropy) -> dict[str, Any]:
        """``adjacency`` (one bit for each pair) with this noise, as it is recorded: draws. Public once released."""
        match self.kind:
            case "randomised-response":
                told = np.packbits(randomized_response(adjacency, self.flips, entropy))
                return {"noise": self.kind, "flips": self.flips, "pairs": _packed(told.tobytes())}
            case "gaussian":
                values = measure(adjacency.map(lambda bits: bits.astype(np.int64)), self.sigma, entropy)
                return {"noise": self.kind, "sigma": str(self.sigma), "pairs": _packed(values.astype("<i8").tobytes())}


def check_kind(kind: str, pairs: int) -> None:
    """DataError when ``kind`` is no noise, or none for so many pairs."""
    if kind not in ("auto", *get_args(Kind)):
        raise DataError(f"there is no noise {kind!r}", hint="noise: auto, " + ", ".join(get_args(Kind)))
    if kind == "gaussian" and pairs > MOST_GAUSSIAN_PAIRS:
        raise DataError(f"Gaussian noise for {pairs:,} pairs takes too long", hint="leave the noise to auto")


def least_noise(plan: Plan, units: int, changed: int, pairs: int, kind: str = "auto") -> Noise:
    """The noise of least variance that ``units`` pay, where one privacy unit changes ``changed`` pairs by one each.

    ``kind``: one of the two, or "auto". DataError when it is none, or when the units buy nothing.
    """
    check_kind(kind, pairs)
    found = []
    if kind != "gaussian":
        found.append(_response(plan, units, changed))
    if kind == "gaussian" or (kind == "auto" and pairs <= MOST_GAUSSIAN_PAIRS):
        found.append(_gaussian(plan, units, changed))
    best = min((n for n in found if n is not None), key=lambda n: n.variance, default=None)
    if best is None:
        raise DataError("this share of the budget is too small for a graph", hint="allow the run more of epsilon")
    return best


def _response(plan: Plan, units: int, changed: int) -> Noise | None:
    """The fewest flips that ``units`` pay: each of ``changed`` bits is a pure release of its own."""
    low, high = least_flips(_LARGEST_EPSILON), least_flips(_LEAST_EPSILON)
    if _response_cost(plan, high, changed) > units:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _response_cost(plan, middle, changed) <= units else (middle + 1, high)
    return Noise("randomised-response", _response_cost(plan, low, changed), flips=low)


def _response_cost(plan: Plan, flips: int, changed: int) -> int:
    return changed * plan.pure_cost(response_epsilon(flips))


def _gaussian(plan: Plan, units: int, changed: int) -> Noise | None:
    """Squared L2 sensitivity: at most ``changed`` entries move, by one each."""
    if units <= 0:
        return None
    sigma = plan.release_sigma(units, changed)
    if sigma > LARGEST_SIGMA:
        return None
    return Noise("gaussian", plan.release_cost(sigma, changed), sigma=sigma)


@dataclass(frozen=True, eq=False)
class Noisy:
    """A released graph. ``values``: unbiased estimates of each pair, shape (pairs,), with variance ``sd`` squared.

    ``evidence``: ln of how much likelier what was told of each pair is if it is an edge than if it is none.
    """

    values: Matrix
    evidence: Matrix
    sd: float


def read(payload: Payload, pairs: int) -> Noisy:
    """What ``Noise.released`` recorded. Public."""
    packed = zlib.decompress(base64.b64decode(payload["pairs"]))
    match payload["noise"]:
        case "randomised-response":
            told = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=pairs).astype(np.float64)
            f = payload["flips"] / 2**RESPONSE_BITS  # E[told] = x (1 - f) + (1 - x) f
            likelier = math.log((1 - f) / f)
            return Noisy((told - f) / (1 - 2 * f), (2 * told - 1) * likelier, math.sqrt(f * (1 - f)) / (1 - 2 * f))
        case "gaussian":
            values = np.frombuffer(packed, dtype="<i8").astype(np.float64)
            sigma = float(Fraction(payload["sigma"]))
            return Noisy(values, (values - 0.5) / sigma**2, sigma)
        case other:
            raise InternalError(f"a recorded graph has noise of a kind that is not known: {other}")


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")
