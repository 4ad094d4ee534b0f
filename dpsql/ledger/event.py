"""What the ledger records: reservations, hard rounds, releases. Everything in an event is public.

These few words are the whole vocabulary between the session and any ledger; what is not one of them cannot be recorded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["reserve", "hard", "release", "free", "burn"]
Payload = Mapping[str, Any]
"""JSON-able values; arrays are kept as lists of integers."""


@dataclass(frozen=True)
class Event:
    """One durable record.

    ``reserve``: ``cost`` units are set aside before the first coin of test (or before a planned measurement).
    ``hard``: the test under ``reservation`` came out hard; payload = query and parameters.
    ``release``: the noisy measurement under ``reservation``; payload = the measurement; closes it as spent in full.
    ``free``: the holder's last test was easy; the reservation is given back.
    ``burn``: recovery found the reservation of a dead process; ``cost`` units of it are spent for good.
    """

    sequence: int
    kind: Kind
    reservation: int
    cost: int
    payload: Payload


@dataclass(frozen=True)
class Totals:
    """Sums over the ledger: units ``spent`` for good and ``reserved`` by open reservations; the tests in both."""

    spent: int
    reserved: int
    tested: int = 0
    """Reservations for a test that are spent for good, whatever came of the test."""
    testing: int = 0
    """Open reservations for a test."""
