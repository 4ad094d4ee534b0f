"""Rows moved towards targets: each row may change one value at a time, to the one that takes most error away. Public.

It is the gradual update of PrivSyn (Zhang, Wang, Honorio, Li, He, Chen, Backes 2021, section 5) with another choice of
rows. There a round looks at one contingency, and rows drawn from cells with too many take the values of cells with too
few; what other contingencies lose by that is repaired in their rounds, with smaller and smaller steps. Here a row is
moved only where the sum of squares over all targets becomes smaller, so rounds need no schedule, and they end where no
single change of one value helps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpsql.query import Estimates
from dpsql.synthesis.coins import Coins
from dpsql.synthesis.rows.target import Codes, Labels, Target

SWEEPS = 6
"""Rounds over all columns, at most."""
BLOCKS = 128
"""Parts of the rows that are moved at once, at least: none of them may fill a gap alone that others see too."""
LEAST_BLOCK, MOST_BLOCK = 32, 1024
"""Rows of a part, before there are so many parts."""
CANDIDATES = 32
"""Values that a row of a longer column may take in one round; they are drawn anew for each part of the rows."""
PARTS, FALL = 4, 4
"""Moves of one block that gain most are made before the others, in so many parts, each so many times the one before."""
ENOUGH = 0.0005
"""A round that takes away less than this share of the error is the last."""


@dataclass
class _Gap:
    """Rows minus target over the parts of one target; ``error`` has its shape."""

    target: Target
    error: Estimates


def fit_rows(
    rows: list[Codes],
    sizes: Sequence[int],
    targets: Sequence[Target],
    rng: Coins,
    on_round: Callable[[int, int], None] = lambda done, of: None,
) -> list[Estimates]:
    """Change ``rows`` in place; what is left of each target, rows minus counts.

    ``rows``: for each column int64 cells below its size, one per row. The sum of the squares of what is left, times the
    targets' weights, is never more than before.
    """
    gaps = [_Gap(t, t.found(rows) - t.counts) for t in targets]
    before = _squares(gaps)
    for sweep in range(SWEEPS):
        on_round(sweep, SWEEPS)
        for column in rng.permutation(len(rows)).tolist():
            _Column(column, sizes[column], rows, gaps).sweep(rng)
        after = _squares(gaps)
        if after >= before * (1.0 - ENOUGH):
            break
        before = after
    on_round(SWEEPS, SWEEPS)
    return [g.error for g in gaps]


def _squares(gaps: Sequence[_Gap]) -> float:
    return sum(g.target.weight * float((g.error**2).sum()) for g in gaps)


class _Sight:
    """One target as a column sees it: a line of errors, times its weight, for each place of the other columns."""

    def __init__(self, gap: _Gap, column: int) -> None:
        target = gap.target
        self.axis = target.columns.index(column)
        self.labels: Labels = target.labels[self.axis]
        self.gap = gap
        turned = np.moveaxis(gap.error, self.axis, -1)
        self.shape = turned.shape
        self.weight = target.weight
        self.lines = np.ascontiguousarray(turned).reshape(-1, turned.shape[-1]) * self.weight
        self.is_cells = len(self.labels) == self.shape[-1] and bool((np.diff(self.labels) == 1).all())

    def places(self, rows: Sequence[Codes], order: Codes) -> Codes:
        """The line of each row."""
        target, place = self.gap.target, np.zeros(len(order), dtype=np.int64)
        for i, (column, labels, n) in enumerate(zip(target.columns, target.labels, target.counts.shape, strict=True)):
            if i != self.axis:
                place = place * n + labels[rows[column]]
        return place[order]

    def keep(self) -> None:
        """The errors back into their target's order."""
        error = self.lines.reshape(self.shape) / self.weight
        self.gap.error = np.ascontiguousarray(np.moveaxis(error, -1, self.axis))


class _Column:
    """A sweep over the rows' values in one column; the errors of all its targets lie in one array."""

    def __init__(self, column: int, size: int, rows: list[Codes], gaps: Sequence[_Gap]) -> None:
        self._size = size
        self._rows = rows
        self._own = rows[column]
        self._sights = [_Sight(g, column) for g in gaps if column in g.target.columns]
        lines = [s.lines.reshape(-1) for s in self._sights]
        self._errors = np.concatenate(lines) if lines else np.zeros(0)
        self._moved = np.zeros(len(self._errors))
        self._weights = np.array([s.weight for s in self._sights])
        self._starts = np.cumsum([0, *(len(line) for line in lines)])[:-1]
        for sight, start, line in zip(self._sights, self._starts.tolist(), lines, strict=True):
            sight.lines = self._errors[start : start + len(line)].reshape(sight.lines.shape)

    def sweep(self, rng: Coins) -> None:
        if self._size < 2 or not self._sights:
            return
        order = rng.permutation(len(self._own))
        places = [s.places(self._rows, order) for s in self._sights]  # no sweep over this column changes them
        blocks = max(1, len(order) // MOST_BLOCK, min(BLOCKS, len(order) // LEAST_BLOCK))
        for part in np.array_split(np.arange(len(order)), blocks):
            within = slice(int(part[0]), int(part[-1]) + 1)
            self._move(order[within], [p[within] for p in places], self._values(rng), rng)
        for sight in self._sights:
            sight.keep()

    def _values(self, rng: Coins) -> Codes:
        """The values that rows may take: all of a short column, else some, each as likely as rows have it or any."""
        if self._size <= CANDIDATES:
            return np.arange(self._size, dtype=np.int64)
        half = CANDIDATES // 2
        now = self._own[rng.integers(len(self._own), size=half)]
        return np.unique(np.concatenate([now, rng.integers(self._size, size=half)]))

    def _move(self, block: Codes, places: Sequence[Codes], values: Codes, rng: Coins) -> None:
        """Give rows of the block the value with the largest gain, as many as may move at once."""
        now = self._own[block]
        change = self._changes(places, now, values)
        best = np.argmin(change, axis=1)
        gains = change[np.arange(len(block)), best]
        moves = np.flatnonzero((gains < 0.0) & (values[best] != now))
        if not moves.size:
            return
        moves = moves[np.argsort(gains[moves], kind="stable")]
        chosen = values[best]
        old, new = self._cells(places, now, moves), self._cells(places, chosen, moves)
        for part in _parts(len(moves)):
            kept = self._kept(old[:, part], new[:, part], rng)
            if kept.size:
                self._own[block[moves[part][kept]]] = chosen[moves[part][kept]]

    def _kept(self, old: Codes, new: Codes, rng: Coins) -> Codes:
        """Which of these moves are made: a random share, and none where they would lose together; counted in."""
        kept = np.arange(old.shape[1], dtype=np.int64)
        share = self._share(old, new)
        if share < 1.0:
            kept = np.flatnonzero(rng.random(len(kept)) < share)
            old, new = old[:, kept], new[:, kept]
        if sum(self._together(old, new)) >= 0.0:
            return kept[:0]
        weights = np.repeat(self._weights, len(kept))
        np.add.at(self._errors, new.reshape(-1), weights)
        np.subtract.at(self._errors, old.reshape(-1), weights)
        return kept

    def _changes(self, places: Sequence[Codes], now: Codes, values: Codes) -> Estimates:
        """For each row of a block and each value, by how much the sum of squares would change; halved."""
        # e^2 becomes (e + 1)^2 in the new part and (e - 1)^2 in the old: 2 (e_new - e_old + 1), nothing in the same one
        change, fixed = np.zeros((len(now), len(values))), np.zeros(len(now))
        line = np.empty_like(change)
        for sight, place in zip(self._sights, places, strict=True):
            old = sight.labels[now]
            if sight.is_cells and len(values) == self._size:
                change += np.take(sight.lines, place, axis=0, out=line, mode="clip")
                fixed += sight.weight - sight.lines[place, old]
            else:
                new = sight.labels[values]
                gain = sight.lines[place[:, None], new[None, :]] + (sight.weight - sight.lines[place, old])[:, None]
                gain[new[None, :] == old[:, None]] = 0.0
                change += gain
        return change + fixed[:, None]

    def _cells(self, places: Sequence[Codes], cells: Codes, moves: Codes) -> Codes:
        """Where in ``_errors`` the moving rows are, with these cells in the column: int64, (targets, moves)."""
        cells = cells[moves]
        both = zip(self._sights, places, self._starts.tolist(), strict=True)
        return np.stack([start + p[moves] * s.lines.shape[1] + s.labels[cells] for s, p, start in both])

    def _together(self, old: Codes, new: Codes) -> tuple[float, float]:
        """What moves together change the sum of squares by: 2 e d and d^2, d what they change the errors by."""
        come, go, moved = new.reshape(-1), old.reshape(-1), self._moved
        weights = np.repeat(self._weights, new.shape[1])
        np.add.at(moved, come, weights)
        np.subtract.at(moved, go, weights)
        quadratic = float(moved[come].sum() - moved[go].sum())  # each row counts d where it comes and where it goes
        moved[come] = moved[go] = 0.0
        return 2.0 * float(self._errors[come].sum() - self._errors[go].sum()), quadratic

    def _share(self, old: Codes, new: Codes) -> float:
        """The share of the moves, drawn at random, that is expected to take most away.

        A share x of them changes the sum by x linear + x^2 quadratic + x (1 - x) alone, where ``alone`` is what d^2
        would be if no two rows shared a part.
        """
        linear, quadratic = self._together(old, new)
        alone = 2.0 * float(((old != new) * self._weights[:, None]).sum())
        if quadratic <= alone:
            return 1.0
        return max(0.0, -(linear + alone) / (2.0 * (quadratic - alone)))


def _parts(moves: int) -> list[slice]:
    """Moves in falling order of what they gain, in parts that are moved one after another, each FALL times the last.

    >>> _parts(100)
    [slice(0, 2, None), slice(2, 7, None), slice(7, 25, None), slice(25, 100, None)]
    """
    ends = [-(-moves // FALL**i) for i in range(PARTS - 1, -1, -1)]
    return [slice(a, b) for a, b in zip([0, *ends], ends, strict=False) if a < b]
