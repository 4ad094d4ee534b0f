"""The queries of one cluster: conditions, groups and a value that share columns, evaluated on the grid of these."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsql.domain import TableDomain
from dpsql.errors import UnsupportedQuery
from dpsql.query import Counts
from dpsql.sql.counting.alternatives import all_but, arms_of
from dpsql.sql.counting.bins.cells import cell_pieces, over_cells, summed_pieces
from dpsql.sql.counting.bins.chords import chord_pieces
from dpsql.sql.counting.bins.intervals import asked_by_value
from dpsql.sql.counting.bins.points import is_unknown
from dpsql.sql.counting.clusters import Cluster
from dpsql.sql.counting.evaluate import Codes, Evaluator, Grids, spread
from dpsql.sql.counting.groups import Pieces, Ranks, is_plain, pieces_of_groups
from dpsql.sql.counting.pieces import GridAxis, Signed, pieces
from dpsql.sql.counting.slabs import Slab
from dpsql.sql.counting.values.classes import box_pieces, too_tied
from dpsql.sql.counting.values.rules import ValueRules
from dpsql.sql.expressions.bound import Bound

Answer = Mapping[Ranks, Pieces]
"""For each present combination of the cluster's group values: the pieces of its weights, some."""


@dataclass(frozen=True, eq=False)
class ClusterPieces:
    """Clusters of one block. ``codes``: of the values of one of its ``groups``, by position; ``values``: whether what
    cuts bins of numbers is asked as a question of its own about the values of rows."""

    table: TableDomain
    evaluator: Evaluator
    grids: Grids
    groups: Sequence[Bound]
    codes: Callable[[int], Codes]
    values: ValueRules

    def of(self, c: Cluster, *, by_cells: bool) -> Answer:
        """The cluster's pieces by group. ``by_cells``: values count as their cells do. UnsupportedQuery for more work
        than is done."""
        arms = arms_of(self.grids, c)
        if arms is not None:
            return _alone(all_but(self.table, self.evaluator, self.grids, arms, self._pieces))
        axes = self.grids.check(c.columns)
        shape = tuple(a.size for a in axes)
        guess: Signed = np.ones(shape, dtype=np.int64)
        possible = guess
        for bound, truth in zip(c.conjuncts, self.evaluator.truths(self.grids, c.conjuncts), strict=True):
            here = spread(truth, self.grids.ordered(bound.columns), axes)
            if changes_anywhere(self.grids, bound):
                guess = guess * here
            else:
                possible = possible * here
        if not c.groups:
            return _alone(self._pieces(c, axes, guess * possible, by_cells, possible))
        flat: Counts = np.zeros(shape, dtype=np.int64)
        sizes = []
        for g in c.groups:
            codes = self.codes(g)
            sizes.append(len(codes.values))
            placed = spread(codes.codes, self.grids.ordered(self.groups[g].columns), axes)
            possible = possible * (placed >= 0)
            flat = flat * len(codes.values) + placed
        flat = np.where(possible != 0, flat, -1)

        def of(code: int, slab: Slab) -> Pieces:
            some = slab.of(possible) * (slab.of(flat) == code)
            return slab.placed(self.table, self._pieces(c, slab.axes, slab.of(guess) * some, by_cells, some, slab))

        return pieces_of_groups(self.table, axes, flat, None if is_plain(c, axes, flat) else of, sizes)

    def _pieces(
        self,
        c: Cluster,
        axes: tuple[GridAxis, ...],
        base: Signed,
        by_cells: bool = False,
        possible: Any = 1,
        slab: Slab | None = None,
    ) -> Pieces:
        """The queries of the cluster's value, or of 1, over the rows where ``base`` is 1, which it may be between the
        points where ``possible`` is 1. ``axes``: those of the slab, if any."""
        value = c.value
        anywhere = [changes_anywhere(self.grids, b) for b in (*c.conjuncts, *(self.groups[g] for g in c.groups))]
        unknown = set().union(*anywhere)
        # of two conditions that change at places that are not known both may hold between two points, and at neither
        lone = sum(map(bool, anywhere)) == 1
        monotone = {x for b, at in zip(c.conjuncts, anywhere, strict=False) for x in at & b.monotone} if lone else set()
        if any(a.classes is not None for a in axes):
            if unknown:
                raise too_tied(axes)
            apart = any(value is not None and value.columns == {a.name} and a.classes is None for a in axes)
            numbers = None if apart or value is None else self._numbers(value, axes)
            return box_pieces(self.table, c, axes, base, numbers, self._pieces)
        by_cells = by_cells or any(a.text is not None for a in axes)
        straight = None if value is None or by_cells else value.straight
        if self.values.by_value and not (by_cells or unknown) and (value is None) == (straight is None):
            found = asked_by_value(self.table, axes, base, straight)
            if found is not None:
                return found
        if straight is not None:
            return summed_pieces(self.table, axes, base, straight, unknown - monotone, possible, monotone)
        if value is not None:
            numbers = self._numbers(value, axes) if slab is None else slab.of(self._numbers(value, slab.whole))
            if self.values.curves and not (by_cells or unknown):
                smooth = bool(changes_anywhere(self.grids, value))
                near = chord_pieces(self.table, axes, numbers, base, smooth=smooth)
                if near is not None:
                    return near
            base, possible = base * numbers, possible * numbers
        if all(a.points is None for a in axes):
            return pieces(self.table, axes, base)
        ends = (possible, possible)
        return cell_pieces(self.table, over_cells(axes, base, unknown - monotone, ends, monotone=monotone))

    def _numbers(self, value: Bound, axes: tuple[GridAxis, ...]) -> Signed:
        if value.chooses & changes_anywhere(self.grids, value):
            raise UnsupportedQuery(
                "a sum of values that are chosen by a condition which may change anywhere inside of bins",
                hint="put the condition into FILTER (WHERE ...) or WHERE",
            )
        found = self.evaluator.numbers(self.grids, value)
        numbers = found.distances if value.distance and found.distances is not None else found.numbers
        return spread(numbers, self.grids.ordered(value.columns), axes)


def changes_anywhere(grids: Grids, bound: Bound) -> set[str]:
    """The columns along which an expression may change at places that are not known."""
    return {x for x, breaks in bound.steps.items() if is_unknown(grids.axis(x).points, breaks)}


def _alone(found: Pieces) -> Answer:
    """Of what no group is part of."""
    return {(): found} if found else {}
