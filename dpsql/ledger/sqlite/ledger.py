"""The durable ledger: one SQLite file, append-only, chained by SHA-256, shared by threads and processes.

Every append is one transaction under SQLite's write lock: catch up with others, check, append, sync (docs/privacy.md).
"""

import atexit
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Self, TypeVar

from dpsql.errors import LedgerError
from dpsql.ledger.answer_text import encode, encode_answers
from dpsql.ledger.balance import Balance, Reservation, already_hard, burn_of, checked_cost, tests_of
from dpsql.ledger.event import Event, Payload, Totals
from dpsql.ledger.interrupts import interrupts_held
from dpsql.ledger.known import NOWHERE, Place
from dpsql.ledger.other_rules import Others
from dpsql.ledger.registry import Registry
from dpsql.ledger.sqlite.answer_store import AnswerStore
from dpsql.ledger.sqlite.batch import Batch
from dpsql.ledger.sqlite.file import BUSY_SECONDS, LOCKED, code, explain
from dpsql.ledger.sqlite.history import History
from dpsql.ledger.sqlite.holder import Holder, is_alive, stale_files, sweep
from dpsql.ledger.sqlite.kept_answers import KeptAnswers
from dpsql.ledger.sqlite.opening import Opening, Step, prepare
from dpsql.result import Answer

T = TypeVar("T")


class SqliteLedger(KeptAnswers):
    """``Ledger`` in a file; open it with ``SqliteLedger.open``. All it holds is public. Thread-safe.

    Errors are ``LedgerError``. After a failed append, or when the file is found altered, the ledger is *poisoned* until
    it is opened anew. A reservation that waited in vain for another process's lock has appended nothing.
    ``with ledger.drawing(reservation):`` goes around coins: left by an exception, the reservation can no longer be
    freed, not even by ``close``. After a ``fork`` the child opens the ledger again.
    """

    def __init__(self, opening: Opening) -> None:
        self._path = opening.path
        self._file = opening.file
        self._header = MappingProxyType(opening.header)
        self._step = opening.on_step
        self._notices = list(opening.notices)
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._closed = False
        self._poison: LedgerError | None = None
        self._holder = Holder(self._path)
        self._drawing: set[int] = set()
        self._history = History(self._file, self._path, self._header)
        self._anchoring = opening.anchoring()
        self._seen_version: int | None = None
        self._seen_sequence = 0
        self._answers: AnswerStore | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        header: Mapping[str, str],
        *,
        create: bool = True,
        registry: Registry | None = None,
        new_budget: bool = False,
        busy_timeout: float = BUSY_SECONDS,
        on_step: Step | None = None,
        former: Collection[str] = (),
        others: Others = tuple,
        place: Place = NOWHERE,
    ) -> "SqliteLedger":
        """Open the ledger at ``path``, or create it.

        ``header`` names ``policy`` (digest), ``data`` (fingerprint) and ``plan``, which the caller compares; a ledger
        under which anything was spent must be of these data and this policy, or a ``former`` digest of the same rules.
        ``registry``, ``place`` (of the rows) and ``others`` (their fingerprints by other rules) tell of deleted, older
        and second ledgers; ``new_budget`` is the owner's decision for a second one. ``busy_timeout``: seconds.
        """
        opened = prepare(Path(path), header, create, registry, new_budget, busy_timeout, on_step, former, others, place)
        ledger = cls(opened)
        try:
            ledger._start(new_budget=new_budget)
        except BaseException:
            ledger._dispose(settled=False)
            raise
        _open_ledgers.add(ledger)
        return ledger

    def _start(self, *, new_budget: bool) -> None:
        self._read(self._anchoring.recall)
        self._read(self._catch_up)
        self._read(lambda: self._anchoring.check(self._history, new_budget=new_budget))
        if self._read(lambda: self._dead(self._history.balance) or stale_files(self._path)):
            self._append("recover", lambda batch: sweep(self._path))
        self._answers = AnswerStore(self._path, self._header["ledger"], self._history.released, self._step)
        self._read(self._catch_up)  # others may have been further when they wrote answers
        self._read(lambda: self._anchoring.check_answers(self._store.written, self._history))
        self._anchoring.record(self._history, sync=True, opening=True)

    @property
    def _own(self) -> dict[int, Reservation]:
        return self._history.balance.of(self._holder.name)

    def _dead(self, balance: Balance) -> list[int]:
        others = {n: entry.holder for n, entry in balance.open.items() if entry.holder != self._holder.name}
        return [number for number, holder in others.items() if not is_alive(self._path, holder)]

    @property
    def path(self) -> Path:
        """The file, symbolic links resolved."""
        return self._path

    @property
    def header(self) -> Mapping[str, str]:
        """What the ledger was begun with, its ``format`` and its random identity ``ledger``. Immutable."""
        return self._header

    @property
    def notices(self) -> tuple[str, ...]:
        """What the owner should hear: a ledger was created, a file had to be moved aside. Public."""
        return (*self._notices, *self._anchoring.notices, *(() if self._answers is None else self._answers.notices))

    def events(self, after: int = 0) -> list[Event]:
        """Events with sequence > ``after``, in order; verified against the chain."""
        with self._lock:
            self._enter()
            return self._read(lambda: self._events(after))

    def _events(self, after: int) -> list[Event]:
        version = self._file.data_version()  # first: what is committed meanwhile shows as changed once more
        self._catch_up()
        events = self._history.events(after)
        self._seen_version, self._seen_sequence = version, self._history.sequence
        return events

    def changed(self) -> bool:
        """Whether anything was appended since the last call of ``events``: some microseconds."""
        with self._lock:
            self._enter()
            own = self._history.sequence != self._seen_sequence
            return own or self._read(lambda: self._file.data_version() != self._seen_version)

    def totals(self) -> Totals:
        """Units spent and reserved, over all processes."""
        with self._lock:
            self._enter()
            self._read(self._catch_up)
            return self._history.balance.totals

    def reserve(self, cost: int, check: Callable[[Totals], None], payload: Payload) -> int:
        """Set ``cost`` units aside if ``check(totals)`` does not raise; the reservation's id."""
        checked_cost(cost)
        burn_of(cost, payload)
        tests_of(payload)
        text = encode(dict(payload))

        def act(batch: Batch) -> int:
            check(batch.balance.totals)
            self._holder.acquire()
            return batch.add("reserve", None, cost, text)

        with self._lock:
            self._enter()
            return self._append("reserve", act)

    def hard(self, reservation: int, payload: Payload) -> None:
        """Record a hard outcome, before anything else happens under the reservation."""
        text = encode(dict(payload))

        def act(batch: Batch) -> None:
            if batch.balance.held(reservation, self._holder.name).hard:
                raise already_hard(reservation)
            batch.add("hard", reservation, 0, text)

        with self._lock:
            self._enter()
            self._append("hard", act)

    def release(self, reservation: int, payload: Payload, answers: Iterable[tuple[str, Answer]] = ()) -> None:
        """Record the measurement and the answers shown from it in one transaction; spends the reservation's cost."""
        text, pairs = encode(dict(payload)), list(answers)
        answers_text = encode_answers(pairs) if pairs else None

        def act(batch: Batch) -> int:
            cost = batch.balance.held(reservation, self._holder.name).cost
            return batch.add("release", reservation, cost, text, answers_text)

        with self._lock:
            self._enter()
            sequence = self._append("release", act)
            self._store.absorb(sequence, pairs)
            self._store.flush()

    def free(self, reservation: int) -> None:
        """Give an unused reservation back: only its holder, after a last easy outcome."""

        def act(batch: Batch) -> None:
            if batch.balance.held(reservation, self._holder.name).hard or reservation in self._drawing:
                raise already_hard(reservation)
            batch.add("free", reservation, 0, "{}")

        with self._lock:
            self._enter()
            self._append("free", act)

    def settle(self, kept: int | None, *, dead: bool = False) -> int | None:
        """Close what an interrupt left open, but ``kept``; returned while it stands. ``dead``: also of dead holders."""
        with self._lock:
            self._enter()
            if dead or self._history.sequence == 0:  # 0: perhaps an interrupt made it begin anew
                self._read(self._catch_up)
            left = [n for n, entry in self._own.items() if n != kept or entry.hard or n in self._drawing]
            if left or (dead and self._read(lambda: self._dead(self._history.balance))):
                self._append("settle", lambda batch: batch.settle(left, self._drawing))
                self._drawing.difference_update(left)
            return kept if kept in self._own else None

    @contextmanager
    def drawing(self, reservation: int) -> Iterator[None]:
        """Around the coins drawn under ``reservation``. An exception inside leaves their outcome unknown, so it counts
        as drawn: the reservation can still become hard and be released, but not be freed or drawn under again."""
        with self._lock:
            self._enter()
            if self._history.balance.held(reservation, self._holder.name).hard or reservation in self._drawing:
                raise already_hard(reservation)
            self._drawing.add(reservation)
        yield
        with self._lock:
            self._drawing.discard(reservation)

    def close(self) -> None:
        """Flush answers, give back own reservations without a hard outcome, close; idempotent."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            if self._closed:
                return
            settled = False
            try:
                if self._poison is None:
                    if left := list(self._own):
                        self._append("close", lambda batch: batch.settle(left, self._drawing))
                    settled = True
            finally:
                self._dispose(settled=settled)

    def _dispose(self, *, settled: bool) -> None:
        self._closed = True
        if self._answers is not None:
            self._answers.close()
        with suppress(sqlite3.Error):
            self._file.close()
        self._holder.drop(settled=settled)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _enter(self) -> None:
        if os.getpid() != self._pid:
            inherited = f"the ledger {self._path} was opened by the parent process"
            raise LedgerError(inherited, hint="open a connection of its own in each process")
        if self._closed:
            raise LedgerError(f"the ledger {self._path} is closed", hint="open it again")
        if self._poison is not None:
            raise LedgerError(f"{self._poison.message} (the session stopped there)", hint="close it and open a new one")

    @property
    def _store(self) -> AnswerStore:
        if self._answers is None:
            raise LedgerError(f"the ledger {self._path} is not open", hint="open it again")
        return self._answers

    def _read(self, action: Callable[[], T]) -> T:
        """Run a reading action; failures of the file become ``LedgerError`` with nothing of SQLite's attached."""
        try:
            return action()
        except LedgerError as error:
            self._stop(LedgerError(error.message, hint=error.hint))  # a copy: the original's frames hold cursors
            raise
        except (sqlite3.Error, OSError) as error:
            failure = explain(self._path, error)
            if code(error) not in LOCKED:
                self._stop(failure)
        raise failure

    def _stop(self, failure: LedgerError) -> None:
        """Refuse everything from now on; others burn what this session can no longer close."""
        self._poison = failure
        self._holder.drop(settled=False)

    @interrupts_held()
    def _append(self, step: str, action: Callable[[Batch], T]) -> T:
        """One durable transaction: lock, catch up, recover, act, append, sync."""
        begun = committing = False
        try:
            self._file.begin()
            begun = True
            self._step(f"{step}:begin")
            self._read(self._check_place)
            self._read(self._catch_up)
            history = self._history
            batch = Batch(history.balance.copy(), history.sequence, history.head, self._holder.name)
            self._burn_dead(batch)
            result = action(batch)
            history.append(batch)
            self._step(f"{step}:appended")
            committing = True
            self._file.commit()
            history.committed(batch)
            self._step(f"{step}:committed")
            if batch.records:
                self._anchoring.record(history)
            committing = False
            self._step(f"{step}:anchored")
            if self._answers is not None:
                self._answers.note(history.sequence, history.head.hex())
            return result
        except (sqlite3.Error, OSError) as error:
            failure = explain(self._path, error)
            # Before the lock was there nothing was appended; a hard outcome that could not be recorded stops all.
            if begun or code(error) not in LOCKED or step in ("hard", "release"):
                self._stop(failure)
            self._rollback()
        except BaseException as error:
            if committing:
                self._stop(LedgerError(f"an append to the ledger {self._path} was interrupted"))
            self._rollback()
            if not isinstance(error, Exception):
                self._drawing.update(self._own)  # what was about to be recorded is unknown
            raise
        raise failure

    def _rollback(self) -> None:
        try:
            self._file.rollback()
        except sqlite3.Error as error:
            self._stop(self._poison or explain(self._path, error))

    def _burn_dead(self, batch: Batch) -> None:
        """Reservations of dead holders are spent, never given back: their last coin may have come out hard."""
        for number in self._dead(batch.balance):
            batch.add("burn", number, batch.balance.open[number].due, "{}")

    def _check_place(self) -> None:
        """What is appended to a file that another one has replaced is lost, and is spent there a second time."""
        if not self._file.still_there():
            raise LedgerError(
                f"the ledger {self._path} was moved, removed or replaced while it was open",
                hint="put the latest copy there, then open it again",
            )

    def _catch_up(self) -> None:
        for sequence, answers in self._history.follow():
            if self._answers is not None:
                self._answers.absorb(sequence, answers)


_open_ledgers: "weakref.WeakSet[SqliteLedger]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """A session that nobody closed should not lose its unused reservation."""
    for ledger in list(_open_ledgers):
        with suppress(LedgerError):
            ledger.close()
