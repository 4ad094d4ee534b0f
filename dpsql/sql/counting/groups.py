"""The groups of one connected component: what each of them asks, from the cells that it has. Public.

Most components are one column, whose groups are values of it or strings: then nothing has to be searched for a product.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import floor, inf, log10

import numpy as np

from dpsql.domain import DateDomain, IntegerDomain, TableDomain
from dpsql.errors import UnsupportedQuery
from dpsql.query import Counts, Factor, KeyedFactor, LinearQuery, Points
from dpsql.sql.counting.clusters import Cluster
from dpsql.sql.counting.pieces import GridAxis, QueryPiece
from dpsql.sql.counting.slabs import Slab, slab_of
from dpsql.sql.text.limits import MAX_GROUP_CELLS, MAX_GROUPS, MAX_PARTS, too_many_groups

Pieces = tuple[QueryPiece, ...]
Ranks = tuple[int, ...]
"""A combination of values of a component's group expressions, each by its rank."""
_COUNTABLE = 10**15
"""Numbers of cells from here on are shown as a power of ten."""


class PointGroups(Mapping[Ranks, Pieces]):
    """Groups of one value of one column each: the factors of all, and a group's query when it is looked at.

    ``ranks``: int64, shape (groups, group expressions).
    """

    def __init__(self, table: str, factors: Points, ranks: Counts) -> None:
        self.factors = factors
        self.ranks = ranks
        self._table = table
        self._places: dict[Ranks, int] = dict(zip(_tuples(ranks), range(len(self.factors)), strict=True))
        self._made: dict[Ranks, Pieces] = {}

    def __getitem__(self, ranks: Ranks) -> Pieces:
        made = self._made.get(ranks)
        if made is None:
            factor = self.factors[self._places[ranks]]
            made = self._made[ranks] = (QueryPiece(1.0, LinearQuery(self._table, (factor,))),)
        return made

    def __iter__(self) -> Iterator[Ranks]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def numbers_held(answer: Mapping[Ranks, Pieces]) -> int:
    """How many numbers an answer holds in memory, those of its own objects among them."""
    if isinstance(answer, PointGroups):
        return 64 * len(answer) + answer.factors.held
    return sum([_held(piece.query) for here in answer.values() for piece in here])


def _held(query: LinearQuery) -> int:
    keyed = 0 if query.keyed is None else query.keyed.weights.size + len(query.keyed.strings)
    return 64 + keyed + sum([f.weights.size for f in query.factors])


def pieces_held(answers: Sequence[Mapping[Ranks, Pieces]]) -> list[list[Pieces]]:
    """The pieces of each answer by group; none of groups that are made when they are looked at, which weigh no row."""
    return [[] if isinstance(a, PointGroups) else list(a.values()) for a in answers]


def values_beside_strings(answers: Sequence[Mapping[Ranks, Pieces]]) -> bool:
    """Whether one asks about values of rows which another lists strings of: no one query does both."""
    asked = [[p.query for here in found for p in here] for found in pieces_held(answers)]
    return any(q.is_by_value for here in asked for q in here) and any(
        q.keyed is not None for here in asked for q in here
    )


def sums_values(answers: Sequence[Mapping[Ranks, Pieces]]) -> bool:
    """Whether one sums the values of rows: of single values there are only counts, each times its value."""
    return any(p.query.value is not None for found in pieces_held(answers) for here in found for p in here)


def check_number(groups: int) -> None:
    """UnsupportedQuery for more groups than fit in memory."""
    if groups > MAX_GROUPS:
        raise too_many_groups(groups)


def check_work(table: TableDomain, axes: Sequence[GridAxis], groups: int, cells: int) -> None:
    """UnsupportedQuery for groups that have so many cells to look at, all of them together."""
    if cells > MAX_GROUP_CELLS:
        hint = "group by fewer or coarser expressions, keep some groups with WHERE"
        names = [axis.name for axis in axes if axis.text is None]
        raise UnsupportedQuery(
            f"{groups:,} groups over {cells:,} cells are more work than is done",
            hint=f"{hint}{_coarser(table, names, MAX_GROUP_CELLS)}",
        )


def _coarser(table: TableDomain, names: Sequence[str], most: int) -> str:
    """What an owner can do where one of these columns has more cells than the root of ``most``; for the longest."""
    columns = [table.finite_domain(name) for name in names]
    wide = [c for c in columns if isinstance(c, IntegerDomain | DateDomain) and c.size**2 > most]
    if not wide:
        return ""
    widest = max(wide, key=lambda c: c.size)
    how = "as a number in bins" if isinstance(widest, IntegerDomain) else "by a coarser unit"
    return f", let the owner declare {widest.name}, which has {widest.size:,} cells, {how}"


def too_many_cells(
    table: TableDomain, query: LinearQuery, cells: int, most: int, parts: float = inf
) -> UnsupportedQuery:
    """The refusal of a query over more cells than the hypothesis takes; it names a column that is most of them.

    ``parts``: as many as it tells apart, where these are what counts; infinite where they are not.
    """
    if parts == 2 ** len(query.factors):  # each condition is met or not
        return UnsupportedQuery(
            f"the conditions of the statement on {len(query.factors)} columns tell more combinations apart than "
            f"{MAX_PARTS:,}",
            hint=f"use conditions on {MAX_PARTS.bit_length() - 1} columns at most in one statement",
        )
    names = [name for f in query.factors for name in f.columns]
    hint = f"use fewer columns in one statement{_coarser(table, names, most)}"
    if not query.is_by_value:
        hint += ', or take strategy = "frieze-kannan" for products of conditions'
    touched = f"{cells:,}" if cells < _COUNTABLE else f"about 10^{floor(log10(cells))}"
    return UnsupportedQuery(f"the statement touches {touched} cells at once, more than {most:,}", hint=hint)


def is_plain(c: Cluster, axes: Sequence[GridAxis], flat: Counts) -> bool:
    """Whether rows are told apart by the values of one column alone, each of which is a cell, or a listed string."""
    if c.value is not None or len(axes) != 1 or axes[0].points is not None or axes[0].classes is not None:
        return False
    return axes[0].text is None or (not axes[0].text.starts and int(flat[-1]) < 0)


def pieces_of_groups(
    table: TableDomain,
    axes: Sequence[GridAxis],
    flat: Counts,
    pieces_of: Callable[[int, Slab], Pieces] | None,
    sizes: Sequence[int],
) -> Mapping[Ranks, Pieces]:
    """For each code in ``flat`` (over the axes' grid; -1: in no group), ascending, the pieces of its cells, if any.

    A code is the place of its ranks in an array of shape ``sizes``. ``pieces_of`` finds the pieces of a group from
    its code and its part of the grid; ``None`` where every row of one column counts, whose values are cells,
    or listed strings.
    """
    order = np.argsort(flat, axis=None, kind="stable")
    codes, starts, widths = np.unique(flat.reshape(-1)[order], return_index=True, return_counts=True)
    first = int(codes[0] == -1)
    check_number(len(codes) - first)
    finite = pieces_of is not None or axes[0].text is None
    ranks = np.stack(np.unravel_index(codes[first:], sizes), axis=1)
    if not len(ranks):
        return {}
    if pieces_of is None:
        check_work(table, axes, len(ranks), len(ranks) * flat.size if finite else 0)
    if finite and pieces_of is None and axes[0].size > 1 and (widths[first:] == 1).all():
        points = Factor.points(axes[0].name, axes[0].size, order[starts[first:]].tolist())
        return PointGroups(table.name, points, ranks)
    cells = dict(zip(codes.tolist(), np.split(order, starts[1:]), strict=True))
    cells.pop(-1, None)
    if not finite:
        found = _of_strings(table, axes[0], cells)
    elif pieces_of is None:
        found = [(QueryPiece(1.0, _one_of(table, axes[0], here)),) for here in cells.values()]
    else:
        parts = [slab_of(axes, here) for here in cells.values()]
        check_work(table, axes, len(parts), sum([p.size for p in parts]))
        found = [pieces_of(code, part) for code, part in zip(cells, parts, strict=True)]
    return {key: here for key, here in zip(_tuples(ranks), found, strict=True) if here}


def _tuples(ranks: Counts) -> list[Ranks]:
    return list(zip(*ranks.T.tolist(), strict=True))


def _of_strings(table: TableDomain, axis: GridAxis, cells: Mapping[int, Counts]) -> list[Pieces]:
    """Of listed strings, of which each group counts its own: those that are not listed are in none."""
    (part, *_) = () if axis.text is None else axis.text.parts
    out: list[Pieces] = []
    for here in cells.values():
        keys = tuple([(part.keys[i],) for i in here.tolist()])
        keyed = KeyedFactor((part.column,), keys, (), np.ones(len(keys), dtype=np.int64))
        out.append((QueryPiece(1.0, LinearQuery(table.name, (), keyed)),))
    return out


def _one_of(table: TableDomain, axis: GridAxis, cells: Counts) -> LinearQuery:
    """The rows with a value in some cells of a finite column."""
    if len(cells) == axis.size:
        return LinearQuery(table.name, ())
    weights = np.zeros(axis.size, dtype=np.int64)
    weights[cells] = 1
    return LinearQuery(table.name, (Factor((axis.name,), weights),))
