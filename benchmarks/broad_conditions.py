"""Conditions that most rows meet: ``python -m benchmarks.broad_conditions [--table fire] [--epsilon 1] [--rules 26]``.

Values of two or three columns, drawn from what is declared: all rows but those of one value of a column, or of two or
three columns; rows of one value that do not have another; rows of two values that have the most frequent one of a third
column; and rows of one value that do not have the rarest one of another column, which leaves out next to nothing.
A session for each seed, which plans a thousand questions and asks these alone; then what its model says of each of
them, whatever answered.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.followers import of_rules
from benchmarks.options import command_text
from benchmarks.report import show
from benchmarks.strangers.__main__ import TABLES
from benchmarks.tables import BenchmarkTable
from dpsql.accounting.plan import NEWEST_MODELS

DEFAULT = ("adult14", "fire", "flights", "loans", "nltcs", "drawn4")
PLANNED, EACH = 1_000, 40
Row = dict[str, object]
Values = tuple[str, Sequence[str]]
"""A column and its declared values as literals, the most frequent first."""


def columns(table: BenchmarkTable) -> list[Values]:
    """Columns of declared values, of which two and more have rows."""
    out: list[Values] = []
    with duckdb.connect(str(table.path)) as con:
        for column in [c for c in table.columns if len(getattr(c, "values", ())) > 1]:
            name = table.domain.name
            rows = dict(con.execute(f'SELECT "{column.name}", count(*) FROM {name} GROUP BY 1').fetchall())
            counted = sorted([(-rows.get(v, 0), literal(v)) for v in column.values])
            out.append((f'"{column.name}"', [v for _, v in counted]))
    return out


def literal(value: object) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def questions(known: Sequence[Values], rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """(kind, condition), so many of each kind."""
    kinds: Mapping[str, Callable[[Sequence[str], Sequence[str], Sequence[Values]], str]] = {
        "one left out": lambda _, but, __: but[0],
        "two left out": lambda _, but, __: " AND ".join(but[:2]),
        "three left out": lambda _, but, __: " AND ".join(but),
        "one value, one left out": lambda of, but, __: f"{of[0]} AND {but[1]}",
        "two values, the most frequent": lambda of, _, c: f"{of[0]} AND {of[1]} AND {c[2][0]} = {c[2][1][0]}",
        "one value, the rarest left out": lambda of, _, c: f"{of[0]} AND {c[1][0]} <> {c[1][1][-1]}",
    }
    for _ in range(EACH):
        some = [known[i] for i in rng.choice(len(known), min(3, len(known)), replace=False)]
        drawn = [(name, values[int(rng.integers(len(values)))]) for name, values in some]
        of, but = ([f"{name} {sign} {value}" for name, value in drawn] for sign in ("=", "<>"))
        yield from ((kind, made(of, but, some)) for kind, made in kinds.items())


def study(table: BenchmarkTable, epsilon: Fraction, seed: int) -> dict[str, list[tuple[float, float]]]:
    """What the model of one session is off by for each kind, and its bars."""
    out: dict[str, list[tuple[float, float]]] = {}
    asked = {
        f"SELECT COUNT(*) FROM {table.domain.name} WHERE {where}": kind
        for kind, where in questions(columns(table), np.random.default_rng([seed, 59]))
    }
    with duckdb.connect(str(table.path)) as con:
        truths = [count for sql in asked for (count,) in con.execute(sql).fetchall()]
    policy = table.policy(epsilon, PLANNED, strategy="auto")
    with dpsql.connect(table.path, policy=policy, ledger=":memory:") as con:
        for sql in asked:
            con.execute(sql)
        state = con._session._asker.states[table.domain.name]
        for (sql, kind), truth in zip(asked.items(), truths, strict=True):
            (query,) = con._session._lower(sql, None).queries
            bar = state.error_bar(query)
            if state.model is not None and bar is not None:
                out.setdefault(kind, []).append((abs(state.model.estimate(query) - truth), float(bar)))
    return out


def row(table: str, kind: str, found: Sequence[tuple[float, float]]) -> Row:
    off, bar = np.array(found).T
    return {
        "table": table,
        "kind": kind,
        "numbers": len(found),
        "inside": round(float((off <= bar).mean()), 3),
        "off by": float(off.mean()),
        "bar": float(np.median(bar)),
        "width": float(np.median(bar) / max(float(np.median(off)), 0.5)),
    }


@click.command()
@click.option("--table", "tables", type=click.Choice(list(TABLES)), multiple=True, default=DEFAULT)
@click.option("--epsilon", default="1")
@click.option("--seeds", default=2)
@click.option("--rules", default=NEWEST_MODELS)
def main(tables: Sequence[str], epsilon: str, seeds: int, rules: int) -> None:
    rows: list[Row] = []
    every: dict[str, list[tuple[float, float]]] = {}
    for name in tables:
        found: dict[str, list[tuple[float, float]]] = {}
        with tempfile.TemporaryDirectory() as folder, of_rules(rules):
            made = TABLES[name](Path(folder))
            for seed in range(seeds):
                for kind, numbers in study(made, Fraction(epsilon), seed).items():
                    found.setdefault(kind, []).extend(numbers)
        rows += [row(name, kind, numbers) for kind, numbers in found.items()]
        for kind, numbers in found.items():
            every.setdefault(kind, []).extend(numbers)
    rows += [row("all", kind, numbers) for kind, numbers in every.items()]
    title = f"Conditions that most rows meet, epsilon {epsilon}, {seeds} sessions each, rules {rules}"
    show(title, rows, "broad_conditions", [command_text("broad_conditions", epsilon=epsilon, seeds=seeds, rules=rules)])


if __name__ == "__main__":
    main()
