"""One run over many draws gives what a run over each of them gives."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpsql.postprocess.variants import variants_table
from dpsql.sql import FrontEnd
from dpsql.sql.statement import DRAW, DRAWS, Block
from tests.support.exact import front_end, public_sql

G = "(SELECT sex, age, COUNT(*) AS n, COUNT(age) AS m FROM people GROUP BY ALL)"
CUT = ("ORDER BY n LIMIT 3", f"WHERE n > (SELECT AVG(m) FROM {G})")
"""What only cuts the rows of the last SELECT: a draw has the others as well."""
STATEMENTS = [
    f"SELECT sex, 100.0 * n / m AS p FROM {G}",
    f"SELECT sex, age, n, 100.0 * n / SUM(n) OVER (PARTITION BY sex) AS p FROM {G}",
    f"SELECT sex, age, n - LAG(n) OVER (PARTITION BY sex ORDER BY age) AS d FROM {G}",
    f"WITH g AS {G} SELECT SUM(n), COUNT(*), MAX(m), AVG(n) FROM g WHERE n > 40",
    f"WITH g AS {G} SELECT sex, SUM(n) AS s FROM g GROUP BY sex HAVING SUM(m) > 200",
    f"WITH g AS {G}, top AS (SELECT * FROM g ORDER BY n DESC, sex, age LIMIT 4) SELECT SUM(n) + 0 FROM top",
    f"WITH g AS {G} SELECT a.sex, a.age, a.n - b.n FROM g a JOIN g b ON a.age = b.age + 1 AND a.sex = b.sex",
    f"SELECT sex, n * 1.0 / (SELECT COUNT(*) FROM people) AS p FROM {G} WHERE n > (SELECT AVG(m) FROM {G})",
    f"SELECT 'a' AS k, SUM(n) FROM {G} UNION ALL SELECT sex, n + 1 FROM {G}",
    f"SELECT sex, n + 1 FROM {G} EXCEPT SELECT sex, n + 1 FROM {G} WHERE age IS NULL",
    f"SELECT DISTINCT n // 10 FROM {G}",
    f"SELECT country, SUM(n) FROM {G} g JOIN cities c ON g.age = c.age GROUP BY ALL",
    f"SELECT sex, n + 1 AS x FROM {G} g WHERE EXISTS (SELECT 1 FROM cities c WHERE c.age > g.n) ORDER BY n LIMIT 3",
    f"SELECT sex, quantile_cont(n, 0.5) OVER (PARTITION BY sex) AS q FROM {G}",
]


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


@pytest.mark.parametrize("text", STATEMENTS)
def test_draws_together_and_one_by_one(front: FrontEnd, text: str) -> None:
    statement = front.lower(text)
    assert statement.redraw is not None
    assert statement.outer_sql is not None
    draws, rng, sql = 7, np.random.default_rng(1), public_sql()
    tables = {b.name: _tables(b, draws, rng) for b in statement.blocks}
    together = {name: variants_table(base, DRAW, columns) for name, (base, columns) in tables.items()}
    listed = pa.table({DRAW: pa.array(range(draws), pa.int64())})
    rows = sql.run(statement.redraw.sql, together | {DRAWS: listed}, statement.public_tables).to_pylist()
    found = [Counter(repr(tuple(r.values())[1:]) for r in rows if r[DRAW] == draw) for draw in range(draws)]
    for draw in range(draws):
        alone = {
            name: variants_table(base, DRAW, {c: v[[draw]] for c, v in columns.items()}).drop_columns([DRAW])
            for name, (base, columns) in tables.items()
        }
        one = sql.run(statement.outer_sql, alone, statement.public_tables).to_pylist()
        expected = Counter(repr(tuple(r.values())) for r in one)
        assert not expected - found[draw]
        assert found[draw] == expected or text.endswith(CUT)


def _tables(block: Block, draws: int, rng: np.random.Generator) -> tuple[pa.Table, dict[str, Any]]:
    """The block's groups, and random positive numbers for each draw."""
    columns: list[Sequence[object]] = [range(len(block.groups))]
    columns += [[g[i] for g in block.groups] for i in range(len(block.group_columns))]
    columns += [[0] * len(block.groups)] * len(block.aggregates)
    arrays = [pa.array(c, t) for c, t in zip(columns, block.schema.types, strict=True)]
    values = {a.column: rng.integers(1, 90, (draws, len(block.groups))).astype(float) for a in block.aggregates}
    return pa.table(arrays, schema=block.schema), values
