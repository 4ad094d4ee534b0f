"""Which share of a bin's rows is where in it: at its round numbers and between them, counted once for all rows. Public.

A condition that cuts a bin is then a share of the bin's rows. Cells that stand out of the noise are as counted; all
others share what is left of the bin, as rows at and between round numbers do in the whole column.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, nextafter

import numpy as np
import numpy.typing as npt

from dpsql.domain import NumberDomain
from dpsql.hypothesis.columns.possible_counts import nearest
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.values.crowds import MOST_OFF, Crowds, beyond_neighbours, chances_at
from dpsql.hypothesis.values.hidden_rows import LIGHT, UPPER
from dpsql.hypothesis.values.inside import Inside
from dpsql.hypothesis.values.places import (
    bins_in,
    fullest,
    lengths,
    marks_in,
    round_ones,
    slopes,
    summed,
)
from dpsql.hypothesis.values.stretches import Stretches, crowds_of
from dpsql.hypothesis.values.unsettled import unsettled_bins
from dpsql.hypothesis.values.usual_shares import STANDS_OUT, unlike, unseen, usual_shares
from dpsql.memo import Memo
from dpsql.query import Estimates, Interval

MEAN_SD = 0.1
"""Of a bin's mean place around what its cells and its neighbours say, before its cells' sums are looked at."""
STEEPEST = 3.0
"""Of the logarithm of how dense rows are, from one end of a bin to the other, as its neighbours tell."""
AMONG = 3.0
"""Times the rows of the next fullest cell that are a crowd: a bin of three whole numbers has none."""
SMOOTH = 0.04
"""Sd of the share of a bin's two halves, beside what its neighbours tell, for rows in cells that are as others are."""
_ROUNDS = 4
_KEPT_SHARES = 1 << 20
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class MarkedCells:
    """Cells ``2i`` at the i-th mark of the domain's bins and ``2i + 1`` between it and the next: float64, (cells,).

    ``share``: of its bin's rows; ``smooth``: the same where it is as others are, else 0; ``variance``: of the rows in
    it. Of the bins, float64, (bins,): ``rows``, and ``mean`` and ``mean_sd`` of the places of these, in shares of the
    bin; ``unsettled``: whose cells share them as ``stretches`` tell. ``found``: what was counted of the cells.
    """

    domain: NumberDomain
    share: Estimates
    variance: Estimates
    smooth: Estimates
    rows: Estimates
    mean: Estimates
    mean_sd: Estimates
    unsettled: npt.NDArray[np.bool_] | None = None
    stretches: Stretches | None = None
    found: Measurement | None = None
    _insides: Memo[Inside] = field(init=False, repr=False, default_factory=lambda: Memo(_KEPT_SHARES))

    @classmethod
    def of(
        cls,
        domain: NumberDomain,
        rows: Estimates | None = None,
        measured: Measurement | None = None,
        *,
        possible: bool = True,
        hidden: bool = True,
        together: bool = True,
        nested: bool = True,
    ) -> "MarkedCells":
        """From the estimated ``rows`` of each bin and the measured rows of each cell; spread evenly without these.

        ``possible``: whether cells that have more together than their bin has are those nearest to them that have not:
        where few values have all rows, what is cut off below 0 of all others would stay above it. ``hidden``: whether
        rows may crowd in cells that do not stand out of their noise. ``together``: whether bins which this does not fit
        are shared stretch by stretch. ``nested``: whether rows crowd on round numbers at least as on less round ones,
        and of round numbers that are told together it is known what noise hides."""
        marks, bins = marks_in(domain), bins_in(domain)
        length = lengths(marks)
        number = len(domain.edges) - 1
        even = length / np.maximum(summed(bins, length, number)[bins], _TINY)
        if rows is None or measured is None:
            middle, unknown = np.full(number, 0.5), np.full(number, inf)
            return cls(domain, even, np.zeros(len(even)), even, np.zeros(number), middle, unknown)
        n, found, sd = np.maximum(rows[:number], 0.0), measured.values.astype(np.float64), measured.sigma
        fit = _apart(domain, n, found, sd, even, possible=possible, hidden=hidden, nested=nested)
        stretches, unsettled = None, None
        if together:
            unsettled = unsettled_bins(np.array(domain.edges), bins, n, found, fit.share * n[bins], sd)
            if unsettled.any():
                other, stretches = _together(domain, n, found, sd, even, hidden=hidden)
                fit = _Fit.of(unsettled[bins], other, fit)
        if domain.step is not None:
            fit = replace(fit, variance=fit.variance + _unalike(bins, n, found, fit, sd))
        share, smooth = fit.share, np.where(fit.crowded, 0.0, fit.share)
        made = cls(domain, share, fit.variance, smooth, n, even[:0], even[:0], unsettled, stretches, measured)
        at = made.positions
        mean = summed(bins, share * at, number)
        noise = sd * np.sqrt(summed(bins, (at - mean[bins]) ** 2, number)) / np.maximum(n, 1e-9)
        noise = np.maximum(noise, 1e-9)  # a bin of two neighbouring doubles has one place
        raw = mean + summed(bins, (found - share * n[bins]) * (at - mean[bins]), number) / np.maximum(n, 1e-9)
        of_mean = np.full(number, MEAN_SD)
        if hidden:
            of_crowds = summed(bins, np.where(fit.out, 0.0, fit.variance) * (at - mean[bins]) ** 2, number)
            of_mean = np.minimum(np.hypot(MEAN_SD, np.sqrt(of_crowds) / np.maximum(n, 1.0)), 0.5)
        precision = 1.0 / of_mean**2 + 1.0 / noise**2
        return replace(made, mean=(mean / of_mean**2 + raw / noise**2) / precision, mean_sd=1.0 / np.sqrt(precision))

    @cached_property
    def center(self) -> Estimates:
        """The place of each cell's rows, in shares of the range."""
        marks, edges = marks_in(self.domain) * 0.5, self.domain.edges
        low, high = edges[0] * 0.5, edges[-1] * 0.5
        between = np.append((marks[:-1] + marks[1:]) / 2.0, marks[-1])
        return np.asarray((np.stack([marks, between], axis=1).reshape(-1) - low) / (high - low))

    @property
    def positions(self) -> Estimates:
        """The place of each cell's rows in its bin, in shares of the bin; float64, (cells,)."""
        edges, bins = np.array(self.domain.edges) * 0.5, bins_in(self.domain)
        low, width = (edges[:-1] - edges[0]) / (edges[-1] - edges[0]), np.diff(edges) / (edges[-1] - edges[0])
        return np.asarray(np.clip((self.center - low[bins]) / np.maximum(width, _TINY)[bins], 0.0, 1.0))

    @cached_property
    def loose(self) -> Estimates:
        """Of each bin how far the mean place of its rows could move if those that crowd between two round numbers are
        all at one of them: prices that end in .99 are at no round number, and nothing says where between two they are.
        In shares of the bin."""
        bins, length = bins_in(self.domain), lengths(marks_in(self.domain))
        width = np.maximum(np.diff(np.array(self.domain.edges) * 0.5), _TINY)
        crowded = np.where(self.smooth > 0.0, 0.0, self.share)
        return summed(bins, crowded * length / width[bins], len(width))

    def inside(self, interval: Interval) -> Inside:
        """What the interval takes of each bin."""
        known = self._insides.get(interval)
        return self._insides.put(interval, self._inside(interval), len(self.share)) if known is None else known

    def _inside(self, interval: Interval) -> Inside:
        taken, touched = self._taken(interval), self._touched(interval)
        bins, number = bins_in(self.domain), len(self.domain.edges) - 1
        each, all_of = np.ones(len(bins)), np.bincount(bins, minlength=number)
        touching, whole = summed(bins, each * touched, number), summed(bins, each * (taken == 1.0), number)
        share = np.where(whole == all_of, 1.0, summed(bins, self.share * taken, number))
        center = summed(bins, self.share * taken * self.center, number)
        doubt, doubt_before = (
            summed(bins, self.share * np.maximum(taken, 1.0 - taken) * (some & (taken < 1.0)), number)
            for some in (touched, taken > 0.0)
        )
        of_taken = summed(bins, self.variance * taken, number)
        of_left = summed(bins, self.variance * (1.0 - taken), number)
        both = of_taken * of_left / np.maximum(of_taken + of_left, _TINY)  # their sum is the bin's rows
        smooth = summed(bins, self.smooth, number)
        half = summed(bins, self.smooth * taken, number) / np.maximum(smooth, _TINY)
        rest = np.where(smooth > 0.0, half, share)  # what crowded cells do not have goes to all others as they are
        noise = summed(bins, self.variance * (taken - rest[bins]) ** 2, number)
        shape = SMOOTH * 4.0 * half * (1.0 - half) * smooth
        if self.stretches is not None and self.unsettled is not None:
            noise = noise + np.where(self.unsettled, self.stretches.variance(taken), 0.0)
            shape = np.where(self.unsettled, 0.0, shape)
        sd, apart = (
            np.minimum(np.hypot(np.where(self.rows > 0.0, np.sqrt(v) / np.maximum(self.rows, 1.0), 0.0), shape), 0.5)
            for v in (noise, both)
        )
        cut = np.flatnonzero((touching > 0.0) & (whole < all_of))
        edges = np.array(self.domain.edges) * 0.5
        first, last = np.maximum(edges[:-1], interval.low * 0.5), np.minimum(edges[1:], interval.high * 0.5)
        length = np.maximum(last - first, 0.0) / (edges[-1] - edges[0])
        middle = (first / 2.0 + last / 2.0 - edges[0]) / (edges[-1] - edges[0])
        center = center / np.maximum(share, _TINY)
        share, middle, (full, crowds, crowd_sd) = np.clip(share, 0.0, 1.0), np.clip(middle, 0.0, 1.0), self._crowds
        crowd = crowds, taken[full], crowd_sd
        beyond = self._beyond(interval)
        return Inside(share, sd, doubt, (apart, doubt_before), center, length, middle, cut, *crowd, taken, beyond)

    def _beyond(self, interval: Interval) -> float:
        """Of one value that rows are counted at, and that is not told from others: how many there may be beyond those
        that its share tells."""
        marks = marks_in(self.domain)
        at = int(np.searchsorted(marks, interval.low))
        if self.found is None or interval.low != interval.high or at == len(marks) or marks[at] != interval.low:
            return 0.0
        told = float(self.share[2 * at] * self.rows[bins_in(self.domain)[2 * at]])
        most = max(float(self.found.values[2 * at]), 0.0) + UPPER * self.found.sigma
        return max(most - told, 0.0) if told < LIGHT * self.found.sigma else 0.0

    @cached_property
    def _crowds(self) -> tuple[npt.NDArray[np.intp], Estimates, Estimates]:
        """Of each bin the fullest cell, its share of the rows where it is a crowd, and the sd of its rows."""
        bins, number = bins_in(self.domain), len(self.domain.edges) - 1
        full, times = fullest(self.share, bins, number)
        variance = self.variance[full]
        if self.stretches is not None and self.unsettled is not None:
            alone = np.zeros(len(bins))
            alone[full] = 1.0
            variance = variance + np.where(self.unsettled, self.stretches.variance(alone), 0.0)
        return full, np.where(times >= AMONG, self.share[full], 0.0), np.sqrt(variance)

    def _touched(self, interval: Interval) -> npt.NDArray[np.bool_]:
        """The cells of which the interval has a value, be it one."""
        marks = marks_in(self.domain)
        at = (marks >= interval.low) & (marks <= interval.high)
        end = np.append(marks[1:], -inf)  # nothing is beyond the last edge
        between = (interval.low < end) & (interval.high > marks)
        return np.stack([at, between], axis=1).reshape(-1)

    def _taken(self, interval: Interval) -> Estimates:
        """The share of each cell that the interval takes, rows between two marks spread evenly."""
        marks = marks_in(self.domain)
        at = ((marks >= interval.low) & (marks <= interval.high)).astype(np.float64)
        above = np.nextafter(marks, inf)
        end = np.append(marks[1:], nextafter(float(above[-1]), inf))
        below = np.nextafter(end, -inf)
        whole = (interval.low <= above) & (interval.high >= below)
        low, high = np.maximum(marks, interval.low) * 0.5, np.minimum(end, interval.high) * 0.5
        part = np.clip((high - low) / np.maximum(end * 0.5 - marks * 0.5, _TINY), 0.0, 1.0)
        between = np.where(whole, 1.0, np.minimum(part, 1.0 - 1e-9))
        between[-1] = at[-1]  # nothing is beyond the last edge
        return np.stack([at, between], axis=1).reshape(-1)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Of each cell: as in ``MarkedCells``, whether rows crowd or may crowd in it, and whether it is as counted."""

    share: Estimates
    variance: Estimates
    crowded: npt.NDArray[np.bool_]
    out: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, where: npt.NDArray[np.bool_], one: "_Fit", other: "_Fit") -> "_Fit":
        """The ``one`` in these cells, and elsewhere the ``other``."""
        share, variance = np.where(where, one.share, other.share), np.where(where, one.variance, other.variance)
        return cls(share, variance, np.where(where, one.crowded, other.crowded), np.where(where, one.out, other.out))


def _unalike(bins: npt.NDArray[np.intp], n: Estimates, found: Estimates, fit: _Fit, sd: float) -> Estimates:
    """The variance, in rows squared, of marks' cells that are shared as others are: how far their counts ``found``
    scatter in each bin of ``n`` rows beyond their noise. Of a column with a step each of them is a value, and values
    are not alike; of any other rows are between them."""
    alike = ~(fit.crowded | fit.out)
    alike[1::2] = False
    beyond = np.where(alike, (found - fit.share * n[bins]) ** 2 - sd**2, 0.0)
    mean = summed(bins, beyond, len(n)) / np.maximum(np.bincount(bins, alike, minlength=len(n)), 1.0)
    return np.where(alike, np.maximum(mean, 0.0)[bins], 0.0)


def _apart(
    domain: NumberDomain,
    n: Estimates,
    found: Estimates,
    sd: float,
    even: Estimates,
    *,
    possible: bool,
    hidden: bool,
    nested: bool,
) -> _Fit:
    """Each cell that stands out as counted, all others as what is left of their bin."""
    bins = bins_in(domain)
    even = _tilted(domain, n + sd, even)
    expected, out = _settled(n, bins, found, usual_shares(domain, n, found, sd, even, hidden=hidden, nested=nested), sd)
    spread = np.where(out, inf, unlike(domain, found, expected, out, sd))
    weight = 1.0 / (1.0 + (sd / np.maximum(spread, 1e-9 * sd)) ** 2)
    counted, variance = expected + weight * (found - expected), weight * sd**2
    if nested:
        variance = np.where(out, variance, np.maximum(variance, unseen(domain, found, expected, sd) ** 2))
    crowded = out
    if hidden:
        counted, variance, crowded = _with_crowds(domain, n, bins, found, counted, variance, out, sd)
    counted = np.maximum(_possible(counted, bins, n, sd) if possible else counted, 0.0)
    return _Fit(_shares(counted, bins, even, len(n)), variance, crowded, out)


def _together(
    domain: NumberDomain, n: Estimates, found: Estimates, sd: float, even: Estimates, *, hidden: bool
) -> tuple[_Fit, Stretches]:
    """All cells from long stretches down. The variance is what ``stretches`` do not know."""
    bins, number = bins_in(domain), len(n)
    even = _tilted(domain, n + sd, even, slopes(np.array(domain.edges), n + sd))
    usual = usual_shares(domain, n, found, sd, even, hidden=hidden, nested=True)
    out = crowds_of(number, bins, found, usual, sd)
    stretches = Stretches.of(n, bins, found, usual, lengths(marks_in(domain)), round_ones(domain), out, sd)
    counted, variance, crowded = stretches.counted, np.zeros(len(bins)), out
    if hidden:
        counted, variance, crowded = _with_crowds(domain, n, bins, found, counted, variance, out, sd, MOST_OFF)
    return _Fit(_shares(np.maximum(counted, 0.0), bins, even, number), variance, crowded, out), stretches


def _shares(counted: Estimates, bins: npt.NDArray[np.intp], even: Estimates, number: int) -> Estimates:
    total = summed(bins, counted, number)
    return np.where(total[bins] > 0.0, counted / np.maximum(total, _TINY)[bins], even)


def _tilted(domain: NumberDomain, n: Estimates, even: Estimates, told: Estimates | None = None) -> Estimates:
    """``even`` with the slope that the neighbours of a bin tell: the logarithm of how dense rows are is a straight line
    along each bin, as steep as ``told``, else as from one neighbour's middle to the other's."""
    edges, bins = np.array(domain.edges), bins_in(domain)
    if len(n) < 2:
        return even
    width, middle = np.maximum(np.diff(edges * 0.5), _TINY), (edges[:-1] * 0.5 + edges[1:] * 0.5) / 2.0
    slope = told
    if slope is None:
        with np.errstate(all="ignore"):  # bins of neighbouring doubles beside others: no slope is told there
            slope = np.nan_to_num(np.gradient(np.log(n) - np.log(width), middle) * width)
    marks = marks_in(domain) * 0.5
    between = np.append((marks[:-1] + marks[1:]) / 2.0, marks[-1])
    place = np.clip((np.repeat(between, 2) - middle[bins]) / width[bins], -1.0, 1.0)
    tilted = even * np.exp(np.clip(slope, -STEEPEST, STEEPEST)[bins] * place)
    return np.asarray(tilted / np.maximum(summed(bins, tilted, len(n)), _TINY)[bins])


def _settled(
    n: Estimates, bins: npt.NDArray[np.intp], found: Estimates, usual: Estimates, sd: float
) -> tuple[Estimates, npt.NDArray[np.bool_]]:
    """What is expected in each cell, and which stand out of that by more than noise; others share what these leave."""
    out, expected = np.zeros(len(usual), dtype=bool), usual * n[bins]
    for _ in range(_ROUNDS):
        out |= np.abs(found - expected) > STANDS_OUT * sd
        rest = np.maximum(n - summed(bins, found * out, len(n)), 0.0)
        open_share = summed(bins, usual * ~out, len(n))
        expected = np.where(open_share[bins] > 0.0, usual / np.maximum(open_share, _TINY)[bins] * rest[bins], 0.0)
    return expected, out


def _with_crowds(
    domain: NumberDomain,
    n: Estimates,
    bins: npt.NDArray[np.intp],
    found: Estimates,
    counted: Estimates,
    variance: Estimates,
    out: npt.NDArray[np.bool_],
    sd: float,
    most_off: float = inf,
) -> tuple[Estimates, Estimates, npt.NDArray[np.bool_]]:
    """``counted`` and its ``variance`` where rows may crowd in cells that are not ``out``, too, and in which they do or
    may; others have what is left."""
    number = len(n)
    rest = np.maximum(n - summed(bins, counted * out, number), 0.0)
    beyond = beyond_neighbours(np.array(domain.edges), n, sd)
    crowds = Crowds.of(found, counted, sd, bins, rest, beyond, chances_at(domain.edges, domain.step), most_off)
    moved = np.where(out, 0.0, crowds.chance * crowds.mean)
    left = np.clip(1.0 - summed(bins, moved, number) / np.maximum(rest, _TINY), 0.0, 1.0)
    kept = np.where(out, counted, (1.0 - crowds.chance) * counted * left[bins] + moved)
    return kept, np.where(out, variance, variance + crowds.variance(counted)), out | (crowds.most > 0.0)


def _possible(counted: Estimates, bins: npt.NDArray[np.intp], rows: Estimates, sd: float) -> Estimates:
    """The same where cells have no more together than the ``rows`` of their bin. Elsewhere those that surely have rows
    keep them, and all others are the nearest counts to theirs that share what is left."""
    out = counted.copy()
    over = (summed(bins, np.maximum(counted, 0.0), len(rows)) > rows) & (rows >= 1.0)
    ends = np.searchsorted(bins, np.arange(len(rows) + 1))
    for first, last, n in zip(ends[:-1][over].tolist(), ends[1:][over].tolist(), rows[over].tolist(), strict=True):
        here = counted[first:last]
        others = here <= STANDS_OUT * sd
        left = n - float(here[~others].sum())
        some = here[others]
        if left < 1.0:
            out[first:last] = np.where(others, 0.0, here)
        elif np.maximum(some, 0.0).sum() > left:
            out[first + np.flatnonzero(others)] = nearest(some, left)
    return out
