"""Counts of different values: no sums over rows, but of what each unit, or each row, may change little.

``COUNT(DISTINCT person)`` changes by one when a person comes or goes, however many rows the person has. What it takes
to count that, and nothing of the data, is said here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.errors import LISTED, InternalError, UnsupportedQuery
from dpsql.query.form import Form, Term
from dpsql.query.linear import Factor, Key, LinearQuery

MOST_TOGETHER = 1 << 20
"""Of cells that the conditions and groups of one aggregate tell apart."""
MOST_TOLD = 1 << 27
"""Cells of connected columns times the conditions on them: bytes of the work."""
_HINT = "group by fewer columns, or write simpler conditions"


@dataclass(frozen=True, eq=False)
class DistinctCount:
    """How many values of ``column``, NULL aside, the rows have that ``rows`` counts; its terms make 0 or 1 of each row.

    ``column``: the table's unit or a text column. ``times``: values that so many of these rows have, neither more nor
    fewer; with 0 values that any have.
    """

    table: str
    column: str
    rows: Form
    times: int = 0

    @cached_property
    def digest(self) -> str:
        """What equal questions share, and no others."""
        terms = sorted((t.query.digest, t.coefficient) for t in self.rows.terms)
        told = repr(("different values", self.table, self.column, self.times, terms))
        return sha256(told.encode()).hexdigest()

    @cached_property
    def most(self) -> int | None:
        """As many values as there can be, where conditions list them; ``None`` where they do not."""
        listed: set[str | None] = set()
        for keyed in (t.query.keyed for t in self.rows.terms):
            if keyed is None or self.column not in keyed.text_columns:
                return None
            listed.update(key[keyed.text_columns.index(self.column)] for key in keyed.strings)
        return len(listed - {None})

    def repeated(self, most: int) -> "tuple[DistinctCount, ...]":
        """The same of values that 1, 2, .. ``most`` rows have."""
        return tuple([DistinctCount(self.table, self.column, self.rows, n) for n in range(1, most + 1)])


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts 0 .. ``size - 1`` of the cells of ``columns``; ``labels``: the part of each, of the columns' shape."""

    columns: tuple[str, ...]
    labels: npt.NDArray[np.int64]
    size: int


@dataclass(frozen=True, eq=False)
class Regions:
    """Disjoint sets of rows, numbered 0 .. ``size - 1``: which one a row is in follows from its cells and strings.

    ``numbers``: the region of each combination of parts, -1 for none; its first axis are the listed ``keys`` of
    ``text_columns`` and what is not listed, where there are any, the others are ``axes``.
    """

    axes: tuple[Parts, ...]
    numbers: npt.NDArray[np.int64]
    size: int
    text_columns: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(c for a in self.axes for c in a.columns)


def regions_of(selections: Sequence[Form]) -> Regions:
    """One region for each selection of rows, given as a form that is 1 for its rows and 0 for others.

    UnsupportedQuery where a condition holds for a part of a cell, ties strings to other columns, or there are too many
    parts; InternalError where selections share rows.

    >>> young, old = (LinearQuery("t", (Factor(("age",), np.array(w)),)) for w in ([1, 1, 0], [0, 0, 1]))
    >>> from dpsql.query.form import Term
    >>> found = regions_of([Form(0.0, (Term(1.0, old),)), Form(0.0, (Term(1.0, young),))])
    >>> found.axes[0].labels, found.numbers
    (array([0, 0, 1]), array([1, 0]))
    """
    queries = {t.query.digest: t.query for form in selections for t in form.terms}
    _check(selections, list(queries.values()))
    text = next((q.keyed.text_columns for q in queries.values() if q.keyed is not None), ())
    listed = {k: None for q in queries.values() if q.keyed is not None for k in q.keyed.strings}
    keys = {key: i for i, key in enumerate(listed)}
    axes = [_Told(columns, list(queries.values())) for columns in _clusters(list(queries.values()))]
    sizes = ((len(keys) + 1,) if text else ()) + tuple(a.axis.size for a in axes)
    if prod(sizes) > MOST_TOGETHER or prod(sizes) * len(selections) > MOST_TOLD:
        raise UnsupportedQuery("different values in too many groups of too many cells", hint=_HINT)
    numbers = np.full(sizes, -1, dtype=np.int64)
    for i, form in enumerate(selections):
        inside = _inside(form, sizes, keys, bool(text), axes)
        if (numbers[inside] >= 0).any():
            raise InternalError("groups that share rows")
        numbers[inside] = i
    numbers.setflags(write=False)
    return Regions(tuple(a.axis for a in axes), numbers, len(selections), text, tuple(keys))


def _check(selections: Sequence[Form], queries: Sequence[LinearQuery]) -> None:
    parts = [t for form in selections for t in form.terms if _is_partial(t)]
    if parts:
        reason = "different values cannot be counted where a condition holds for a part of a bin"
        raise UnsupportedQuery(reason, hint=f"compare with an edge of the bins, by >= or <: {LISTED} lists them")
    keyed = [q.keyed for q in queries if q.keyed is not None]
    if any(k.columns for k in keyed) or len({k.text_columns for k in keyed}) > 1:
        reason = "different values are not counted where a condition ties strings to other columns"
        raise UnsupportedQuery(reason, hint="join conditions on strings and on other columns with AND")


def _is_partial(term: Term) -> bool:
    """Whether it counts some rows of a cell and not others."""
    return term.doubt > 0 or not term.query.is_indicator or term.query.is_by_value


def _clusters(queries: Sequence[LinearQuery]) -> list[tuple[str, ...]]:
    """Columns in sets that no factor joins, each in the order of its first factors."""
    found: list[list[str]] = []
    for columns in dict.fromkeys(f.columns for q in queries for f in q.factors):
        joined = [c for c in found if set(c) & set(columns)]
        found = [c for c in found if c not in joined]
        found.append(list(dict.fromkeys([*(name for c in joined for name in c), *columns])))
    return [tuple(c) for c in found]


class _Told:
    """The parts of a cluster that its factors tell apart, and the parts in which each factor is 1."""

    def __init__(self, columns: tuple[str, ...], queries: Sequence[LinearQuery]) -> None:
        self.columns = columns
        factors = {f.digest: f for q in queries for f in q.factors if set(f.columns) <= set(columns)}
        sizes = {c: n for f in factors.values() for c, n in zip(f.columns, f.weights.shape, strict=True)}
        shape = tuple(sizes[c] for c in columns)
        if prod(shape) * len(factors) > MOST_TOLD:
            raise UnsupportedQuery("different values in too many groups of too many cells", hint=_HINT)
        flat = np.stack([_spread(f, columns, shape) for f in factors.values()])
        packed = np.packbits(flat, axis=0).T
        _, first, labels = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        self.axis = Parts(columns, labels.reshape(shape).astype(np.int64), len(first))
        self._parts = {digest: row[first] for digest, row in zip(factors, flat, strict=True)}

    def inside(self, query: LinearQuery) -> npt.NDArray[np.bool_]:
        """The parts in which all of the query's factors on these columns are 1."""
        out = np.ones(self.axis.size, dtype=bool)
        for f in query.factors:
            if set(f.columns) <= set(self.columns):
                out &= self._parts[f.digest]
        return out


def _spread(factor: Factor, columns: tuple[str, ...], shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    order = sorted(range(len(factor.columns)), key=lambda i: columns.index(factor.columns[i]))
    weights: npt.NDArray[Any] = factor.weights.transpose(order) > 0
    own = [n if c in factor.columns else 1 for c, n in zip(columns, shape, strict=True)]
    return np.broadcast_to(weights.reshape(own), shape).reshape(-1)


def _inside(
    form: Form, sizes: tuple[int, ...], keys: dict[Key, int], has_text: bool, axes: Sequence[_Told]
) -> npt.NDArray[np.bool_]:
    """The combinations of parts whose rows a form counts; InternalError when it is not 0 or 1 everywhere."""
    total = np.zeros(sizes, dtype=np.int64)
    for term in form.terms:
        sides = [np.flatnonzero(axis.inside(term.query)) for axis in axes]
        if has_text:
            keyed = term.query.keyed
            every = np.arange(len(keys) + 1)
            chosen = every if keyed is None else np.array([keys[k] for k in keyed.strings], dtype=np.int64)
            sides = [chosen, *sides]
        total[np.ix_(*sides)] += round(term.coefficient)
    if form.constant or any(t.coefficient % 1 for t in form.terms) or total.min() < 0 or total.max() > 1:
        raise InternalError("a selection that counts a row other than once")
    return total > 0
