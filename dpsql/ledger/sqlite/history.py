"""The verified reading of a ledger's file: its chain, its balance, and how far both have been followed.

Other processes append to the same file. Following them, and noticing that what was read before has changed, is one job,
done before every append.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from dpsql.errors import LedgerError
from dpsql.ledger.answer_text import decode_answers
from dpsql.ledger.balance import Balance
from dpsql.ledger.event import Event
from dpsql.ledger.record import Record, genesis
from dpsql.ledger.sqlite.batch import Batch
from dpsql.ledger.sqlite.file import SqliteFile
from dpsql.result import Answer

Released = tuple[int, list[tuple[str, Answer]]]
_COLUMNS = "sequence, kind, reservation, cost, payload, holder, answers, digest"


class History:
    """Knows the events up to ``sequence``; nothing of them is kept but the balance and the chain's ``head``.

    Methods raise ``LedgerError`` for an altered file and ``sqlite3.Error`` for one that cannot be read.
    """

    def __init__(self, file: SqliteFile, path: Path, header: Mapping[str, str]) -> None:
        self._file = file
        self._path = path
        self._ledger = header["ledger"]
        self._genesis = genesis(header)
        self.balance = Balance()
        self.sequence = 0
        self.head = self._genesis

    def follow(self) -> Iterator[Released]:
        """Verify and fold what other processes have appended; yields the answers that each event holds.

        A generator: exhaust it. Left before its end, or interrupted, it begins anew with the next one.
        """
        if self.sequence == 0 and self._file.one("SELECT value FROM header WHERE key = 'ledger'") != (self._ledger,):
            raise LedgerError(  # before its first event a ledger may be begun anew (``schema.rebind``)
                f"the ledger {self._path} was begun anew for another policy or other data", hint="open it again"
            )
        try:
            for record, digest in self._rows(self.sequence):
                if record.sequence != self.sequence + 1 or record.digest(self.head) != digest:
                    raise LedgerError(f"the ledger {self._path} is altered at event {record.sequence}")
                self.balance.apply(record.event(), record.holder)
                self.sequence, self.head = record.sequence, digest
                if record.answers is not None:
                    yield record.sequence, decode_answers(record.answers)
        except BaseException:
            self.balance, self.sequence, self.head = Balance(), 0, self._genesis  # an event may be half applied
            raise

    def events(self, after: int) -> list[Event]:
        """Events with sequence > ``after`` up to ``sequence``."""
        head, events = self.digest_at(after), []
        for record, _ in self._rows(after):
            if record.sequence <= self.sequence:
                head = record.digest(head)
                events.append(record.event())
        # Rows read again must still lead to the head that was verified: SHA-256 leaves no other history for it.
        if head != self.head and after <= self.sequence:
            raise LedgerError(f"the ledger {self._path} is altered after event {after}")
        return events

    def append(self, batch: Batch) -> None:
        """Insert the batch's records; ``committed`` follows once they are durable."""
        for record, digest in batch.records:
            self._file.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*record.row(), digest))

    def committed(self, batch: Batch) -> None:
        self.balance, self.sequence, self.head = batch.balance, batch.sequence, batch.head

    def digest_at(self, sequence: int) -> bytes:
        """The chain's head after event ``sequence``."""
        if sequence <= 0:
            return self._genesis
        if sequence >= self.sequence:
            return self.head
        digest: bytes = self._file.one("SELECT digest FROM events WHERE sequence = ?", (sequence,))[0]
        return digest

    def released(self, after: int) -> Iterator[Released]:
        """The answers held by events with sequence > ``after``."""
        sql = "SELECT sequence, answers FROM events WHERE sequence > ? AND answers IS NOT NULL ORDER BY sequence"
        for sequence, text in self._file.execute(sql, (after,)):
            yield sequence, decode_answers(text)

    def _rows(self, after: int) -> Iterator[tuple[Record, bytes]]:
        for row in self._file.execute(f"SELECT {_COLUMNS} FROM events WHERE sequence > ? ORDER BY sequence", (after,)):
            yield Record(*row[:-1]), row[-1]
