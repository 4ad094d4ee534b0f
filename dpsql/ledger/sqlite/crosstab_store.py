"""Free answers to thousands of questions of one statement, as one record of the file of answers.

A question is still known by itself: its digest's first eight bytes say in which record it is. A question has one free
answer: a record is kept only where none of its questions has any, and what is in a record is not kept again.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dpsql.ledger.answer_text import decode_crosstab, encode_crosstab
from dpsql.ledger.sqlite.file import SqliteFile
from dpsql.memo import Memo
from dpsql.query import Counts
from dpsql.result import Answer, CrosstabAnswers

DIGEST_BYTES = 32
_PLACE = np.dtype("<i8")
_ASKED = 500  # questions in one SELECT
_SCANNED = 2  # answers of the file that are all read, for each that is looked for
_KEPT = 1 << 18  # answers of records that were read, in memory: 64 bytes each

TABLES = (
    "CREATE TABLE IF NOT EXISTS crosstabs (number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, "
    "mixed INTEGER NOT NULL DEFAULT 0, digests BLOB NOT NULL, answers BLOB NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS places (place INTEGER PRIMARY KEY, crosstab INTEGER NOT NULL) STRICT",
)
"""``mixed``: an event of the ledger has another answer to one of the questions, which holds."""


class _Record(NamedTuple):
    digests: bytes
    order: Counts  # of places, ascending
    places: Counts
    answers: CrosstabAnswers

    def answer(self, place: int, digest: bytes) -> Answer | None:
        at = int(self.order[min(int(np.searchsorted(self.places, place)), len(self.order) - 1)])
        return self.answers[at] if self.digests[at * DIGEST_BYTES :][:DIGEST_BYTES] == digest else None


def place_of(key: str) -> int | None:
    """Where a question is looked for; ``None`` for one that is no digest, which is in no record."""
    try:
        digest = bytes.fromhex(key)
    except ValueError:
        return None
    if len(digest) != DIGEST_BYTES or digest.hex() != key:
        return None
    return int.from_bytes(digest[:8], "little", signed=True)


class CrosstabStore:
    """The records in ``file``. Raises ``sqlite3.Error``, and ValueError or TypeError for what was never written."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._read: Memo[_Record] = Memo(_KEPT)

    def find(self, name: bytes) -> CrosstabAnswers | None:
        """The answers of a record, if the ledger has no others to its questions."""
        row = self._file.execute("SELECT number, mixed FROM crosstabs WHERE name = ?", (name,)).fetchone()
        return None if row is None or row[1] else self._record(int(row[0])).answers

    def lookup_all(self, keys: Iterable[str]) -> dict[str, Answer]:
        """The answers that records have to some questions."""
        places = {place: key for key in keys if (place := place_of(key)) is not None}
        wanted, found = list(places), {}
        for start in range(0, len(wanted), _ASKED):
            asked = wanted[start : start + _ASKED]
            sql = f"SELECT place, crosstab FROM places WHERE place IN ({', '.join('?' * len(asked))})"
            for place, number in self._file.execute(sql, asked).fetchall():
                answer = self._record(int(number)).answer(place, bytes.fromhex(places[place]))
                if answer is not None:
                    found[places[place]] = answer
        return found

    def is_known(self, digests: bytes, questions: Sequence[bytes], answered: int) -> bool:
        """Whether any of the questions has an answer. ``questions``: their names among single answers, of which the
        file has about ``answered``."""
        places = _places(digests)
        sql = "SELECT EXISTS (SELECT 1 FROM json_each(?) AS j JOIN places AS p ON p.place = j.value)"
        if self._file.one(sql, (_json(places),))[0]:
            return True
        if answered <= _SCANNED * len(questions):
            held = set(questions)
            return any(q in held for (q,) in self._file.execute("SELECT question FROM answers"))
        for start in range(0, len(questions), _ASKED):
            asked = questions[start : start + _ASKED]
            sql = f"SELECT EXISTS (SELECT 1 FROM answers WHERE question IN ({', '.join('?' * len(asked))}))"
            if self._file.one(sql, asked)[0]:
                return True
        return False

    def add(self, name: bytes, digests: bytes, answers: CrosstabAnswers) -> None:
        """Write a record; within a transaction, after ``is_known`` was asked in it."""
        found = (name, digests, encode_crosstab(answers))
        number = self._file.execute("INSERT INTO crosstabs (name, digests, answers) VALUES (?, ?, ?)", found).lastrowid
        sql = "INSERT OR IGNORE INTO places SELECT value, ? FROM json_each(?)"
        self._file.execute(sql, (number, _json(_places(digests))))

    def mix(self, keys: Iterable[str]) -> None:
        """An event of the ledger answers these questions: records that have them are asked question by question."""
        self._file.executemany(
            "UPDATE crosstabs SET mixed = 1 WHERE number = (SELECT crosstab FROM places WHERE place = ?)",
            [(place,) for key in keys if (place := place_of(key)) is not None],
        )

    def _record(self, number: int) -> _Record:
        known = self._read.get(number)
        if known is not None:
            return known
        digests, text = self._file.one("SELECT digests, answers FROM crosstabs WHERE number = ?", (number,))
        answers = decode_crosstab(text)
        if len(digests) != DIGEST_BYTES * len(answers):
            raise ValueError("a record with other questions than answers")
        places = _places(digests)
        order = np.argsort(places)
        return self._read.put(number, _Record(digests, order, places[order], answers), len(answers))


def _places(digests: bytes) -> Counts:
    """``place_of`` each digest."""
    return np.frombuffer(digests, dtype=_PLACE)[:: DIGEST_BYTES // _PLACE.itemsize].astype(np.int64)


def _json(places: Counts) -> str:
    """In ascending order, in which SQLite looks them up fastest."""
    return f"[{','.join(map(str, np.sort(places).tolist()))}]"


__all__ = ["TABLES", "CrosstabStore", "place_of"]
