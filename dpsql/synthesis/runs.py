"""What the ledger knows of runs: the paid steps that were recorded, by run. Public.

A fold of events like a session's other state: it needs neither engine nor entropy, and another process that starts the
same run finds the same steps.
"""

from collections.abc import Mapping
from types import MappingProxyType

from dpsql.ledger.event import Payload

PURPOSE = "synthesis"
"""``payload["purpose"]`` of a step's reservation, and ``payload["kind"]`` of its release."""
_NOTHING: Mapping[int, Payload] = MappingProxyType({})


class Runs:
    """Recorded steps by run and number; of several releases for one step the earliest holds.

    ``spent``: units that steps have charged, lost ones included.
    """

    def __init__(self) -> None:
        self.spent = 0
        self._steps: dict[str, dict[int, Payload]] = {}

    def released(self, payload: Payload) -> None:
        """Take in a release whose ``kind`` is ``PURPOSE``."""
        self._steps.setdefault(str(payload["run"]), {}).setdefault(int(payload["step"]), payload)

    def recorded(self, run: str) -> Mapping[int, Payload]:
        """The steps of a run, by number from 0."""
        return self._steps.get(run, _NOTHING)
