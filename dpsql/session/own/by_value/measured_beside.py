"""Which sums were measured by distances from the middle of their values, beside the counts of their rows. Public.

An average of such a sum has less noise than its sum and its count tell, whatever the count's answer is by now; and the
sum itself is known more finely than its answer in the ledger, a whole number of ranges.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpsql.errors import LedgerError
from dpsql.ledger.event import Payload
from dpsql.query import LinearQuery

BESIDE = "beside"
"""In a release's payload: what ``FromMiddle`` holds, in a list."""
ALONE = ""
"""In place of a count's digest: the sum stands alone, and its middle is 0."""


class FromMiddle(NamedTuple):
    """Of some sums, in shares of the range: ``distances`` from ``middle`` as they were released, each with noise of
    ``sd``; ``sums`` and ``counts``: their digests, and those of the counts of their rows."""

    middle: float
    sd: float
    sums: tuple[str, ...]
    counts: tuple[str, ...]
    distances: tuple[float, ...]

    @property
    def payload(self) -> dict[str, Any]:
        """As the ledger holds it."""
        numbers = {"middle": self.middle.hex(), "sd": self.sd.hex(), "distances": [d.hex() for d in self.distances]}
        return {"sums": [*self.sums], "counts": [*self.counts], **numbers}

    @classmethod
    def of(cls, payload: Payload) -> "FromMiddle":
        """LedgerError when it cannot be read."""
        try:
            middle, sd, *distances = map(float.fromhex, (payload["middle"], payload["sd"], *payload["distances"]))
            names = tuple(map(str, payload["sums"])), tuple(map(str, payload["counts"]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise LedgerError("a release of sums in the ledger cannot be read") from error
        if not len(names[0]) == len(names[1]) == len(distances):
            raise LedgerError("a release of sums in the ledger cannot be read")
        return cls(middle, sd, *names, tuple(distances))


class Distance(NamedTuple):
    """What one sum is beyond ``middle`` times its rows: ``total`` with noise of ``sd``, in shares of the range."""

    middle: float
    total: float
    sd: float


@dataclass
class MeasuredBeside:
    """A fold of releases: the distances that sums were measured by, and the digests of the counts beside them."""

    _known: dict[str, tuple[Distance, str]] = field(default_factory=dict)

    def take(self, payload: Payload) -> None:
        """Learn what a release in the ledger says; LedgerError when it cannot be read."""
        for told in payload.get(BESIDE, ()):
            found = FromMiddle.of(told)
            for name, count, distance in zip(found.sums, found.counts, found.distances, strict=True):
                self._known[name] = Distance(found.middle, distance, found.sd), count

    def distance(self, summed: LinearQuery, counted: LinearQuery) -> Distance | None:
        """What was measured of a sum beside the count of its rows, or alone; ``None`` where it was not."""
        distance, count = self._known.get(summed.digest, (None, ALONE)) if self._known else (None, ALONE)
        return distance if count in (ALONE, counted.digest) else None

    def of_sum(self, summed: LinearQuery) -> tuple[Distance, str] | None:
        """The same, whatever the count beside it was, and the count's digest."""
        return self._known.get(summed.digest) if self._known else None
