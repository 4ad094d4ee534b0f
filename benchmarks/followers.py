"""Columns that follow from others: ``python -m benchmarks.followers [--table and] [--epsilon 1] [--rules 16]``.

Sums of many cells of two columns beside a third one that is worked out from them, as derived columns are: an AND, a
larger one, a level of a hierarchy, a difference, a code of two columns in a table with two others, and none of these.
Coverage of the 95 % bars, the largest distance in bars, mean error and mean bar in counts, and CPU seconds of a session
with its first look. ``--rules``: as ledgers of these rules of models answer.
"""

import tempfile
import time
from collections.abc import Sequence
from functools import partialmethod
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.options import command_text
from benchmarks.report import show
from dpsql.accounting.plan import NEWEST_MODELS, Plan

ROWS = 60_000
MADE = f"""
CREATE TABLE t AS SELECT a, c, a % 2 = 1 AND c > 4 AS both, a > 3 OR c < 2 AS either, a // 3 AS level,
  least(abs(a - c), 7)::INTEGER AS apart, (a + 3 * c) % 5 AS code, d, w
FROM (SELECT (hash(i) % 12)::INTEGER AS a, least(8, floor(-2.5 * ln((hash(i, 1) % 10007 + 1) / 10008.0)))::INTEGER AS c,
  hash(i, 2) % 3 = 0 AS d, (hash(i, 3) % 7)::INTEGER AS w FROM range({ROWS}) r(i))
"""
COLUMNS = {
    "a": (0, 11),
    "c": (0, 8),
    "level": (0, 3),
    "apart": (0, 7),
    "code": (0, 4),
    "w": (0, 6),
    "both": None,
    "either": None,
    "d": None,
}
TABLES = {
    "none": ("a", "c"),
    "and": ("a", "c", "both"),
    "and, wide": ("a", "c", "d", "w", "both"),
    "or": ("a", "c", "either"),
    "level": ("a", "c", "level"),
    "difference": ("a", "c", "d", "apart"),
    "code": ("a", "c", "w", "code"),
}
ASKED = (
    "SELECT a % 2 AS x, c > 4 AS y, COUNT(*) FROM t GROUP BY ALL",
    "SELECT a, c > 4 AS y, COUNT(*) FROM t GROUP BY ALL",
    "SELECT a < 4 AS x, c, COUNT(*) FROM t GROUP BY ALL",
    "SELECT a, SUM(c) FROM t GROUP BY ALL",
    "SELECT c > 4 AS y, SUM(a) FROM t GROUP BY ALL",
)


def policy(columns: Sequence[str], epsilon: str) -> str:
    told = [(name, COLUMNS[name]) for name in columns]
    lines = [
        f'{name} = {{ type = "boolean", nullable = false }}'
        if ends is None
        else f'{name} = {{ type = "integer", min = {ends[0]}, max = {ends[1]}, nullable = false }}'
        for name, ends in told
    ]
    head = f"version = 1\n[privacy]\nepsilon = {epsilon}\ndelta = 1e-6\n[tables.t.columns]\n"
    return head + "\n".join(lines) + "\n"


def study(name: str, path: Path, epsilon: str, seeds: int, truth: duckdb.DuckDBPyConnection) -> dict[str, object]:
    off, bars, begin = [], [], time.process_time()
    for _ in range(seeds):
        told = dpsql.load_policy(policy(TABLES[name], epsilon))
        with dpsql.connect(path, policy=told, ledger=":memory:", new_budget=True) as con:
            for sql in ASKED:
                cursor = con.execute(sql)
                wanted = {row[:-1]: float(row[-1]) for row in truth.execute(sql).fetchall()}
                answers = cursor.result.column_answers[len(cursor.result.names) - 1]
                for row, answer in zip(cursor.fetchall(), answers, strict=True):
                    off.append(abs(float(answer.value or 0) - wanted.get(row[:-1], 0.0)))
                    bars.append(np.inf if answer.error is None else float(answer.error))
    error, bar = np.array(off), np.array(bars)
    return {
        "follows": name,
        "numbers": len(error),
        "covered": f"{float((error <= bar).mean()):.1%}",
        "worst, bars": float((error / np.maximum(bar, 1e-9)).max()),
        "mean error": float(error.mean()),
        "mean bar": float(bar.mean()),
        "seconds": (time.process_time() - begin) / seeds,
    }


_init = Plan.__init__


def _made(plan: Plan, *args: Any, models: int, **fields: Any) -> None:
    _init(plan, *args, **({"models": models} | fields))


def of_rules(models: int) -> Any:
    """A context in which new ledgers are of these rules of models."""
    return patch.object(Plan, "__init__", partialmethod(_made, models=models))


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=3)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: Sequence[str], epsilon: str, seeds: int, rules: int) -> None:
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as truth:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(str(path)) as con:
            con.execute(MADE)
        truth.execute(MADE)
        with of_rules(rules):
            rows = [study(name, path, epsilon, seeds, truth) for name in names]
    title = f"Columns that follow from others, epsilon {epsilon}, {seeds} sessions each, rules {rules}"
    show(title, rows, "followers", [command_text("followers", epsilon=epsilon, seeds=seeds, rules=rules)])


if __name__ == "__main__":
    main()
