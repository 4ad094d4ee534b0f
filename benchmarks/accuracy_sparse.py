"""Accuracy on strings, Debian's file index: ``python -m benchmarks.accuracy_sparse [--queries 10000] [--seeds 3]``.

Point and IN queries on ``ext`` (text, no declared values), and LIKE with declared prefixes of 1 and 2 characters.
Strategy ``auto`` releases the frequent strings first; ``pmw`` starts from an empty hypothesis with 100 hard rounds and
knows no prefixes. A prefix is drawn as strings are: half by frequency, half evenly among those that occur.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.accuracy_dense import Row, gaussian_errors
from benchmarks.question import literal
from benchmarks.report import show, summary
from benchmarks.tables import BenchmarkTable, files
from benchmarks.workload import sparse_statements
from dpsql.domain import TextDomain

HARD_ROUNDS = 100
PREFIXES = (1, 2)
Asked = Sequence[tuple[str, str, int]]
"""Statements with their kind and their true answer."""


def lists(counts: Sequence[tuple[str, int]], queries: int, seed: int) -> list[tuple[str, str, int]]:
    truth = dict(counts)
    return [
        (sql, "point" if len(listed) == 1 else "IN", sum(truth.get(s, 0) for s in listed))
        for sql, listed in sparse_statements("files", "ext", counts, queries, seed)
    ]


def prefixes(counts: Sequence[tuple[str, int]], queries: int, seed: int) -> list[tuple[str, str, int]]:
    rng = np.random.default_rng(seed)
    out = []
    for length in rng.choice(PREFIXES, queries).tolist():
        found: Counter[str] = Counter()
        for s, n in counts:
            if len(s) >= length:
                found[s[:length]] += n
        names, numbers = zip(*sorted(found.items()), strict=True)
        weights = np.array(numbers) / sum(numbers)
        p = weights if rng.random() < 0.5 else np.full(len(names), 1 / len(names))
        i = int(rng.choice(len(names), p=p))
        pattern = literal(names[i].replace("%", "").replace("_", "") + "%")
        if len(pattern) == length + 3:  # no wildcard in it
            out.append((f"SELECT COUNT(*) FROM files WHERE ext LIKE {pattern}", "LIKE", int(numbers[i])))
    return out


def ask(table: BenchmarkTable, strategy: str, asked: Asked, hard_rounds: int | None) -> tuple[list[float], Row]:
    policy = table.policy(planned=len(asked), hard_rounds=hard_rounds, strategy=strategy)
    errors: list[float] = []
    inside: list[bool] = []
    with dpsql.connect(table.path, policy=policy, ledger=":memory:") as con:
        begin = time.perf_counter()
        for sql, _, truth in asked:
            cursor = con.execute(sql)
            errors.append(cursor.fetchone()[0] - truth)  # type: ignore[index]
            error = cursor.answers[0].error
            inside.append(error is not None and abs(errors[-1]) <= error)
        rate = len(asked) / (time.perf_counter() - begin)
        left = con.budget.hard_rounds_left
    return errors, {"hard rounds left": left, "queries/s": rate, "inside error": float(np.mean(inside))}


def kinds(errors: Sequence[float], asked: Asked) -> Row:
    by_kind: dict[str, list[float]] = {}
    for e, (_, kind, _) in zip(errors, asked, strict=True):
        by_kind.setdefault(f"mean {kind}", []).append(abs(e))
    return {name: float(np.mean(found)) for name, found in by_kind.items()}


@click.command()
@click.option("--queries", default=10_000)
@click.option("--seeds", default=3)
def main(queries: int, seeds: int) -> None:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        table = files(Path(name))
        with_prefixes = replace(
            table, domain=replace(table.domain, columns=(TextDomain("ext", PREFIXES), *table.domain.columns[1:]))
        )
        with duckdb.connect(str(table.path), read_only=True) as con:
            found = con.execute(
                "SELECT ext, COUNT(*) FROM files WHERE ext IS NOT NULL GROUP BY ext ORDER BY 2 DESC, 1"
            ).fetchall()
        counts = [(str(s), int(c)) for s, c in found]
        for seed in range(1, seeds + 1):
            asked = lists(counts, queries, seed)
            liked = [*asked[: queries // 5], *prefixes(counts, queries // 5, seed)]
            empty, extra = ask(table, "pmw", asked, HARD_ROUNDS)
            rows.append({"method": "empty start", "seed": seed, **summary(empty), **kinds(empty, asked), **extra})
            errors, extra = ask(table, "auto", asked, None)
            row = {"method": "dpsql auto", "seed": seed, **summary(errors), **kinds(errors, asked), **extra}
            row["empty start / auto"] = float(np.mean(np.abs(empty)) / np.mean(np.abs(errors)))
            rows.append(row)
            errors, extra = ask(with_prefixes, "auto", liked, None)
            row = {"method": "auto, prefixes", "seed": seed, **summary(errors), **kinds(errors, liked), **extra}
            rows.append(row)
            peer = summary(list(gaussian_errors(queries, Fraction(1), seed)))
            rows.append({"method": "Gaussian per answer, told k", "seed": seed, **peer})
    show(
        f"Files, ext as text, epsilon 1, delta 1e-6, {queries:,} point and IN queries",
        rows,
        "accuracy_sparse",
        ["absolute errors in counts of 1,655,516 rows", "prefixes: a fifth as many of these, and as many LIKE"],
    )


if __name__ == "__main__":
    main()
