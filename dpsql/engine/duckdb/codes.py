"""From a column of rows to codes of its declared domain, as SQL; which types of DuckDB can be read so.

Total: no value makes these expressions fail. A NULL or a value outside the domain gives NULL; the caller turns that
into the last code. ``dpsql.domain.code_of`` says the same in Python, and the contract tests compare the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from math import floor, inf, isfinite, nextafter

from dpsql.dialect.quoting import double, double_list
from dpsql.dialect.types import FLOATS, INTEGERS
from dpsql.domain import (
    FIXED_POINT,
    BooleanDomain,
    CategoryDomain,
    ColumnDomain,
    DateDomain,
    DateUnit,
    FiniteDomain,
    IntegerDomain,
    NumberDomain,
)

TREE_BINS = 64  # irregular bins up to here: nested CASE; beyond, an ASOF join is faster
LISTED_BINS = 4096  # regular bins up to here: arithmetic, corrected by the exact edges in a literal


@dataclass(frozen=True)
class Coded:
    """How to code one column.

    ``expression``: SQL for the code, NULL when outside. ``join``: what it adds to the FROM clause ("" for nothing).
    ``setup``: a statement and its parameters that create the joined lookup table, once.
    """

    expression: str
    join: str = ""
    setup: tuple[str, Sequence[object]] | None = None


def code_width(size: int) -> int:
    """Bytes that hold each code of a domain of so many cells.

    >>> code_width(256), code_width(257)
    (1, 2)
    """
    return 1 if size <= 1 << 8 else 2 if size <= 1 << 16 else 4


def fits(column: ColumnDomain, kind: str) -> bool:
    """Whether a DuckDB type can be read as the declared kind.

    >>> fits(IntegerDomain("age", 0, 9), "DECIMAL(5,2)"), fits(IntegerDomain("age", 0, 9), "VARCHAR")
    (True, False)
    """
    match column.kind:
        case "integer" | "number":
            return kind in INTEGERS or kind in FLOATS or kind.startswith("DECIMAL")
        case "category" | "text":
            return kind in INTEGERS or kind in {"VARCHAR", "UUID", "BOOLEAN"} or kind.startswith("ENUM")
        case "boolean":
            return kind == "BOOLEAN"
        case "date":
            return (kind == "DATE" and column.sql_type == "DATE") or kind.startswith("TIMESTAMP")


def coded(domain: FiniteDomain, column: str, kind: str, lookup: str) -> Coded:
    """SQL for the codes of ``domain``: ``column`` is quoted SQL of type ``kind``, ``lookup`` a free table name."""
    match domain:
        case IntegerDomain():
            return Coded(_integer(domain, column, kind))
        case NumberDomain():
            return _number(domain, number(domain, column), lookup)
        case CategoryDomain():
            return _category(domain, column, lookup)
        case BooleanDomain():
            return Coded(f"CAST({column} AS INTEGER)")
        case DateDomain():
            return Coded(_date(domain, column, kind))


def number(domain: NumberDomain, column: str) -> str:
    """SQL for what a row of the column holds: a DOUBLE from min to max, or NULL; as ``NumberDomain.clipped``."""
    x = f"TRY_CAST({column} AS DOUBLE)"
    low, high = double(domain.edges[0]), double(domain.edges[-1])
    if domain.outside == "null":
        return f"CASE WHEN {x} BETWEEN {low} AND {high} THEN {x} END"  # NaN is above every number in DuckDB
    return f"CASE WHEN NOT isnan({x}) THEN least(greatest({x}, {low}), {high}) END"


def share(domain: NumberDomain, x: str) -> str:
    """SQL for where the value ``x`` stands between min and max, in 1 / FIXED_POINT; as ``NumberDomain.share``."""
    low, high = domain.edges[0] * 0.5, domain.edges[-1] * 0.5
    return _fraction(x, double(low), double(high - low))


def position(domain: NumberDomain, x: str, code: str) -> str:
    """The same between the edges of its bin, number ``code``; as ``NumberDomain.position``."""
    halves = [edge * 0.5 for edge in domain.edges]
    spans = [high - low for low, high in pairwise(halves)]
    return _fraction(x, f"({double_list(halves)})[{code} + 1]", f"({double_list(spans)})[{code} + 1]")


def _fraction(x: str, low: str, span: str) -> str:
    part = f"({x} * 0.5e0 - {low}) / nullif({span}, 0.0e0)"
    return f"CAST(coalesce(floor(least(greatest({part}, 0.0e0), 1.0e0) * {double(FIXED_POINT)}), 0) AS BIGINT)"


def _integer(domain: IntegerDomain, column: str, kind: str) -> str:
    code = f"TRY_CAST({column} AS BIGINT)"
    whole = "TRUE"
    if kind in FLOATS:
        whole = f"{column} = trunc({column})"
    elif kind not in INTEGERS:  # DECIMAL: the cast rounds, so it must lead back to the same number
        whole = f"TRY_CAST({code} AS {kind}) = {column}"
    return f"CASE WHEN {whole} AND {code} BETWEEN {domain.low} AND {domain.high} THEN {code} - ({domain.low}) END"


def _number(domain: NumberDomain, x: str, lookup: str) -> Coded:
    edges, bins = domain.edges, len(domain.edges) - 1
    inside = f"{x} BETWEEN {double(edges[0])} AND {double(edges[-1])}"  # NaN is above every number in DuckDB
    scale = regular_scale(edges)
    if scale is not None and bins <= LISTED_BINS:
        listed = f"({double_list(edges)})"
        guess = f"least({bins - 1}, TRY_CAST(floor(({x} - {double(edges[0])}) * {double(scale)}) AS INTEGER))"
        below = f"CAST({x} < {listed}[{guess} + 1] AS INTEGER)"
        above = f"CAST({guess} < {bins - 1} AND {x} >= {listed}[{guess} + 2] AS INTEGER)"
        return Coded(f"CASE WHEN {inside} THEN {guess} - {below} + {above} END")
    if bins <= TREE_BINS:
        return Coded(f"CASE WHEN {inside} THEN {_tree(edges, 0, bins - 1, x)} END")
    return Coded(
        f"CASE WHEN {inside} THEN {lookup}.code END",
        f"ASOF LEFT JOIN {lookup} ON {x} >= {lookup}.edge",
        (
            f"CREATE OR REPLACE TEMP TABLE {lookup} AS "
            f"SELECT unnest(?::DOUBLE[]) AS edge, unnest(range({bins}))::INTEGER AS code",
            [list(edges[:-1])],
        ),
    )


def regular_scale(edges: Sequence[float]) -> float | None:
    """A factor f such that floor((x - edges[0]) * f) misses the bin of no x by more than one; None if there is none.

    The guess is monotone in x (each rounding is), so it is enough to look at both ends of every bin.

    >>> regular_scale((0.0, 0.1, 0.2, 0.30000000000000004)) is None, regular_scale((0.0, 1.0, 2.0, 1000.0)) is None
    (False, True)
    """
    low, span = edges[0], edges[-1] - edges[0]
    bins = len(edges) - 1
    if not isfinite(span) or not isfinite(bins / span):
        return None
    scale = bins / span
    for i in range(bins):
        first = floor((edges[i] - low) * scale)
        last = floor((nextafter(edges[i + 1], -inf) - low) * scale)
        if not (i - 1 <= first and last <= i + 1):
            return None
    return scale


def _tree(edges: Sequence[float], first: int, last: int, x: str) -> str:
    """Binary search over the bins ``first`` to ``last``."""
    if first == last:
        return str(first)
    middle = (first + last + 1) // 2
    upper, lower = _tree(edges, middle, last, x), _tree(edges, first, middle - 1, x)
    return f"CASE WHEN {x} >= {double(edges[middle])} THEN {upper} ELSE {lower} END"


def _category(domain: CategoryDomain, column: str, lookup: str) -> Coded:
    # Bytes, not strings: a collation of the column or the database must not merge values. A join, because casting to
    # an ENUM of many values is a linear search in DuckDB 2.0.
    return Coded(
        f"{lookup}.code",
        f"LEFT JOIN {lookup} ON {lookup}.bytes = encode(CAST({column} AS VARCHAR))",
        (
            f"CREATE OR REPLACE TEMP TABLE {lookup} AS "
            f"SELECT encode(unnest(?::VARCHAR[])) AS bytes, unnest(range({len(domain.values)}))::INTEGER AS code",
            [list(domain.values)],
        ),
    )


def _moment(domain: DateDomain, column: str, kind: str, step: timedelta) -> str:
    x, first, last = utc_moment(column, kind), domain.values[0], domain.values[-1]
    if not isinstance(first, datetime) or not isinstance(last, datetime):
        return "NULL"
    last += step - timedelta(microseconds=1)
    code = f"(epoch_us({x}) - epoch_us(TIMESTAMP '{first}')) // {step // timedelta(microseconds=1)}"
    # the range is checked first: infinite moments never reach the arithmetic
    return f"CASE WHEN {x} BETWEEN TIMESTAMP '{first}' AND TIMESTAMP '{last}' THEN {code} END"


def utc_moment(column: str, kind: str) -> str:
    """The TIMESTAMP of a TIMESTAMP column; with a time zone, in UTC whatever the session's zone is."""
    zoned = kind == "TIMESTAMP WITH TIME ZONE"
    return f"make_timestamp(epoch_us({column}))" if zoned else f"TRY_CAST({column} AS TIMESTAMP)"


def _date(domain: DateDomain, column: str, kind: str) -> str:
    if domain.step is not None:
        return _moment(domain, column, kind, domain.step)
    day = calendar_day(column, kind)
    first = domain.values[0]
    last = domain.values[-1]
    if not isinstance(first, date) or not isinstance(last, date):  # the domain's values are dates, never NULL
        return "NULL"
    match domain.unit:
        case "day":
            code = f"({day} - DATE '{first}')"
        case "week":
            code = f"({day} - DATE '{first}') // 7"
        case "month":
            code = f"(year({day}) - {first.year}) * 12 + month({day}) - {first.month}"
        case "quarter":
            code = f"(year({day}) - {first.year}) * 4 + quarter({day}) - {(first.month + 2) // 3}"
        case "year":
            code = f"year({day}) - {first.year}"
    # the range is checked first: infinite dates never reach the arithmetic
    return f"CASE WHEN {day} BETWEEN DATE '{first}' AND DATE '{last_day(last, domain.unit)}' THEN {code} END"


def calendar_day(column: str, kind: str) -> str:
    """The DATE of a DATE or TIMESTAMP column; with a time zone, its day in UTC whatever the session's zone is."""
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"CAST(make_timestamp(epoch_us({column})) AS DATE)"
    # by way of TIMESTAMP: DuckDB 1.5 fails on an infinite TIMESTAMP_MS otherwise
    return column if kind == "DATE" else f"TRY_CAST(TRY_CAST({column} AS TIMESTAMP) AS DATE)"


def last_day(start: date, unit: DateUnit) -> date:
    """The last day of the unit that begins on ``start``.

    >>> last_day(date(2020, 2, 1), "month"), last_day(date(9999, 10, 1), "quarter")
    (datetime.date(2020, 2, 29), datetime.date(9999, 12, 31))
    """
    days = {"day": 1, "week": 7}.get(unit)
    if days is not None:
        return date.fromordinal(min(start.toordinal() + days - 1, date.max.toordinal()))
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    month = start.month - 1 + months
    if start.year + month // 12 > date.max.year:
        return date.max
    return date(start.year + month // 12, month % 12 + 1, 1) - timedelta(days=1)
