"""How the rows of a bin are shared by its cells: stretch by stretch, from the whole bin down to single cells. Public.

The noise of a long empty stretch is one noise, and says that it is empty where no cell of it does. All shares are of
what the stretch above has, so that nothing is cut off below 0 that stays above it elsewhere, and what is wrong of a
stretch is wrong of all of its cells alike.
"""

from dataclasses import dataclass
from math import pi

import numpy as np
import numpy.typing as npt

from dpsql.hypothesis.normal import normal_cdf, normal_density
from dpsql.hypothesis.values.places import EMPTY, by_bin, places_in
from dpsql.query import Estimates

Places = npt.NDArray[np.intp]
UNLIKE = (0.01, 0.04, 0.2)
"""Sds of the share of a stretch's two halves, beside what is usual, where rows lie nearly as usual, so, and roughly."""
FEW = 0.25
"""Sd of the rows of an empty half, in sds of the noise of a cell: a few that no count shows."""
FEW_OF = 0.2
"""And no more than this share of both."""
BEFORE = (0.5, 0.25, 0.1, 0.05, 0.05, 0.05)
"""How often halves are of each of these three, have any shares, the first empty, or the second, at first, """
BESIDE = (0.15, 0.1, 0.1, 0.05, 0.55, 0.05)
"""and so where what is before the first is empty."""
KNOWN = 6.0
"""As many halves say so before those of the column do."""
NEAR = 6
"""Cells on each side that tell of a crowd."""
MOST_TOLD = 0.5
"""A cell that usually has more than this share of what these have is not told by them."""
STANDS_OUT = 3.5
"""Sds of its noise by which a cell has to have more than others tell to be as counted."""
_ROUNDS_OF_CROWDS = 4
_BEFORE = np.array([BEFORE, BESIDE, (*BESIDE[:4], BESIDE[5], BESIDE[4]), (*BESIDE[:4], 0.275, 0.275)])
_ROUNDS = 30
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Stretches:
    """Cells in order, ``bins`` of each: intp, (cells,). Of the ``rows`` of a bin first those in cells that are ``out``
    are taken, the others are shared in halves.

    ``levels``: from all cells of a bin to pairs of them, of the first half what it has of an error of both, and the
    variance of its own rows by noise and by what is not known of its kind; float64, (bins, halves). ``apart``: what
    the cells that are not out have of an error of their bin, and the variance of their rows; float64, (bins,).
    ``counted``: the rows of each cell, which sum to those of its bin.
    """

    counted: Estimates
    bins: Places
    out: npt.NDArray[np.bool_]
    sd: float
    levels: list[tuple[Estimates, Estimates, Estimates]]
    apart: tuple[Estimates, Estimates]

    @classmethod
    def of(
        cls,
        rows: Estimates,
        bins: Places,
        found: Estimates,
        usual: Estimates,
        length: Estimates,
        round_: Places,
        out: npt.NDArray[np.bool_],
        sd: float,
    ) -> "Stretches":
        """``rows`` of each bin; of each cell its count ``found`` with noise ``sd``, its ``usual`` share of the bin, its
        ``length``, by which bins are compared, and how round the mark is that it is at or follows.

        Counts that miss their sum are moved by their cells (Hay et al. 2010, theorem 3)."""
        number = len(rows)
        tree = [_Level.of_cells(found, usual, length, bins, out, number)]
        while tree[-1].found.shape[1] > 1:
            tree.append(tree[-1].in_pairs())
        outs, of_out = np.bincount(bins, out, minlength=number), np.bincount(bins, found * out, minlength=number)
        others, of_others = tree[-1].cells[:, 0], tree[-1].found[:, 0]
        all_cells = np.maximum(outs + others, 1.0)
        beta = np.where(outs > 0.0, others / all_cells, 1.0)
        about = of_others + (rows - of_out - of_others) * beta
        noise = sd * np.sqrt(outs * others / all_cells)
        mean, variance, _ = _cut(about, np.maximum(noise, 1e-9 * sd), rows)
        variance = variance + (mean - np.clip(about, 0.0, rows)) ** 2  # it is moved for what may be no reason
        some = (outs > 0.0) & (others > 0.0)
        mean, variance = np.where(some, mean, np.where(outs > 0.0, 0.0, rows)), np.where(some, variance, 0.0)
        apart = beta, variance
        kinds = by_bin(round_, bins, number)[:, ::2].astype(np.intp) + len(_BEFORE)
        here, unsure, levels = mean[:, None], variance[:, None], []
        for both, half in zip(tree[::-1], tree[-2::-1], strict=False):
            kind = _beside(here, both) if half is not tree[0] else kinds
            halves = _halves(here, unsure, both, half, sd, kind)
            share, variance = halves.share, halves.variance
            levels.append((share, halves.of_noise, variance - halves.of_noise))
            unsure = np.stack([variance + share**2 * unsure, variance + (1.0 - share) ** 2 * unsure], axis=2)
            here = np.stack([halves.rows, here - halves.rows], axis=2).reshape(number, -1)
            unsure = unsure.reshape(number, -1)
        counted = here[bins, places_in(bins)]
        each = (rows - mean - of_out) / np.maximum(outs, 1.0)
        counted = np.where(out, found + each[bins], counted)
        return cls(counted, bins, out, sd, levels, apart)

    def variance(self, taken: Estimates) -> Estimates:
        """Of the rows that are taken of each bin, all of whose rows are known; float64, (bins,), rows squared. Noise is
        of its own in each half; what is not known of halves is wrong in all stretches around them alike."""
        number = len(self.apart[0])
        of_taken, whole = by_bin(np.where(self.out, 0.0, taken), self.bins, number), np.zeros(number)
        shrunk = np.zeros(number)
        for share, noise, beyond in reversed(self.levels):
            first, second = of_taken[:, ::2], of_taken[:, 1::2]
            whole = whole + (noise * (first - second) ** 2).sum(axis=1)
            shrunk = shrunk + np.sqrt((beyond * (first - second) ** 2).sum(axis=1))  # sds add up where errors are alike
            of_taken = share * first + (1.0 - share) * second
        outs = np.bincount(self.bins, self.out, minlength=number)
        mean = np.bincount(self.bins, self.out * taken, minlength=number) / np.maximum(outs, 1.0)
        off = np.where(self.out, taken - mean[self.bins], 0.0)
        whole += self.sd**2 * np.bincount(self.bins, off**2, minlength=number)
        whole += shrunk**2
        return np.asarray(whole + self.apart[1] * (of_taken[:, 0] - mean) ** 2)


@dataclass(frozen=True, eq=False)
class _Level:
    """Stretches of one length in all bins: float64, (bins, stretches). Of their ``cells``, a number, without those that
    are out: the rows ``found`` in them, the ``usual`` share of their bin, and the same times the bin's ``length``."""

    found: Estimates
    cells: Estimates
    usual: Estimates
    length: Estimates

    @classmethod
    def of_cells(
        cls,
        found: Estimates,
        usual: Estimates,
        length: Estimates,
        bins: Places,
        out: npt.NDArray[np.bool_],
        number: int,
    ) -> "_Level":
        """Each cell by itself."""
        kept = (by_bin(np.where(out, 0.0, a), bins, number) for a in (found, np.ones(len(bins)), usual))
        found, cells, usual = kept
        return cls(found, cells, usual, usual * by_bin(length, bins, number).sum(axis=1, keepdims=True))

    def in_pairs(self) -> "_Level":
        """Each two neighbours together."""
        every = (self.found, self.cells, self.usual, self.length)
        return _Level(*(a.reshape(len(a), -1, 2).sum(axis=2) for a in every))


@dataclass(frozen=True, eq=False)
class _Halves:
    """Of first halves the ``rows``, what these have of an error of both halves', the ``variance`` of what else is
    wrong, and how much of that is ``of_noise``; float64, (bins, halves)."""

    rows: Estimates
    share: Estimates
    variance: Estimates
    of_noise: Estimates


@dataclass(frozen=True, eq=False)
class _Kind:
    """Rows of first halves if they were of one kind: ``mean`` and ``variance``; the logarithm of how ``likely`` what is
    found is then; of an error of both halves' rows their ``share``, and of their own noise what is left, ``gain``."""

    mean: Estimates
    variance: Estimates
    likely: Estimates
    share: Estimates
    gain: Estimates


def _halves(rows: Estimates, unsure: Estimates, both: _Level, half: _Level, sd: float, kinds: Places) -> _Halves:
    """Each half is one of six kinds, and these occur as often as all halves of such stretches say (empirical Bayes by
    EM; Johnstone and Silverman 2005, section 2, with more than two kinds)."""
    cells, size = half.cells[:, ::2], both.cells
    part = cells / np.maximum(size, 1.0)
    about = half.found[:, ::2] + (rows - both.found) * part
    noise = sd * np.sqrt(np.maximum(cells * (size - cells) / np.maximum(size, 1.0), 1e-18))
    told = np.where(both.usual > 0.0, half.usual[:, ::2] / np.maximum(both.usual, _TINY), part)
    found = _of_each_kind(rows, unsure, about, noise, part, told, sd)
    real = (cells > 0.0) & (size > cells)
    logs = [kind.likely for kind in found]
    likely = np.exp(np.stack(logs) - np.max(logs, axis=0))
    of_kinds = _how_often(likely, kinds, np.where(real, np.clip(rows / sd, 0.0, 1.0), 0.0))
    means = [kind.mean for kind in found]
    first = (of_kinds * means).sum(axis=0)
    variances = np.stack([kind.variance for kind in found])
    variance = (of_kinds * (variances + (np.stack(means) - first) ** 2)).sum(axis=0)
    share = (of_kinds * [kind.share for kind in found]).sum(axis=0)
    gain = (of_kinds * [kind.gain for kind in found]).sum(axis=0)
    of_noise = np.minimum((gain * noise) ** 2, variance)
    return _Halves(
        np.where(real, first, np.where(cells > 0.0, rows, 0.0)),
        np.where(real, share, cells > 0.0),
        np.where(real, variance, 0.0),
        np.where(real, of_noise, 0.0),
    )


def _of_each_kind(
    rows: Estimates,
    unsure: Estimates,
    about: Estimates,
    noise: Estimates,
    part: Estimates,
    told: Estimates,
    sd: float,
) -> list[_Kind]:
    """The six kinds of first halves that may have ``about`` so many of the ``rows`` by a count with so much ``noise``:
    ``part`` of both halves' cells, of which it is ``told`` that they usually have so much."""
    spread = told * (1.0 - told)
    few = np.maximum(np.minimum(FEW * sd, FEW_OF * rows), 1e-9 * sd)
    chance = rows * spread + few**2
    near = [(told, np.sqrt(chance + (4.0 * off * spread * rows) ** 2)) for off in UNLIKE]

    def around(at: Estimates, wide: Estimates) -> _Kind:
        off = np.sqrt(noise**2 + unsure * (part - at) ** 2)
        weight = off**2 / (off**2 + wide**2)
        _, _, before = _cut(at * rows, wide, rows)
        mean, variance, inside = _cut(weight * at * rows + (1.0 - weight) * about, np.sqrt(weight) * wide, rows)
        of_both = off**2 + wide**2
        log = -((about - at * rows) ** 2) / (2.0 * of_both) - np.log(2.0 * pi * of_both) / 2.0
        likely = log + np.log(np.maximum(inside, _TINY)) - np.log(np.maximum(before, _TINY))
        return _Kind(mean, variance, likely, weight * at + (1.0 - weight) * part, 1.0 - weight)

    mean, variance, inside = _cut(about, noise, rows)
    likely = np.log(np.maximum(inside, _TINY)) - np.log(np.maximum(rows, 1e-6))
    anything = _Kind(mean, variance, likely, part, np.ones_like(part))
    empty = [around(np.zeros_like(told), few), around(np.ones_like(told), few)]
    return [*(around(at, wide) for at, wide in near), anything, *empty]


def _how_often(likely: Estimates, kinds: Places, weight: Estimates) -> Estimates:
    """How probable each kind is of each half, by how ``likely`` it makes what was found, and by how often halves of
    such stretches (``kinds``) are of it, each counted by its ``weight``: float64, (kinds, bins, halves)."""
    more = max(int(kinds.max()) + 1 - len(_BEFORE), 0)
    before = np.concatenate([_BEFORE, np.tile(_BEFORE[:1], (more, 1))])
    often = before
    for _ in range(_ROUNDS):
        of_kinds = np.moveaxis(often[kinds], -1, 0) * likely
        of_kinds /= of_kinds.sum(axis=0)
        seen = [np.bincount(kinds.reshape(-1), (k * weight).reshape(-1), minlength=len(before)) for k in of_kinds]
        often = KNOWN * before + np.stack(seen, axis=1)
        often = often / often.sum(axis=1, keepdims=True)
    return of_kinds


def _beside(rows: Estimates, both: _Level) -> Places:
    """Of each stretch 1 where the one before it is empty beside it, 2 where the next is, 3 where both are, else 0."""
    real = (both.cells > 0.0) & (both.length > 0.0)  # the last mark and nothing beyond it have no length
    dense = (rows / np.maximum(both.length, _TINY))[real]
    empty = dense[:-1] < EMPTY * dense[1:], dense[1:] < EMPTY * dense[:-1]
    out = np.zeros(rows.shape, dtype=np.intp)
    rising = np.append(False, empty[0]) | np.append(empty[0], False)
    falling = np.append(False, empty[1]) | np.append(empty[1], False)
    out[real] = rising + 2 * falling
    return out


def _cut(about: Estimates, sd: Estimates, rows: Estimates) -> tuple[Estimates, Estimates, Estimates]:
    """Mean and variance of a normal law that is cut at 0 and at ``rows``, and how much of it is between (Johnson, Kotz
    and Balakrishnan 1994, section 13.10.1)."""
    about = np.clip(about, -6.0 * sd, rows + 6.0 * sd)
    low, high = -about / sd, (rows - about) / sd
    dense_low, dense_high = normal_density(low), normal_density(high)
    above = low > 0.0  # differences of small tails, and not of numbers next to 1
    inside = normal_cdf(np.where(above, -low, high)) - normal_cdf(np.where(above, -high, low))
    inside = np.maximum(inside, _TINY)
    slope = (dense_low - dense_high) / inside
    low, high = np.maximum(low, -40.0), np.minimum(high, 40.0)
    variance = 1.0 + (low * dense_low - high * dense_high) / inside - slope**2
    mean = np.clip(about + sd * slope, 0.0, rows)
    return mean, sd**2 * np.clip(variance, 0.0, 1.0), inside


def crowds_of(number: int, bins: Places, found: Estimates, usual: Estimates, sd: float) -> npt.NDArray[np.bool_]:
    """The cells that have more rows than what those next to them tell by ``STANDS_OUT`` sds, and those beside which
    others usually have hardly any, as marks of whole numbers do, where they have as many: the noise of cells that are
    as good as empty says nothing of these."""
    places, out = places_in(bins), np.zeros(len(bins), dtype=bool)
    kernel = np.ones(2 * NEAR + 1)
    kernel[NEAR] = 0.0
    for _ in range(_ROUNDS_OF_CROWDS):
        near, shares, cells = (
            np.stack([np.convolve(a, kernel, mode="same") for a in by_bin(np.where(out, 0.0, v), bins, number)])
            for v in (found, usual, np.ones(len(bins)))
        )
        near, shares, cells = near[bins, places], shares[bins, places], cells[bins, places]
        told = usual <= MOST_TOLD * shares
        ratio = np.where(told, usual, 0.0) / np.maximum(shares, _TINY)
        noise = sd * np.sqrt(1.0 + cells * ratio**2)
        stands = found - np.maximum(near, 0.0) * ratio > STANDS_OUT * noise
        out |= stands & told | (found > STANDS_OUT * sd) & ~told
    return out
