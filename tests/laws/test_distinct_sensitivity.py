"""Counts of different values change between neighbours by no more than they are charged for, and by so much somewhere.

All small sets of rows that one unit can have are listed, beside others that stay, and counted by the engine as in a
session.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dpsql.domain import IntegerDomain, TableDomain, TextDomain
from dpsql.engine import MemoryEngine
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.planning.sensitivity import distinct_l2_squared
from dpsql.policy import Neighbors, Policy, Privacy
from dpsql.query import Factor, Form, LinearQuery, Regions, Term, regions_of

GROUPS = 4
TABLE = TableDomain("t", (IntegerDomain("g", 0, GROUPS - 1, nullable=False), TextDomain("s")), "u", 2)
POLICY = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TABLE,))
OTHERS = (("other", 0, "x"), ("other", 1, "y"), (None, 2, "y"))
"""Rows that stay."""
CELLS = tuple(product(range(GROUPS), ("x", "z", "w")))
UNITS = [cells for n in range(4) for cells in combinations_with_replacement(CELLS, n)]
"""What one unit may hold: up to one row more than is counted of it."""


def regions(groups: int) -> Regions:
    """So many single values of g; with 1 all rows."""
    cells = [Factor(("g",), np.eye(GROUPS, dtype=np.int64)[i]) for i in range(groups)]
    factors = [()] if groups == 1 else [(f,) for f in cells]
    return regions_of([Form(0.0, (Term(1.0, LinearQuery("t", f)),)) for f in factors])


def table(cells: Sequence[tuple[int, str]]) -> pa.Table:
    rows = [*OTHERS, *(("one", *cell) for cell in cells)]
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(("u", "g", "s"))})


@cache
def engines() -> list[MemoryEngine]:
    return [MemoryEngine(POLICY, {"t": table(cells)}) for cells in UNITS]


def largest(neighbors: Neighbors, column: str, groups: int, most: int) -> int:
    """The largest squared L2 distance between the counts of neighbours."""
    found = [e.distinct_counts("t", column, regions(groups), most).reveal().reshape(-1) for e in engines()]
    vectors = np.unique(np.array(found), axis=0)
    nothing = found[0].reshape(1, -1)
    others = nothing if neighbors == "add-remove" else vectors
    return int(((vectors[:, None] - others[None]) ** 2).sum(axis=2).max())


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("groups", [1, 2, GROUPS])
@pytest.mark.parametrize(("column", "most"), [("u", 1), ("u", 2), ("s", 1)])
def test_neighbours_differ_by_what_is_charged(neighbors: Neighbors, groups: int, column: str, most: int) -> None:
    charged = distinct_l2_squared(neighbors, TABLE, column, groups, most)
    found = largest(neighbors, column, groups, most)
    assert found <= charged
    overlaps = neighbors == "replace-one" and most > 1 and groups == 2  # units that differ in both must have one row
    assert found == charged or overlaps


def test_duckdb_counts_the_same() -> None:
    for cells in UNITS[1::45]:
        with duckdb.connect() as con:
            con.register("incoming", table(cells))
            con.execute("CREATE TABLE t AS FROM incoming")
            engine, twin = DuckDbEngine(con, POLICY), MemoryEngine(POLICY, {"t": table(cells)})
            for column, most in (("u", 1), ("u", 2), ("s", 1)):
                here = engine.distinct_counts("t", column, regions(GROUPS), most).reveal()
                assert (here == twin.distinct_counts("t", column, regions(GROUPS), most).reveal()).all()
