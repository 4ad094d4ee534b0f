"""Column domains: the public set of codes a column can take, and the code of each value.

A *finite* domain lists its cells in order; code ``i`` stands for ``values[i]`` and the last code stands for NULL
(unless the column is declared ``nullable = false``); ``ordered`` says whether codes are in order of value,
so that neighbours may be joined into intervals. A *binned* domain (numbers; dates by more than a day) has more values
than cells: a cell then stands for all values from ``values[i]`` up to the next. A *text* domain has no list: its
queries are sparse. Everything here is public.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import floor
from typing import Any, ClassVar, Literal

from dpsql.domain.marks import marks_of
from dpsql.domain.text import TextDomain
from dpsql.errors import PolicyError

Value = int | float | str | bool | date | None
"""What a row holds in a declared column."""
DateUnit = Literal["minute", "hour", "day", "week", "month", "quarter", "year"]
OF_A_DAY = {"hour": timedelta(hours=1), "minute": timedelta(minutes=1)}
"""The units of less than a day: their columns hold moments, in UTC where the database has a time zone."""
Beyond = Literal["clip", "null"]
"""What a number outside [min, max] counts as: the nearer end, or NULL."""
Reading = Literal["value", "cell"]
"""What a row of a binned column holds: its value, or, for ledgers of earlier versions, the first value of its cell."""
FIXED_POINT = 1 << 24
"""Fractions of a row are counted in so many parts: their sums stay below 2^63 for 5e11 rows."""
EXACT_BELOW = 2**53
"""Whole numbers below it, and above its negative, are doubles."""
_ENDS = "write min = 2019-01-31 for days, min = 2019-01-31T10:00:00 for hours and minutes"
MAX_COLUMN_CELLS = 1 << 20  # a longer list of values belongs in a text column or wider bins


@dataclass(frozen=True)
class IntegerDomain:
    """Whole numbers ``low`` to ``high``, both included; others are NULL.

    >>> IntegerDomain("age", 17, 19).values
    (17, 18, 19)
    """

    name: str
    low: int
    high: int
    nullable: bool = True
    kind: Literal["integer"] = field(default="integer", init=False)
    sql_type: Literal["BIGINT"] = field(default="BIGINT", init=False)
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise PolicyError("min is above max", path=self.name, hint="swap min and max")
        if self.low <= -EXACT_BELOW or self.high >= EXACT_BELOW:
            raise PolicyError("bounds beyond 2^53", path=self.name, hint="declare a range that is commonly known")
        _check_cells(self.name, self.high - self.low + 1, 'write type = "number" with bins, or a narrower range')

    @cached_property
    def values(self) -> tuple[Value, ...]:
        return tuple(range(self.low, self.high + 1))

    @property
    def size(self) -> int:
        return self.high - self.low + 1 + self.nullable

    @property
    def words(self) -> str:
        return f"{self.low} to {self.high}"


@dataclass(frozen=True)
class NumberDomain:
    """A number between the first and the last of ``edges``; others are clipped to them, or NULL. NaN is NULL.

    Its cells are the bins ``[edges[i], edges[i+1])``, the last one closed. Bins are the model's affair: what a row
    holds is its value. With ``reading`` "cell" it is the bin's lower edge, and numbers outside are NULL. ``former`` are
    the edges that earlier versions made of the same words, where they are others. ``step``: above 0, whose multiples
    most values are, as the owner says; others are as welcome.

    >>> NumberDomain("hours", (0.0, 20.0, 40.0, 100.0)).values
    (0.0, 20.0, 40.0)
    """

    name: str
    edges: tuple[float, ...]
    nullable: bool = True
    outside: Beyond = field(default="clip", repr=False)
    reading: Reading = field(default="value", repr=False)
    former: tuple[float, ...] = field(default=(), repr=False, compare=False)
    step: Fraction | None = field(default=None, repr=False)
    kind: Literal["number"] = field(default="number", init=False)
    sql_type: Literal["DOUBLE"] = field(default="DOUBLE", init=False)
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if len(self.edges) < 2:
            raise PolicyError("needs at least one bin", path=self.name, hint="write bins = 20 or a list of edges")
        if any(not abs(e) < float("inf") for e in self.edges):
            raise PolicyError("bin edges must be finite numbers", path=self.name, hint="give finite min and max")
        if any(not a < b for a, b in pairwise(self.edges)):
            raise PolicyError("bins overlap: edges must increase", path=self.name, hint="sort the edges")
        if self.step is not None and not 0 < self.step <= Fraction(self.edges[-1]) - Fraction(self.edges[0]):
            raise PolicyError("step must be above 0, and in the range", path=self.name, hint="write step = 1, or .01")
        _check_cells(self.name, len(self.edges) - 1)

    @cached_property
    def values(self) -> tuple[Value, ...]:
        return self.edges[:-1]

    @cached_property
    def marks(self) -> tuple[float, ...]:
        """Its edges and the numbers between them at which a first look counts rows, increasing."""
        return marks_of(self.edges, self.step)

    @property
    def size(self) -> int:
        return len(self.edges) - 1 + self.nullable

    @property
    def is_binned(self) -> bool:
        return self.reading == "value"

    @property
    def words(self) -> str:
        return f"{self.edges[0]:g} to {self.edges[-1]:g}"

    def clipped(self, value: float) -> float | None:
        """What a row with this value holds; ``None``: NULL.

        >>> NumberDomain("hours", (0.0, 20.0, 40.0)).clipped(55)
        40.0
        """
        low, high = self.edges[0], self.edges[-1]
        if value != value or (self.outside == "null" and not low <= value <= high):
            return None
        return min(max(value, low), high)

    def share(self, value: float) -> int:
        """Where a value from min to max stands between them, in units of 1 / FIXED_POINT, rounded down.

        >>> NumberDomain("hours", (0.0, 20.0, 40.0)).share(10.0) / FIXED_POINT
        0.25
        """
        return _fraction(value, self.edges[0], self.edges[-1])

    def position(self, value: float) -> int:
        """The same between the edges of the value's own bin.

        >>> NumberDomain("hours", (0.0, 20.0, 40.0)).position(10.0) / FIXED_POINT
        0.5
        """
        i = min(bisect_right(self.edges, value) - 1, len(self.edges) - 2)
        return _fraction(value, self.edges[i], self.edges[i + 1])


def _fraction(value: float, low: float, high: float) -> int:
    # halves: the difference of two doubles may be beyond all doubles, and that of two tiny ones' halves 0
    span = high * 0.5 - low * 0.5
    return floor(min(max((value * 0.5 - low * 0.5) / span, 0.0), 1.0) * FIXED_POINT) if span > 0 else 0


@dataclass(frozen=True)
class CategoryDomain:
    """A declared list of strings, compared byte by byte.

    >>> CategoryDomain("sex", ("Female", "Male"), nullable=False).size
    2
    """

    name: str
    values: tuple[str, ...]
    nullable: bool = True
    kind: Literal["category"] = field(default="category", init=False)
    sql_type: Literal["VARCHAR"] = field(default="VARCHAR", init=False)
    ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.values:
            raise PolicyError("values is empty", path=self.name, hint='write values = ["a", "b"], or type = "text"')
        if len(set(self.values)) != len(self.values):
            twice = next(v for v in self.values if self.values.count(v) > 1)
            raise PolicyError(f"value {twice!r} is listed twice", path=self.name, hint="list each value once")
        _check_cells(self.name, len(self.values))

    @property
    def size(self) -> int:
        return len(self.values) + self.nullable


@dataclass(frozen=True)
class BooleanDomain:
    """``false`` (code 0) and ``true`` (code 1)."""

    name: str
    nullable: bool = True
    kind: Literal["boolean"] = field(default="boolean", init=False)
    sql_type: Literal["BOOLEAN"] = field(default="BOOLEAN", init=False)
    ordered: ClassVar[bool] = False
    values: tuple[Value, ...] = field(default=(False, True), init=False)

    @property
    def size(self) -> int:
        return 2 + self.nullable

    @property
    def words(self) -> str:
        return "false, true"


@dataclass(frozen=True)
class DateDomain:
    """Days from that of ``low`` on, in cells of a day, a week (from Monday), a month, a quarter or a year; or moments,
    in cells of an hour or a minute.

    The cell of ``high`` is in it as a whole. Days outside are NULL. What a row holds is its day, with ``unit`` "hour"
    or "minute" the start of that; with ``reading`` "cell" the first day of its cell.

    >>> DateDomain("joined", date(2019, 1, 15), date(2019, 3, 1), "month").values
    (datetime.date(2019, 1, 1), datetime.date(2019, 2, 1), datetime.date(2019, 3, 1))
    """

    name: str
    low: date
    high: date
    unit: DateUnit = "day"
    nullable: bool = True
    reading: Reading = field(default="value", repr=False)
    kind: Literal["date"] = field(default="date", init=False)
    sql_type: Literal["DATE", "TIMESTAMP"] = field(default="DATE", init=False)
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for end in (self.low, self.high):
            if isinstance(end, datetime) != (self.step is not None) or getattr(end, "tzinfo", None) is not None:
                wanted = "dates" if self.step is None else "times of a day, without a zone,"
                raise PolicyError(f"min and max must be {wanted} for unit {self.unit}", path=self.name, hint=_ENDS)
        if self.low > self.high:
            raise PolicyError("min is after max", path=self.name, hint="swap min and max")
        if self.step is not None:
            object.__setattr__(self, "sql_type", "TIMESTAMP")
            _check_cells(self.name, (self.high - self.low) // self.step + 1)
        _check_cells(self.name, len(self.values))

    @property
    def step(self) -> timedelta | None:
        """How long a cell of less than a day is; ``None`` for cells of days."""
        return OF_A_DAY.get(self.unit)

    @cached_property
    def values(self) -> tuple[Value, ...]:
        if self.step is not None:
            first, last = (truncate(end, self.unit) for end in (self.low, self.high))
            return tuple(first + i * self.step for i in range((last - first) // self.step + 1))
        out: list[Value] = []
        day = truncate(self.low, self.unit)
        while day <= self.high and len(out) <= MAX_COLUMN_CELLS:
            out.append(day)
            if day > _last_start(self.unit):
                break
            day = _next_start(day, self.unit)
        return tuple(out)

    @property
    def size(self) -> int:
        return len(self.values) + self.nullable

    @property
    def end(self) -> date:
        """The first day, or moment, after the last cell; 9999-12-31 where there is none."""
        last = self.values[-1]
        if isinstance(last, datetime) and self.step is not None:
            latest = datetime.combine(date.max, time.max)
            return last + self.step if last <= latest - self.step else latest
        if not isinstance(last, date) or last > _last_start(self.unit):
            return date.max
        return _next_start(last, self.unit)

    @property
    def is_binned(self) -> bool:
        return self.unit not in ("minute", "hour", "day") and self.reading == "value"

    @property
    def words(self) -> str:
        by = "" if self.unit == "day" else f", by {self.unit}"
        return f"{self.low} to {self.high}{by}"


FiniteDomain = IntegerDomain | NumberDomain | CategoryDomain | BooleanDomain | DateDomain
ColumnDomain = FiniteDomain | TextDomain


def cell_values(domain: FiniteDomain) -> tuple[Value, ...]:
    """The value of each code in order; NULL (``None``) last when the column is nullable.

    >>> cell_values(BooleanDomain("member"))
    (False, True, None)
    """
    values: tuple[Value, ...] = tuple(domain.values)
    return (*values, None) if domain.nullable else values


def code_of(domain: FiniteDomain, value: Any) -> int | None:
    """The code of a value that is not NULL, as Python reads it from the database; None when it is outside the domain.

    Engines compute the same in their database's language; the contract tests compare them with this. Total.

    >>> code_of(NumberDomain("hours", (0.0, 20.0, 40.0)), 40), code_of(IntegerDomain("age", 17, 90), 17.5)
    (1, None)
    """
    match domain:
        case IntegerDomain():
            inside = value == value and domain.low <= value <= domain.high and value == int(value)
            return int(value) - domain.low if inside else None
        case NumberDomain():
            x = domain.clipped(float(value))
            return None if x is None else min(bisect_right(domain.edges, x) - 1, len(domain.edges) - 2)
        case CategoryDomain():
            text = as_text(value)
            return domain.values.index(text) if text in domain.values else None
        case BooleanDomain():
            return int(value)
        case DateDomain():
            if isinstance(value, datetime):
                value = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
            if domain.step is not None:
                return _moment_code(domain, value, domain.step)
            day = truncate(value.date() if isinstance(value, datetime) else value, domain.unit)
            return domain.values.index(day) if day in domain.values else None


def as_text(value: object) -> str:
    """A value of a category or text column as the string that stands for it.

    >>> as_text(True), as_text(7)
    ('true', '7')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _moment_code(domain: DateDomain, value: date, step: timedelta) -> int | None:
    moment: Any = value if isinstance(value, datetime) else datetime.combine(value, time())
    code = int((moment - domain.values[0]) // step)
    return code if 0 <= code < len(domain.values) else None


def truncate(day: date, unit: DateUnit) -> date:
    """The first day, or moment, of the unit that holds ``day``, as DuckDB's date_trunc.

    >>> truncate(date(2020, 5, 17), "quarter"), truncate(date(2020, 5, 17), "week")
    (datetime.date(2020, 4, 1), datetime.date(2020, 5, 11))
    """
    match unit:
        case "minute" | "hour":
            moment = day if isinstance(day, datetime) else datetime.combine(day, time())
            minute = moment.minute if unit == "minute" else 0
            return moment.replace(minute=minute, second=0, microsecond=0)
        case "day":
            return day
        case "week":
            return date.fromordinal(max(1, day.toordinal() - day.weekday()))
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return day.replace(month=1, day=1)


def _next_start(day: date, unit: DateUnit) -> date:
    match unit:
        case "minute" | "hour":
            return day + OF_A_DAY[unit]
        case "day":
            return date.fromordinal(day.toordinal() + 1)
        case "week":
            return date.fromordinal(day.toordinal() + 7)
        case "month" | "quarter":
            month = day.month - 1 + (1 if unit == "month" else 3)
            return date(day.year + month // 12, month % 12 + 1, 1)
        case "year":
            return date(day.year + 1, 1, 1)


def _last_start(unit: DateUnit) -> date:
    """The last start after which adding a unit would leave the calendar of datetime.date."""
    return {"day": date(9999, 12, 30), "week": date(9999, 12, 20)}.get(unit, date(9998, 12, 31))


def _check_cells(
    name: str, cells: int, hint: str = "declare fewer values, bins or a coarser unit, or make the column text"
) -> None:
    if cells > MAX_COLUMN_CELLS:
        raise PolicyError(f"{cells:,} values are more than {MAX_COLUMN_CELLS:,}", path=name, hint=hint)
