"""Aggregates that are no sums: ``python -m benchmarks.aggregates [--table adult] [--epsilon 1] [--seeds 1]``.

MIN and MAX, quartiles, COUNT(DISTINCT) and standard deviations of integer columns, over all rows, by groups and under
random conditions, compared with DuckDB's answers to the same text: coverage of the 95 % intervals, median error, median
width, and how many numbers are NULL because there may be no row. Apart from that the quartiles of all rows.
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.options import command_text
from benchmarks.report import show
from benchmarks.tables import ADULT, HERE
from benchmarks.text_tables import FLIGHTS

Row = dict[str, object]
STATEMENTS = 40
FAMILIES = {
    "MIN, MAX": ("MIN({x})", "MAX({x})"),
    "quartiles": ("quantile_cont({x}, 0.25)", "MEDIAN({x})", "quantile_cont({x}, 0.75)"),
    "DISTINCT": ("COUNT(DISTINCT {x})",),
    "STDDEV": ("STDDEV({x})",),
}


@dataclass(frozen=True)
class Table:
    """Where its rows are, its integer columns with their ranges, which of them are summarised, and its groups."""

    source: Path
    integers: dict[str, tuple[int, int]]
    asked: tuple[str, ...]
    texts: tuple[str, ...]
    groups: tuple[str, ...]


TABLES = {
    "adult": Table(
        ADULT,
        {"age": (17, 90), "education_num": (1, 16), "hours_per_week": (1, 99)},
        ("age", "education_num", "hours_per_week"),
        ("sex", "race", "marital_status", "income"),
        ("sex", "race", "marital_status", "income"),
    ),
    "flights": Table(
        FLIGHTS,
        {"distance": (0, 5000), "air_time": (20, 700), "month": (1, 12), "hour": (0, 23)},
        ("distance", "air_time", "hour"),
        ("carrier", "origin"),
        ("carrier", "origin", "month"),
    ),
    "loans": Table(
        HERE / "data" / "loans.parquet",
        {"sub_grade": (0, 34), "issue_d": (1, 59), "emp_length": (0, 11), "purpose": (0, 13), "grade": (0, 6)},
        ("sub_grade", "issue_d", "emp_length"),
        (),
        ("purpose", "grade"),
    ),
}


@dataclass(frozen=True)
class Found:
    """One number: the truth, the answer, and whether the interval holds it; ``None`` where the answer is NULL."""

    truth: float
    value: float | None
    low: float
    high: float

    @property
    def covered(self) -> bool:
        return self.low - 1e-9 <= self.truth <= self.high + 1e-9


def statements(table: Table, kinds: Sequence[str], seed: int) -> list[str]:
    """All rows of each column; then groups, conditions and both, one aggregate of a kind in each."""
    rng = np.random.default_rng([seed, 12])
    out = [f"SELECT 0 AS g, {_of(k, x)} FROM t" for k in kinds for x in table.asked]
    while len(out) < STATEMENTS:
        kind, x = str(rng.choice(list(kinds))), str(rng.choice(list(table.asked)))
        group = str(rng.choice(table.groups))
        other = str(rng.choice([n for n in table.integers if n != x]))
        low, high = table.integers[other]
        threshold = int(rng.integers(low, high))
        where = f"WHERE {other} {rng.choice(['>', '<='])} {threshold}" if rng.random() < 0.5 else ""
        out.append(f"SELECT {group} AS g, {_of(kind, x)} FROM t {where} GROUP BY {group}")
    return out


def _of(kind: str, x: str) -> str:
    return kind.format(x=x) + " AS v"


def policy_text(table: Table, con: duckdb.DuckDBPyConnection, epsilon: str) -> str:
    """Declares the integers by their ranges and the texts by their values."""
    lines = ["version = 1", "[privacy]", f"epsilon = {epsilon}", "delta = 1e-6", "[tables.t.columns]"]
    lines += [f'{n} = {{ type = "integer", min = {a}, max = {b} }}' for n, (a, b) in table.integers.items()]
    for name in table.texts:
        values = [r[0] for r in con.execute(f"SELECT DISTINCT {name} FROM t ORDER BY 1").fetchall()]
        listed = ", ".join(f'"{v}"' for v in values)
        lines.append(f'{name} = {{ type = "category", values = [{listed}] }}')
    return "\n".join(lines) + "\n"


def study(name: str, epsilon: str, seed: int) -> list[Row]:
    """The table's rows of the report, from one session."""
    table = TABLES[name]
    with tempfile.TemporaryDirectory() as folder:
        path, policy = Path(folder) / "t.duckdb", Path(folder) / "t.dpsql.toml"
        columns = ", ".join(dict.fromkeys((*(f"{n}::BIGINT AS {n}" for n in table.integers), *table.texts)))
        with duckdb.connect(str(path)) as con:
            con.execute(f"CREATE TABLE t AS SELECT {columns} FROM '{table.source}'")
            policy.write_text(policy_text(table, con, epsilon))
            asked = {f: statements(table, kinds, seed) for f, kinds in FAMILIES.items()}
            truths = {text: dict(con.execute(text).fetchall()) for texts in asked.values() for text in texts}
        with dpsql.connect(path, policy=policy, ledger=path.with_suffix(".ledger"), new_budget=True) as session:
            out = []
            for family, texts in asked.items():
                begin = time.process_time()
                answered = [ask(session, text, truths[text]) for text in texts]
                found = [f for one in answered if one is not None for f in one]
                seconds, refused = time.process_time() - begin, sum(one is None for one in answered)
                out.append(_row(f"{name}, {family}", found, seconds) | {"refused": refused})
            kinds, x = FAMILIES["quartiles"], table.asked[0]
            for kind in kinds:
                text = f"SELECT 0 AS g, {_of(kind, x)} FROM t"
                out.append(_row(f"{name}, {kind.format(x=x)}", ask(session, text, truths[text]) or [], 0.0))
    return out


def ask(session: dpsql.Connection, text: str, truths: dict[object, float]) -> list[Found] | None:
    """Answers to groups that exist; ``None`` for a statement that is refused."""
    try:
        cursor = session.execute(text)
    except dpsql.UnsupportedQuery:
        return None
    out = []
    for (group, _), answer in zip(cursor.fetchall(), cursor.answers, strict=True):
        if truths.get(group) is None:
            continue
        low, high = answer.interval or (-np.inf, np.inf)
        value = None if answer.value is None else float(answer.value)
        out.append(Found(float(truths[group]), value, low, high))
    return out


def _row(title: str, found: Sequence[Found], seconds: float) -> Row:
    shown = [f for f in found if f.value is not None]
    off = np.array([abs(f.truth - (f.value or 0.0)) for f in shown])
    relative = np.array([abs(f.truth - (f.value or 0.0)) / max(abs(f.truth), 1e-9) for f in shown])
    return {
        "asked": title,
        "numbers": len(found),
        "NULL": len(found) - len(shown),
        "covered": f"{np.mean([f.covered for f in shown]):.1%}",
        "median error": float(np.median(off)),
        "relative": f"{float(np.median(relative)):.2%}",
        "median width": float(np.median([f.high - f.low for f in shown])),
        "CPU seconds": seconds,
    }


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=1)
def main(names: Sequence[str], epsilon: str, seeds: int) -> None:
    rows = [row for name in names for seed in range(seeds) for row in study(name, epsilon, seed)]
    title = f"Aggregates that are no sums, epsilon {epsilon}, delta 1e-6: {STATEMENTS} statements of each family"
    show(title, rows, "aggregates", [command_text("aggregates", epsilon=epsilon, seeds=seeds)])


if __name__ == "__main__":
    main()
