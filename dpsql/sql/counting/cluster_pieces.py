"""The queries of one cluster: conditions, groups and a value that share columns, evaluated on the grid of these."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from dpsql.domain import TableDomain
from dpsql.errors import UnsupportedQuery
from dpsql.query import Counts
from dpsql.sql.counting.alternatives import all_but, arms_of
from dpsql.sql.counting.bins.cells import held_pieces, summed_pieces
from dpsql.sql.counting.bins.chords import chord_pieces
from dpsql.sql.counting.bins.held import Held, changes_anywhere, held, members
from dpsql.sql.counting.bins.intervals import asked_by_value
from dpsql.sql.counting.clusters import Cluster
from dpsql.sql.counting.evaluate import Codes, Evaluator, Grids, spread
from dpsql.sql.counting.groups import Pieces, Ranks, check_number, check_work, is_plain, pieces_of_groups
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
        where = reduce(
            Held.both,
            held(self.evaluator, self.grids, c.conjuncts, axes),
            Held.surely(np.ones(shape, dtype=np.int8)),
        )
        if not c.groups:
            return _alone(self._pieces(c, axes, where, by_cells))
        if any(changes_anywhere(self.grids, self.groups[g]) for g in c.groups):
            return self._of_members(c, axes, where, by_cells)
        flat: Counts = np.zeros(shape, dtype=np.int64)
        some = where.most != 0
        sizes = []
        for g in c.groups:
            codes = self.codes(g)
            sizes.append(len(codes.values))
            placed = spread(codes.codes, self.grids.ordered(self.groups[g].columns), axes)
            some = some & (placed >= 0)
            flat = flat * len(codes.values) + placed
        flat = np.where(some, flat, -1)

        def of(code: int, slab: Slab) -> Pieces:
            mine = (slab.of(flat) == code).astype(np.int8)
            here = where.over(slab.of).both(Held.surely(mine))
            return slab.placed(self.table, self._pieces(c, slab.axes, here, by_cells, slab))

        return pieces_of_groups(self.table, axes, flat, None if is_plain(c, axes, flat) else of, sizes)

    def _of_members(self, c: Cluster, axes: tuple[GridAxis, ...], where: Held, by_cells: bool) -> Answer:
        """Of groups whose values may change anywhere: rows may be in one that no point is in."""
        groups = [(self.groups[g], self.codes(g)) for g in c.groups]
        found = [members(self.evaluator, self.grids, group, codes, axes) for group, codes in groups]
        sizes = [len(codes.values) for _, codes in groups]
        check_number(prod(sizes))
        check_work(self.table, axes, prod(sizes), prod(sizes) * where.guess.size)
        out = dict[Ranks, Pieces]()
        for ranks in np.ndindex(*sizes):
            mine = [member(rank) for member, rank in zip(found, ranks, strict=True)]
            out[ranks] = self._pieces(c, axes, reduce(Held.both, mine, where), by_cells)
        return {ranks: here for ranks, here in out.items() if here}

    def _pieces(
        self, c: Cluster, axes: tuple[GridAxis, ...], where: Held, by_cells: bool = False, slab: Slab | None = None
    ) -> Pieces:
        """The queries of the cluster's value, or of 1, over these rows. ``axes``: those of the slab, if any."""
        value, sure = c.value, where.guess.astype(np.int64)
        if any(a.classes is not None for a in axes):
            if not where.is_sure:
                raise too_tied(axes)
            apart = any(value is not None and value.columns == {a.name} and a.classes is None for a in axes)
            numbers = None if apart or value is None else self._numbers(value, axes)
            return box_pieces(self.table, c, axes, sure, numbers, self._pieces)
        counts = value is None and self.values.listed_by_value
        by_cells = by_cells or (not counts and any(a.text is not None for a in axes))
        straight = None if value is None or by_cells else value.straight
        if self.values.by_value and not by_cells and where.is_sure and (value is None) == (straight is None):
            found = asked_by_value(self.table, axes, sure, straight, self.values)
            if found is not None:
                return found
        if straight is not None:
            return summed_pieces(self.table, axes, where, straight, self.values.cut_classes)
        numbers = None
        if value is not None:
            numbers = self._numbers(value, axes) if slab is None else slab.of(self._numbers(value, slab.whole))
            if self.values.curves and not by_cells and where.is_sure:
                smooth = bool(changes_anywhere(self.grids, value))
                near = chord_pieces(self.table, axes, numbers, sure, self.values.cut_classes, smooth=smooth)
                if near is not None:
                    return near
        if all(a.points is None for a in axes):
            return pieces(self.table, axes, sure if numbers is None else sure * numbers)
        return held_pieces(self.table, axes, where, self.values.cut_classes, numbers)

    def _numbers(self, value: Bound, axes: tuple[GridAxis, ...]) -> Signed:
        if value.chooses & changes_anywhere(self.grids, value):
            raise UnsupportedQuery(
                "a sum of values that are chosen by a condition which may change anywhere inside of bins",
                hint="put the condition into FILTER (WHERE ...) or WHERE",
            )
        found = self.evaluator.numbers(self.grids, value)
        numbers = found.distances if value.distance and found.distances is not None else found.numbers
        return spread(numbers, self.grids.ordered(value.columns), axes)


def _alone(found: Pieces) -> Answer:
    """Of what no group is part of."""
    return {(): found} if found else {}
