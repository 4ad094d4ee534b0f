"""Conditions on so many columns that their grid fits in no memory: counted by the parts that they tell apart."""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import dpsql
from dpsql.errors import UnsupportedQuery

ROWS, SIZE, COLUMNS = 20_000, 20, 7
NAMES = [f"c{i}" for i in range(COLUMNS)]
RULES = """
version = 1
privacy = {{ epsilon = 8.0, delta = 1e-6, planned_queries = {planned} }}
mechanism = {{ strategy = "{strategy}" }}
[tables.t.columns]
{columns}
"""
WIDE = " AND ".join(f"{c} < 15" for c in NAMES)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("many") / "t.duckdb"
    rows = pa.table({c: rng.integers(0, SIZE, ROWS) for c in NAMES})
    with duckdb.connect(str(path)) as con:
        con.register("rows", rows)
        con.execute("CREATE TABLE t AS SELECT * FROM rows")
    return path


def rules(planned: int, strategy: str = "auto") -> dpsql.Policy:
    columns = "\n".join(f'{c} = {{ type = "integer", min = 0, max = {SIZE - 1}, nullable = false }}' for c in NAMES)
    return dpsql.load_policy(RULES.format(planned=planned, strategy=strategy, columns=columns))


@pytest.mark.parametrize("planned", [2, 300])  # noise for each question; local models
def test_more_cells_than_memory_holds(database: Path, planned: int) -> None:
    assert SIZE**COLUMNS > 1 << 30
    with duckdb.connect(str(database), read_only=True) as con:
        ((truth,),) = con.execute(f"SELECT COUNT(*) FROM t WHERE {WIDE}").fetchall()
    with dpsql.connect(database, policy=rules(planned), ledger=":memory:") as con:
        explained = con.explain(f"SELECT COUNT(*) FROM t WHERE {WIDE}")
        cursor = con.execute(f"SELECT COUNT(*) FROM t WHERE {WIDE}")
        ((found,),) = cursor.fetchall()
        (answer,) = cursor.answers
        assert answer.error is not None
        assert abs(found - truth) <= 3 * answer.error < 1500
        assert explained.plans[0].cells == SIZE**COLUMNS
        point = " AND ".join(f"{c} = 3" for c in NAMES)
        assert con.execute(f"SELECT COUNT(*) FROM t WHERE {point}").fetchall()[0][0] < 1500
        rows = con.execute(f"SELECT c0, COUNT(*) FROM t WHERE {WIDE} GROUP BY c0").fetchall()
        assert len(rows) == 15
        if (
            planned == 2
        ):  # the row count and both questions are paid: now only a model is left, which knows no grid either
            ((last,),) = con.execute(f"SELECT COUNT(*) FROM t WHERE {WIDE.replace('15', '12')}").fetchall()
            assert 0 <= last <= ROWS


def test_other_strategies_and_too_many_parts_are_refused_for_nothing(database: Path) -> None:
    with dpsql.connect(database, policy=rules(300, "pmw"), ledger=":memory:") as con:
        with pytest.raises(UnsupportedQuery, match="cells at once"):
            con.execute(f"SELECT COUNT(*) FROM t WHERE {WIDE}")
        assert con.budget.spent_epsilon == 0.0
    with dpsql.connect(database, policy=rules(300), ledger=":memory:") as con:
        groups = ", ".join(
            f"{c} // 5" for c in NAMES[:6]
        )  # 4^6 groups of 5 values each: 20^6 cells of columns, and more
        with pytest.raises(UnsupportedQuery, match="cells at once"):
            con.execute(f"SELECT COUNT(*) FROM t WHERE {NAMES[6]} < 9 GROUP BY {groups}")
        assert con.budget.spent_epsilon == 0.0
