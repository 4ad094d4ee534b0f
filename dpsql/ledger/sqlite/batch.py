"""The records that one transaction is about to append, with the state that they lead to.

Memory must not run ahead of the disk: what a transaction would change is collected here, and dropped with it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from dpsql.ledger.balance import Balance
from dpsql.ledger.record import Record


@dataclass
class Batch:
    """Starts from a copy of the committed state; thrown away when the transaction fails."""

    balance: Balance
    sequence: int
    head: bytes
    holder: str
    records: list[tuple[Record, bytes]] = field(default_factory=list)

    def settle(self, reservations: Iterable[int], drawing: Collection[int]) -> None:
        """Free own open reservations, or burn them where they are hard or coins may have been drawn (``drawing``)."""
        for number in reservations:
            kind, cost = self.balance.end(number, drawing)
            self.add(kind, number, cost, "{}")

    def add(self, kind: str, reservation: int | None, cost: int, payload: str, answers: str | None = None) -> int:
        """Append a record (``reservation`` None: its own sequence number); its sequence number."""
        sequence = self.sequence + 1
        number = sequence if reservation is None else reservation
        record = Record(sequence, kind, number, str(cost), payload, self.holder, answers)
        self.balance.apply(record.movement(), self.holder)
        self.head = record.digest(self.head)
        self.sequence = sequence
        self.records.append((record, self.head))
        return sequence
