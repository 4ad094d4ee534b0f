"""What is measured once for all sessions of a ledger: measured, under way in some session, or neither. Public.

The three first touches (a row count, a warm start, the frequent strings of a column) share this one fold over the
ledger's events, so that replay needs neither engine nor entropy.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from dpsql.hypothesis import Measurement
from dpsql.ledger.event import Payload

Columns = tuple[str, ...]
Released = tuple[str, Measurement]
"""A measurement with the kind that its release gives it."""


class FirstTouch(ABC):
    """A fold over the ledger's events of one purpose; each reservation is for the measurement of some column tuples.

    ``charged_units``: units of reservations that were not freed, those under way included. Of several reservations for
    the same tuple the earliest is at work, the others are freed unused.
    """

    purpose: ClassVar[str]
    """``payload["purpose"]`` of its reservations."""

    def __init__(self) -> None:
        self.charged_units = 0
        self._open: dict[int, tuple[int, frozenset[Columns]]] = {}
        self._complete: list[Released] = []

    # --- the fold ----------------------------------------------------------------------------------------------

    def reserved(self, reservation: int, cost: int, payload: Payload) -> None:
        """``payload["columns"]``: what is measured under it; no columns where it names none."""
        self._open[reservation] = cost, frozenset(tuple(c) for c in payload.get("columns", [()]))
        self.charged_units += cost

    def freed(self, reservation: int) -> None:
        cost, _ = self._open.pop(reservation)
        self.charged_units -= cost

    def burnt(self, reservation: int) -> None:
        """What was drawn under the reservation is lost, and stays charged."""
        _, columns = self._open.pop(reservation)
        self._lose(columns)

    def released(self, reservation: int, released: Sequence[Released]) -> None:
        """What the release does not bring is lost."""
        self._learn(reservation, released)
        self.burnt(reservation)

    def completed(self) -> list[Released]:
        """Measurements that the model should take in, each once: those that are complete since the last call."""
        found, self._complete = self._complete, []
        return found

    # --- what is left to do ------------------------------------------------------------------------------------

    def is_open(self, reservation: int) -> bool:
        """Whether what this reservation pays for is neither measured nor lost."""
        return reservation in self._open

    def opened_before(self, reservation: int) -> bool:
        """Whether a tuple under the reservation is also under an earlier one, or done."""
        _, mine = self._open[reservation]
        earlier = {c for number, (_, columns) in self._open.items() if number < reservation for c in columns}
        return any(c in earlier or self._is_done(c) for c in mine)

    @property
    def spent(self) -> int:
        """Units of what was measured or lost."""
        return self.charged_units - sum(cost for cost, _ in self._open.values())

    def under_way_units(self) -> int:
        """Units that reservations at work will spend; those that will be freed are not counted."""
        return sum(cost for number, (cost, _) in self._open.items() if not self.opened_before(number))

    @property
    @abstractmethod
    def planned_units(self) -> int:
        """Units that the plan sets aside for all of it."""

    @abstractmethod
    def unbegun_units(self) -> int:
        """Units that stay set aside for what nobody has begun."""

    def _is_under_way(self, columns: Columns) -> bool:
        return not self._is_done(columns) and any(columns in found for _, found in self._open.values())

    def _is_begun(self, columns: Columns) -> bool:
        return self._is_done(columns) or self._is_under_way(columns)

    @abstractmethod
    def _is_done(self, columns: Columns) -> bool:
        """Whether the tuple is measured, or lost and not to be measured again."""

    @abstractmethod
    def _learn(self, reservation: int, released: Sequence[Released]) -> None:
        """Take in what was measured."""

    @abstractmethod
    def _lose(self, columns: frozenset[Columns]) -> None:
        """Nothing more will come of these tuples' reservation."""
