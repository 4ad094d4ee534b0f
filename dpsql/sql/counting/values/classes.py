"""Columns taken by the classes of values that a statement tells apart, where the grid of their values is too large.

``arr_delay > 30`` tells three classes of 1,500 values apart: those that fulfil it, those that do not, NULL. Everything
around such a part is a function of it, so a condition or a group over many columns is evaluated on one value of each
class. What is found there is written as disjoint boxes, each a product of conditions on single columns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from math import inf, prod

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from dpsql.domain import TableDomain, TextDomain, Value, cell_values
from dpsql.errors import Error, UnsupportedQuery
from dpsql.hypothesis.classes import boxes
from dpsql.query import LinearQuery
from dpsql.sql.counting.alternatives import PiecesOf, ends_of, tied_columns
from dpsql.sql.counting.bins.held import Held
from dpsql.sql.counting.clusters import Cluster
from dpsql.sql.counting.evaluate import Evaluator, Grids
from dpsql.sql.counting.pieces import GridAxis, QueryPiece, Signed, ValueClasses, terms_of
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.text.limits import MAX_CELLS
from dpsql.sql.text.parse import parse, to_sql

MOST_SUMMED = 16
"""Different numbers of classes that are summed; more keep the grid."""


def classed(grids: Grids, evaluator: Evaluator, bounds: Sequence[Bound], splits: Iterable[Sequence[Cluster]]) -> Grids:
    """The grids with classes for the columns of clusters that are too large without them; else the same."""
    tied = [columns for split in splits for c in split for columns in tied_columns(grids, c)]
    wide = {name for columns in tied if prod(a.size for a in grids.ordered(columns)) > MAX_CELLS for name in columns}
    found = {name: classes for name in sorted(wide) if (classes := _classes(grids, evaluator, bounds, name))}
    return Grids(grids.table, grids.candidates, grids.steps, found, passed=grids.passed) if found else grids


def _classes(grids: Grids, evaluator: Evaluator, bounds: Sequence[Bound], name: str) -> ValueClasses | None:
    """The classes of a column's values by what the statement says of it alone; ``None`` where it is told by value."""
    domain = grids.table.by_name[name.lower()]
    if isinstance(domain, TextDomain) or grids.axis(name).points is not None:
        return None
    parts: set[str] = set()
    for bound in bounds:
        if name in bound.columns:
            own = [bound.sql] if bound.columns == {name} else _parts_of(bound.sql, name)
            if own is None:
                return None
            parts.update(own)
    try:
        codes = [evaluator.codes(grids, Bound(sql, frozenset((name,)))).codes for sql in sorted(parts)]
    except Error:  # of a part that stands alone only under the condition around it
        return None
    _, first, labels = np.unique(np.stack(codes), axis=1, return_index=True, return_inverse=True)
    if len(first) == domain.size:
        return None
    values: Sequence[Value] = cell_values(domain)
    return ValueClasses(labels.reshape(-1).astype(np.int64), first, tuple(values[i] for i in first.tolist()))


def _parts_of(sql: str, name: str) -> list[str] | None:
    """The largest expressions within one that are about this column alone; ``None`` where it is the column itself."""
    found: list[str] = []
    stack: list[exp.Expr] = list(parse(f"SELECT {sql}").expressions)
    while stack:
        node = stack.pop()
        columns = {c.name for c in node.find_all(exp.Column)}
        if name not in columns:
            continue
        if isinstance(node, exp.Column):
            return None
        if columns == {name} and _stands_alone(node):
            found.append(to_sql(node))
        else:
            stack.extend(node.iter_expressions())
    return found


def _stands_alone(node: exp.Expr) -> bool:
    branch = isinstance(node, exp.If) and isinstance(node.parent, exp.Case)
    return isinstance(node, exp.Condition) and not branch and not isinstance(node, (exp.Tuple, exp.Interval))


def parts_told(grids: Grids, query: LinearQuery, grouped: frozenset[str]) -> float:
    """Parts of its columns at most that a query and the groups beside it, by columns ``grouped``, tell apart.

    Infinite where that takes a grid.
    """
    if query.keyed is not None or sum(f.weights.size for f in query.factors) > MAX_CELLS:
        return inf
    sizes = [prod(grids.axis(c).size for c in f.columns) for f in query.factors]
    by_value = [f.unit > 1 or not grouped.isdisjoint(f.columns) for f in query.factors]
    return prod(n if told else 2 for n, told in zip(sizes, by_value, strict=True))


def box_pieces(
    table: TableDomain,
    c: Cluster,
    axes: tuple[GridAxis, ...],
    base: Signed,
    numbers: Signed | None,
    pieces_of: PiecesOf,
) -> tuple[QueryPiece, ...]:
    """Queries whose sum counts the rows where ``base`` is 1, or sums over these the ``numbers`` of their classes.

    Without ``numbers`` a value of the cluster is one of a single column, and is summed in each box. UnsupportedQuery
    where that takes too many boxes.
    """
    told = base
    if numbers is not None:
        told, c = base * numbers, replace(c, value=None)
    summed = np.unique(told[told != 0]).tolist()
    if len(summed) > MOST_SUMMED:
        raise too_tied(axes)
    out: list[QueryPiece] = []
    for number in summed:
        own, others = boxes(told == number), None
        if len(summed) == 1 and not c.groups and c.value is None:
            others = boxes(told != number)
        if others is not None and (own is None or len(others) < len(own)):
            whole = tuple(tuple(range(a.size)) for a in axes)
            out += _of_boxes(table, c, axes, [whole], number, pieces_of)
            out += _of_boxes(table, c, axes, others, -number, pieces_of)
        elif own is not None:
            out += _of_boxes(table, c, axes, own, number, pieces_of)
        else:
            raise too_tied(axes)
    return tuple(out)


def too_tied(axes: Sequence[GridAxis]) -> UnsupportedQuery:
    return UnsupportedQuery(
        f"the columns {', '.join(a.name for a in axes)} are tied together in too many ways",
        hint="use fewer columns in one condition, or separate conditions joined by AND",
    )


def _of_boxes(
    table: TableDomain,
    c: Cluster,
    axes: tuple[GridAxis, ...],
    found: Iterable[tuple[tuple[int, ...], ...]],
    number: float,
    pieces_of: PiecesOf,
) -> list[QueryPiece]:
    out = []
    for box in found:
        parts = []
        for axis, kept in zip(axes, box, strict=True):
            value = c.value if c.value is not None and c.value.columns == {axis.name} else None
            if len(kept) == axis.size and value is None:
                continue
            labels = np.arange(axis.size) if axis.classes is None else axis.classes.labels
            whole = axis if axis.classes is None else GridAxis(axis.name, len(labels))
            inside: npt.NDArray[np.int64] = np.isin(labels, kept).astype(np.int64)
            parts.append(
                pieces_of(replace(c, columns=frozenset((axis.name,)), value=value), (whole,), Held.surely(inside))
            )
        for combination in product(*parts):
            terms = terms_of(table, number, combination)
            out += [QueryPiece(term.coefficient, term.query, *ends_of(term)) for term in terms]
    return out
