"""Spent and reserved units as a fold over events; the same rules for every ledger. Everything here is public.

Spending is what the events say, not a number kept beside them. Replayed, live and in memory it is this one fold.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal

from dpsql.errors import LedgerError
from dpsql.ledger.event import Event, Payload, Totals


@dataclass(frozen=True)
class Reservation:
    """An open reservation: ``cost`` units set aside by ``holder``; ``burn`` of them are due while it is not hard.

    ``tests``: 1 when tests are made under it, of which at most one is hard.
    """

    cost: int
    burn: int
    holder: str
    tests: int = 0
    hard: bool = False

    @property
    def due(self) -> int:
        """What it costs when its holder dies: the test alone before ``hard`` is recorded, everything after."""
        return self.cost if self.hard else self.burn


@dataclass
class Balance:
    """Folds events into ``Totals``.

    >>> balance = Balance()
    >>> balance.apply(Event(1, "reserve", 1, 10, {"burn": 3}), holder="a")
    >>> balance.totals
    Totals(spent=0, reserved=10, tested=0, testing=0)
    >>> balance.apply(Event(2, "burn", 1, 3, {}), holder="b")
    >>> balance.totals
    Totals(spent=3, reserved=0, tested=0, testing=0)
    """

    spent: int = 0
    tested: int = 0
    open: dict[int, Reservation] = field(default_factory=dict)

    @property
    def totals(self) -> Totals:
        held = self.open.values()
        return Totals(self.spent, sum([r.cost for r in held]), self.tested, sum([r.tests for r in held]))

    def copy(self) -> "Balance":
        return Balance(self.spent, self.tested, dict(self.open))

    def apply(self, event: Event, holder: str) -> None:
        """Fold one event; ``LedgerError`` for one that cannot follow the events before it."""
        if event.kind == "reserve":
            if event.reservation != event.sequence or event.cost < 0:
                raise _impossible(event)
            burn, tests = burn_of(event.cost, event.payload), tests_of(event.payload)
            self.open[event.sequence] = Reservation(event.cost, burn, holder, tests)
            return
        reservation = self.open.get(event.reservation)
        if reservation is None:
            raise _impossible(event)
        if event.kind != "burn" and holder != reservation.holder:
            raise _impossible(event)
        if event.kind == "hard":
            if reservation.hard or event.cost != 0:
                raise _impossible(event)
            self.open[event.reservation] = replace(reservation, hard=True)
            return
        due = {"release": reservation.cost, "free": 0, "burn": reservation.due}[event.kind]
        if event.cost != due or (event.kind == "free" and reservation.hard):
            raise _impossible(event)
        self.spent += due
        self.tested += 0 if event.kind == "free" else reservation.tests
        del self.open[event.reservation]

    def of(self, holder: str) -> dict[int, Reservation]:
        """The open reservations of ``holder``."""
        return {number: entry for number, entry in self.open.items() if entry.holder == holder}

    def end(self, reservation: int, drawing: Collection[int]) -> tuple[Literal["free", "burn"], int]:
        """How an open reservation that nobody works under ends, and its cost: burnt where a coin may have been drawn.

        ``drawing``: reservations that were left while coins were drawn.
        """
        entry = self.open[reservation]
        return ("burn", entry.due) if entry.hard or reservation in drawing else ("free", 0)

    def held(self, reservation: int, holder: str) -> Reservation:
        """The open reservation, which must be ``holder``'s own; ``LedgerError`` otherwise."""
        found = self.open.get(reservation)
        if found is None:
            raise LedgerError(
                f"reservation {reservation} is not open",
                hint="reserve anew; a reservation is used up by its release, by being freed or by being burnt",
            )
        if found.holder != holder:
            raise LedgerError(
                f"reservation {reservation} belongs to another session", hint="each session reserves for itself"
            )
        return found


def burn_of(cost: int, payload: Payload) -> int:
    """``payload["burn"]``, by default the full cost: what is not known to be unspent counts as spent."""
    burn = payload.get("burn", cost)
    if isinstance(burn, bool) or not isinstance(burn, int) or not 0 <= burn <= cost:
        raise LedgerError(
            "a reservation's burn is an integer from 0 to its cost", hint='pass payload["burn"] within the cost'
        )
    return burn


def tests_of(payload: Payload) -> int:
    """``payload["tests"]``, 0 or 1: whether tests are made under the reservation."""
    tests = payload.get("tests", 0)
    if type(tests) is not int or tests not in (0, 1):
        raise LedgerError("a reservation pays for one test or none", hint='pass payload["tests"] as 0 or 1')
    return tests


def checked_cost(cost: int) -> int:
    """``cost`` in units; ``LedgerError`` unless it is an integer >= 0."""
    if isinstance(cost, bool) or not isinstance(cost, int) or cost < 0:
        raise LedgerError("a cost is an integer number of units, 0 or more", hint="round costs up to whole units")
    return cost


def already_hard(reservation: int) -> LedgerError:
    return LedgerError(
        f"reservation {reservation} has, or may have, a hard outcome",
        hint="release its measurement; a hard reservation can be neither freed nor tested under again",
    )


def _impossible(event: Event) -> LedgerError:
    return LedgerError(f"the ledger is altered: event {event.sequence} cannot follow the events before it")
