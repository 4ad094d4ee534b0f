"""Releases whose noise an analyst chose: what they spent, and the numbers they gave. A fold of the ledger. Public."""

from dataclasses import replace

from dpsql.errors import LedgerError
from dpsql.first import ON_DEMAND
from dpsql.ledger.event import Event, Payload
from dpsql.result import Answer
from dpsql.session.answers import error_of, exact


class Demands:
    """``used``: units of reservations for demands that were not given back, those that were lost included."""

    def __init__(self) -> None:
        self._units: dict[int, int] = {}
        self._answers: dict[str, Answer] = {}

    @property
    def used(self) -> int:
        return sum(self._units.values())

    def used_before(self, reservation: int) -> int:
        """The same of reservations before that one, which are served before it."""
        return sum(units for number, units in self._units.items() if number < reservation)

    def __bool__(self) -> bool:
        """Whether any demand was answered."""
        return bool(self._answers)

    def best(self, digest: str, other: Answer | None) -> Answer | None:
        """The answer of a demand, or the ``other`` one where its error is smaller."""
        found = self._answers.get(digest)
        if found is None or found.error is None or (other is not None and error_of(other) < found.error):
            return other
        return found

    def answer(self, digest: str) -> Answer | None:
        """The answer with the smallest bound that a demand gave to that question."""
        return self._answers.get(digest)

    def take(self, event: Event) -> None:
        """Take in an event of any kind. LedgerError where a release for a demand cannot be read."""
        if event.kind == "reserve" and event.payload.get("purpose") == ON_DEMAND:
            self._units[event.reservation] = event.cost
        elif event.kind == "free":
            self._units.pop(event.reservation, None)
        elif event.kind == "release" and event.reservation in self._units:
            for digest, answer in decode_numbers(event.payload):
                before = self._answers.get(digest)
                if before is None or error_of(answer) < error_of(before):
                    self._answers[digest] = answer


def encode_numbers(given: list[tuple[str, Answer]]) -> list[list[str | float | None]]:
    """Answers from measurements as a part of a release's payload: digest, value, error, certified bound."""
    return [[digest, a.value, a.error, a.certified_bound] for digest, a in given]


def decode_numbers(payload: Payload) -> list[tuple[str, Answer]]:
    """The answers of a release for a demand; LedgerError when they cannot be read."""
    try:
        return [
            (str(d), replace(exact(int(v), int(e), "measurement"), certified_bound=float(c)))
            for d, v, e, c in payload["numbers"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise LedgerError("a release on demand in the ledger cannot be read") from error
