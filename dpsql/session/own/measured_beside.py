"""Which sums were measured beside the counts of their rows, and beside which values of these. Public.

An average of such a sum has less noise than its sum and its count tell: as long as its count is still the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from dpsql.errors import LedgerError
from dpsql.ledger.event import Payload
from dpsql.query import LinearQuery

BESIDE = "beside"
"""In a release's payload: what ``FromMiddle`` holds, in a list."""


class FromMiddle(NamedTuple):
    """Of some sums, in shares of the range: ``distances`` from ``middle`` as they were released, each with noise of
    ``sd``, in the order of their digests. ``sums``, ``counts``: ``names_of`` these and of what was answered to the
    counts of their rows."""

    sums: str
    counts: str
    middle: float
    sd: float
    distances: tuple[float, ...]

    @property
    def payload(self) -> dict[str, Any]:
        """As the ledger holds it."""
        numbers = {"middle": self.middle.hex(), "sd": self.sd.hex(), "distances": [d.hex() for d in self.distances]}
        return {"sums": self.sums, "counts": self.counts, **numbers}

    @classmethod
    def of(cls, payload: Payload) -> "FromMiddle":
        """LedgerError when it cannot be read."""
        try:
            middle, sd, *distances = map(float.fromhex, (payload["middle"], payload["sd"], *payload["distances"]))
            return cls(str(payload["sums"]), str(payload["counts"]), middle, sd, tuple(distances))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise LedgerError("a release of sums in the ledger cannot be read") from error


class Distance(NamedTuple):
    """What one sum is beyond ``middle`` times its rows: ``total`` with noise of ``sd``, in shares of the range."""

    middle: float
    total: float
    sd: float


@dataclass
class MeasuredBeside:
    """A fold of releases: the distances that sums were measured by, by names of the sums and of their counts."""

    _released: dict[tuple[str, str], FromMiddle] = field(default_factory=dict)

    def take(self, payload: Payload) -> None:
        """Learn what a release in the ledger says; LedgerError when it cannot be read."""
        for told in payload.get(BESIDE, ()):
            found = FromMiddle.of(told)
            self._released[found.sums, found.counts] = found

    def distances(self, sums: Sequence[LinearQuery], counts: Sequence[int]) -> list[Distance | None]:
        """Of each sum what was measured beside that answer to the count of its rows, together with the others or by
        itself; ``None`` of any other."""
        if not self._released:
            return [None] * len(sums)
        known = self._released.get(names_of(sums, counts))
        if known is not None and len(known.distances) == len(sums):
            order = sorted(range(len(sums)), key=lambda i: sums[i].digest)
            total = dict(zip(order, known.distances, strict=True))
            return [Distance(known.middle, total[i], known.sd) for i in range(len(sums))]
        alone = [self._released.get(names_of([q], [n])) for q, n in zip(sums, counts, strict=True)]
        return [None if one is None else Distance(one.middle, one.distances[0], one.sd) for one in alone]


def names_of(sums: Sequence[LinearQuery], counts: Sequence[int]) -> tuple[str, str]:
    """Of sums, and of the answers that they were measured beside, in the order of these."""
    both = sorted(zip([q.digest for q in sums], counts, strict=True))
    digests, values = ([b[i] for b in both] for i in (0, 1))
    return sha256(repr(digests).encode()).hexdigest(), sha256(repr(values).encode()).hexdigest()
