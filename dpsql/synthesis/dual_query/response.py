"""The best response: a record that maximises a sum of weighted queries, found by an exact solver. Public.

Finding it is hard in the worst case and mostly easy: a mixed integer program with one variable for each cell of a
column, of which each column takes one, and one variable for each query. HiGHS solves it. What it has found when its
time is up is a response too: privacy never depends on it, accuracy does by the gap (Gaboardi et al. 2014; Gong 2021,
section 2).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod

import numpy as np

from dpsql.domain import TableDomain
from dpsql.errors import DataError
from dpsql.query import Factor, LinearQuery
from dpsql.synthesis.coins import Coins
from dpsql.synthesis.dual_query.program import Program, solved

BLOCK_CELLS = 1 << 12
"""Cells of columns that one condition ties together: each is a variable of the program."""


@dataclass(frozen=True)
class Response:
    """``codes``: the record, one cell for each finite column. ``value``: of the weighted queries on it.

    ``bound``: of no record is it more; equal where the solver has proved the record best.
    """

    codes: tuple[int, ...]
    value: float
    bound: float


class Responder:
    """Answers weights on ``queries`` by records of ``table``. DataError for queries that no program can hold."""

    def __init__(self, table: TableDomain, queries: tuple[LinearQuery, ...], seconds: float) -> None:
        self._table = table
        self._queries = queries
        self._seconds = seconds
        self._position = {c.name: i for i, c in enumerate(table.finite)}
        self._conditions = [conditions(query) for query in queries]

    @cached_property
    def _is_whole(self) -> bool:
        return all(query.is_indicator for query in self._queries)

    def respond(self, weights: Mapping[int, int], coins: Coins) -> Response:
        """A record that maximises the sum of ``weights[i] q_i``. InterfaceError without the solver.

        ``coins`` decide between equals, and fill the columns that no query asks about.
        """
        weighed = {i: w * self._conditions[i].share for i, w in weights.items() if w != 0}
        chosen = {i: w for i, w in weighed.items() if self._conditions[i].factors}
        constant = float(sum(w for i, w in weighed.items() if not self._conditions[i].factors))
        sizes = [c.size for c in self._table.finite]
        codes = [int(coins.integers(size)) for size in sizes]
        if not chosen:
            return Response(tuple(codes), constant, constant)
        program = Program()
        for i, weight in chosen.items():
            program.add(weight, [(f.columns, f.weights / f.unit) for f in self._conditions[i].factors])
        found = solved(program, self._seconds, coins, whole=self._is_whole)
        for column, cell in (found.cells if found else {}).items():
            codes[self._position[column]] = cell
        record = np.array(codes)
        value = sum(w * float(on_records(self._table, self._queries[i], record)) for i, w in weights.items())
        bound = min(found.bound if found else inf, sum(max(0.0, w) for w in chosen.values()))
        return Response(tuple(codes), value, max(value, constant + bound))


def check_queries(queries: Sequence[LinearQuery]) -> None:
    """DataError for queries that no program can hold."""
    for query in queries:
        query.check_sensitivity()
        conditions(query)


@dataclass(frozen=True)
class Conditions:
    """A query as ``share`` times the product of ``factors``, at most one of them with weights between 0 and 1."""

    share: float
    factors: tuple[Factor, ...]


def conditions(query: LinearQuery) -> Conditions:
    """What a program can hold of ``query``. DataError where a factor over several columns is too large.

    A product of several weighted factors is not the least of them, so they become one over all their columns.
    """
    if query.keyed is not None or query.is_by_value:
        raise DataError("a synthetic table is made for counts of finite columns", hint="leave other queries out")
    share = prod(float(f.weights.reshape(-1)[0]) / f.unit for f in query.factors if not f.columns)
    plain = [f for f in query.factors if f.columns and f.unit == 1]
    weighted = [f for f in query.factors if f.columns and f.unit > 1]
    if len(weighted) > 1:
        weighted = [_product(weighted)]
    for factor in (*plain, *weighted):
        if len(factor.columns) > 1 and factor.weights.size > BLOCK_CELLS:
            raise DataError(
                f"a condition ties {', '.join(factor.columns)} together: {factor.weights.size:,} cells",
                hint=f"write conditions on single columns, or of at most {BLOCK_CELLS:,} cells",
            )
    return Conditions(share, (*plain, *weighted))


def _product(factors: list[Factor]) -> Factor:
    columns = tuple(c for f in factors for c in f.columns)
    cells = prod(f.weights.size for f in factors)
    if cells > BLOCK_CELLS:
        raise DataError(
            f"conditions that hold for parts of bins tie {', '.join(columns)} together: {cells:,} cells",
            hint="put edges of bins where the conditions have them",
        )
    weights = np.ones((), dtype=np.int64)
    for f in factors:
        weights = np.multiply.outer(weights, f.weights)
    return Factor(columns, weights, prod(f.unit for f in factors))


def on_records(table: TableDomain, query: LinearQuery, codes: np.ndarray) -> np.ndarray:
    """The query on each record, in [0, 1]: float64 of shape (...); ``codes`` int64 of shape (..., finite columns)."""
    position = {column.name: i for i, column in enumerate(table.finite)}
    out = np.ones(codes.shape[:-1])
    for f in query.factors:
        cells = tuple(codes[..., position[c]] for c in f.columns)
        out = out * (f.weights[cells] if cells else f.weights.reshape(-1)[0]) / f.unit
    return out
