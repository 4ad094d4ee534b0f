"""Averages and sums where few questions are planned: ``python -m benchmarks.few_averages [--planned 30] [--rules 20]``.

Tables and number columns are those of ``benchmarks.numbers``. Sessions that plan so few questions give each of them
noise of its own. Asked are averages of number columns in groups, under conditions on other columns and on the column
itself, sums of these, and averages of whole numbers in groups: coverage of the 95 % bars, median error and median bar,
in the column's unit, and how many had too few rows to be shown. ``--rules``: as ledgers of these rules of models
answer.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.followers import of_rules
from benchmarks.number_tables import TABLES
from benchmarks.numbers import Row, Writer
from benchmarks.options import command_text
from benchmarks.report import show
from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.domain import IntegerDomain, NumberDomain

KINDS = ("groups", "conditions", "stretches", "sums of stretches", "whole numbers")


def asked(
    writer: Writer, groups: Sequence[str], integers: Sequence[str], values: dict[str, np.ndarray], number: int
) -> list[tuple[str, str]]:
    """(kind, statement), one of each kind in turn; of ``t``, whose number columns hold ``values``."""
    out: list[tuple[str, str]] = []
    for i in range(number):
        column, group = writer.number(), groups[(i // len(KINDS)) % len(groups)]
        match KINDS[i % len(KINDS)]:
            case "groups":
                out.append(("groups", f"SELECT {group}, AVG({column}) FROM t GROUP BY {group}"))
            case "conditions":
                out.append(("conditions", f"SELECT AVG({column}) FROM t WHERE {writer.groups()}"))
            case "stretches":
                out.append(("stretches", f"SELECT AVG({column}) FROM t WHERE {writer.condition(values, column)}"))
            case "sums of stretches":
                out.append((KINDS[3], f"SELECT SUM({column}) FROM t WHERE {writer.condition(values, column)}"))
            case kind:
                others = [c for c in integers if c != group]
                if others:
                    whole = others[(i // len(KINDS)) % len(others)]
                    out.append((kind, f"SELECT {group}, AVG({whole}) FROM t GROUP BY {group}"))
    return out


Ask = Callable[[Writer, Sequence[str], Sequence[str], dict[str, np.ndarray], int], list[tuple[str, str]]]


def study(
    name: str, epsilon: str, planned: int, seeds: int, rules: int, ask: Ask = asked, parts: Sequence[str] = ("",)
) -> list[Row]:
    """A row of the report for each kind of half as many statements as are planned, and each of its ``parts``, the
    aggregates that its statements end with."""
    source, table = TABLES[name]
    text = (
        f"version = 1\n[privacy]\nepsilon = {epsilon}\ndelta = 1e-6\nplanned_queries = {planned}\n"
        f"[tables.t.columns]\n{table.columns}\n"
    )
    policy = dpsql.load_policy(text)
    columns = policy.tables[0].columns
    domains = {c.name: c for c in columns if isinstance(c, NumberDomain)}
    integers = [c.name for c in columns if isinstance(c, IntegerDomain)]
    found: dict[str, list[tuple[float, float]]] = {}
    hidden: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.duckdb"
        with duckdb.connect(str(path)) as con:
            con.execute(f"CREATE TABLE t AS SELECT {table.source} FROM {source(con)}")
        with duckdb.connect() as con:
            con.execute(f"ATTACH '{path}' AS held (READ_ONLY)")
            clipped = ", ".join(
                f"CASE WHEN {n} IS NOT NULL THEN least(greatest({n}, {d.edges[0]}), {d.edges[-1]})::DOUBLE END AS {n}"
                for n, d in domains.items()
            )
            con.execute(f"CREATE TABLE t AS SELECT * REPLACE ({clipped}) FROM held.t")
            con.execute("DETACH held")
            values = {n: con.execute(f"SELECT {n} FROM t WHERE {n} IS NOT NULL").fetchnumpy()[n] for n in domains}
            for seed in range(seeds):
                writer = Writer(table, domains, seed)
                questions = ask(writer, list(table.groups), integers, values, planned // 2)
                with (
                    of_rules(rules),
                    dpsql.connect(path, policy=policy, ledger=":memory:", new_budget=True) as session,
                ):
                    for kind, sql in questions:
                        true = {row[: -len(parts)]: row[-len(parts) :] for row in con.execute(sql).fetchall()}
                        cursor = session.execute(sql)
                        answers = iter(cursor.answers)
                        for row in cursor.fetchall():
                            truths = true.get(row[: -len(parts)], (None,) * len(parts))
                            for part, said, truth in zip(parts, row[-len(parts) :], truths, strict=True):
                                error, what = next(answers).error, kind + part
                                if said is None:
                                    hidden[what] = hidden.get(what, 0) + 1
                                elif truth is not None:
                                    bar = np.inf if error is None else float(error)
                                    found.setdefault(what, []).append((abs(float(said) - float(truth)), bar))
    return [
        {
            "table": name,
            "kind": kind,
            "numbers": len(numbers),
            "covered": f"{np.mean([off <= bar for off, bar in numbers]):.1%}",
            "median error": float(np.median([off for off, _ in numbers])),
            "median bar": float(np.median([bar for _, bar in numbers])),
            "not shown": hidden.get(kind, 0),
        }
        for kind, numbers in found.items()
    ]


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--planned", default=30)
@click.option("--seeds", default=10)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: tuple[str, ...], epsilon: str, planned: int, seeds: int, rules: int) -> None:
    rows = [row for name in names for row in study(name, epsilon, planned, seeds, rules)]
    title = f"Averages, epsilon {epsilon}, {planned} questions planned, {seeds} sessions each, rules {rules}"
    told = command_text("few_averages", epsilon=epsilon, planned=planned, seeds=seeds, rules=rules)
    show(title, rows, "few_averages", [told])


if __name__ == "__main__":
    main()
