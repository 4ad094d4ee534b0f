"""The exact split of weights with text columns into total and sparse parts.

On a text axis the weights W take one value per class of strings. A candidate k lies in a next larger one, p(k), or in
*other*, the set of all strings; with D(k) = W(k) - W(p(k)), the weight of a string is W(other) plus D over all
candidates that hold it, so W is a sum of W(other) and one part for each text column, declared or derived, whose keys
the candidates are. With several text axes W is the sum over all choices of one of these on each axis (Moebius
inversion), so each part is a dense query or has a finite list of keys.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from dpsql.domain import FIXED_POINT, TableDomain, Value
from dpsql.errors import UnsupportedQuery
from dpsql.query import VALUE_UNIT, Factor, Interval, Key, KeyedFactor, LinearQuery, Term, Weights, linear_query
from dpsql.sql.counting.bins.points import Points
from dpsql.sql.expressions.text_classes import TextClasses, TextPart
from dpsql.sql.text.limits import LARGEST_VALUE

Signed = npt.NDArray[np.int64] | npt.NDArray[np.float64]

LEAST_UNIT = 1 << 9
"""Of the shares of rows in cut bins where several columns weigh rows."""


@dataclass(frozen=True, eq=False)
class ValueClasses:
    """Classes of a column's values: that of each cell, and for each class its first cell and the value there."""

    labels: npt.NDArray[np.int64]
    first: npt.NDArray[np.intp]
    values: tuple[Value, ...]

    @cached_property
    def key(self) -> bytes:
        """Equal for equal classes of one column."""
        return self.labels.tobytes()


@dataclass(frozen=True, eq=False, slots=True)
class GridAxis:
    """One column of a grid. ``text`` is set for a text column: the classes of its strings; ``points`` for
    a binned one; ``classes`` where its values are taken by classes."""

    name: str
    size: int
    text: TextClasses | None = None
    points: Points | None = None
    classes: ValueClasses | None = None


@dataclass(frozen=True, eq=False, slots=True)
class QueryPiece:
    """``coefficient`` times a query that concerns one connected set of columns.

    The truth may be any number from ``low`` to ``high`` for each row that the query counts, where these are given.
    """

    coefficient: float
    query: LinearQuery
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most that a row may count."""
        low, high = self.low, self.high
        return self.coefficient if low is None else low, self.coefficient if high is None else high


class TooLarge(UnsupportedQuery):
    """The refusal of a sum of numbers that are too large."""


def pieces(table: TableDomain, axes: Sequence[GridAxis], weights: Signed) -> tuple[QueryPiece, ...]:
    """Linear queries whose sum, with coefficients, has the given signed weights. Shape = the axes' sizes.

    Integer weights up to 2^24 stay exact; others are rounded to multiples of max / 2^24.
    """
    text = [i for i, a in enumerate(axes) if a.text is not None]
    finite = [i for i, a in enumerate(axes) if a.text is None]
    choices = product(*[(None, *_parts(a.text, weights, i)) for i, a in enumerate(axes) if a.text is not None])
    out: list[QueryPiece] = []
    for choice in sorted(choices, key=lambda c: (sum(p is not None for p in c), [p is None for p in c])):
        part = weights
        for axis, chosen in zip(text, choice, strict=True):
            if chosen is None:
                part = part.take([-1], axis=axis)
            else:
                part = part.take(chosen.entries, axis=axis) - part.take(chosen.parents, axis=axis)
        if part.any():
            parts = {i: p for i, p in zip(text, choice, strict=True) if p is not None}
            out.extend(_signed_pieces(table, axes, part, parts, finite))
    return tuple(out)


def scaled(found: Sequence[QueryPiece], by: float) -> list[QueryPiece]:
    """Pieces with their coefficients times a number; none of 0."""
    return [replace(p, coefficient=p.coefficient * by) for p in found if by != 0.0]


def terms_of(table: TableDomain, coefficient: float, combination: Sequence[QueryPiece]) -> tuple[Term, ...]:
    """The product of pieces that share no column, times a coefficient, with the most that its rows may count beside it;
    where it had to be rounded, rows that may be off by that are terms of coefficient 0.

    Raises TooLarge for a number that is too large.
    """
    scale, ends = coefficient, (coefficient, coefficient)
    factors: list[Factor] = []
    keyed = value = None
    intervals: list[Interval] = []
    for piece in combination:
        scale *= piece.coefficient
        if piece.low is not None or ends[0] != ends[1]:
            products = [a * b for a in ends for b in piece.ends]
            ends = min(products), max(products)
        else:
            ends = scale, scale
        factors += piece.query.factors
        keyed = piece.query.keyed or keyed
        value = piece.query.value or value
        intervals += piece.query.intervals
    if not abs(scale) <= LARGEST_VALUE:
        raise TooLarge(
            f"a value beyond {LARGEST_VALUE:.0e} cannot be summed", hint="divide it, or sum a smaller number"
        )
    if len(factors) > 1:
        order = table.order  # no two share a column, so the first one tells them apart
        factors.sort(key=lambda f: order[f.columns[0]] if f.columns else -1)
    intervals.sort(key=lambda i: table.order[i.column])
    doubt = max(ends[1] - scale, scale - ends[0])
    by_value = value is not None or bool(intervals)
    coarse, lost = _coarser(factors, keyed.unit if keyed else 1, VALUE_UNIT if by_value else FIXED_POINT)
    query = LinearQuery(
        table.name, _canonical(table, coarse) if lost else tuple(factors), keyed, value, tuple(intervals)
    )
    most = float(max(map(abs, (scale, *ends))))
    rounded = [Term(0.0, replace(query, factors=_canonical(table, some)), most * by) for some, by in lost]
    return (Term(float(scale), query, float(doubt)), *rounded)


_Lost = tuple[list[Factor], float]
"""Rows, and how far the weight of one may be off."""


def _coarser(factors: list[Factor], taken: int, most: int) -> tuple[list[Factor], list[_Lost]]:
    """The factors with units whose product times ``taken`` is at most ``most``, and what that loses.

    Shares and fractions are in halves of halves: they are rounded, and whole numbers only where that does not do. A
    product is off by the rounding of one factor times the others, these rounded up. UnsupportedQuery where little would
    be left of a factor.
    """
    units = _coarse_units([f.unit for f in factors], taken, most)
    if units is None:
        raise UnsupportedQuery(
            "rows would be weighed by too many columns at once", hint="use fewer columns in one sum or condition"
        )
    changed = [i for i, f in enumerate(factors) if units[i] < f.unit]
    nearest, above = ([*factors] for _ in range(2))
    for i in changed:
        exact = factors[i].weights / factors[i].unit * units[i]
        nearest[i] = Factor(factors[i].columns, np.rint(exact).astype(np.int64), units[i])
        above[i] = Factor(factors[i].columns, np.ceil(exact).astype(np.int64), units[i])
    lost: list[_Lost] = []
    for i in changed:
        some = Factor(factors[i].columns, (factors[i].weights > 0).astype(np.int64))
        lost.append(([*above[:i], some, *above[i + 1 :]], 0.5 / units[i]))
    return nearest, lost


def _coarse_units(units: Sequence[int], taken: int, most: int) -> list[int] | None:
    """Units whose product times ``taken`` is at most ``most``; ``None`` where little would be left of one."""
    found = [min(unit, most) for unit in units]
    while prod(found) * taken > most:
        fine = [i for i, unit in enumerate(found) if unit > LEAST_UNIT]
        if not fine:
            return None
        found[max(fine, key=lambda i: (found[i] & (found[i] - 1) == 0, found[i]))] //= 2
    return found


def weighed_by_too_many(components: Sequence[Iterable[Sequence[QueryPiece]]], *, listed: bool = False) -> bool:
    """Whether ``terms_of`` refuses a combination of pieces, one of each component's; unless ``listed`` none where one
    lists strings."""
    asked = [[p.query for here in c for p in here] for c in components]
    if not listed and any(q.keyed is not None for queries in asked for q in queries):
        return False
    kinds = [{_units_of(q) for q in queries} for queries in asked]
    for chosen in product(*[kind for kind in kinds if kind]):
        most = VALUE_UNIT if any(by_value for _, _, by_value in chosen) else FIXED_POINT
        taken = prod(unit for _, unit, _ in chosen)
        if _coarse_units([unit for units, _, _ in chosen for unit in units], taken, most) is None:
            return True
    return False


def _units_of(query: LinearQuery) -> tuple[tuple[int, ...], int, bool]:
    """Those of its factors, in order, that of its listed strings, and whether it is about values."""
    taken = 1 if query.keyed is None else query.keyed.unit
    return tuple(sorted([f.unit for f in query.factors])), taken, query.is_by_value


def is_beyond(components: Sequence[Iterable[Sequence[QueryPiece]]]) -> bool:
    """Whether ``terms_of`` refuses a combination of pieces, one of each component's, for a number that is too large."""
    most = [max((abs(p.coefficient) for here in c for p in here), default=1.0) for c in components]
    return not prod(most) <= LARGEST_VALUE


def _canonical(table: TableDomain, factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """Their product's; the factors themselves where it has no row."""
    query = linear_query(table, factors)
    return tuple(factors) if query is None else query.factors


def _parts(classes: TextClasses, weights: Signed, axis: int) -> Sequence[TextPart]:
    """The parts of a text axis. Where no whole string matters, NULL is counted with a prefix: one question less."""
    whole, *starts = classes.parts
    if not starts:
        return classes.parts
    others = tuple(i for i in range(weights.ndim) if i != axis)
    matters = [(weights.take(p.entries, axis) != weights.take(p.parents, axis)).any(axis=others) for p in classes.parts]
    first = next((i for i, m in enumerate(matters[1:]) if m.any()), None)
    if first is None or matters[0][:-1].any() or not matters[0][-1]:
        return classes.parts
    keys, entries, parents = starts[first].keys, starts[first].entries, starts[first].parents
    starts[first] = TextPart(
        starts[first].column,
        (*keys, None),
        np.append(entries, whole.entries[-1]),
        np.append(parents, whole.parents[-1]),
    )
    return starts


def _signed_pieces(
    table: TableDomain, axes: Sequence[GridAxis], part: Signed, chosen: Mapping[int, TextPart], finite: Sequence[int]
) -> list[QueryPiece]:
    columns = tuple(axes[i].name for i in finite)
    shape = tuple(axes[i].size for i in finite)
    rest = [i for i in range(part.ndim) if i not in chosen and i not in finite]
    lists = [p.keys for p in chosen.values()]
    lengths = [len(k) for k in lists]
    flat = part.transpose(*chosen, *rest, *finite).reshape(prod(lengths), prod(shape))
    out = []
    for sign in (1, -1):
        positive = np.maximum(flat * sign, 0)
        used = np.flatnonzero(positive.any(axis=1))
        if not len(used):
            continue
        kept: list[Key] = [()]
        if chosen:
            places = zip(*[p.tolist() for p in np.unravel_index(used, lengths)], strict=True)
            kept = [tuple(keys[i] for keys, i in zip(lists, place, strict=True)) for place in places]
        numerators, unit, coefficient = _fixed(positive[used])
        array = numerators.reshape(len(kept), *shape)
        query = _query(table, tuple(p.column for p in chosen.values()), kept, columns, array, unit)
        if query is not None:
            out.append(QueryPiece(sign * coefficient, query))
    return out


def _fixed(positive: Signed) -> tuple[Weights, int, float]:
    """Numerators, unit and the coefficient that scales weights in [0, 1] back."""
    top = positive.max()
    if positive.dtype == np.int64 and top <= FIXED_POINT:
        return np.ascontiguousarray(positive, dtype=np.int64), int(top), float(top)
    scaled = np.rint(positive / top * FIXED_POINT).astype(np.int64)
    return np.ascontiguousarray(scaled), FIXED_POINT, float(top)


def _query(
    table: TableDomain, text: tuple[str, ...], keys: list[Key], columns: tuple[str, ...], array: Weights, unit: int
) -> LinearQuery | None:
    if not text:
        return linear_query(table, [Factor(columns, array[0], unit)])
    order = sorted(range(len(text)), key=lambda i: table.order[text[i]])
    if order != list(range(len(text))):
        text = tuple(text[i] for i in order)
        keys = [tuple(k[i] for i in order) for k in keys]
    array, columns, factors = _separate(array, columns, unit)
    return linear_query(table, factors, KeyedFactor(text, tuple(keys), columns, array, unit))


def _separate(array: Weights, columns: tuple[str, ...], unit: int) -> tuple[Weights, tuple[str, ...], list[Factor]]:
    """Takes what does not depend on the key out of an indicator over keys and cells: equal questions look equal."""
    factors: list[Factor] = []
    axis = 1
    while unit == 1 and axis < array.ndim:
        own = array.max(axis=tuple(i for i in range(array.ndim) if i != axis))
        rest = array.max(axis=axis)
        shape = [1] * array.ndim
        shape[axis] = -1
        if (array == own.reshape(shape) * np.expand_dims(rest, axis)).all():
            factors.append(Factor((columns[axis - 1],), np.ascontiguousarray(own)))
            array, columns = np.ascontiguousarray(rest), columns[: axis - 1] + columns[axis:]
        else:
            axis += 1
    if unit == 1 and columns:
        own = array.max(axis=tuple(range(1, array.ndim)))
        rest = array.max(axis=0)
        if (array == np.multiply.outer(own, rest)).all():
            factors.append(Factor(columns, np.ascontiguousarray(rest)))
            array, columns = np.ascontiguousarray(own), ()
    return array, columns, factors
