"""First rows: drawn so that what they are drawn from is kept to within one row. Public.

Independent draws would add the noise of a second sample to numbers that have enough of their own. Systematic draws
(Madow 1949) give every cell its share, rounded down or up, and every run of neighbouring cells as well.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpsql.query import Estimates
from dpsql.synthesis.coins import Coins
from dpsql.synthesis.rows.target import Codes

_TINY = 1e-12


def cells_of(counts: Estimates, rows: int, rng: Coins) -> list[Codes]:
    """``rows`` rows from a table of counts: for each of its axes their cells, int64, (rows,), in order of cells.

    Each cell has its share of the rows, rounded down or up; so has each cell of the first axes alone.

    >>> from dpsql.synthesis.coins import coins
    >>> [axis.tolist() for axis in cells_of(np.array([[2.0, 0.0], [1.0, 1.0]]), 4, coins("an example"))]
    [[0, 0, 1, 1], [0, 0, 0, 1]]
    """
    sums = np.cumsum(counts.reshape(-1))
    points = (np.arange(rows) + rng.random()) * (sums[-1] / rows)
    flat = np.searchsorted(sums, points, side="right")
    last = int(np.flatnonzero(counts.reshape(-1) > 0.0)[-1])  # the last point may round to the sum itself
    return [np.asarray(a, dtype=np.int64) for a in np.unravel_index(np.minimum(flat, last), counts.shape)]


@dataclass(frozen=True)
class Branch:
    """A column and the one or two columns before it that say most of it; none for the first."""

    column: int
    parents: tuple[int, ...] = ()


def tree(dependences: Estimates) -> list[Branch]:
    """The order in which columns are drawn, given how much each two of them (columns, columns) tell of each other.

    The first parents are the tree of Chow and Liu 1968, by Prim's rule: the strongest bond to a column that is in. The
    second parent is the next strongest (k = 2 of PrivBayes, Zhang, Cormode, Procopiuc, Srivastava, Xiao 2014).

    >>> tree(np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0.0]]))
    [Branch(column=1, parents=()), Branch(column=0, parents=(1,)), Branch(column=2, parents=(1, 0))]
    """
    bonds = dependences - np.diag(np.diag(dependences))
    count = len(bonds)
    found = [Branch(int(np.argmax(bonds.sum(axis=1))))] if count else []
    while len(found) < count:
        within = [b.column for b in found]
        left = [c for c in range(count) if c not in within]
        best = bonds[np.ix_(left, within)].max(axis=1)
        column = left[int(np.argmax(best))]
        found.append(branch(bonds, column, within))
    return found


def branch(bonds: Estimates, column: int, within: Sequence[int]) -> Branch:
    """``column`` on the two columns of ``within`` that tell most of it; on fewer where they tell nothing."""
    parents = sorted((c for c in within if bonds[column, c] > 0.0), key=lambda c: (-bonds[column, c], c))
    return Branch(column, tuple(parents[:2]))


def grow(
    out: list[Codes],
    branches: Sequence[Branch],
    rows: int,
    counts: Callable[[tuple[int, ...]], Estimates | None],
    rng: Coins,
) -> None:
    """Draw the columns of ``branches`` into ``out``: within each cell of its parents a column has its shares, rounded.

    ``out``: one array per column, int64, (rows,), those of parents drawn before. ``counts``: a table over the given
    columns, at least over one alone; ``None`` where it would be too large: then the last parent is left out.
    """
    for b in branches:
        parents = list(b.parents)
        table = counts((*parents, b.column))
        while table is None:
            parents.pop()
            table = counts((*parents, b.column))
        place = np.zeros(rows, dtype=np.int64)
        for parent, size in zip(parents, table.shape, strict=False):
            place = place * size + out[parent]
        out[b.column] = _within(table.reshape(-1, table.shape[-1]), place, rng)


def _within(table: Estimates, place: Codes, rng: Coins) -> Codes:
    """A cell of the last axis for each row, systematically within each line of ``table`` (lines, cells)."""
    shares = np.maximum(table, 0.0)
    whole = shares.sum(axis=0)
    shares = np.where(shares.sum(axis=1, keepdims=True) > _TINY, shares, np.maximum(whole, _TINY)[None, :])
    sums = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    order = np.lexsort((rng.random(len(place)), place))  # which rows of a line get which cell is left to chance
    lines, start, number = np.unique(place[order], return_index=True, return_counts=True)
    out = np.empty(len(place), dtype=np.int64)
    for line, first, many in zip(lines.tolist(), start.tolist(), number.tolist(), strict=True):
        points = (np.arange(many) + rng.random()) / many
        out[order[first : first + many]] = np.searchsorted(sums[line], points, side="right")
    return np.asarray(np.minimum(out, table.shape[1] - 1), dtype=np.int64)
