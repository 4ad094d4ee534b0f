"""All answers of a workload at once, on a tensor or on private counts.

Queries of one outline are worked out together. Where they count few cells, these are gathered; where they count many,
as cuts do, the product form is contracted factor by factor, so that no query is ever a mask over the universe.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.query import Counts, Estimates, Factor, LinearQuery

GATHERED = 1 << 23
"""Cells that the queries of one outline may count to be gathered one by one: 64 MB of positions."""
CHUNK = 1 << 23
"""Numbers of a half-contracted group that are held at once: 64 MB."""

Vector = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Gathered:
    """Queries as the cells that they count: ``cells`` and ``weights`` of all, of query i from ``starts[i]`` on."""

    scope: tuple[str, ...]
    positions: Vector
    cells: Vector
    weights: Vector
    starts: Vector

    def numerators(self, contingency: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sums of weight times count, shape (queries,), of counts of the scope's shape."""
        counted = contingency.reshape(-1)[self.cells] * self.weights
        return np.add.reduceat(counted, self.starts)


@dataclass(frozen=True, eq=False)
class Contracted:
    """Queries as products: for each factor of the outline a matrix (queries, cells of the factor)."""

    scope: tuple[str, ...]
    positions: Vector
    matrices: tuple[npt.NDArray[np.int64], ...]

    def numerators(self, contingency: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """As ``Gathered.numerators``; the work is (queries) times (cells), the memory ``CHUNK`` numbers."""
        first, *others = self.matrices
        flat = contingency.reshape(first.shape[1], -1)
        step = max(1, CHUNK // flat.shape[1])
        out = [self._some(flat, first[i : i + step], [m[i : i + step] for m in others]) for i in self._cuts(step)]
        return np.concatenate(out)

    def _cuts(self, step: int) -> range:
        return range(0, len(self.positions), step)

    @staticmethod
    def _some(flat: npt.NDArray[Any], first: Counts, others: Sequence[Counts]) -> npt.NDArray[Any]:
        left: npt.NDArray[Any] = first.astype(flat.dtype) @ flat
        for matrix in others:
            shaped = left.reshape(len(matrix), matrix.shape[1], -1)
            left = np.einsum("kn,knr->kr", matrix.astype(flat.dtype), shaped)
        return left.reshape(len(first))


class Evaluation:
    """The answers of ``queries``, all over ``columns`` (table order)."""

    def __init__(self, columns: tuple[str, ...], queries: Sequence[LinearQuery]) -> None:
        self._columns = columns
        self._units = np.array([q.unit for q in queries], dtype=np.int64)
        outlines: dict[tuple[tuple[str, ...], ...], list[int]] = {}
        for i, query in enumerate(queries):
            outlines.setdefault(tuple(f.columns for f in query.factors), []).append(i)
        self._groups = [_group(queries, positions) for positions in outlines.values()]
        self.scopes = tuple(dict.fromkeys(g.scope for g in self._groups))

    def on_tensor(self, tensor: Estimates) -> Estimates:
        """Answers on ``tensor``, one axis for each of the columns; float64 of shape (queries,), in its unit."""
        out = np.zeros(len(self._units))
        for scope, marginal in self._marginals(tensor).items():
            for group in self._groups:
                if group.scope == scope:
                    out[group.positions] = group.numerators(marginal)
        return out / self._units

    def on_counts(self, contingencies: dict[tuple[str, ...], Counts]) -> Counts:
        """Exact answers rounded down, int64 of shape (queries,), from the counts of every one of ``scopes``."""
        out = np.zeros(len(self._units), dtype=np.int64)
        for group in self._groups:
            out[group.positions] = group.numerators(contingencies[group.scope])
        return np.asarray(out // self._units, dtype=np.int64)

    def _marginals(self, tensor: Estimates) -> dict[tuple[str, ...], Estimates]:
        """The tensor summed to each scope, larger ones first: smaller ones are summed from them."""
        known: dict[frozenset[str], tuple[tuple[str, ...], Estimates]] = {
            frozenset(self._columns): (self._columns, tensor)
        }
        out: dict[tuple[str, ...], Estimates] = {}
        for scope in sorted(self.scopes, key=len, reverse=True):
            wanted = frozenset(scope)
            columns, values = min((v for k, v in known.items() if wanted <= k), key=lambda v: v[1].size)
            ordered = tuple(c for c in columns if c in wanted)
            summed = values.sum(axis=tuple(i for i, c in enumerate(columns) if c not in wanted))
            known.setdefault(wanted, (ordered, summed))
            out[scope] = np.ascontiguousarray(summed.transpose([ordered.index(c) for c in scope]))
        return out


def _group(queries: Sequence[LinearQuery], positions: list[int]) -> Gathered | Contracted:
    chosen = [queries[i] for i in positions]
    counted = sum(prod(int(np.count_nonzero(f.weights)) for f in q.factors) for q in chosen)
    where = np.array(positions, dtype=np.int64)
    columns = [i for i, f in enumerate(chosen[0].factors) if f.columns]
    if counted > GATHERED and len(columns) == len(chosen[0].factors):
        matrices = [np.stack([q.factors[i].weights.reshape(-1) for q in chosen]) for i in columns]
        return Contracted(chosen[0].scope, where, tuple(matrices))
    pieces = [_cells(q) for q in chosen]
    sizes = np.array([len(cells) for cells, _ in pieces])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    cells, weights = (np.concatenate([p[i] for p in pieces]) for i in (0, 1))
    return Gathered(chosen[0].scope, where, cells, weights, starts)


def _cells(query: LinearQuery) -> tuple[Vector, Vector]:
    """The cells of the scope, flat, that a query counts, and its weights there in 1 / unit; never none."""
    cells, weights = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    for factor in query.factors:
        flat = factor.weights.reshape(-1)
        kept = np.flatnonzero(flat)
        if not kept.size:  # a query that counts nothing: one cell of weight 0
            kept = np.zeros(1, dtype=np.int64)
        cells = (cells[:, None] * flat.size + kept[None, :]).reshape(-1)
        weights = (weights[:, None] * flat[kept][None, :]).reshape(-1)
    return cells, weights


def spread(query: LinearQuery, columns: tuple[str, ...]) -> Estimates:
    """The query's weights in [0, 1] as a tensor over ``columns``, of length 1 where it does not look."""
    out: Estimates = np.ones((1,) * len(columns))
    for factor in query.factors:
        out = out * _placed(factor, columns)
    return out


def _placed(factor: Factor, columns: tuple[str, ...]) -> Estimates:
    order = sorted(range(len(factor.columns)), key=lambda i: columns.index(factor.columns[i]))
    sizes = dict(zip(factor.columns, factor.weights.shape, strict=True))
    shape = [sizes.get(c, 1) for c in columns]
    return (factor.weights.transpose(order) / factor.unit).reshape(shape)
