"""Which sums were measured by distances from the middle of their values, beside the counts of their rows. Public.

An average of such a sum has less noise than its sum and its count tell, whatever the count's answer is by now.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from dpsql.errors import LedgerError
from dpsql.ledger.event import Payload
from dpsql.query import LinearQuery

BESIDE = "beside"
"""In a release's payload: what ``FromMiddle`` holds, in a list."""
_LETTERS = 32
"""Of a name: 128 bits, of which no two are the same by chance."""


class FromMiddle(NamedTuple):
    """Of some sums, in shares of the range: ``distances`` from ``middle`` as they were released, each with noise of
    ``sd``; ``names``: ``name_of`` each."""

    middle: float
    sd: float
    names: tuple[str, ...]
    distances: tuple[float, ...]

    @property
    def payload(self) -> dict[str, Any]:
        """As the ledger holds it."""
        distances = [d.hex() for d in self.distances]
        return {"middle": self.middle.hex(), "sd": self.sd.hex(), "names": [*self.names], "distances": distances}

    @classmethod
    def of(cls, payload: Payload) -> "FromMiddle":
        """LedgerError when it cannot be read."""
        try:
            middle, sd, *distances = map(float.fromhex, (payload["middle"], payload["sd"], *payload["distances"]))
            found = cls(middle, sd, tuple(map(str, payload["names"])), tuple(distances))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise LedgerError("a release of sums in the ledger cannot be read") from error
        if len(found.names) != len(found.distances):
            raise LedgerError("a release of sums in the ledger cannot be read")
        return found


class Distance(NamedTuple):
    """What one sum is beyond ``middle`` times its rows: ``total`` with noise of ``sd``, in shares of the range."""

    middle: float
    total: float
    sd: float


@dataclass
class MeasuredBeside:
    """A fold of releases: the distances that sums were measured by, by ``name_of`` each."""

    _known: dict[str, Distance] = field(default_factory=dict)

    def take(self, payload: Payload) -> None:
        """Learn what a release in the ledger says; LedgerError when it cannot be read."""
        for told in payload.get(BESIDE, ()):
            found = FromMiddle.of(told)
            for name, distance in zip(found.names, found.distances, strict=True):
                self._known[name] = Distance(found.middle, distance, found.sd)

    def distance(self, summed: LinearQuery, counted: LinearQuery) -> Distance | None:
        """What was measured of a sum beside the count of its rows; ``None`` where it was not."""
        return self._known.get(name_of(summed, counted)) if self._known else None


def name_of(summed: LinearQuery, counted: LinearQuery) -> str:
    """Of a sum beside the count of its rows."""
    return sha256(f"{summed.digest} {counted.digest}".encode()).hexdigest()[:_LETTERS]
