"""Which sums were measured beside the counts of their rows, and beside which values of these. Public.

An average of such a sum has less noise than its sum and its count tell: as long as its count is still the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from dpsql.errors import LedgerError
from dpsql.ledger.event import Payload
from dpsql.query import LinearQuery

BESIDE = "beside"
"""In a release's payload: ``names_of`` sums, in a list."""


@dataclass
class MeasuredBeside:
    """A fold of releases: sums that were measured about the middle, beside which values of their counts."""

    _released: set[tuple[str, str]] = field(default_factory=set)

    def take(self, payload: Payload) -> None:
        """Learn what a release in the ledger says; LedgerError when it cannot be read."""
        for names in payload.get(BESIDE, ()):
            match names:
                case [str() as sums, str() as counts]:
                    self._released.add((sums, counts))
                case _:
                    raise LedgerError("a release of sums in the ledger cannot be read")

    def holds(self, sums: Sequence[LinearQuery], counts: Sequence[int]) -> list[bool]:
        """Of each sum whether it was measured so beside that answer to the count of its rows: together with the others,
        or by itself."""
        if not self._released:
            return [False] * len(sums)
        if names_of(sums, counts) in self._released:
            return [True] * len(sums)
        return [names_of([q], [n]) in self._released for q, n in zip(sums, counts, strict=True)]


def names_of(sums: Sequence[LinearQuery], counts: Sequence[int]) -> tuple[str, str]:
    """Of sums, and of the answers that they were measured beside, in the order of these."""
    both = sorted(zip([q.digest for q in sums], counts, strict=True))
    digests, values = ([b[i] for b in both] for i in (0, 1))
    return sha256(repr(digests).encode()).hexdigest(), sha256(repr(values).encode()).hexdigest()
