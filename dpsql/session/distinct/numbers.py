"""What the ledger says of counts of different values: a fold of its releases. Public.

Numbers of strings that first touches measured are among them.
"""

from dataclasses import dataclass
from typing import Any

from dpsql.errors import LedgerError
from dpsql.first.payload import DISTINCT
from dpsql.hypothesis import Measurement
from dpsql.ledger.event import Payload

_KEY = "different values"


@dataclass(frozen=True)
class Number:
    """A released number, with noise of that sd (counts)."""

    value: int
    sd: float


class Numbers:
    """Released counts of different values by their digests, and the number of strings in whole text columns."""

    def __init__(self) -> None:
        self._known: dict[str, Number] = {}
        self._strings: dict[tuple[str, str], Number] = {}

    def of(self, digest: str) -> Number | None:
        """The first number that was released for it."""
        return self._known.get(digest)

    def strings(self, table: str, column: str) -> Number | None:
        """How many strings a text column has, NULL aside, as its first touch measured."""
        return self._strings.get((table, column))

    def take(self, payload: Payload) -> None:
        """Take in a release of counts of different values, or of anything else. LedgerError when it cannot be read."""
        for digest, number in decode_numbers(payload):
            self._known.setdefault(digest, number)

    def take_measurement(self, kind: str, measurement: Measurement) -> None:
        """Take in a first touch's number of strings, or anything else."""
        if kind == DISTINCT:
            (column,) = measurement.text_columns
            number = Number(int(measurement.values), measurement.sigma)
            self._strings.setdefault((measurement.table, column), number)


def encode_numbers(digests: list[str], values: list[int], sigma: float) -> dict[str, Any]:
    """Numbers of one release as a part of its payload."""
    return {_KEY: {"digests": digests, "values": values, "sigma": sigma.hex()}}


def decode_numbers(payload: Payload) -> list[tuple[str, Number]]:
    """The numbers of a release, by digest: none of a release of another kind."""
    found = payload.get(_KEY)
    if found is None:
        return []
    try:
        sd = float.fromhex(found["sigma"])
        return [(str(d), Number(int(v), sd)) for d, v in zip(found["digests"], found["values"], strict=True)]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise LedgerError("a count of different values in the ledger cannot be read") from error
