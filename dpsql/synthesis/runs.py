"""What the ledger knows of runs: the paid steps that were recorded or are under way, by run. Public.

A fold of events like a session's other state: it needs neither engine nor entropy, and another process that starts the
same run finds the same steps.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from dpsql.errors import LedgerError
from dpsql.ledger.event import Event, Payload

PURPOSE = "synthesis"
"""``payload["purpose"]`` of a step's reservation, and ``payload["kind"]`` of its release."""
DRAWN = "drawn"
"""Where a step's release holds what was drawn: apart, so that its names are the method's own."""
_NOTHING: Mapping[int, Payload] = MappingProxyType({})


class StepName(NamedTuple):
    """A step of a run: what the ledger's payloads say of it, and nobody else's step has."""

    run: str
    step: int

    @classmethod
    def of(cls, payload: Payload) -> "StepName":
        run, step = payload.get("run"), payload.get("step")
        if not isinstance(run, str) or type(step) is not int:
            raise LedgerError("a step of a synthetic table in the ledger cannot be read")
        return cls(run, step)


class Runs:
    """Recorded steps by run and number; of several releases for one step the earliest holds.

    ``spent``: units that steps have charged, lost ones included: those of a process that was killed inside a step.
    """

    def __init__(self) -> None:
        self.spent = 0
        self._steps: dict[str, dict[int, Payload]] = {}
        self._open: dict[int, tuple[StepName, str]] = {}
        self._charged: dict[str, dict[str, int]] = {}
        self._lost: dict[str, int] = {}

    # --- the fold ----------------------------------------------------------------------------------------------

    def reserved(self, event: Event) -> None:
        """Take in a reservation whose purpose is ``PURPOSE``."""
        self._open[event.reservation] = StepName.of(event.payload), str(event.payload.get("table"))

    def is_open(self, reservation: int) -> bool:
        """Whether the reservation is a step's, and has not ended."""
        return reservation in self._open

    def ended(self, event: Event) -> None:
        """Take in what ended a step's reservation: a release, or nothing more than its being freed or burnt."""
        name, table = self._open.pop(event.reservation)
        if event.kind != "free":
            charged = self._charged.setdefault(table, {})
            charged[name.run] = charged.get(name.run, 0) + event.cost
            self.spent += event.cost
        if event.kind == "burn":
            self._lost[name.run] = self._lost.get(name.run, 0) + event.cost
        if event.kind == "release":
            drawn = event.payload.get(DRAWN)
            if event.payload.get("kind") != PURPOSE or StepName.of(event.payload) != name:
                raise LedgerError("a step of a synthetic table in the ledger was recorded under another's name")
            if not isinstance(drawn, Mapping):
                raise LedgerError("a step of a synthetic table in the ledger cannot be read")
            self._steps.setdefault(name.run, {}).setdefault(name.step, drawn)

    # --- what is known -----------------------------------------------------------------------------------------

    def recorded(self, run: str) -> Mapping[int, Payload]:
        """The steps of a run, by number from 0: for each what was drawn."""
        return self._steps.get(run, _NOTHING)

    def is_under_way(self, run: str, step: int, before: int | None = None) -> bool:
        """Whether the step is reserved somewhere; with ``before`` by an earlier reservation than that one."""
        name = StepName(run, step)
        return any(n == name and (before is None or number < before) for number, (n, _) in self._open.items())

    def lost(self, run: str) -> int:
        """Units of ``run`` that were charged for steps whose results nobody has: those are drawn again."""
        return self._lost.get(run, 0)

    def spent_on(self, table: str) -> Mapping[str, int]:
        """Units charged for synthetic tables of ``table``, by run in the order of their first charge."""
        return MappingProxyType(self._charged.get(table, {}))
