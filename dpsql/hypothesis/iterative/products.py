"""Sums of products: a real function on the cells of a table, kept as what it is made of. Public.

A cut (S, T) of a graph is the product of two vectors, and what Frieze and Kannan build is a sum of cuts. A term of two
columns of 4,000 vertices takes 64 KB this way, and 128 MB as a matrix; no method here makes that matrix but ``cells``,
when it is asked for it.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from dpsql.domain import TableDomain
from dpsql.query import Estimates, Factor, LinearQuery

Columns = tuple[str, ...]
Outline = tuple[Columns, ...]


class Products:
    """``sum_i c_i q_i`` over the finite cells of ``table``; ``q_i`` are linear queries, weights in [0, 1].

    >>> from dpsql.domain import IntegerDomain
    >>> t = TableDomain("t", (IntegerDomain("a", 0, 2, nullable=False), IntegerDomain("b", 0, 1, nullable=False)))
    >>> one = LinearQuery("t", (Factor(("a",), np.array([0, 1, 1])),))
    >>> total = Products(t)
    >>> total.add(0.5, one)
    >>> total.inner(one), total.cells(("b",))
    (2.0, array([1., 1.]))
    """

    def __init__(self, table: TableDomain) -> None:
        self._table = table
        self._sizes = {c.name: c.size for c in table.finite}
        self._blocks: dict[Outline, _Block] = {}

    def add(self, coefficient: float, query: LinearQuery) -> None:
        """One term more."""
        factors, scale = _without_shares(query)
        outline = tuple(f.columns for f in factors)
        block = self._blocks.setdefault(outline, _Block(outline))
        block.add(coefficient * scale, [f.weights / f.unit for f in factors])

    def inner(self, query: LinearQuery) -> float:
        """``sum over x of q(x) f(x)``, the answer to ``query``: O(terms x cells of the factors), not of their grid."""
        factors, scale = _without_shares(query)
        return scale * sum(self._inner(block, factors) for block in self._blocks.values())

    def cells(self, columns: Columns) -> Estimates:
        """Sums over the cells of ``columns`` (any order), float64, shape = the columns' sizes."""
        out = np.zeros([self._sizes[c] for c in columns])
        for block in self._blocks.values():
            out += self._cells(block, columns)
        return out

    def _inner(self, block: "_Block", factors: Sequence[Factor]) -> float:
        """Columns that only one side has are summed over; those that neither has count with their size."""
        own = {f.columns: f for f in factors}
        touched = {c for f in factors for c in f.columns}.union(*block.outline)
        alone = prod(n for c, n in self._sizes.items() if c not in touched)
        if not all(c in own or touched_by(c, own) == 0 for c in block.outline):
            return alone * self._entangled(block, factors)
        each = block.coefficients
        for columns, stacked in zip(block.outline, block.stacked(), strict=True):
            same = own.pop(columns, None)
            each = each * (stacked.sum(axis=1) if same is None else stacked @ (same.weights.reshape(-1) / same.unit))
        return alone * float(each.sum()) * prod(float(f.weights.sum()) / f.unit for f in own.values())

    def _entangled(self, block: "_Block", factors: Sequence[Factor]) -> float:
        """The same where factors share some of their columns only."""
        names = {c: i + 1 for i, c in enumerate(self._sizes)}
        parts: list[Any] = [block.coefficients, [0]]
        for columns, stacked in zip(block.outline, block.stacked(), strict=True):
            parts += [stacked.reshape(-1, *(self._sizes[c] for c in columns)), [0, *(names[c] for c in columns)]]
        for f in factors:
            parts += [f.weights / f.unit, [names[c] for c in f.columns]]
        return float(np.einsum(*parts, [], optimize=True))

    def _cells(self, block: "_Block", columns: Columns) -> Estimates:
        """Of one outline: (columns of the result, in factor order) as a matrix product over the terms."""
        each, kept, sides = block.coefficients, list[str](), list[Estimates]()
        for own, stacked in zip(block.outline, block.stacked(), strict=True):
            shaped = stacked.reshape(-1, *(self._sizes[c] for c in own))
            gone = tuple(i + 1 for i, c in enumerate(own) if c not in columns)
            side = shaped.sum(axis=gone).reshape(len(stacked), -1)
            if len(gone) == len(own):
                each = each * side[:, 0]
            else:
                kept += [c for c in own if c in columns]
                sides.append(side)
        found = each.reshape(-1, 1)
        for side in sides[:-1]:
            found = (found[:, :, None] * side[:, None, :]).reshape(len(each), -1)
        found = found.T @ sides[-1] if sides else found.sum(axis=0)
        held = {c for own in block.outline for c in own}
        alone = prod(n for c, n in self._sizes.items() if c not in held and c not in columns)
        out = found.reshape([self._sizes[c] for c in kept])
        order = [kept.index(c) for c in columns if c in held]
        shape = [self._sizes[c] if c in held else 1 for c in columns]
        return alone * out.transpose(order).reshape(shape)


class _Block:
    """The terms of one outline: coefficients, and for each factor its terms' weights as the rows of a matrix."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.coefficients = np.zeros(0)
        self._rows: list[list[Estimates]] = [[] for _ in outline]
        self._stacked: list[Estimates] | None = None

    def add(self, coefficient: float, weights: Sequence[Estimates]) -> None:
        self.coefficients = np.append(self.coefficients, coefficient)
        for rows, w in zip(self._rows, weights, strict=True):
            rows.append(w.reshape(-1))
        self._stacked = None

    def stacked(self) -> list[Estimates]:
        if self._stacked is None:
            self._stacked = [np.stack(rows) for rows in self._rows]
            self._rows = [list(matrix) for matrix in self._stacked]
        return self._stacked


def touched_by(columns: Columns, factors: dict[Columns, Factor]) -> int:
    """How many of ``columns`` the factors touch.

    >>> touched_by(("a", "b"), {("b", "c"): Factor(("b", "c"), np.ones((2, 2), dtype=np.int64))})
    1
    """
    return sum(c in f for f in factors for c in columns)


def _without_shares(query: LinearQuery) -> tuple[list[Factor], float]:
    """The factors over columns, and the product of those over none."""
    shares = [f for f in query.factors if not f.columns]
    return [f for f in query.factors if f.columns], prod(float(f.weights) / f.unit for f in shares)
