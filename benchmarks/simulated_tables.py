"""Benchmark tables as codes, with workloads as linear queries and simulated measurements: no engine, no SQL.

The noise here is numpy's, from a seed: it serves to study the fit, not to release anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.tables import ADULT, EDGES
from benchmarks.workload import GROUP_BY_SHARE, zipf_order
from dpsql.accounting import Plan, calibrate
from dpsql.domain import CategoryDomain, ColumnDomain, NumberDomain, TableDomain
from dpsql.hypothesis import Axis, Measurement, coarsen
from dpsql.hypothesis.partition import atoms
from dpsql.planning.contingencies import NARROW_CELLS, PlannedContingency, warm_start
from dpsql.query import Counts, Factor, LinearQuery, linear_query

ADULT6 = ("age", "workclass", "education", "marital_status", "sex", "income")


@dataclass(frozen=True)
class CodedTable:
    """A table's domain and the code of every row in every column, shape (rows, columns)."""

    domain: TableDomain
    codes: np.ndarray
    known: dict[tuple[str, ...], Counts] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return len(self.codes)

    def contingency(self, columns: tuple[str, ...]) -> Counts:
        found = self.known.get(columns)
        if not columns:
            return np.asarray(self.rows)
        if found is None:
            shape, order = self.domain.shape(columns), self.domain.order
            flat = np.ravel_multi_index([self.codes[:, order[c]] for c in columns], shape)
            found = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
            self.known[columns] = found
        return found

    def truth(self, query: LinearQuery) -> int:
        return query.floor(self.contingency(query.scope))


def coded(path: Path, name: str, columns: Sequence[str]) -> CodedTable:
    with duckdb.connect() as con:
        data = con.execute(f"SELECT {', '.join(columns)} FROM '{path}'").fetchnumpy()
    domains: list[ColumnDomain] = []
    codes = []
    for c in columns:
        values = np.ma.filled(data[c], 0) if c in EDGES else np.asarray(data[c]).astype(str)
        if c in EDGES:
            domains.append(NumberDomain(c, tuple(float(e) for e in EDGES[c]), nullable=False, reading="cell"))
            codes.append(np.clip(np.searchsorted(EDGES[c], values, side="right") - 1, 0, len(EDGES[c]) - 2))
        else:
            names, code = np.unique(values, return_inverse=True)
            domains.append(CategoryDomain(c, tuple(str(v) for v in names), nullable=False))
            codes.append(code)
    return CodedTable(TableDomain(name, tuple(domains)), np.stack(codes, axis=1).astype(np.int64))


def adult(columns: Sequence[str]) -> CodedTable:
    """UCI Adult, 48,842 rows."""
    return coded(ADULT, "adult", columns)


def with_parity(table: CodedTable, columns: tuple[str, str, str], seed: int = 3) -> CodedTable:
    """The last of ``columns`` drawn anew, from the half of its values that the parity of the two others asks for."""
    rng = np.random.default_rng(seed)
    codes, order = table.codes.copy(), table.domain.order
    half = {}
    for c in columns:
        counts = table.contingency((c,))
        side, weight = np.zeros(len(counts), dtype=np.int64), [0, 0]
        for v in np.argsort(-counts):
            side[v] = int(weight[0] > weight[1])
            weight[int(side[v])] += int(counts[v])
        half[c] = side
    a, b, c = columns
    wanted = half[a][codes[:, order[a]]] ^ half[b][codes[:, order[b]]]
    for side in (0, 1):
        p = table.contingency((c,)) * (half[c] == side)
        rows = wanted == side
        codes[rows, order[c]] = rng.choice(len(p), size=int(rows.sum()), p=p / p.sum())
    return CodedTable(table.domain, codes)


def statements(
    table: TableDomain, count: int, seed: int, popularity: np.ndarray | None = None
) -> list[tuple[LinearQuery, ...]]:
    """As ``workload.dense_statements``, each as its linear queries (one for each group of a GROUP BY)."""
    rng = np.random.default_rng(seed)
    names = [c.name for c in table.finite]
    p = np.full(len(names), 1.0) if popularity is None else popularity
    pool = []
    for _ in range(count):
        width = int(rng.integers(1, min(4, len(names)) + 1))
        columns = [names[i] for i in sorted(rng.choice(len(names), width, replace=False, p=p / p.sum()).tolist())]
        group = columns[int(rng.integers(width))] if rng.random() < GROUP_BY_SHARE else None
        where = [Factor((c,), _weights(table, c, rng)) for c in columns if c != group]
        size = 1 if group is None else table.finite_domain(group).size
        keys = [] if group is None else [Factor((group,), row) for row in np.eye(size, dtype=np.int64)]
        found = [linear_query(table, sorted([*where, k], key=lambda f: table.order[f.columns[0]])) for k in keys]
        pool.append(tuple(q for q in (found if keys else [linear_query(table, where)]) if q is not None))
    return [pool[i] for i in zipf_order(count, rng)]


def _weights(table: TableDomain, column: str, rng: np.random.Generator) -> np.ndarray:
    domain, kind = table.finite_domain(column), rng.random()
    out = np.zeros(domain.size, dtype=np.int64)
    if domain.kind == "number" and kind < 0.5:
        low, high = sorted(rng.integers(0, domain.size, 2).tolist())
        out[low : high + 1] = 1
    elif kind < 0.6 or domain.size <= 2:
        out[int(rng.integers(domain.size))] = 1
    else:
        out[rng.choice(domain.size, size=int(rng.integers(2, min(4, domain.size - 1) + 1)), replace=False)] = 1
    return out


def warm_plan(epsilon: Fraction, hard_rounds: int, release_share: float) -> Plan:
    return calibrate(epsilon, Fraction(1, 10**6), hard_rounds=hard_rounds, release_share=release_share)


def warm_measurements(
    table: CodedTable, precision: float, seed: int, planned: Sequence[PlannedContingency] | None = None
) -> list[Measurement]:
    """The warm start's contingencies with simulated noise; pairs of wide tables over atoms of the noisy 1-ways.

    ``precision``: the sum of 1/sigma^2, sigma in counts.
    """
    rng = np.random.default_rng(seed)
    chosen = warm_start(table.domain, table.rows, precision, differences=True) if planned is None else planned
    cut = table.domain.cells > NARROW_CELLS
    pairs = [p.sigma(precision) for p in chosen if len(p.columns) == 2 and cut]
    parts: dict[str, np.ndarray] = {}
    out = []
    for p in chosen:
        sigma = p.sigma(precision)
        axes = [
            Axis.difference_of(c)
            if c in p.differences
            else _axis(table.domain, c, parts if len(p.columns) == 2 else {})
            for c in p.columns
        ]
        out.append(measurement(table, tuple(axes), sigma, rng))
        if len(p.columns) == 1 and pairs:
            (c,) = p.columns
            ordered = table.domain.finite_domain(c).kind == "number"
            parts[c] = atoms(out[-1].values.astype(float), sigma, pairs[0], table.rows, ordered=ordered)
    return out


def measurement(table: CodedTable, axes: tuple[Axis, ...], sigma: float, rng: np.random.Generator) -> Measurement:
    counts = coarsen(table.contingency(tuple(c for a in axes for c in a.columns)), axes)
    noisy = np.rint(counts + rng.normal(0.0, sigma, counts.shape)).astype(np.int64)
    return Measurement(table.domain.name, axes, noisy, sigma)


def _axis(table: TableDomain, column: str, parts: dict[str, np.ndarray]) -> Axis:
    labels = parts.get(column)
    if labels is None:
        return Axis.cells((column,), (table.finite_domain(column).size,))
    return Axis((column,), labels, int(labels.max()) + 1)
