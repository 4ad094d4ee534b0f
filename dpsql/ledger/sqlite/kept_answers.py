"""The part of a durable ledger that may be lost without any loss of budget: answers given, and texts worked out.

It is one noun with the rest for who holds a ledger, and none of it is synced or counted.
"""

from collections.abc import Iterable, Sequence
from threading import RLock

from dpsql.ledger.sqlite.answer_store import AnswerStore
from dpsql.result import Answer, CrosstabAnswers


class KeptAnswers:
    """What ``Ledger`` promises of answers, by the file that keeps them; one thread at a time, in an open ledger."""

    _lock: RLock

    @property
    def _store(self) -> AnswerStore:
        raise NotImplementedError

    def _enter(self) -> None:
        """LedgerError unless the ledger may be used."""
        raise NotImplementedError

    def lookup(self, key: str) -> Answer | None:
        """The answer once given to this canonical question."""
        return self.lookup_all((key,)).get(key)

    def lookup_all(self, keys: Sequence[str]) -> dict[str, Answer]:
        """``lookup`` of each question that has an answer."""
        with self._lock:
            self._enter()
            return self._store.lookup_all(keys)

    def remember(self, answers: Iterable[tuple[str, Answer]]) -> bool:
        """Keep easy answers: written unsynced, in a loop in batches; False where some question had one."""
        with self._lock:
            self._enter()
            return self._store.remember(answers)

    def lookup_crosstab(self, name: bytes) -> CrosstabAnswers | None:
        """The answers kept together under ``name``."""
        with self._lock:
            self._enter()
            return self._store.lookup_crosstab(name)

    def remember_crosstab(self, name: bytes, digests: bytes, answers: CrosstabAnswers) -> bool:
        """Keep easy answers together, unsynced; False where some question has one."""
        with self._lock:
            self._enter()
            return self._store.remember_crosstab(name, digests, answers)

    def recall(self, name: str) -> str | None:
        """The text last kept under ``name``."""
        with self._lock:
            self._enter()
            return self._store.recall(name)

    def keep(self, name: str, text: str) -> None:
        """Keep a text that can be worked out again; unsynced, and lost with the answers' file."""
        with self._lock:
            self._enter()
            self._store.keep(name, text)

    def count_answers(self) -> tuple[int, int]:
        """(questions answered, of these free), over all processes; approximate after a crash."""
        with self._lock:
            self._enter()
            return self._store.counts()
