"""The ledger as the session sees it: check, then durably append, then reveal (docs/privacy.md).

Both ledgers keep it, and tests/contracts/ledger_contract.py says in tests what it promises. The order of its three
calls is what makes a kill at any moment harmless.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from dpsql.ledger.event import Event, Payload, Totals
from dpsql.result import Answer, CrosstabAnswers


class Ledger(Protocol):
    """Durable, append-only. Every append is synced before the method returns, unless it says otherwise.

    Errors are ``LedgerError``; after one from an append the ledger is poisoned and refuses everything.
    """

    @property
    def header(self) -> Mapping[str, str]:
        """What the ledger was created with: policy digest, data fingerprint, plan. Immutable."""
        ...

    @property
    def notices(self) -> tuple[str, ...]:
        """What the owner should hear about the ledger itself, for example that it was created. Public."""
        ...

    def events(self, after: int = 0) -> list[Event]:
        """Events with sequence > ``after``, in order, of this and other processes."""
        ...

    def changed(self) -> bool:
        """Whether anything was appended since the last call of ``events``; cheap enough for every statement."""
        ...

    def totals(self) -> Totals:
        """Units spent and reserved, over all processes."""
        ...

    def reserve(self, cost: int, check: Callable[[Totals], None], payload: Payload) -> int:
        """Under the write lock: ``check(totals)`` (raises BudgetExhausted), append, sync; the reservation's id.

        ``payload["burn"]`` is what a dead holder's reservation costs while no ``hard`` is recorded under it;
        ``payload["tests"]`` is 1 when tests are made under it.
        """
        ...

    def hard(self, reservation: int, payload: Payload) -> None:
        """Record a hard outcome, before anything else happens under the reservation."""
        ...

    def release(self, reservation: int, payload: Payload, answers: Iterable[tuple[str, Answer]] = ()) -> None:
        """Record the measurement (and the answers shown from it) in one transaction; spends the reservation's cost."""
        ...

    def free(self, reservation: int) -> None:
        """Give an unused reservation back: only its holder, after a last easy outcome, never to test under it again."""
        ...

    def settle(self, kept: int | None, *, dead: bool = False) -> int | None:
        """Close what an interrupt left open: all own reservations but ``kept`` are freed, burnt where coins were drawn.

        ``kept`` is burnt too when its outcome is unknown; returned while it stands. ``dead``: look for reservations of
        holders that have died as well. Appends nothing when there is none.
        """
        ...

    def drawing(self, reservation: int) -> AbstractContextManager[None]:
        """Around the coins drawn under a reservation: left by an exception, it can be freed no more, only burnt.

        ``LedgerError`` when the reservation is hard, not open, or was left by an exception: no coin is drawn then.
        """
        ...

    def recall(self, name: str) -> str | None:
        """The text last kept under ``name``; ``None`` when there is none, or it was lost."""
        ...

    def keep(self, name: str, text: str) -> None:
        """Keep a text that can be worked out again from the events, so that another process need not. Unsynced."""
        ...

    def lookup(self, key: str) -> Answer | None:
        """The answer once given to this canonical question."""
        ...

    def lookup_all(self, keys: Sequence[str]) -> dict[str, Answer]:
        """``lookup`` of each question that has an answer."""
        ...

    def remember(self, answers: Iterable[tuple[str, Answer]]) -> bool:
        """Keep easy answers: written unsynced, in a loop in batches; a crash may lose the last ones.

        False where some of the questions were found to have an answer already, which stays.
        """
        ...

    def lookup_crosstab(self, name: bytes) -> CrosstabAnswers | None:
        """What ``remember_crosstab`` kept under this name; ``None`` where some question has another answer since."""
        ...

    def remember_crosstab(self, name: bytes, digests: bytes, answers: CrosstabAnswers) -> bool:
        """Keep easy answers to the questions of one crosstab, each of which ``lookup`` then knows by its key as well.

        ``digests``: of the questions, 32 bytes each, whose keys are these in hexadecimal. False, and nothing is kept,
        where one of them has an answer already or the answers cannot be written. Unsynced.
        """
        ...

    def count_answers(self) -> tuple[int, int]:
        """(questions answered, of these free), over all processes, for display; approximate after a crash."""
        ...

    def close(self) -> None:
        """Flush buffered answers, free held reservations (burn those hard or left while drawing), close; idempotent."""
        ...
