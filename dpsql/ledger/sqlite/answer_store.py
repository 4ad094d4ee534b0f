"""Answers once given, by canonical question: a file beside the ledger that may be lost without any loss of budget.

Sessions that ask the same at the same moment, before either has written its answer, may each be given one of their own.
From then on there is one: that of the ledger's earliest event, else the free one that was written first.

Nothing here is synced. Whatever is wrong with the file, it is moved aside and begun anew from the answers that the
ledger's own events hold; the ledger's spending is never read from it.
"""

import hashlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from dpsql.ledger.answer_text import decode_answer, encode_answer
from dpsql.ledger.sqlite.crosstab_store import TABLES, CrosstabStore, place_of
from dpsql.ledger.sqlite.file import SqliteFile, is_passing
from dpsql.ledger.sqlite.holder import boot_identity
from dpsql.ledger.sqlite.schema import companions
from dpsql.result import Answer, CrosstabAnswers

BATCH = 256
BATCH_SECONDS = 0.05
"""Answers wait in memory for so long at most while their session is asked: others are told the same from then on."""
_ASKED = 500  # questions in one SELECT
_FREE = 2**62  # in place of an event's sequence number, for answers that no event holds
_PATIENCE = 64  # batches kept in memory while another process holds the file's lock
_TIMEOUT = 2.0  # seconds
_KEPT = "kept: "
_LEDGER_AT = "ledger at"

Pairs = Iterable[tuple[str, Answer]]
Released = Callable[[int], Iterator[tuple[int, list[tuple[str, Answer]]]]]
"""Answers held by the ledger's events after a sequence number, in order: (sequence, answers)."""

_EVENTS = "ALTER TABLE answers ADD COLUMN event INTEGER NOT NULL DEFAULT 0"  # 0: written before there was the column
_TABLES = (
    "CREATE TABLE answers (question BLOB PRIMARY KEY, answer TEXT NOT NULL) STRICT, WITHOUT ROWID",
    _EVENTS,
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE counts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID",
)
_KEPT_ALONE = "INSERT OR IGNORE INTO answers SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM places WHERE place = ?4)"


def answer_files(ledger: Path) -> tuple[Path, ...]:
    """The file of answers beside a ledger, and SQLite's beside that."""
    path = ledger.with_name(ledger.name + ".answers")
    return (path, *companions(path))


class _Given(NamedTuple):
    answer: Answer
    text: str  # as it will be written
    event: int


class AnswerStore:
    """Not thread-safe: the ledger calls it under its own lock. No method raises for a bad file."""

    def __init__(self, beside: Path, ledger: str, released: Released, on_step: Callable[[str], None]) -> None:
        self._path = answer_files(beside)[0]
        self._ledger = ledger
        self._released = released
        self._step = on_step
        self._buffer: dict[str, _Given] = {}
        self._flushed = -BATCH_SECONDS
        self._met = False
        self._applied = 0
        self.written: tuple[int, str | None] | None = None
        """The last event of the ledger, and the chain's head, that the file knew of when it was opened."""
        self.notices: list[str] = []
        self._use(self._open())

    def lookup(self, key: str) -> Answer | None:
        """The one answer given to ``key``, buffered ones included."""
        return self.lookup_all([key]).get(key)

    def lookup_all(self, keys: Sequence[str]) -> dict[str, Answer]:
        """The same of each key that has an answer: few questions to the file for many keys."""
        try:
            return self._stored(keys)
        except (sqlite3.Error, ValueError, TypeError) as error:
            if not is_passing(error):
                self._begin_anew()
        with suppress(sqlite3.Error, ValueError, TypeError):
            return self._stored(keys)
        return {key: self._buffer[key].answer for key in keys if key in self._buffer}

    def remember(self, answers: Pairs) -> bool:
        """Keep answers; ``BATCH`` are written out, or fewer where none were just before. False where some of these had
        another answer there."""
        for key, answer in answers:
            self._keep(key, answer, _FREE)
        self._met = False
        if len(self._buffer) >= BATCH:
            self.flush()
        elif monotonic() >= self._flushed + BATCH_SECONDS:
            self.flush(waits=False)  # a batch has time, and a process that holds the file keeps nobody
        return not self._met

    def lookup_crosstab(self, name: bytes) -> CrosstabAnswers | None:
        """The answers kept together under a name, unless the ledger has others to some of the questions."""
        try:
            found = self._crosstabs.find(name)
            if found is not None and self._buffer:  # which may hold an event's answers to some of the questions
                self.flush()
                found = self._crosstabs.find(name)
            return found
        except (sqlite3.Error, ValueError, TypeError) as error:
            if not is_passing(error):
                self._begin_anew()
        return None

    def remember_crosstab(self, name: bytes, digests: bytes, answers: CrosstabAnswers) -> bool:
        """Keep free answers together; False where some question has one already, or the file cannot be written."""
        text = digests.hex()
        if self._buffer and not self._buffer.keys().isdisjoint([text[at : at + 64] for at in range(0, len(text), 64)]):
            return False
        named = text.encode()
        questions = [_sha256(named[at : at + 64]) for at in range(0, len(named), 64)]
        try:
            self._file.begin()
            self._step("remember:begin")
            answered = self._file.one("SELECT value FROM counts WHERE name = 'answered'")[0]
            new = not self._crosstabs.is_known(digests, questions, answered)
            if new:
                self._crosstabs.add(name, digests, answers)
                sql = "UPDATE counts SET value = value + ? WHERE name IN ('answered', 'free')"
                self._file.execute(sql, (len(answers),))
            self._step("remember:written")
            self._file.commit()
            self._step("remember:committed")
            return new
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._file.rollback()
            if not is_passing(error):
                self._begin_anew()
        return False

    def absorb(self, sequence: int, answers: Pairs) -> None:
        """Take over the answers that the ledger's event ``sequence`` holds; events come in order."""
        for key, answer in answers:
            self._keep(key, answer, sequence)
        self._applied = max(self._applied, sequence)
        if len(self._buffer) >= BATCH:
            self.flush()

    def flush(self, *, waits: bool = True) -> None:
        """Write the buffer, without syncing; ``waits``: for another process that holds the file's lock."""
        if not self._buffer:
            return
        self._flushed = monotonic()
        try:
            self._write(waits=waits)
            return
        except (sqlite3.Error, ValueError, TypeError) as error:  # also a spoilt text, which no longer decodes
            with suppress(sqlite3.Error):
                self._file.rollback()
            if is_passing(error):
                if len(self._buffer) > _PATIENCE * BATCH:
                    self._buffer.clear()
                return
        self._begin_anew()
        try:
            self._write()
        except sqlite3.Error:
            self._use(self._in_memory())
            self._write()

    def note(self, sequence: int, head: str) -> None:
        """Write the buffer, and how far the ledger has come: one that was set back is found out by its answers."""
        self.flush()
        self._put(_LEDGER_AT, f"{sequence} {head}")

    def counts(self) -> tuple[int, int]:
        """(questions answered, of these free); approximate after a crash."""
        self.flush()  # only the file knows which of the buffered ones are new
        free = sum(1 for given in self._buffer.values() if given.answer.charged == 0)
        try:
            stored = dict(self._file.execute("SELECT name, value FROM counts").fetchall())
        except sqlite3.Error:
            stored = {}
        return stored.get("answered", 0) + len(self._buffer), stored.get("free", 0) + free

    def recall(self, name: str) -> str | None:
        """The text kept under ``name``, if it is still there."""
        try:
            row = self._file.execute("SELECT value FROM facts WHERE name = ?", (_KEPT + name,)).fetchone()
        except sqlite3.Error:
            return None
        return None if row is None else str(row[0])

    def keep(self, name: str, text: str) -> None:
        """Keep ``text`` under ``name``, or not: it is only a convenience."""
        self._put(_KEPT + name, text)

    def _put(self, name: str, text: str) -> None:
        try:
            self._file.begin()
            self._file.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, text))
            self._file.commit()
            return
        except sqlite3.Error:
            pass
        with suppress(sqlite3.Error):
            self._file.rollback()

    def close(self) -> None:
        self.flush()
        with suppress(sqlite3.Error):
            self._file.close()

    def _keep(self, key: str, answer: Answer, event: int) -> None:
        if key not in self._buffer or event < self._buffer[key].event:
            self._buffer[key] = _Given(answer, encode_answer(answer), event)

    def _stored(self, keys: Sequence[str]) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        for start in range(0, len(keys), _ASKED):
            asked = {_question(key): key for key in keys[start : start + _ASKED]}
            sql = f"SELECT question, answer, event FROM answers WHERE question IN ({', '.join('?' * len(asked))})"
            for question, text, event in self._file.execute(sql, tuple(asked)).fetchall():
                given = self._buffer.get(asked[question])
                earlier = given is not None and given.event < event
                found[asked[question]] = given.answer if given is not None and earlier else decode_answer(text)
        events = {key for key, given in self._buffer.items() if given.event < _FREE} if self._buffer else set()
        missing = [key for key in keys if key not in found and key not in events]
        if missing:
            found |= self._crosstabs.lookup_all(missing)
        return {k: b.answer for k in keys if (b := self._buffer.get(k)) is not None} | found if self._buffer else found

    def _write(self, *, waits: bool = True) -> None:
        self._file.begin(waits=waits)
        self._step("remember:begin")
        for name, free in (("free", True), ("paid", False)):
            before = self._file.total_changes
            kept = [
                (_question(k), g.text, g.event, place_of(k))
                for k, g in self._buffer.items()
                if g.event == _FREE and (g.answer.charged == 0) is free
            ]
            self._file.executemany(_KEPT_ALONE, kept)
            new = self._file.total_changes - before
            self._met |= new < len(kept)
            self._file.execute("UPDATE counts SET value = value + ? WHERE name IN ('answered', ?)", (new, name))
        for key, given in self._buffer.items():
            if given.event < _FREE:
                self._hold(key, given)
        self._crosstabs.mix(k for k, g in self._buffer.items() if g.event < _FREE)
        self._file.execute(
            "UPDATE facts SET value = ? WHERE name = 'applied' AND CAST(value AS INTEGER) < ?",
            (str(self._applied), self._applied),
        )
        self._step("remember:written")
        self._file.commit()
        self._buffer.clear()
        self._step("remember:committed")

    def _hold(self, key: str, given: _Given) -> None:
        """Take over an event's answer, which comes before one that was only kept, or that a later event has; the
        question is counted once, as free if this answer is."""
        question = _question(key)
        stored = self._file.execute("SELECT answer, event FROM answers WHERE question = ?", (question,)).fetchone()
        if stored is not None and stored[1] <= given.event:
            return
        before = self._crosstabs.lookup_all([key]).get(key) if stored is None else decode_answer(stored[0])
        self._file.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (question, given.text, given.event))
        self._count("free" if given.answer.charged == 0 else "paid", 1)
        if before is None:
            self._count("answered", 1)
        else:
            self._count("free" if before.charged == 0 else "paid", -1)

    def _count(self, name: str, more: int) -> None:
        self._file.execute("UPDATE counts SET value = value + ? WHERE name = ?", (more, name))

    def _use(self, file: SqliteFile) -> None:
        self._file, self._crosstabs = file, CrosstabStore(file)

    def _open(self) -> SqliteFile:
        try:
            return self._connect()
        except (sqlite3.Error, OSError, ValueError) as error:
            if is_passing(error):
                return self._in_memory()
        return self._replaced()

    def _connect(self) -> SqliteFile:
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        file = SqliteFile(self._path, synchronous="OFF", busy_timeout=_TIMEOUT)
        try:
            self._prepare(file)
        except BaseException:
            file.close()
            raise
        return file

    def _prepare(self, file: SqliteFile) -> None:
        """Tables on first use, then the answers of events that the file has not seen."""
        boot = boot_identity()
        file.begin()
        if file.one("SELECT count(*) FROM sqlite_schema")[0] == 0:
            for table in _TABLES:
                file.execute(table)
            facts = (("ledger", self._ledger), ("applied", "0"), ("boot", boot))
            file.executemany("INSERT INTO facts VALUES (?, ?)", facts)
            file.executemany("INSERT INTO counts VALUES (?, 0)", (("answered",), ("free",), ("paid",)))
        elif "event" not in {row[1] for row in file.execute("PRAGMA table_info(answers)").fetchall()}:
            file.execute(_EVENTS)
        for table in TABLES:
            file.execute(table)
        known = dict(file.execute("SELECT name, value FROM facts").fetchall())
        if known.get("ledger") != self._ledger:
            raise ValueError("another ledger's answers")
        self.written = _written(known)
        if known.get("boot") != boot or boot == "-":
            # Unsynced pages may have been lost with the power: look at every event's answers again.
            known["applied"] = "0"
            file.execute("UPDATE facts SET value = ? WHERE name = 'boot'", (boot,))
            file.execute("UPDATE facts SET value = '0' WHERE name = 'applied'")
        file.commit()
        self._applied = int(known.get("applied", "0"))
        for sequence, answers in self._released(self._applied):
            for key, answer in answers:
                self._keep(key, answer, sequence)
            self._applied = sequence

    def _begin_anew(self) -> None:
        with suppress(sqlite3.Error):
            self._file.close()
        self._use(self._replaced())

    def _replaced(self) -> SqliteFile:
        """A new file in place of one that cannot be used, which is kept under another name."""
        aside = f".aside-{secrets.token_hex(4)}"
        try:
            for path in (self._path, *companions(self._path)):
                if path.exists():
                    path.rename(path.with_name(path.name + aside))
                    if path == self._path:
                        self.notices.append(f"{path} could not be used; it was moved aside and begun anew")
            return self._connect()
        except (sqlite3.Error, OSError, ValueError):
            return self._in_memory()

    def _in_memory(self) -> SqliteFile:
        self.notices.append(f"{self._path} cannot be written; free answers are forgotten when the session ends")
        file = SqliteFile(None, synchronous="OFF", busy_timeout=_TIMEOUT)
        try:
            self._prepare(file)
        except sqlite3.Error:
            # The ledger's own file failed while its answers were read: it will say so itself.
            file = SqliteFile(None, synchronous="OFF", busy_timeout=_TIMEOUT)
            self._released = lambda after: iter(())
            self._prepare(file)
        return file


def written_beside(ledger: Path, identity: str) -> int:
    """The last event of the ledger with this identity that the answers beside its file know of; 0 where they know of
    none, or are damaged. ``sqlite3.Error`` while another process holds them: they may be the only witness."""
    path = answer_files(ledger)[0]
    if not path.exists():
        return 0
    try:
        file = SqliteFile(path, synchronous="OFF", busy_timeout=_TIMEOUT)
        try:
            facts = dict(file.execute("SELECT name, value FROM facts").fetchall())
            return _written(facts)[0] if facts.get("ledger") == identity else 0
        finally:
            file.close()
    except (sqlite3.Error, OSError, ValueError) as error:
        if is_passing(error):
            raise
        return 0


def _written(facts: Mapping[str, str]) -> tuple[int, str | None]:
    """Files of earlier versions do not hold the head. ValueError for what was never written."""
    sequence, _, head = facts.get(_LEDGER_AT, "0").partition(" ")
    applied = int(facts.get("applied", "0"))
    return (applied, None) if applied > int(sequence) else (int(sequence), head or None)


def _question(key: str) -> bytes:
    """Questions may be kilobytes long; their SHA-256 keeps the file and the search tree small."""
    return _sha256(key.encode("utf-8", "surrogatepass"))


def _sha256(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
