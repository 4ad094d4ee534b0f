"""What hard rounds answer: ``python -m benchmarks.alarms [--table adult6] [--queries 100] [--agree 2 --agree 3]``.

Groups are tested one by one, as by rules 14: of those that are tested as one no number is known to have failed. With a
few rounds for thousands of questions most alarms of the test are its own noise. For each ``--agree`` the answers
as they would be if numbers within so many sds of the model were weighed with it, and others shown as measured: errors
in sds of the round's noise, the share of them within their 95 % error, and its median in sds of that noise.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import click
import numpy as np

import dpsql
from benchmarks.report import show
from benchmarks.strangers.__main__ import TABLES
from benchmarks.strangers.kinds import KINDS, Stranger, stream
from benchmarks.strangers.sessions import _Truth
from benchmarks.tables import BenchmarkTable
from dpsql.query import LinearQuery
from dpsql.result import Answer
from dpsql.session import asker
from dpsql.session.asker import Asker
from dpsql.session.model.beside_model import Beside


@dataclass(frozen=True)
class Alarm:
    """A number whose test failed: as the model said it, as it was measured (with noise of that sd), and true."""

    table: str
    beside: Beside
    measured: Answer
    noise: float
    truth: int

    def answered(self, agree: float) -> tuple[float, float]:
        """(error, 95 % error) of the answer, in sds of the noise."""
        (found,) = replace(self.beside, agree=agree, values=True).answers([self.measured], [self.noise])
        off = abs(max(0, found.value or 0) - max(0, self.truth))
        return off / self.noise, (found.error or 0.0) / self.noise


class _Watch:
    """Stands where a session measures a hard round, and notes what it is about."""

    def __init__(self) -> None:
        self.found: list[Alarm] = []
        self.table = ""
        self._measure = Asker._measure
        self._tests = asker.net_tests

    def __enter__(self) -> Self:
        watch = self

        def measure(session: Asker, *parts: Any) -> list[Answer]:
            state, model, beside, *rest = parts
            truth: list[int] = []
            session._hard_round.value(beside.hard).map(lambda n: truth.append(int(n)))
            noted = _noting(beside, lambda *a: watch._note(beside.hard, truth[0], *a))
            return watch._measure(session, state, model, noted, *rest)

        def one_by_one(*parts: Any, together: bool) -> Any:
            return watch._tests(*parts, together=False)

        Asker._measure = measure  # type: ignore[method-assign, assignment]
        asker.net_tests = one_by_one
        return self

    def _note(self, hard: LinearQuery, truth: int, beside: Beside, measured: Answer, noise: float) -> None:
        if hard.keyed is None and beside.bars[0] is not None:
            self.found.append(Alarm(self.table, beside, measured, noise, truth))

    def __exit__(self, *_: object) -> None:
        Asker._measure = self._measure  # type: ignore[method-assign]
        asker.net_tests = self._tests


def _noting(beside: Beside, note: Any) -> Beside:
    at = next(i for i, q in enumerate(beside.queries) if q is beside.hard)
    one = replace(beside, queries=(beside.hard,), estimates=(beside.estimates[at],), bars=(beside.bars[at],))

    class Noting(Beside):
        def answers(self, measured: Sequence[Answer], noise: Sequence[float]) -> list[Answer]:
            note(one, measured[at], noise[at])
            return super().answers(measured, noise)

    return Noting(**vars(beside))


def watched(name: str, table: BenchmarkTable, queries: int, epsilon: Fraction, seed: int, watch: _Watch) -> None:
    """One session of all kinds of questions."""
    truth = _Truth(table)
    asked = stream(Stranger(table, truth, seed), list(KINDS), queries)
    planned = queries + sum(a.counted is not None for a in asked)
    watch.table = name
    with dpsql.connect(table.path, policy=table.policy(epsilon, planned, strategy="auto"), ledger=":memory:") as con:
        for sql in dict.fromkeys(a.sql for a in asked):
            try:
                con.execute(sql)
            except dpsql.Error:
                continue
    truth.close()


@click.command()
@click.option("--table", "tables", multiple=True, default=("adult6", "adult14", "fire", "loans", "flights", "choices"))
@click.option("--queries", default=100)
@click.option("--epsilon", default="1")
@click.option("--seeds", default=3)
@click.option("--agree", multiple=True, type=float, default=(0.0, 1.0, 2.0, 2.5, 3.0, 4.0))
def main(tables: tuple[str, ...], queries: int, epsilon: str, seeds: int, agree: tuple[float, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder, _Watch() as watch:
        for name in tables:
            made = TABLES[name](Path(folder))
            for seed in range(seeds):
                watched(name, made, queries, Fraction(epsilon), seed + 1, watch)
    for name in (*tables, "all tables"):
        found = [a for a in watch.found if name in (a.table, "all tables")]
        title = f"{name}, epsilon {epsilon}, {queries:,} statements: {len(found)} alarms"
        if found:
            show(title, [_row(found, sds) for sds in agree], f"alarms_{name}_{queries}")


def _row(alarms: Sequence[Alarm], agree: float) -> dict[str, object]:
    off, bars = np.array([alarm.answered(agree) for alarm in alarms]).T
    numbers = {"mean": off.mean(), "p95": np.quantile(off, 0.95), "max": off.max(), "covered": (off <= bars).mean()}
    rounded = {name: round(float(number), 3) for name, number in (numbers | {"bar": np.median(bars)}).items()}
    return {"agree": agree, **rounded}


if __name__ == "__main__":
    main()
