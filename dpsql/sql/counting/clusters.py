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


_Tied = tuple[frozenset[str], list[Bound], list[int], list[Bound]]
"""Columns, conjuncts, groups by position, and numbers."""


def clusters(conjuncts: Sequence[Bound], groups: Sequence[Bound], value: Bound | None) -> list[Cluster]:
    """Connected components of conditions, groups and value; everything on text columns is one component.

    A product is a number of each component that something multiplied is in, unless two are in one.
    """
    whole = () if value is None else (value,)
    found = _components(conjuncts, groups, whole if value is None else value.product or whole)
    if any(len(numbers) > 1 for _, _, _, numbers in found):
        found = _components(conjuncts, groups, whole)
    return [Cluster(c, tuple(b), tuple(sorted(g)), n[0] if n else None) for c, b, g, n in found]


def _components(conjuncts: Sequence[Bound], groups: Sequence[Bound], values: Sequence[Bound]) -> list[_Tied]:
    merged: list[_Tied] = []
    items: list[tuple[Bound, int | None, bool]] = [(b, None, False) for b in conjuncts]
    items += [(b, i, False) for i, b in enumerate(groups)]
    items += [(b, None, True) for b in values]

    def on_text(item: _Tied) -> bool:
        return any(b.outside for b in [*item[1], *(groups[g] for g in item[2]), *item[3]])

    for bound, group, is_value in items:
        columns, own = bound.columns, ([] if group is not None or is_value else [bound])
        numbers = [] if group is None else [group]
        summed = [bound] if is_value else []
        rest = []
        for other in merged:
            if not columns.isdisjoint(other[0]) or (bound.outside and on_text(other)):
                columns |= other[0]
                own = other[1] + own
                numbers = other[2] + numbers
                summed = other[3] + summed
            else:
                rest.append(other)
        merged = [*rest, (columns, own, numbers, summed)]
    return merged
