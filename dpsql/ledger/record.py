"""An event as it is stored, and the SHA-256 chain that ties each record to all records before it.

A damaged or edited file must be noticed. Each record's digest covers all before it, so the last one vouches for the
whole.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast, get_args

from dpsql.errors import LedgerError
from dpsql.ledger.answer_text import encode
from dpsql.ledger.event import Event, Kind


@dataclass(frozen=True)
class Record:
    """One row of the ledger. ``cost`` is decimal text: a budget may exceed 64 bits. ``answers`` belong to a release."""

    sequence: int
    kind: str
    reservation: int
    cost: str
    payload: str
    holder: str
    answers: str | None

    def row(self) -> tuple[int, str, int, str, str, str, str | None]:
        return (self.sequence, self.kind, self.reservation, self.cost, self.payload, self.holder, self.answers)

    def digest(self, previous: bytes) -> bytes:
        """The chain's next head, 32 bytes: covers every field and, through ``previous``, every earlier record."""
        return hashlib.sha256(previous + encode(self.row()).encode("ascii")).digest()

    def movement(self) -> Event:
        """The event as far as a balance reads it: the payload of a reservation alone. Others may be megabytes."""
        return self.event() if self.kind == "reserve" else replace(self, payload="{}").event()

    def event(self) -> Event:
        """The event; ``LedgerError`` when the text is none."""
        try:
            cost, payload = int(self.cost), json.loads(self.payload)
        except (ValueError, RecursionError):
            payload = None
        if not isinstance(payload, dict) or self.kind not in get_args(Kind):
            raise LedgerError(f"the ledger is altered: event {self.sequence} is unreadable")
        return Event(self.sequence, cast(Kind, self.kind), self.reservation, cost, payload)


def genesis(header: Mapping[str, str]) -> bytes:
    """The chain's first head: binds every record to the header, which holds the ledger's random identity."""
    return hashlib.sha256(b"dpsql ledger 1\n" + encode(dict(header)).encode("ascii")).digest()
