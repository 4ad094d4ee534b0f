"""The universe of a workload: the columns that it touches, in parts that no query joins. Public.

Queries over different parts never meet in one query, so a product of one distribution for each part answers the
workload as well as any joint one: multiplicative weights keep the product form, and the parts' sizes add up instead of
multiplying.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from dpsql.accounting import Plan
from dpsql.domain import TableDomain
from dpsql.errors import InternalError, NotSupportedError
from dpsql.hypothesis import TENSOR_CELLS
from dpsql.query import LinearQuery
from dpsql.synthesis.wanted import Check, Wanted


@dataclass(frozen=True)
class Part:
    """Columns (table order) that queries join, their sizes, and the positions in the workload of these queries."""

    columns: tuple[str, ...]
    shape: tuple[int, ...]
    queries: tuple[int, ...]

    @property
    def cells(self) -> int:
        return prod(self.shape)


def asked(workload: Sequence[LinearQuery]) -> tuple[LinearQuery, ...]:
    """The queries of a workload that say something about columns, each once.

    InternalError for listed strings, sums of values or weights outside [0, 1]; NotSupportedError when none is left.
    """
    kept: dict[str, LinearQuery] = {}
    for query in workload:
        query.check_sensitivity()
        if query.keyed is not None or query.is_by_value:
            raise InternalError("a workload of counts of cells holds another question")
        if query.scope:
            kept.setdefault(query.digest, query)
    if not kept:
        raise NotSupportedError(
            "the workload asks about no column that has a declared list of values",
            hint="ask about columns, for example --workload marginals:2",
        )
    return tuple(kept.values())


def independent_parts(table: TableDomain, workload: Sequence[LinearQuery]) -> tuple[Part, ...]:
    """The connected sets of columns of ``workload``, in table order.

    NotSupportedError when one of them has more cells than a tensor may have.
    """
    joined: list[tuple[set[str], list[int]]] = []
    for i, query in enumerate(workload):
        columns, positions, apart = set(query.scope), [i], []
        for group in joined:
            if columns.isdisjoint(group[0]):
                apart.append(group)
            else:
                columns |= group[0]
                positions = group[1] + positions
        joined = [*apart, (columns, positions)]
    parts = [_part(table, columns, positions) for columns, positions in joined]
    return tuple(sorted(parts, key=lambda p: table.order[p.columns[0]]))


def _part(table: TableDomain, columns: set[str], positions: list[int]) -> Part:
    ordered = tuple(sorted(columns, key=table.order.__getitem__))
    part = Part(ordered, table.shape(ordered), tuple(sorted(positions)))
    if part.cells > TENSOR_CELLS:
        raise NotSupportedError(
            f"the workload joins {len(ordered)} columns of {part.cells:.2g} cells together,"
            f" and this method keeps a weight for each: {TENSOR_CELLS:,} at most",
            hint="ask about fewer columns, or take --method session or dual-query",
        )
    return part


def checked_by(read: Callable[[Mapping[str, str]], object]) -> Check:
    """What a method over parts refuses: of its options what ``read`` does, and a workload that joins too many cells."""

    def check(table: TableDomain, wanted: Wanted, told: Sequence[LinearQuery], plan: Plan) -> None:
        read(wanted.options)
        independent_parts(table, asked(told))

    return check
