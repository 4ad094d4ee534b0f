"""Which share of a bin's rows is where in it: at its round numbers and between them, counted once for all rows. Public.

A condition that cuts a bin is then a share of the bin's rows. Cells that stand out of the noise are as counted; all
others share what is left of the bin, as rows at and between round numbers do in the whole column.
"""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from math import inf, nextafter

import numpy as np
import numpy.typing as npt

from dpsql.decimals import exact
from dpsql.domain import NumberDomain, marks_of
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.possible_counts import nearest
from dpsql.hypothesis.values.crowds import AT_ENDS, AT_ROUND, ELSEWHERE, Crowds, beyond_neighbours
from dpsql.memo import Memo
from dpsql.query import Estimates, Interval

STANDS_OUT = 3.5
"""Sds of its noise by which a cell has to differ from its share of the bin's rest to be as counted."""
MEAN_SD = 0.1
"""Of a bin's mean place around what its cells and its neighbours say, before its cells' sums are looked at."""
STEEPEST = 3.0
"""Of the logarithm of how dense rows are, from one end of a bin to the other, as its neighbours tell."""
SMOOTH = 0.04
"""Sd of the share of a bin's two halves, beside what its neighbours tell, for rows in cells that are as others are."""
_ROUNDS = 4
_KEPT = 64
_KEPT_SHARES = 1 << 16
_TINY = 1e-300
_CONTEXT = exact(28)
_ZERO = 400
"""The roundness of 0."""


@dataclass(frozen=True, eq=False)
class Inside:
    """What an interval takes of each bin: float64, (bins,). ``sd``: of the ``share`` of its rows; ``doubt``: how far it
    may be wrong for rows between two round numbers; ``before``: both by older rules. ``center``: the mean place of the
    rows taken, in shares of the range from min to max; ``length`` and ``middle``: of what it covers, in the same.
    ``cut``: the bins that are taken in part."""

    share: Estimates
    sd: Estimates
    doubt: Estimates
    before: tuple[Estimates, Estimates]
    center: Estimates
    length: Estimates
    middle: Estimates
    cut: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class MarkedCells:
    """Cells ``2i`` at the i-th mark of the domain's bins and ``2i + 1`` between it and the next: float64, (cells,).

    ``share``: of its bin's rows; ``smooth``: the same where it is as others are, else 0; ``variance``: of the rows in
    it. Of the bins, float64, (bins,): ``rows``, and ``mean`` and ``mean_sd`` of the places of these, in shares of the
    bin.
    """

    domain: NumberDomain
    share: Estimates
    variance: Estimates
    smooth: Estimates
    rows: Estimates
    mean: Estimates
    mean_sd: Estimates
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
    ) -> "MarkedCells":
        """From the estimated ``rows`` of each bin and the measured rows of each cell; spread evenly without these.

        ``possible``: whether cells that have more together than their bin has are those nearest to them that have not:
        where few values have all rows, what is cut off below 0 of all others would stay above it. ``hidden``: whether
        rows may crowd in cells that do not stand out of their noise."""
        marks, bins = _marks(domain), _bins(domain)
        length = _lengths(marks)
        number = len(domain.edges) - 1
        even = length / np.maximum(_summed(bins, length, number)[bins], _TINY)
        if rows is None or measured is None:
            middle, unknown = np.full(number, 0.5), np.full(number, inf)
            return cls(domain, even, np.zeros(len(even)), even, np.zeros(number), middle, unknown)
        n, found, sd = np.maximum(rows[:number], 0.0), measured.values.astype(np.float64), measured.sigma
        even = _tilted(domain, n + sd, even)
        expected, out = _settled(n, bins, found, _crowding(domain, n, found, sd, even, hidden=hidden), sd)
        spread = np.where(out, inf, _unlike(domain, found, expected, out, sd))
        weight = 1.0 / (1.0 + (sd / np.maximum(spread, 1e-9 * sd)) ** 2)
        counted, variance = expected + weight * (found - expected), weight * sd**2
        crowded = out
        if hidden:
            counted, variance, crowded = _with_crowds(domain, n, bins, found, counted, variance, out, sd)
        counted = np.maximum(_possible(counted, bins, n, sd) if possible else counted, 0.0)
        total = _summed(bins, counted, number)
        share = np.where(total[bins] > 0.0, counted / np.maximum(total, _TINY)[bins], even)
        made = cls(domain, share, variance, np.where(crowded, 0.0, share), n, even[:0], even[:0])
        at = made.positions
        mean = _summed(bins, share * at, number)
        noise = sd * np.sqrt(_summed(bins, (at - mean[bins]) ** 2, number)) / np.maximum(n, 1e-9)
        noise = np.maximum(noise, 1e-9)  # a bin of two neighbouring doubles has one place
        raw = mean + _summed(bins, (found - share * n[bins]) * (at - mean[bins]), number) / np.maximum(n, 1e-9)
        of_mean = np.full(number, MEAN_SD)
        if hidden:
            of_crowds = _summed(bins, np.where(out, 0.0, variance) * (at - mean[bins]) ** 2, number)
            of_mean = np.minimum(np.hypot(MEAN_SD, np.sqrt(of_crowds) / np.maximum(n, 1.0)), 0.5)
        precision = 1.0 / of_mean**2 + 1.0 / noise**2
        return replace(made, mean=(mean / of_mean**2 + raw / noise**2) / precision, mean_sd=1.0 / np.sqrt(precision))

    @cached_property
    def center(self) -> Estimates:
        """The place of each cell's rows, in shares of the range."""
        marks, edges = _marks(self.domain) * 0.5, self.domain.edges
        low, high = edges[0] * 0.5, edges[-1] * 0.5
        between = np.append((marks[:-1] + marks[1:]) / 2.0, marks[-1])
        return np.asarray((np.stack([marks, between], axis=1).reshape(-1) - low) / (high - low))

    @property
    def positions(self) -> Estimates:
        """The place of each cell's rows in its bin, in shares of the bin; float64, (cells,)."""
        edges, bins = np.array(self.domain.edges) * 0.5, _bins(self.domain)
        low, width = (edges[:-1] - edges[0]) / (edges[-1] - edges[0]), np.diff(edges) / (edges[-1] - edges[0])
        return np.asarray(np.clip((self.center - low[bins]) / np.maximum(width, _TINY)[bins], 0.0, 1.0))

    @cached_property
    def loose(self) -> Estimates:
        """Of each bin how far the mean place of its rows could move if those that crowd between two round numbers are
        all at one of them: prices that end in .99 are at no round number, and nothing says where between two they are.
        In shares of the bin."""
        bins, length = _bins(self.domain), _lengths(_marks(self.domain))
        width = np.maximum(np.diff(np.array(self.domain.edges) * 0.5), _TINY)
        crowded = np.where(self.smooth > 0.0, 0.0, self.share)
        return _summed(bins, crowded * length / width[bins], len(width))

    def inside(self, interval: Interval) -> Inside:
        """What the interval takes of each bin."""
        known = self._insides.get(interval)
        return self._insides.put(interval, self._inside(interval), len(self.rows)) if known is None else known

    def _inside(self, interval: Interval) -> Inside:
        taken, touched = self._taken(interval), self._touched(interval)
        bins, number = _bins(self.domain), len(self.domain.edges) - 1
        each, all_of = np.ones(len(bins)), np.bincount(bins, minlength=number)
        touching, whole = _summed(bins, each * touched, number), _summed(bins, each * (taken == 1.0), number)
        share = np.where(whole == all_of, 1.0, _summed(bins, self.share * taken, number))
        center = _summed(bins, self.share * taken * self.center, number)
        doubt, doubt_before = (
            _summed(bins, self.share * np.maximum(taken, 1.0 - taken) * (some & (taken < 1.0)), number)
            for some in (touched, taken > 0.0)
        )
        of_taken = _summed(bins, self.variance * taken, number)
        of_left = _summed(bins, self.variance * (1.0 - taken), number)
        both = of_taken * of_left / np.maximum(of_taken + of_left, _TINY)  # their sum is the bin's rows
        smooth = _summed(bins, self.smooth, number)
        half = _summed(bins, self.smooth * taken, number) / np.maximum(smooth, _TINY)
        rest = np.where(smooth > 0.0, half, share)  # what crowded cells do not have goes to all others as they are
        noise = _summed(bins, self.variance * (taken - rest[bins]) ** 2, number)
        shape = SMOOTH * 4.0 * half * (1.0 - half) * smooth
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
        share = np.clip(share, 0.0, 1.0)
        return Inside(share, sd, doubt, (apart, doubt_before), center, length, np.clip(middle, 0.0, 1.0), cut)

    def _touched(self, interval: Interval) -> npt.NDArray[np.bool_]:
        """The cells of which the interval has a value, be it one."""
        marks = _marks(self.domain)
        at = (marks >= interval.low) & (marks <= interval.high)
        end = np.append(marks[1:], -inf)  # nothing is beyond the last edge
        between = (interval.low < end) & (interval.high > marks)
        return np.stack([at, between], axis=1).reshape(-1)

    def _taken(self, interval: Interval) -> Estimates:
        """The share of each cell that the interval takes, rows between two marks spread evenly."""
        marks = _marks(self.domain)
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


def _tilted(domain: NumberDomain, n: Estimates, even: Estimates) -> Estimates:
    """``even`` with the slope that the neighbours of a bin tell: the logarithm of how dense rows are is a straight line
    along each bin, as steep as from one neighbour's middle to the other's."""
    edges, bins = np.array(domain.edges), _bins(domain)
    if len(n) < 2:
        return even
    width, middle = np.maximum(np.diff(edges * 0.5), _TINY), (edges[:-1] * 0.5 + edges[1:] * 0.5) / 2.0
    dense = np.log(n) - np.log(width)
    with np.errstate(all="ignore"):  # bins of neighbouring doubles beside others: no slope is told there
        slope = np.nan_to_num(np.gradient(dense, middle) * width)
    marks = _marks(domain) * 0.5
    between = np.append((marks[:-1] + marks[1:]) / 2.0, marks[-1])
    place = np.clip((np.repeat(between, 2) - middle[bins]) / width[bins], -1.0, 1.0)
    tilted = even * np.exp(np.clip(slope, -STEEPEST, STEEPEST)[bins] * place)
    return np.asarray(tilted / np.maximum(_summed(bins, tilted, len(n)), _TINY)[bins])


def _crowding(
    domain: NumberDomain, n: Estimates, found: Estimates, sd: float, even: Estimates, *, hidden: bool
) -> Estimates:
    """The share of each cell where its bin's rows crowd on round numbers as those of all bins of such a step do.

    The marks of one roundness and step are counted together, and kept where they stand out of their noise. ``hidden``:
    whether those that are alone tell nothing, for they would tell of themselves.
    """
    bins, kinds = _bins(domain), _kinds(domain)
    if hidden:
        kinds[_chances_at(domain.edges) == AT_ENDS, 1] = 0
    rows = n[bins] * even
    labels, kind = np.unique(kinds, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    of_step = np.unique(labels[:, 0], return_inverse=True)[1].reshape(-1)
    whole = _summed(of_step[kind], rows, int(of_step.max()) + 1)
    together, members = np.bincount(kind, found), np.bincount(kind)
    crowded = (labels[:, 1] > 0) & (members > hidden) & (together > STANDS_OUT * sd * np.sqrt(members))
    shares = np.where(crowded, np.clip(together / np.maximum(whole[of_step], 1.0), 0.0, 1.0), 0.0)
    held = _summed(of_step, shares, len(whole))
    shares /= np.maximum(held, 1.0)[of_step]
    left = 1.0 - _summed(of_step, shares, len(whole))
    _, same, number = np.unique(kind * len(n) + bins, return_inverse=True, return_counts=True)
    of_kind = shares[kind] / number[same.reshape(-1)]
    usual = of_kind + np.maximum(left, 0.0)[of_step[kind]] * even
    return np.asarray(usual / np.maximum(_summed(bins, usual, len(n)), _TINY)[bins])


def _settled(
    n: Estimates, bins: npt.NDArray[np.intp], found: Estimates, usual: Estimates, sd: float
) -> tuple[Estimates, npt.NDArray[np.bool_]]:
    """What is expected in each cell, and which stand out of that by more than noise; others share what these leave."""
    out, expected = np.zeros(len(usual), dtype=bool), usual * n[bins]
    for _ in range(_ROUNDS):
        out |= np.abs(found - expected) > STANDS_OUT * sd
        rest = np.maximum(n - _summed(bins, found * out, len(n)), 0.0)
        open_share = _summed(bins, usual * ~out, len(n))
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
) -> tuple[Estimates, Estimates, npt.NDArray[np.bool_]]:
    """``counted`` and its ``variance`` where rows may crowd in cells that are not ``out``, too, and in which they do or
    may; others have what is left."""
    number = len(n)
    rest = np.maximum(n - _summed(bins, counted * out, number), 0.0)
    beyond = beyond_neighbours(np.array(domain.edges), n, sd)
    crowds = Crowds.of(found, counted, sd, bins, rest, beyond, _chances_at(domain.edges))
    moved = np.where(out, 0.0, crowds.chance * crowds.mean)
    left = np.clip(1.0 - _summed(bins, moved, number) / np.maximum(rest, _TINY), 0.0, 1.0)
    kept = np.where(out, counted, (1.0 - crowds.chance) * counted * left[bins] + moved)
    return kept, np.where(out, variance, variance + crowds.variance(counted)), out | (crowds.most > 0.0)


@lru_cache(_KEPT)
def _chances_at(edges: tuple[float, ...]) -> Estimates:
    """How often rows crowd in each cell of bins with these edges."""
    marks, bins = places_of(edges)
    of_mark = bins[::2]
    round_ = np.array([_roundness(m) for m in marks.tolist()], dtype=np.int64)
    most = np.zeros(len(edges) - 1, dtype=np.int64)
    np.maximum.at(most, of_mark, round_)
    roundest = round_ == most[of_mark]
    alone = np.bincount(of_mark, roundest, minlength=len(most))[of_mark] == 1
    at = np.where(roundest & alone, AT_ROUND, ELSEWHERE)
    at[(marks == 0.0) | (marks == edges[0]) | (marks == edges[-1])] = AT_ENDS
    out = np.stack([at, np.full(len(at), ELSEWHERE)], axis=1).reshape(-1)
    out.setflags(write=False)
    return out


def _possible(counted: Estimates, bins: npt.NDArray[np.intp], rows: Estimates, sd: float) -> Estimates:
    """The same where cells have no more together than the ``rows`` of their bin. Elsewhere those that surely have rows
    keep them, and all others are the nearest counts to theirs that share what is left."""
    out = counted.copy()
    over = (_summed(bins, np.maximum(counted, 0.0), len(rows)) > rows) & (rows >= 1.0)
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


def _unlike(
    domain: NumberDomain, found: Estimates, expected: Estimates, out: npt.NDArray[np.bool_], sd: float
) -> Estimates:
    """By how much each cell's rows differ from what is expected, an sd: the same share of it in all cells of a kind.

    That share is what the distances of a kind's cells are beyond their noise (Efron and Morris 1973).
    """
    kind = np.unique(_kinds(domain), axis=0, return_inverse=True)[1].reshape(-1)
    number, rest = int(kind.max()) + 1, ~out
    beyond = _summed(kind, rest * ((found - expected) ** 2 - sd**2), number)
    squares = _summed(kind, rest * expected**2, number)
    with np.errstate(all="ignore"):  # where nothing is expected of a whole kind
        spread = np.sqrt(np.maximum(beyond, 0.0) / np.maximum(squares, _TINY))[kind] * expected
    return np.where(expected > 0.0, spread, 0.0)


def _kinds(domain: NumberDomain) -> npt.NDArray[np.int64]:
    """Of each cell the step of its bin's marks, and how round the mark is, 0 between two marks; int64, (cells, 2)."""
    marks, bins = _marks(domain), _bins(domain)[::2]
    count = np.maximum(np.bincount(bins, minlength=len(domain.edges) - 1), 1)
    steps = np.rint(2.0 * np.log2(np.diff(np.array(domain.edges) * 0.5) / count)).astype(np.int64)[bins]
    round_ = np.array([_roundness(m) for m in marks.tolist()], dtype=np.int64)
    both = np.stack([np.stack([steps, steps], axis=1), np.stack([round_, np.zeros_like(round_)], axis=1)], axis=-1)
    return both.reshape(-1, 2)


def _roundness(mark: float) -> int:
    """Above 0: which power of ten it is a multiple of, those of 5 apart.

    >>> _roundness(30.0) > _roundness(25.0) > _roundness(24.0) > _roundness(24.5) > 0
    True
    """
    digits = Decimal(repr(mark)).normalize(_CONTEXT).as_tuple()
    if not isinstance(digits.exponent, int) or mark == 0.0:
        return _ZERO
    return max(1, min(_ZERO, _ZERO // 2 + 2 * digits.exponent + (digits.digits[-1] == 5)))


def _summed(places: npt.NDArray[np.intp], values: Estimates, number: int) -> Estimates:
    return np.asarray(np.bincount(places, values, minlength=number), dtype=np.float64)


def _marks(domain: NumberDomain) -> Estimates:
    return places_of(domain.edges)[0]


def _bins(domain: NumberDomain) -> npt.NDArray[np.intp]:
    """The bin of each cell; the last mark is the end of the last bin."""
    return places_of(domain.edges)[1]


@lru_cache(_KEPT)
def places_of(edges: tuple[float, ...]) -> tuple[Estimates, npt.NDArray[np.intp]]:
    marks = np.array(marks_of(edges), dtype=np.float64)
    bins = np.minimum(np.searchsorted(np.array(edges), marks, side="right") - 1, len(edges) - 2)
    found = marks, np.repeat(bins, 2)
    for array in found:
        array.setflags(write=False)
    return found


def _lengths(marks: Estimates) -> Estimates:
    length = np.append(np.diff(marks * 0.5), 0.0)
    return np.stack([np.zeros(len(marks)), length], axis=1).reshape(-1)
