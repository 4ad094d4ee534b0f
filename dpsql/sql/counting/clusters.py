"""Conditions, group expressions and a number, split into parts that share no column.

Parts that share none are evaluated each on the grid of its own columns, and their product is the query.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dpsql.sql.expressions.bound import Bound


@dataclass(frozen=True, eq=False, slots=True)
class Cluster:
    """Conditions, group expressions (by position) and perhaps a number that are tied together by shared columns."""

    columns: frozenset[str]
    conjuncts: tuple[Bound, ...]
    groups: tuple[int, ...]
    value: Bound | None


def clusters(conjuncts: Sequence[Bound], groups: Sequence[Bound], value: Bound | None) -> list[Cluster]:
    """Connected components of conditions, groups and value; everything on text columns is one component."""
    merged: list[tuple[frozenset[str], list[Bound], list[int], Bound | None]] = []
    items: list[tuple[Bound, int | None, bool]] = [(b, None, False) for b in conjuncts]
    items += [(b, i, False) for i, b in enumerate(groups)]
    if value is not None:
        items.append((value, None, True))

    def on_text(item: tuple[frozenset[str], list[Bound], list[int], Bound | None]) -> bool:
        bounds = [*item[1], *(groups[g] for g in item[2]), *(() if item[3] is None else (item[3],))]
        return any(b.outside for b in bounds)

    for bound, group, is_value in items:
        columns, own = bound.columns, ([] if group is not None or is_value else [bound])
        numbers = [] if group is None else [group]
        number = bound if is_value else None
        rest = []
        for other in merged:
            if not columns.isdisjoint(other[0]) or (bound.outside and on_text(other)):
                columns |= other[0]
                own = other[1] + own
                numbers = other[2] + numbers
                number = other[3] or number
            else:
                rest.append(other)
        merged = [*rest, (columns, own, numbers, number)]
    return [Cluster(c, tuple(b), tuple(sorted(g)), v) for c, b, g, v in merged]
