"""One scripted session on one database, and its coupled twin: all that is shown and kept, and the tape beside it."""

import dataclasses
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partialmethod
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pyarrow as pa

import dpsql
from dpsql.accounting import Plan
from dpsql.first import bench, listed, text_start
from dpsql.ledger import MemoryLedger, SqliteLedger
from dpsql.ledger.event import Totals
from dpsql.mechanism import ThresholdTest, key_selection, rounded_by_chance
from dpsql.mechanism.randomized_response import randomized_response
from dpsql.planning import make_plan
from dpsql.private import Private
from dpsql.session import given
from dpsql.session.own import release
from dpsql.session.own.by_value import stretch
from dpsql.synthesis.dual_query import method
from dpsql.synthesis.graph import noise
from tests.support import walk
from tests.support.coupled.entropy import Retelling, Telling
from tests.support.coupled.tape import Tape
from tests.support.entropy import SeededEntropy

_ANSWERS = (
    "SELECT * FROM answers ORDER BY 1",
    "SELECT * FROM counts",
    "SELECT * FROM crosstabs",
    "SELECT * FROM places",
)

Shown = list[tuple[str, Any]]
Asked = str | tuple[str, Any]
Around = Callable[[str], AbstractContextManager[None]]
"""Entered around the plan and the answer of each text."""


@dataclasses.dataclass(frozen=True)
class Script:
    """``schema`` builds the database, ``policy`` is the policy file's text, ``texts`` are asked in order.

    A text may stand beside its parameters. ``synthetic``: arguments of the synthetic tables that are made first.
    ``within``: the bound that all texts are asked with.
    """

    policy: str
    schema: tuple[str, ...]
    texts: tuple[Asked, ...]
    hard: float = 0.3
    seed: int = 1
    synthetic: tuple[Mapping[str, Any], ...] = ()
    within: float | None = None


@dataclasses.dataclass(frozen=True)
class Refused:
    """``charged``: what the error says; ``spent``: what the budget says; both in epsilon."""

    text: str
    error: dpsql.Error
    charged: float
    spent: float


@dataclasses.dataclass(frozen=True)
class Run:
    """``shown``: what an analyst or the ledger holds in the end, in order, named. ``plan``: what was paid from."""

    shown: Shown
    tape: Tape
    plan: Plan
    refused: list[Refused]


@contextmanager
def nothing(text: str) -> Iterator[None]:
    yield


def told(script: Script, changes: Sequence[str] = (), folder: Path | None = None, *, around: Around = nothing) -> Run:
    """A session whose draws come from the script's seed.

    With a ``folder`` the ledger is a file in it, and another session goes on with it.
    """
    tape = Tape()
    return _run(script, changes, tape, Telling(script.seed, tape, script.hard), folder, around)


def coupled(script: Script, changes: Sequence[str], first: Run, folder: Path | None = None) -> Run:
    """The same on a neighbour, fed what ``first`` released."""
    tape = Tape()
    return _run(script, changes, tape, Retelling(first.tape, tape), folder, nothing)


def _run(script: Script, changes: Sequence[str], tape: Tape, entropy: Any, folder: Path | None, around: Around) -> Run:
    shown: Shown = []
    refused: list[Refused] = []
    policy = dpsql.load_policy(script.policy)
    ledger: Any = ":memory:" if folder is None else folder / "coupled.dpsql.ledger"
    with (
        duckdb.connect() as database,
        _listening(tape),
        _written(MemoryLedger if folder is None else SqliteLedger, tape),
        patch("dpsql.mechanism.SystemEntropy", lambda: entropy),
        patch.object(dpsql.Cursor, "execute", partialmethod(dpsql.Cursor.execute, within=script.within)),
        patch.object(dpsql.Connection, "explain", partialmethod(dpsql.Connection.explain, within=script.within)),
        patch.object(dpsql.Connection, "execute", lambda con, *asked: con.cursor().execute(*asked)),
    ):
        for statement in (*script.schema, *changes):
            database.execute(statement)
        for texts in (script.texts,) if folder is None else (script.texts, script.texts[::-1]):
            with dpsql.connect(database, policy=policy, ledger=ledger) as con:
                for arguments in script.synthetic:
                    shown += [(f"synthetic table {arguments}", entry) for entry in synthesized(con, arguments)]
                shown += _session(con, texts, refused, around)
    shown += [("ledger", entry) for entry in tape.written]
    shown += [] if folder is None else in_files(ledger)
    return Run(shown, tape, make_plan(policy), refused)


def _session(con: dpsql.Connection, texts: Sequence[Asked], refused: list[Refused], around: Around) -> Shown:
    """All that can be seen of one session, named, in order."""
    shown: Shown = [("notices", con.notices), ("tables", repr(con.tables())), ("budget", con.budget)]
    con.session.on_progress(lambda *told: shown.append(("progress", told)))
    asked = [(entry, None) if isinstance(entry, str) else entry for entry in texts]
    for text, parameters in asked:
        before = con.budget.spent_epsilon
        with around(text):
            shown += [(f"plan of {text}", entry) for entry in planned(con, text, parameters)]
            found = executed(con, text, parameters)
        if isinstance(found, dpsql.Error):
            refused.append(Refused(text, found, found.charged, con.budget.spent_epsilon - before))
            found = list(chain(found))
        shown += [*((text, entry) for entry in found), (f"budget after {text}", con.budget)]
    shown += [
        (f"plan in the end of {text}", entry) for text, given in asked[::4] for entry in planned(con, text, given)
    ]
    return [*shown, ("plan", con.session.tables())]


def in_files(ledger: Path) -> Shown:
    """What a ledger's files hold, without who wrote it, digests, and the ledger's own random name."""
    shown: Shown = []
    for file, queries in (
        (ledger, ("SELECT sequence, kind, reservation, cost, payload, answers FROM events ORDER BY 1",)),
        (ledger.with_name(f"{ledger.name}.answers"), _ANSWERS),
    ):
        with closing(sqlite3.connect(file)) as connection:
            for query in queries:
                shown += [(query, row) for row in connection.execute(query)]
    return shown


@contextmanager
def _written(kind: Any, tape: Tape) -> Iterator[None]:
    """What a ledger is told goes on the tape, and which opened values each reservation pays for."""
    reserve, release, remember, keep = kind.reserve, kind.release, kind.remember, kind.keep
    remember_crosstab = kind.remember_crosstab

    def reserves(ledger: Any, cost: int, check: Callable[[Totals], None], payload: Any) -> int:
        number: int = reserve(ledger, cost, check, payload)
        tape.reserved[number] = cost, payload
        return number

    def releases(ledger: Any, reservation: int, payload: Any, answers: Any = ()) -> None:
        kept = list(answers)
        release(ledger, reservation, payload, kept)
        tape.written.append(("answers of a release", repr((payload, kept))))
        tape.release(reservation)

    def remembers(ledger: Any, answers: Any) -> None:
        kept = list(answers)
        remember(ledger, kept)
        tape.written.append(("answers", repr(kept)))

    def remembers_crosstab(ledger: Any, name: bytes, digests: bytes, answers: Any) -> bool:
        kept: bool = remember_crosstab(ledger, name, digests, answers)
        tape.written.append(("answers together", repr((name, digests, [*answers], kept))))
        return kept

    def keeps(ledger: Any, name: str, text: str) -> None:
        keep(ledger, name, text)
        tape.written.append((name, text))

    with (
        patch.object(kind, "reserve", reserves),
        patch.object(kind, "release", releases),
        patch.object(kind, "remember", remembers),
        patch.object(kind, "remember_crosstab", remembers_crosstab),
        patch.object(given, "FEWEST", 2),  # so that the few groups of these tables are kept as one
        patch.object(kind, "keep", keeps),
    ):
        yield


@contextmanager
def _listening(tape: Tape) -> Iterator[None]:
    """Every value that is opened goes on the tape, and with it how a test or a selection is charged."""
    reveal, easy, select = Private.reveal, ThresholdTest.easy, text_start.select_keys
    respond = randomized_response

    def opens(private: Private[Any]) -> Any:
        tape.reveal(reveal(private))
        return tape.opened[-1].raw

    def tests(test: ThresholdTest, g: Private[int], theta: int, entropy: Any) -> bool:
        outcome = easy(test, g, theta, entropy)
        tape.opened[-1].slope, tape.opened[-1].step = test.certified_slope, test.sensitivity
        return outcome

    def selects(found: Any, sigma: Any, threshold: int, entropy: Any) -> tuple[str, ...]:
        keys = select(found, sigma, threshold, entropy)
        tape.opened[-1].compared, tape.opened[-1].selected = threshold, sigma
        return keys

    def comparing(compare: Callable[..., Any]) -> Callable[..., Any]:
        def compares(counts: Private[Any], sigma: Any, threshold: int, entropy: Any, *, shown: bool) -> Any:
            tape.hidden = not shown
            out = compare(counts, sigma, threshold, entropy, shown=shown)
            tape.opened[-1].entries = True
            return out

        return compares

    def joins(values: Any) -> Private[Any]:
        """What is private stays so: nothing is opened."""
        return Private(tuple(reveal(value) for value in values))

    def responds(bits: Private[Any], flips: int, entropy: Any) -> Any:
        tape.flips = flips
        out = respond(bits, flips, entropy)
        tape.opened[-1].flips, tape.opened[-1].told, tape.flips = flips, tuple(out.tolist()), 0
        return out

    def rounds(shares: Private[Any], size: int, bits: int, _: Any) -> Private[Any]:
        """Chances are drawn whatever the rows are: the same for both sessions."""
        return rounded_by_chance(shares, size, bits, SeededEntropy(size))

    with (
        patch.object(Private, "reveal", opens),
        patch.object(bench, "rounded_by_chance", rounds),
        patch.object(bench, "together", joins),
        patch.object(method, "together", joins),
        patch.object(release, "together", joins),
        patch.object(stretch, "together", joins),
        patch.object(noise, "randomized_response", responds),
        patch.object(ThresholdTest, "easy", tests),
        patch.object(text_start, "select_keys", selects),
        patch.object(text_start, "compared_counts", comparing(text_start.compared_counts)),
        patch.object(listed, "compared_counts", comparing(listed.compared_counts)),
        patch.object(key_selection, "gaussian_above", lambda sigma, places, entropy: entropy.above(sigma, places)),
    ):
        yield


def planned(con: dpsql.Connection, text: str, parameters: Any = None) -> list[Any]:
    """The plan of a statement, or how it is refused."""
    try:
        return list(told_of(con.explain(text, parameters)))
    except dpsql.Error as error:
        return list(chain(error))


def executed(con: dpsql.Connection, text: str, parameters: Any = None) -> list[Any] | dpsql.Error:
    """All of an answer, or how it is refused."""
    try:
        cursor = con.execute(text, parameters)
        rows = repr(cursor.fetchall())
    except dpsql.Error as error:
        return error
    return [cursor.description, cursor.rowcount, rows, repr(cursor.answers), *told_of(cursor.result)]


def synthesized(con: dpsql.Connection, arguments: Mapping[str, Any]) -> list[Any]:
    """All of a synthetic table, or how it is refused."""
    with patch("dpsql.synthesis.methods.METHODS", walk.methods()):
        try:
            made = con.synthesize(**arguments)
        except dpsql.Error as error:
            return list(chain(error))
    rows = made.to_arrow()
    return [rows.schema.to_string(show_schema_metadata=True), repr(rows.to_pylist()), repr(made.report), made.charged]


def told_of(value: Any) -> Iterator[Any]:
    """Each field of a result or explanation, whatever fields it has, in a form that compares by value."""
    for field in dataclasses.fields(value):
        found = getattr(value, field.name)
        if isinstance(found, pa.Table):
            found = found.schema.to_string(), [repr(column.to_pylist()) for column in found.columns]
        yield field.name, repr(found)


def chain(error: BaseException | None) -> Iterator[Any]:
    """An error, its causes and contexts: class, text, attributes and notes."""
    while error is not None:
        yield (
            type(error).__qualname__,
            str(error),
            sorted((k, repr(v)) for k, v in getattr(error, "__dict__", {}).items()),
        )
        if error.__cause__ is not None:
            yield from chain(error.__cause__)
        error = error.__context__
