"""A session without privacy beside DuckDB on the same rows: what is shown must be DuckDB's own numbers.

Of the session only the answers to linear queries are exchanged, for the engine's own counts, and the noise for none;
so everything else that a statement goes through is the package's. Where a condition cuts a bin, DuckDB's number must
lie within the interval that is shown, whose width is then the doubt alone.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from math import isclose, isnan
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa

import dpsql
from dpsql.domain.column import FIXED_POINT
from dpsql.engine.duckdb import DuckDbEngine
from dpsql.engine.partition import Partition
from dpsql.query import LinearQuery
from dpsql.result import Answer
from dpsql.session.asker import Asker
from dpsql.session.own.by_value.counted import NO_COUNTS, Counts
from tests.support.grammar.statements import Statement
from tests.support.grammar.world import POLICY, SCHEMA

Rows = list[tuple[Any, ...]]


class NoNoise:
    """Every test is easy, and all noise is 0."""

    def bits(self, n: int) -> int:
        return 0

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        return [0] * size


@contextmanager
def exact_session(off_by: int = 0) -> Iterator[tuple[dpsql.Connection, duckdb.DuckDBPyConnection]]:
    """A connection whose answers are exact, or ``off_by`` counts, and the rows themselves."""
    policy = dpsql.load_policy(POLICY)
    with duckdb.connect(config={"threads": 1}) as rows:
        for made in SCHEMA:
            rows.execute(made)
        rows.execute("SET TimeZone = 'UTC'")
        engine = DuckDbEngine(rows, policy)

        def answers(asker: Asker, queries: Sequence[LinearQuery], counts: Counts = NO_COUNTS) -> dict[str, Answer]:
            return {q.digest: _exactly(engine, q, off_by) for q in queries}

        with (
            patch("dpsql.mechanism.SystemEntropy", NoNoise),
            patch.object(Asker, "ask", answers),
            dpsql.connect(rows, policy=policy, ledger=":memory:") as con,
        ):
            yield con, rows
        engine.close()


def _exactly(engine: DuckDbEngine, query: LinearQuery, off_by: int) -> Answer:
    keyed, unit = query.keyed, query.unit
    if keyed is not None:
        counts = engine.keyed_counts(query.table, keyed.text_columns, keyed.strings, query.scope, query.intervals)
    elif query.value is not None:
        counts = engine.sums(query.table, query.value, query.scope, query.intervals).map(lambda n: n.astype(object))
        unit *= FIXED_POINT
    elif query.intervals:
        each = [np.arange(f.weights.size).reshape(f.weights.shape) for f in query.factors]
        parts = tuple(Partition(f.columns, own, own.size) for f, own in zip(query.factors, each, strict=True))
        counts = engine.part_counts(query.table, parts, query.intervals).map(lambda n: n.reshape(query.shape))
    else:
        counts = engine.contingency(query.table, query.scope)
    value = counts.map(lambda cells: Fraction(query.numerator(cells), unit)).reveal() + off_by
    number = int(value) if value.denominator == 1 else float(value)
    return Answer(number, 0.0, (float(value), float(value)), "exact", "measurement", True, 0.0)


def wrong(con: dpsql.Connection, rows: duckdb.DuckDBPyConnection, statement: Statement) -> str | None:
    """What differs first from DuckDB's own answer, in words; ``None`` where nothing does, or dpsql refuses.

    DuckDB may fail where dpsql does not: on what dpsql never evaluates. Raises what is no error of dpsql's.
    """
    try:
        cursor = con.execute(statement.text, statement.parameters)
        ours = cursor.fetchall()
    except dpsql.Error:
        return None
    missed = outside(cursor)
    if missed is not None or statement.theirs is None:
        return missed
    found = None
    for text in dict.fromkeys((statement.theirs, statement.text)):  # where no row is possible, a SUM is NULL
        try:
            others = rows.execute(text, statement.parameters).fetchall()
        except (duckdb.Error, ValueError, OverflowError):
            return None
        if any(note.kind == "bins" for note in cursor.result.notes):
            found = _beyond_doubt(cursor, ours, others)
        else:
            found = disagreement(ours, others, ordered=statement.ordered)
        if found is None:
            return None
    return found


def outside(cursor: dpsql.Cursor) -> str | None:
    """A number that its own interval does not hold, or an interval of other than plain floats, in words."""
    columns = cursor.to_arrow_table().columns
    for position, answers in cursor.result.column_answers.items():
        for value, answer in zip(columns[position].to_pylist(), answers, strict=True):
            if any(type(end) is not float for end in answer.interval or ()):
                return f"{answer.interval!r} are no plain floats"
            match value, answer.interval:
                case (bool(), _) | (_, None):
                    continue
                case (int() | float() | Decimal()) as number, (low, high):
                    near = 1e-6 * max(1.0, abs(float(number)))
                    if not isnan(number) and not low - near <= number <= high + near:
                        return f"{number} has the interval [{low}, {high}]"
    return None


def _beyond_doubt(cursor: dpsql.Cursor, ours: Rows, others: Rows) -> str | None:
    """A row that none of DuckDB's agrees with, number by number within its interval, in words.

    Where doubt changed which rows there are, or a number has no interval, nothing is known.
    """
    if len(ours) != len(others) or any(note.kind == "computed" for note in cursor.result.notes):
        return None
    answers, left = cursor.result.column_answers, [[_plain(v) for v in row] for row in others]
    public = [i for i in range(len(cursor.description or ())) if i not in answers]
    same_rows = [sorted(repr([_plain(row[i]) for i in public]) for row in side) for side in (ours, others)]
    if same_rows[0] != same_rows[1]:
        return None
    for at, row in enumerate(ours):
        found = [answers[i][at] if i in answers else None for i in range(len(row))]
        mine = [_plain(v) for v in row]
        same = next((r for r in left if all(map(_possible, mine, r, found))), None)
        if same is None:
            return f"{mine} within {[a and a.interval for a in found]}, DuckDB has {left}"
        left.remove(same)
    return None


def _possible(mine: Any, its: Any, answer: Answer | None) -> bool:
    if answer is None:
        return _equal(mine, its)
    if answer.interval is None:
        return True
    span = answer.interval
    near = 1e-6 * max(1.0, abs(float(mine or 0))) + 1e-3 * (span[1] - span[0])  # draws of counts are rounded
    return its is not None and span[0] - near <= its <= span[1] + near


def disagreement(ours: Rows, others: Rows, *, ordered: bool) -> str | None:
    """What differs first, in words."""
    one, other = ([[_plain(value) for value in row] for row in rows] for rows in (ours, others))
    if not ordered:
        one, other = sorted(one, key=_sortable), sorted(other, key=_sortable)
    if len(one) != len(other):
        return f"{len(one)} rows, DuckDB has {len(other)}"
    for mine, its in zip(one, other, strict=True):
        if len(mine) != len(its) or not all(_equal(a, b) for a, b in zip(mine, its, strict=True)):
            return f"{mine}, DuckDB has {its}"
    return None


def _plain(value: Any) -> Any:
    """Numbers as floats or whole numbers; everything else as it prints."""
    match value:
        case None:
            return None
        case bool():
            return int(value)
        case int():
            return value
        case float() | Decimal():
            return float(value)
        case date():
            return str(value).removesuffix(" 00:00:00")
        case timedelta() | pa.MonthDayNano():
            return "an interval"  # Arrow's and DuckDB's Python forms differ
    return str(value)


def _sortable(row: Sequence[Any]) -> list[tuple[int, Any]]:
    return [
        (0, 0) if v is None else (1, float(f"{v:.6g}")) if isinstance(v, int | float) and v == v else (2, str(v))
        for v in row
    ]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b or (isnan(a) and isnan(b)) or isclose(a, b, rel_tol=1e-6, abs_tol=1e-6)
    return bool(a == b)
