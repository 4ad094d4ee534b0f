"""``dpsql demo``: a tour on real data, which are public: so the true answer may stand beside the private one.

Nobody believes a noisy answer without seeing the true one. This is the only place in the package that shows both.
"""

import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote

from dpsql.errors import Error
from dpsql.interface.asked import Asked, ask
from dpsql.interface.console import Console
from dpsql.interface.dbapi import connect
from dpsql.interface.dbapi.connection import Connection
from dpsql.interface.demo.databases import Truth, build
from dpsql.interface.demo.tour import TOUR, Step, random_questions
from dpsql.interface.render.budget import render_budget
from dpsql.interface.render.footer import duration
from dpsql.interface.render.number import epsilon, number, plain
from dpsql.interface.render.style import Style, shorten
from dpsql.interface.render.table import render_table
from dpsql.result import Result

COLUMNS = 96
RANDOM_QUESTIONS = 200
RANDOM_SECONDS = 15.0
"""The tour ends in time on a slow machine: then it asks fewer random questions."""

_TITLES = {
    "adult": "adult: 48,842 people of the 1994 US census (UCI Adult, CC BY 4.0)",
    "pets": "pets: 52,519 pet licences of Seattle, with the pets' names (public domain)",
}
_KEYWORD = re.compile(r"\b(SELECT|FROM|WHERE|AND|OR|GROUP BY|ORDER BY|DESC|IN|AS|BETWEEN|LIKE|DATE|COUNT|AVG)\b")


def run_demo(console: Console, keep: Path | None, *, questions: int = RANDOM_QUESTIONS) -> None:
    """Build both databases, ask, compare, end with the budget. Raises OSError when ``keep`` cannot be written."""
    with ExitStack() as stack:
        folder = stack.enter_context(_folder(keep))
        connections: dict[str, Connection] = {}
        truths: dict[str, Truth] = {}
        for name in _TITLES:
            built = build(name, folder)
            # a ledger in memory, whatever was spent before: what a tour spends on public data need not be remembered
            connection = connect.connect(built.database, built.policy, ":memory:", new_budget=True)
            connections[name] = stack.enter_context(connection)
            truths[name] = Truth(name)
            stack.callback(truths[name].close)
        _welcome(console)
        current = ""
        for i, step in enumerate(TOUR, start=1):
            if step.database != current:
                current = step.database
                _title(console, _TITLES[current])
            _step(console, i, step, connections[current], truths[current])
        _title(console, f"adult: {questions} random questions more")
        _random(console, connections["adult"], truths["adult"], questions)
        _title(console, "adult: the budget")
        console.lines([*render_budget(connections["adult"].budget, console.out), ""])
        _farewell(console, keep)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    folder = Path(tempfile.mkdtemp(prefix="dpsql-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _welcome(console: Console) -> None:
    style = console.out
    console.lines(
        [
            style.bold("dpsql answers SQL counts on private tables, for a whole session under one (epsilon, delta)."),
            "These tables are public: so the column TRUTH can show what an analyst never sees.",
        ]
    )


def _title(console: Console, text: str) -> None:
    style = console.out
    console.lines(["", style.bold(style.cyan(text)), style.dim(style.rule * COLUMNS)])


def _step(console: Console, number_: int, step: Step, connection: Connection, truth: Truth) -> None:
    style = console.out
    sql = _KEYWORD.sub(lambda m: style.cyan(m.group()), step.sql).split("\n")
    console.lines(["", f"{style.bold(f'{number_}. {step.question}')}", *(f"   {line}" for line in sql), ""])
    asked = ask(connection.session, step.sql)
    beside = {"TRUTH": _truths(asked.result, truth.rows(step.sql))}
    indented = replace(style, columns=max(style.columns - 3, 0))
    lines = render_table(
        asked.result, indented, budget=asked.budget, seconds=asked.seconds, charged=asked.charged, beside=beside
    )
    console.lines(f"   {line}" for line in lines)
    if step.remark:
        console.lines([f"   {style.green('→' if style.unicode else '->')} {step.remark}"])


def _truths(result: Result, rows: Sequence[tuple[object, ...]]) -> list[str]:
    """The true number for each row of ``result``, found by its plain columns; 0 for a group without rows."""
    answer = max(result.column_answers, default=len(result.names) - 1)
    columns = [result.table.column(i).to_pylist() for i in range(len(result.names))]
    exact = {tuple(v for i, v in enumerate(row) if i != answer): row[answer] for row in rows}
    keys = [tuple(v for i, v in enumerate(row) if i != answer) for row in zip(*columns, strict=True)]
    return [_number(exact.get(key, 0)) for key in keys]


def _number(value: object) -> str:
    if isinstance(value, int):
        return number(value, 0)
    return number(value, 2) if isinstance(value, float) else plain(value)


@dataclass
class _Tally:
    """How good and how dear many answers were; errors in counts."""

    errors: list[float] = field(default_factory=list)
    covered: int = 0
    bounded: int = 0
    paid: int = 0
    uncertified: int = 0
    spent: float = 0.0

    def add(self, asked: Asked, truth: Truth, sql: str) -> None:
        self.paid += asked.charged > 0
        self.spent += asked.charged
        for answer, row in zip(asked.result.answers, truth.rows(sql), strict=True):
            if answer.value is None or not isinstance(row[0], int):
                continue
            miss = abs(answer.value - row[0])
            self.uncertified += not answer.certified
            self.errors.append(miss)
            if answer.error is not None:
                self.bounded += 1
                self.covered += miss <= answer.error


def _random(console: Console, connection: Connection, truth: Truth, count: int) -> None:
    """Ask many questions and say how good and how dear they were."""
    start, tally = time.perf_counter(), _Tally()
    refused: Error | None = None
    for i, sql in enumerate(random_questions(count), start=1):
        if time.perf_counter() - start > RANDOM_SECONDS:
            break
        console.progress(f"{i} of {count} questions")
        try:
            tally.add(ask(connection.session, sql), truth, sql)
        except Error as error:
            refused = error
            break
    if not tally.errors:
        raise refused if refused is not None else Error("no question was answered in time")
    console.lines(_told(tally, time.perf_counter() - start, console.out))


def _told(tally: _Tally, seconds: float, style: Style) -> list[str]:
    errors, paid, uncertified = tally.errors, tally.paid, tally.uncertified
    free = style.bold(f"{len(errors) - paid:,} of them") if paid else style.bold("all of them")
    paid_for = f"; the other {paid:,} cost epsilon {epsilon(tally.spent)}" if paid else ""
    example = next(random_questions(1)).replace("SELECT COUNT(*) AS n FROM adult", "...")
    within = 100 * tally.covered / max(tally.bounded, 1)
    lines = [
        f"such as   {shorten(example, COLUMNS - 10, style)}",
        f"asked     {len(errors):,} in {duration(seconds)}",
        f"free      {free}{paid_for}",
        f"errors    {statistics.median(errors):,.0f} at the median, {max(errors):,.0f} at most, of 48,842 people",
        f"bounds    {within:.0f} % of the answers lie within their {style.plus_minus}",
    ]
    if uncertified:
        lines.append(f"          {uncertified:,} were not tested: as private as the others, but without a certificate")
    return lines


def _farewell(console: Console, keep: Path | None) -> None:
    style = console.out
    if keep is None:
        console.lines(["Ask yourself: dpsql demo --keep DIR", "        then: dpsql shell DIR/adult.duckdb"])
    else:
        command = f"dpsql shell {quote(str(keep / 'adult.duckdb'))}"
        console.lines([f"Ask yourself: {style.bold(command)}"])
