"""What is shown of an odd table beside DuckDB's own numbers: each within its bar, or nearly so, no group lost."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from math import isnan
from typing import Any

import duckdb

import dpsql
from dpsql.result import Answer
from tests.support.odd.statements import Statement

_Row = tuple[Any, ...]


@dataclass
class Checked:
    """A session and the table that it sees. ``seen``: how many numbers of each kind were looked at."""

    con: dpsql.Connection
    truth: duckdb.DuckDBPyConnection
    seen: Counter[str] = field(default_factory=Counter)

    def wrong(self, made: Statement) -> list[str]:
        """What is not as it should be, in words."""
        foreseen = self._explained(made.text)
        before = self.con.budget.spent_epsilon
        try:
            cursor = self.con.execute(made.text)
            rows = cursor.fetchall()
        except dpsql.Error as error:
            return self._refused(error, foreseen, before)
        charged, out = self.con.budget.spent_epsilon - before, []
        if isinstance(foreseen, str):
            return [f"answered, but EXPLAIN said: {foreseen}"]
        if charged > foreseen + 1e-9:
            out.append(f"charged {charged}, EXPLAIN said at most {foreseen}")
        if repr(self.con.execute(made.text).fetchall()) != repr(rows):
            out.append("another answer when it is asked again")
        try:
            wanted = self.truth.execute(made.text).fetchall()
        except duckdb.Error:
            self.seen["DuckDB fails"] += 1  # on what dpsql never evaluates
            return out
        return out + self._compared(cursor, rows, wanted, made.groups)

    def _explained(self, text: str) -> float | str:
        try:
            return self.con.explain(text).worst_charge
        except dpsql.Error as error:
            return str(error)

    def _refused(self, error: dpsql.Error, foreseen: float | str, before: float) -> list[str]:
        self.seen["refused"] += 1
        out = []
        if isinstance(error, dpsql.InternalError) or not error.hint:
            out.append(f"{type(error).__name__}: {error}")
        if self.con.budget.spent_epsilon != before:
            out.append(f"refused, but charged: {error}")
        if not isinstance(foreseen, str):
            out.append(f"refused, but not by EXPLAIN: {error}")
        return out

    def _compared(self, cursor: dpsql.Cursor, rows: Sequence[_Row], wanted: Sequence[_Row], groups: int) -> list[str]:
        theirs: dict[_Row, list[_Row]] = {}
        for row in wanted:
            theirs.setdefault(_key(row, groups), []).append(row)
        notes = [note.kind for note in cursor.notes]
        answers, out = cursor.result.column_answers, []
        lost = [key for key in theirs if key not in {_key(row, groups) for row in rows}]
        if lost and "strings" not in notes:
            out.append(f"groups lost: {lost[:4]}")
        for i, row in enumerate(rows):
            key = _key(row, groups)
            same = theirs.get(key, [])
            if len(same) > 1:
                continue
            for j in range(groups, len(row)):
                truth = _plain(same[0][j]) if same else 0
                own = None if answers.get(j) is None else answers[j][i]
                said = self._number(_plain(row[j]), truth, own, notes, bool(groups))
                if said is not None:
                    out.append(f"{key} {cursor.result.names[j]}: {said}")
        return out

    def _number(self, shown: Any, truth: Any, answer: Answer | None, notes: Sequence[str], grouped: bool) -> str | None:
        """What is wrong with one number that is shown."""
        if answer is None:
            self.seen["public"] += 1
            return None if shown == truth else f"{shown!r}, DuckDB has {truth!r}"
        if shown is None:
            self.seen["NULL"] += 1
            known = isinstance(truth, int | float) and truth != 0 and not grouped and not {"bins", "few"} & set(notes)
            return f"NULL, DuckDB has {truth!r}" if known else None
        truth = 0 if truth is None or (isinstance(truth, float) and isnan(truth)) else truth
        if isinstance(shown, bool) or not isinstance(shown, int | float):
            self.seen["values"] += 1
            return None if shown == truth or "beyond" in notes else f"{shown!r}, DuckDB has {truth!r}"
        if answer.error is None or answer.interval is None:
            self.seen["no bar"] += 1
            return None
        self.seen["numbers"] += 1
        low, high = answer.interval
        away = max(low - truth, truth - high, 0.0)
        if away > 0:
            self.seen["outside"] += 1
        if away <= answer.error + 1e-6 * abs(truth) + (1.01 if isinstance(shown, int) else 0):
            return None
        return f"{shown} in [{low}, {high}] ({answer.error_kind}, {answer.source}), DuckDB has {truth!r}; {notes}"


def _key(row: _Row, groups: int) -> _Row:
    return tuple([_plain(v) for v in row[:groups]])


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case date():
            return datetime(value.year, value.month, value.day).isoformat()  # noqa: DTZ001 - to compare with the other
        case Decimal() | float():
            return 0 if value == 0 else round(float(value), 9)
    return value
