"""The ledger's twin in memory, for tests and ``ledger=":memory:"``: same rules, nothing survives the process.

The contract tests run on both, so that tests of the session may use this one and believe what they see.
"""

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Self

from dpsql.errors import LedgerError
from dpsql.ledger.answer_text import encode, encode_answer, encode_answers
from dpsql.ledger.balance import Balance, already_hard, burn_of, checked_cost, tests_of
from dpsql.ledger.event import Event, Kind, Payload, Totals
from dpsql.result import Answer, CrosstabAnswers

_HOLDER = "memory"


class _Entered:
    """One thread at a time in an open ledger of this process; LedgerError for all others.

    No generator, because it is entered a dozen times for each statement.
    """

    def __init__(self) -> None:
        self.closed = False
        self._lock = threading.RLock()
        self._pid = os.getpid()

    def is_open(self) -> bool:
        """Whether this process may enter."""
        return not self.closed and os.getpid() == self._pid

    def __enter__(self) -> None:
        if os.getpid() != self._pid:
            raise LedgerError(
                "the ledger was opened by the parent process", hint="open a connection of its own in each process"
            )
        self._lock.acquire()
        if self.closed:
            self._lock.release()
            raise LedgerError("the ledger is closed", hint="open it again")

    def __exit__(self, *exception: object) -> None:
        self._lock.release()


class MemoryLedger:
    """``Ledger`` in memory. Thread-safe; its budget begins anew with every instance.

    >>> ledger = MemoryLedger({"policy": "p", "data": "d"})
    >>> number = ledger.reserve(10, lambda totals: None, {"burn": 4})
    >>> ledger.release(number, {"values": [1, 2]})
    >>> ledger.totals()
    Totals(spent=10, reserved=0, tested=0, testing=0)
    """

    def __init__(self, header: Mapping[str, str]) -> None:
        self._header = MappingProxyType(dict(header))
        self._entered = _Entered()
        self._balance = Balance()
        self._events: list[Event] = []
        self._answers: dict[str, Answer] = {}
        self._released: set[str] = set()
        self._crosstabs: dict[bytes, tuple[tuple[str, ...], CrosstabAnswers]] = {}
        self._kept: dict[str, str] = {}
        self._drawing: set[int] = set()
        self._seen = 0

    @property
    def header(self) -> Mapping[str, str]:
        return self._header

    @property
    def notices(self) -> tuple[str, ...]:
        return ("the ledger is in memory: nothing of what is spent is remembered when the process ends",)

    def events(self, after: int = 0) -> list[Event]:
        with self._entered:
            self._seen = len(self._events)
            return self._events[max(after, 0) :]

    def changed(self) -> bool:
        with self._entered:
            return len(self._events) != self._seen

    def totals(self) -> Totals:
        with self._entered:
            return self._balance.totals

    def reserve(self, cost: int, check: Callable[[Totals], None], payload: Payload) -> int:
        checked_cost(cost)
        burn_of(cost, payload)
        tests_of(payload)
        with self._entered:
            check(self._balance.totals)
            return self._append("reserve", len(self._events) + 1, cost, payload)

    def hard(self, reservation: int, payload: Payload) -> None:
        with self._entered:
            if self._balance.held(reservation, _HOLDER).hard:
                raise already_hard(reservation)
            self._append("hard", reservation, 0, payload)

    def release(self, reservation: int, payload: Payload, answers: Iterable[tuple[str, Answer]] = ()) -> None:
        pairs = list(answers)
        encode_answers(pairs)
        with self._entered:
            self._append("release", reservation, self._balance.held(reservation, _HOLDER).cost, payload)
            for key, answer in pairs:
                if key not in self._released:  # an event's answer comes before one that was only kept
                    self._answers[key] = answer
                    self._released.add(key)

    def free(self, reservation: int) -> None:
        with self._entered:
            if self._balance.held(reservation, _HOLDER).hard or reservation in self._drawing:
                raise already_hard(reservation)
            self._append("free", reservation, 0, {})

    def settle(self, kept: int | None, *, dead: bool = False) -> int | None:
        with self._entered:
            left = [n for n in self._balance.open if n != kept or self._balance.end(n, self._drawing)[0] == "burn"]
            if left:
                self.end(left)
            return kept if kept in self._balance.open else None

    @property
    def open_reservations(self) -> frozenset[int]:
        """Reservations that are neither released, freed nor burnt."""
        return frozenset(self._balance.open)

    def end(self, reservations: Iterable[int]) -> None:
        """Close open ones: freed, or burnt where a coin may have been drawn."""
        with self._entered:
            for number in reservations:
                kind, cost = self._balance.end(number, self._drawing)
                self._append(kind, number, cost, {})

    @contextmanager
    def drawing(self, reservation: int) -> Iterator[None]:
        with self._entered:
            if self._balance.held(reservation, _HOLDER).hard or reservation in self._drawing:
                raise already_hard(reservation)
            self._drawing.add(reservation)
        yield
        self._drawing.discard(reservation)

    def lookup(self, key: str) -> Answer | None:
        with self._entered:
            return self._answers.get(key)

    def lookup_all(self, keys: Sequence[str]) -> dict[str, Answer]:
        with self._entered:
            return {key: self._answers[key] for key in keys if key in self._answers}

    def remember(self, answers: Iterable[tuple[str, Answer]]) -> bool:
        with self._entered:
            new = True
            for key, answer in answers:
                encode_answer(answer)  # what a file could not keep is refused here too
                new &= self._answers.setdefault(key, answer) is answer
            return new

    def lookup_crosstab(self, name: bytes) -> CrosstabAnswers | None:
        with self._entered:
            digests, answers = self._crosstabs.get(name, ((), None))
            return None if any(key in self._released for key in digests) else answers

    def remember_crosstab(self, name: bytes, digests: bytes, answers: CrosstabAnswers) -> bool:
        with self._entered:
            text = digests.hex()
            keys = tuple([text[at : at + 64] for at in range(0, len(text), 64)])
            if any(key in self._answers for key in keys):
                return False
            self._answers.update(zip(keys, answers, strict=True))
            self._crosstabs[name] = keys, answers
            return True

    def recall(self, name: str) -> str | None:
        with self._entered:
            return self._kept.get(name)

    def keep(self, name: str, text: str) -> None:
        with self._entered:
            self._kept[name] = text

    def count_answers(self) -> tuple[int, int]:
        with self._entered:
            return len(self._answers), sum(1 for answer in self._answers.values() if answer.charged == 0)

    def close(self) -> None:
        if self._entered.is_open():
            with self._entered:
                self.end(list(self._balance.open))
                self._entered.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _append(self, kind: Kind, reservation: int, cost: int, payload: Payload) -> int:
        # Through JSON and back: what a file would not keep exactly is not kept here either.
        event = Event(len(self._events) + 1, kind, reservation, cost, json.loads(encode(dict(payload))))
        self._balance.apply(event, _HOLDER)
        self._events.append(event)
        return event.sequence
