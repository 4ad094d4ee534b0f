"""A disjunction over too many columns for one grid: all rows but those for which none of its parts is TRUE.

Parts that share no column are evaluated each on the grid of its own columns. That none of them is TRUE is a product of
conditions, which needs no grid; De Morgan's laws hold in three-valued logic too.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from math import prod

import numpy as np

from dpsql.domain import TableDomain
from dpsql.query import LinearQuery, Term
from dpsql.sql.counting.bins.held import Held, held
from dpsql.sql.counting.clusters import Cluster
from dpsql.sql.counting.evaluate import Evaluator, Grids
from dpsql.sql.counting.pieces import GridAxis, QueryPiece, terms_of
from dpsql.sql.expressions.bound import Bound, union
from dpsql.sql.text.limits import MAX_CELLS

Arms = tuple[tuple[Bound, ...], ...]
"""Parts of a disjunction, those together that share a column."""
PiecesOf = Callable[[Cluster, tuple[GridAxis, ...], Held], tuple[QueryPiece, ...]]
"""The queries over the cells where a condition over these axes is TRUE."""


def arms_of(grids: Grids, c: Cluster) -> Arms | None:
    """The parts of a cluster that is one disjunction too large for a grid; ``None`` for any other cluster."""
    if len(c.conjuncts) != 1 or c.groups or c.value is not None or c.conjuncts[0].outside:
        return None
    if len(c.conjuncts[0].alternatives) < 2:
        return None
    if prod(a.size for a in grids.ordered(c.columns)) <= MAX_CELLS:
        return None
    merged: list[list[Bound]] = []
    for arm in c.conjuncts[0].alternatives:
        tied = [m for m in merged if not union(m).isdisjoint(arm.columns)]
        merged = [*(m for m in merged if m not in tied), [*(b for m in tied for b in m), arm]]
    return tuple(map(tuple, merged)) if len(merged) > 1 else None


def tied_columns(grids: Grids, c: Cluster) -> list[frozenset[str]]:
    """The sets of columns of which a cluster needs the grids: all of its own, or those of each part of an OR."""
    arms = arms_of(grids, c)
    return [c.columns] if arms is None else [union(arm) for arm in arms]


def predicates_of(grids: Grids, c: Cluster) -> Sequence[Bound]:
    """What is evaluated of a cluster's conditions, each on a grid of its own columns."""
    arms = arms_of(grids, c)
    return c.conjuncts if arms is None else [b for arm in arms for b in arm]


def all_but(
    table: TableDomain, evaluator: Evaluator, grids: Grids, arms: Arms, pieces_of: PiecesOf
) -> tuple[QueryPiece, ...]:
    """Queries whose sum counts the rows for which some arm is TRUE: all rows, less those for which none is."""
    none: list[tuple[QueryPiece, ...]] = []
    for arm in arms:
        here = Cluster(union(arm), arm, (), None)
        axes = grids.check(here.columns)
        whole = Held.surely(np.ones([a.size for a in axes], dtype=np.int8))
        found = [part.negated() for part in held(evaluator, grids, arm, axes)]
        none.append(pieces_of(here, axes, reduce(Held.both, found, whole)))
    terms = [term for combination in product(*none) for term in terms_of(table, -1.0, combination)]
    less = [QueryPiece(t.coefficient, t.query, *ends_of(t)) for t in terms]
    return (QueryPiece(1.0, LinearQuery(table.name, ())), *less)


def ends_of(term: Term) -> tuple[float, float] | tuple[None, None]:
    """The least and the most that a row of a term may count; nothing where it counts the coefficient."""
    return (term.coefficient - term.doubt, term.coefficient + term.doubt) if term.doubt else (None, None)
