"""UCI Adult with 14 binary columns: what dual-query's authors made of it, in kind.

Numbers: above their median or not, gains and losses: any or none. Categories: the most frequent one or another. The
cuts look at the data, which are public; a real policy takes them from general knowledge.
"""

from functools import lru_cache
from itertools import combinations, product
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.tables import ADULT, ADULT14, EDGES
from dpsql.domain import BooleanDomain, TableDomain
from dpsql.query import Factor, LinearQuery
from dpsql.query.canonical import linear_query

TABLE = TableDomain("adult", tuple(BooleanDomain(name, nullable=False) for name in ADULT14))


def expressions(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """SQL of each column as a boolean."""
    out = {}
    for name in ADULT14:
        if name in ("capital_gain", "capital_loss"):
            out[name] = f"{name} > 0"
        elif name in EDGES:
            (median,) = con.execute(f"SELECT quantile_disc({name}, 0.5) FROM '{ADULT}'").fetchone() or (0,)
            out[name] = f"{name} > {median}"
        else:
            sql = f"SELECT {name} FROM '{ADULT}' WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY COUNT(*) DESC, 1 LIMIT 1"
            (most,) = con.execute(sql).fetchone() or ("",)
            out[name] = f"coalesce({name} = '{most}', false)"
    return out


@lru_cache
def rows() -> np.ndarray:
    """Codes, int64 of shape (48842, 14)."""
    with duckdb.connect() as con:
        columns = ", ".join(f"({sql})::INTEGER AS {name}" for name, sql in expressions(con).items())
        found = con.execute(f"SELECT {columns} FROM '{ADULT}'").fetchnumpy()
    return np.stack([np.asarray(found[name], dtype=np.int64) for name in ADULT14], axis=1)


def write(folder: Path) -> Path:
    """The table as a database of its own."""
    path = folder / "adult.duckdb"
    with duckdb.connect(str(path)) as con:
        columns = ", ".join(f"({sql}) AS {name}" for name, sql in expressions(con).items())
        con.execute(f"CREATE TABLE adult AS SELECT {columns} FROM '{ADULT}'")
    return path


def cells_of(order: int) -> tuple[LinearQuery, ...]:
    """Every cell of every ``order`` columns."""
    out = []
    for columns in combinations(ADULT14, order):
        for codes in product((0, 1), repeat=order):
            query = linear_query(
                TABLE, [Factor((c,), np.array([1 - x, x])) for c, x in zip(columns, codes, strict=True)]
            )
            assert query is not None
            out.append(query)
    return tuple(out)
