"""Columns by hour and minute: codes as Python reads them, and every question as DuckDB answers it of truncated rows."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from dpsql.domain import DateDomain, DateUnit, TableDomain, code_of
from dpsql.engine.duckdb.codes import coded
from dpsql.errors import UnsupportedQuery
from dpsql.policy import Policy, Privacy
from dpsql.public import DuckDbPublicSql
from dpsql.sql import FrontEnd
from tests.support.contingency import Counted, seeded

MICROSECOND = timedelta(microseconds=1)
LOW, HIGH = datetime(2024, 2, 28, 22, 30), datetime(2024, 3, 1, 1, 59)  # noqa: DTZ001
TABLE = TableDomain("t", (DateDomain("h", LOW, HIGH, "hour"), DateDomain("m", LOW, LOW + timedelta(hours=2), "minute")))
LITERALS = (
    "2024-02-28 22:00", "2024-02-28 22:30", "2024-02-28 22:59:59.999999", "2024-02-28 23:00:00", "2024-02-29",
    "2024-02-29 10:30", "2024-02-29 00:00:01", "2024-03-01 01:00", "2024-03-01 01:59:59.999999", "2024-03-01 02:00",
    "infinity", "-infinity", "1900-01-01 00:00", "2025-01-01",
)  # fmt: skip
EXPRESSIONS = (
    "{c}", "EXTRACT(hour FROM {c})", "date_part('hour', {c})", "date_trunc('hour', {c})", "date_trunc('day', {c})",
    "strftime({c}, '%Y-%m-%d %H')", "CAST({c} AS DATE)", "{c} + INTERVAL 1 HOUR", "{c} - INTERVAL '26 hours'",
    "date_diff('hour', {c}, TIMESTAMP '2024-02-29 12:00:00')", "time_bucket(INTERVAL 2 HOUR, {c})", "dayname({c})",
    "age(TIMESTAMP '2024-03-01 12:00:00', {c}) > INTERVAL 1 DAY", "hour({c}) < 12", "last_day({c})",
)  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns", "Asia/Kathmandu"])
@pytest.mark.parametrize("unit", ["hour", "minute"])
@pytest.mark.parametrize(
    "kind", ["TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"]
)
@pytest.mark.parametrize(
    ("low", "high"),
    [
        (LOW, HIGH),
        (datetime(1969, 12, 31, 20, 1), datetime(1970, 1, 1, 3)),  # noqa: DTZ001
        (datetime(2100, 2, 28, 23), datetime(2100, 3, 1)),  # noqa: DTZ001
    ],
)
def test_codes(kind: str, unit: DateUnit, zone: str, low: datetime, high: datetime) -> None:
    domain = DateDomain("x", low, high, unit)
    edges = [e for v in (domain.values[0], domain.values[-1], domain.end) for e in _near(v)]
    inner = [low + timedelta(minutes=7 * i, microseconds=i) for i in range(60)]
    values: list[datetime] = [v.replace(microsecond=v.microsecond // 1000 * 1000) for v in [*edges, *inner]]
    if kind == "TIMESTAMP_S":
        values = [v.replace(microsecond=0) for v in values]
    if "ZONE" in kind:
        values = [v.replace(tzinfo=UTC) for v in values]
    with duckdb.connect() as con:
        con.execute(f"SET TimeZone = '{zone}'")
        code = coded(domain, "r.x", kind, "lookup").expression
        source = f"(SELECT unnest(?::{kind}[]) AS x, unnest(range({len(values)})) AS i) AS r"
        found = [c for (c,) in con.execute(f"SELECT {code} FROM {source} ORDER BY i", [values]).fetchall()]
        assert found == [code_of(domain, v) for v in values]
        assert {0, len(domain.values) - 1, None} <= set(found)
        for odd in ("NULL", "'infinity'", "'-infinity'", "'290000-01-01'"):
            if kind == "TIMESTAMP_NS" and odd == "'290000-01-01'":
                continue
            assert con.execute(f"SELECT {code} FROM (SELECT CAST({odd} AS {kind}) AS x) AS r").fetchall() == [(None,)]


def _near(value: Any) -> list[datetime]:
    return [value - timedelta(milliseconds=1), value, value + timedelta(milliseconds=1)]


def test_the_last_hour_of_the_calendar() -> None:
    domain = DateDomain("x", datetime(9999, 12, 31, 22), datetime(9999, 12, 31, 23), "hour")  # noqa: DTZ001
    with duckdb.connect() as con:
        code = coded(domain, "r.x", "TIMESTAMP", "lookup").expression
        sql = f"SELECT {code} FROM (SELECT TIMESTAMP '9999-12-31 23:59:59.999999' AS x) AS r"
        assert con.execute(sql).fetchall() == [(1,)]
    assert isinstance(domain.end, datetime)


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TABLE,))
    return FrontEnd(policy, DuckDbPublicSql(dict[str, Any]().__getitem__))


@pytest.fixture(scope="module")
def counted() -> Counted:
    rng = seeded(5)
    hours, minutes = ([*c.values, None] for c in TABLE.columns)  # type: ignore[union-attr]
    return Counted(TABLE, [(rng.choice(hours), rng.choice(minutes)) for _ in range(600)])


@pytest.mark.parametrize("column", ["h", "m"])
@pytest.mark.parametrize("literal", LITERALS)
def test_comparisons(front: FrontEnd, counted: Counted, column: str, literal: str) -> None:
    for operator in ("<", "<=", ">", ">=", "=", "<>", "IS DISTINCT FROM"):
        for written in (f"'{literal}'", f"TIMESTAMP '{literal}'"):
            _same(front, counted, f"SELECT COUNT(*) FROM t WHERE {column} {operator} {written}")
    _same(front, counted, f"SELECT COUNT(*) FROM t WHERE {column} BETWEEN '{literal}' AND '2024-02-29 12:30'")
    _same(front, counted, f"SELECT COUNT(*) FROM t WHERE {column} IN ('{literal}', '2024-02-29 12:00')")


@pytest.mark.parametrize("column", ["h", "m"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_groups(front: FrontEnd, counted: Counted, column: str, expression: str) -> None:
    _same(front, counted, f"SELECT {expression.format(c=column)} AS x, COUNT(*) FROM t GROUP BY x")


@pytest.mark.parametrize(
    ("expression", "unit"),
    [
        ("minute(h)", "hour"), ("date_trunc('minute', h)", "hour"), ("second(m)", "minute"), ("epoch(m)", "minute"),
        ("strftime(h, '%H:%M')", "hour"), ("h + INTERVAL 30 MINUTE", "hour"), ("m + INTERVAL 1 SECOND", "minute"),
        ("CAST(h AS TIME)", "hour"), ("time_bucket(INTERVAL 90 MINUTE, h)", "hour"),
        ("minute(coalesce(h, m))", "hour"),
    ],
)  # fmt: skip
def test_finer_questions_are_refused_with_the_unit(front: FrontEnd, expression: str, unit: str) -> None:
    with pytest.raises(UnsupportedQuery, match=rf"is declared by {unit}, and .* is finer"):
        front.lower(f"SELECT {expression} AS x, COUNT(*) FROM t GROUP BY x")


def test_parts_down_to_the_minute_of_a_column_by_minutes(front: FrontEnd, counted: Counted) -> None:
    for x in ("minute(m)", "date_trunc('minute', m)", "strftime(m, '%H:%M')", "m + INTERVAL 30 MINUTE"):
        _same(front, counted, f"SELECT {x} AS x, COUNT(*) FROM t GROUP BY x")


def _same(front: FrontEnd, counted: Counted, sql: str) -> None:
    (block,) = front.lower(sql).blocks
    truth = {row[:-1]: row[-1] for row in counted.connection.execute(sql).fetchall()}
    assert set(truth) <= set(block.groups), sql
    for i, group in enumerate(block.groups):
        form = block.aggregates[0].numerator[i]
        assert counted.exact(form) == truth.get(group, 0) and counted.doubt(form) == 0, (sql, group)


def test_ends_are_moments_without_a_zone() -> None:
    from dpsql.errors import PolicyError

    for low in (date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)):
        with pytest.raises(PolicyError, match="without a zone"):
            DateDomain("x", low, datetime(2020, 1, 2), "hour")  # noqa: DTZ001
    with pytest.raises(PolicyError, match="must be dates"):
        DateDomain("x", datetime(2020, 1, 1), datetime(2020, 1, 2), "day")  # noqa: DTZ001
    with pytest.raises(PolicyError, match="more than"):
        DateDomain("x", datetime(1, 1, 1), datetime(9999, 1, 2), "minute")  # noqa: DTZ001
