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
    rows = pa.table({c: rng.integers(0, SIZE, ROWS) for c in NAMES} | {"price": rng.uniform(0.0, 100.0, ROWS).round(2)})
    with duckdb.connect(str(path)) as con:
        con.register("rows", rows)
        con.execute("CREATE TABLE t AS SELECT * FROM rows")
    return path


def rules(planned: int, strategy: str = "auto") -> dpsql.Policy:
    columns = "\n".join(f'{c} = {{ type = "integer", min = 0, max = {SIZE - 1}, nullable = false }}' for c in NAMES)
    columns += '\nprice = { type = "number", min = 0, max = 100, nullable = false }'
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


@pytest.mark.parametrize("planned", [5, 300])
def test_a_condition_that_cuts_a_bin_beside_many_columns_is_counted_too(database: Path, planned: int) -> None:
    """Rows are told apart by each condition, and by the value's stretch: no cell of the grid is looked at."""
    where = f"{WIDE} AND price BETWEEN 12.34 AND 77.7"
    with duckdb.connect(str(database), read_only=True) as con:
        ((truth,),) = con.execute(f"SELECT COUNT(*) FROM t WHERE {where}").fetchall()
        groups = dict(con.execute(f"SELECT c0 < 7, COUNT(*) FROM t WHERE {where} GROUP BY 1").fetchall())
    with dpsql.connect(database, policy=rules(planned), ledger=":memory:") as con:
        worst = con.explain(f"SELECT COUNT(*) FROM t WHERE {where}").worst_charge
        cursor = con.execute(f"SELECT COUNT(*) FROM t WHERE {where}")
        ((found,),) = cursor.fetchall()
        (answer,) = cursor.answers
        assert answer.error is not None and answer.charged <= worst
        assert abs(found - truth) <= 3 * answer.error < 1500
        cursor = con.execute(f"SELECT c0 < 7, COUNT(*) FROM t WHERE {where} GROUP BY 1")
        for (key, rows), of_group in zip(cursor.fetchall(), cursor.answers, strict=True):
            assert abs(rows - groups[key]) <= 3 * (of_group.error or 0.0) < 1500


@pytest.mark.parametrize("planned", [9, 300])
@pytest.mark.parametrize("cut", ["", " AND price BETWEEN 12.34 AND 77.7"])
def test_sums_and_averages_of_values_beside_many_columns_are_answered(database: Path, planned: int, cut: str) -> None:
    """As counts are: values are summed over the parts that the conditions tell apart."""
    asked = f"SELECT SUM(price), AVG(price) FROM t WHERE {WIDE}{cut}"
    by_group = f"SELECT c0 < 7, SUM(price) FROM t WHERE {WIDE}{cut} GROUP BY 1"
    with duckdb.connect(str(database), read_only=True) as con:
        (truth,) = con.execute(asked).fetchall()
        groups = dict(con.execute(by_group).fetchall())
    with dpsql.connect(database, policy=rules(planned), ledger=":memory:") as con:
        worst = con.explain(asked).worst_charge
        cursor = con.execute(asked)
        (found,) = cursor.fetchall()
        assert sum(a.charged for a in cursor.answers) <= worst
        for said, true, answer in zip(found, truth, cursor.answers, strict=True):
            assert abs(said - true) <= 3 * (answer.error or 0.0)
        assert (cursor.answers[0].error or 0.0) < 100 * 1500 and (cursor.answers[1].error or 0.0) < 50
        cursor = con.execute(by_group)
        for (key, said), answer in zip(cursor.fetchall(), cursor.answers, strict=True):
            assert abs(said - groups[key]) <= 3 * (answer.error or 0.0) < 100 * 1500


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
