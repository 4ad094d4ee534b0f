"""Rows that may crowd at one place of a bin, fewer than the noise of its own count shows. Public.

Amounts are clipped to their declared ends, and people choose round ones: a count of such a place that does not stand
out of its noise is not told from none. In each bin either nothing is there but what other cells expect, or one cell has
a crowd of any size up to the bin's rows: a mixture of two (spike and slab; Mitchell and Beauchamp 1988). How many rows
a bin has beside its neighbours tells of the crowd, too.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.normal import normal_cdf, normal_density, normal_quantile
from dpsql.hypothesis.values.places import places_of, roundness
from dpsql.query import Estimates

AT_ENDS = 0.5
"""How often rows crowd at 0 and at the ends of a range, to which all beyond them are clipped, """
AT_ROUND = 0.25
"""at the roundest number in a bin, """
AT_STEP = 0.1
"""at any other multiple of the owner's step, """
ELSEWHERE = 0.01
"""and at any other place: before their count is looked at."""
ROUGH = 0.2
"""Sd of a bin's rows beside what its neighbours tell, as a share of that, at least."""
MOST_OFF = 3.0
"""Sds by which a bin without a crowd has other rows than its neighbours tell, at most: beyond that it tells no more."""
_MISSED = 0.05
_FAR = 4.0
_KEPT = 64
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Crowds:
    """Of each cell, float64, (cells,): the ``chance`` of a crowd; of its rows if there is one the ``mean``, the ``sd``,
    and the number ``most`` that it has no more than but in one case of twenty of both kinds."""

    chance: Estimates
    mean: Estimates
    sd: Estimates
    most: Estimates

    @classmethod
    def of(
        cls,
        found: Estimates,
        expected: Estimates,
        sd: float,
        bins: npt.NDArray[np.intp],
        rows: Estimates,
        beyond: tuple[Estimates, Estimates],
        before: Estimates,
        most_off: float = inf,
    ) -> "Crowds":
        """From cells' counts ``found`` with noise ``sd``, what is ``expected`` of each without a crowd, and the chance
        ``before``; ``bins``: of each cell. Of each bin its ``rows``, and how many are ``beyond`` what its neighbours
        tell, with the sd of that: by no more than ``most_off`` sds where there is no crowd, for rows may begin or end
        in a bin.

        >>> bins, unknown = np.zeros(2, dtype=np.int64), (np.zeros(1), np.full(1, 1e6))
        >>> found, none, half = np.array([0.0, 74.0]), np.zeros(2), np.full(2, 0.5)
        >>> made = Crowds.of(found, none, 32.0, bins, np.full(1, 100.0), unknown, half)
        >>> made.chance.round(2), made.mean.round(), made.sd.round(), made.most.round()
        (array([0.04, 0.87]), array([25., 63.]), array([19., 23.]), array([ 0., 95.]))
        """
        size, off, off_sd = np.maximum(rows, 1.0)[bins], beyond[0][bins], beyond[1][bins]
        spread = 1.0 / np.sqrt(sd**-2 + off_sd**-2)
        about = (found / sd**2 + off / off_sd**2) * spread**2
        about = np.clip(about, -_FAR * spread, size + _FAR * spread)
        low, high = -about / spread, (size - about) / spread
        dense_low, dense_high = normal_density(low), normal_density(high)
        inside = np.maximum(normal_cdf(high) - normal_cdf(low), _TINY)
        slope = (dense_low - dense_high) / inside
        mean = np.clip(about + spread * slope, 0.0, size)
        variance = 1.0 + (low * dense_low - high * dense_high) / inside - slope**2  # of a normal law cut at both ends
        both = np.hypot(sd, off_sd)
        some = normal_density((found - off) / both) / both * inside / size
        none = (
            normal_density((found - expected) / sd)
            / sd
            * normal_density(np.clip(off / off_sd, -most_off, most_off))
            / off_sd
        )
        odds = before / (1.0 - before) * some / np.maximum(none, _TINY)
        chance = odds / (1.0 + np.bincount(bins, odds, minlength=len(rows))[bins])
        missed = np.minimum(_MISSED / np.maximum(chance, _TINY), 1.0)
        most = about + spread * normal_quantile(normal_cdf(high) - missed * inside)
        most = np.where(missed < 1.0, np.clip(most, 0.0, size), 0.0)
        return cls(chance, mean, spread * np.sqrt(np.clip(variance, 0.0, 1.0)), most)

    def variance(self, expected: Estimates) -> Estimates:
        """Of a bar about the mean of both kinds that reaches ``most``; rows squared."""
        about = expected + self.chance * (self.mean - expected)
        off = np.maximum(self.most - about, 0.0) / DEVIATIONS
        return np.maximum(off**2, self.chance * self.sd**2)


def beyond_neighbours(edges: Estimates, rows: Estimates, sd: float) -> tuple[Estimates, Estimates]:
    """How many rows each bin has beyond what its neighbours tell, and the sd of that: of the noise ``sd``, and of how
    rough the bins are. Told by the logarithm of how dense rows are, on a straight line.

    ``edges``: float64, (bins + 1,); ``rows`` and both results: float64, (bins,), in rows. Below three bins nothing is
    told: 0, with an sd beyond all rows.
    """
    if len(rows) < 3:
        return np.zeros(len(rows)), np.full(len(rows), 1.0 / sqrt(_TINY))
    width, middle = np.maximum(np.diff(edges * 0.5), _TINY), (edges[:-1] * 0.5 + edges[1:] * 0.5) / 2.0
    dense = np.log(np.maximum(rows, 0.0) + sd) - np.log(width)
    left, right = np.arange(len(rows)) - 1, np.arange(len(rows)) + 1
    left[0], right[0], left[-1], right[-1] = 1, 2, len(rows) - 3, len(rows) - 2
    place = (middle - middle[left]) / np.maximum(middle[right] - middle[left], _TINY)
    told = dense[left] + np.clip(place, -1.0, 2.0) * (dense[right] - dense[left])
    told = np.clip(told, np.minimum(dense[left], dense[right]) - 1.0, np.maximum(dense[left], dense[right]))
    of_bin = np.maximum(np.exp(np.clip(told + np.log(width), -50.0, 50.0)) - sd, 0.0)
    rough = float(np.median(np.abs(rows - of_bin)[1:-1] / np.maximum(of_bin[1:-1] + sd, _TINY)))
    return rows - of_bin, np.hypot(sd, max(ROUGH, 1.5 * rough) * of_bin)


@lru_cache(_KEPT)
def chances_at(edges: tuple[float, ...], step: Fraction | None = None) -> Estimates:
    """How often rows crowd in each cell of bins with these edges and the owner's ``step``."""
    marks, bins = places_of(edges, step)
    of_mark = bins[::2]
    round_ = np.array([roundness(m) for m in marks.tolist()], dtype=np.int64)
    most = np.zeros(len(edges) - 1, dtype=np.int64)
    np.maximum.at(most, of_mark, round_)
    roundest = round_ == most[of_mark]
    alone = np.bincount(of_mark, roundest, minlength=len(most))[of_mark] == 1
    at = np.where(roundest & alone, AT_ROUND, ELSEWHERE if step is None else AT_STEP)
    at[(marks == 0.0) | (marks == edges[0]) | (marks == edges[-1])] = AT_ENDS
    out = np.stack([at, np.full(len(at), ELSEWHERE)], axis=1).reshape(-1)
    out.setflags(write=False)
    return out
