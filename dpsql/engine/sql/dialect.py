"""What a database must be able to say in its own SQL, and how its tables are described.

Each method is a small sentence that tests/contracts checks against Python. None is given anything of an analyst's:
arguments are columns, declared domains, and numbers of regions. All are total: no value of a row makes one of them
fail, for an error would tell of that row.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, Protocol

import pyarrow as pa

Family = Literal["integer", "decimal", "float", "boolean", "date", "moment", "time", "string", "bytes", "other"]
"""What values of a column are, whatever the database calls their type; "other" has no text and counts by its name."""


@dataclass(frozen=True)
class SqlColumn:
    """``kind``: the database's own name of its type."""

    name: str
    kind: str
    family: Family


@dataclass(frozen=True)
class SqlTable:
    """A table or view: its quoted name, its columns in order, and whether it is no view."""

    name: str
    sql: str
    columns: tuple[SqlColumn, ...]
    is_base_table: bool

    def column(self, name: str) -> SqlColumn | None:
        """By name, in any case; names that differ in nothing else are one."""
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)

    def is_of_integers(self, column: str) -> bool:
        """Whether a column of that name is of a type of whole numbers."""
        found = self.column(column)
        return found is not None and found.family == "integer"


class Dialect(Protocol):
    """Expressions of one database. ``x`` is an expression for a column, ``text`` one for a string that may be NULL."""

    def identifier(self, name: str) -> str:
        """A quoted name."""
        ...

    def field(self, x: str, column: SqlColumn) -> str:
        """The text of a value in the digest of a row, as :func:`dpsql.engine.values.field`; never NULL."""
        ...

    def string_field(self, text: str) -> str:
        """The same of a string."""
        ...

    def integer_field(self, x: str) -> str:
        """The same of a whole number that is not NULL."""
        ...

    def float_field(self, x: str) -> str:
        """The same of a DOUBLE."""
        ...

    def row_digest(self, columns: Sequence[tuple[str, SqlColumn]]) -> str:
        """The MD5 of a row's fields, one after the other, as :func:`dpsql.engine.values.row_digest`."""
        ...

    def once(self, query: str) -> str:
        """The same query, inside another one: its columns are computed once a row, however often they are named."""
        ...

    def md5_hex(self, text: str) -> str:
        """The MD5 of a text in lower-case hexadecimal digits, which compare as bytes do."""
        ...

    def md5_byte(self, digest: str, number: int) -> str:
        """Byte 0 to 15 of such a digest, an integer from 0 to 255."""
        ...

    def hexadecimal(self, text: str) -> str:
        """The upper-case hexadecimal digits of a string's UTF-8 bytes; NULL for NULL."""
        ...

    def as_text(self, x: str, column: SqlColumn) -> str:
        """The string that a value stands for, as :func:`dpsql.domain.as_text`."""
        ...

    def prefix(self, text: str, length: int) -> str:
        """The first ``length`` code points."""
        ...

    def integer(self, x: str, column: SqlColumn, low: int, high: int) -> str:
        """A whole number from ``low`` to ``high``, less ``low``; NULL for any other value."""
        ...

    def number(self, x: str, column: SqlColumn) -> str:
        """A DOUBLE; NULL for NaN."""
        ...

    def between(self, x: str, low: float, high: float) -> str:
        """A DOUBLE clipped to an interval; NULL for NULL."""
        ...

    def inside(self, x: str, low: float, high: float) -> str:
        """A DOUBLE where it is in an interval; NULL elsewhere."""
        ...

    def bin(self, x: str, edges: Sequence[float]) -> str:
        """The number of the bin ``[edges[i], edges[i+1])`` of a DOUBLE from the first to the last edge."""
        ...

    def fraction(self, x: str, low: str, span: str, parts: int) -> str:
        """Where a DOUBLE stands, as :meth:`dpsql.domain.NumberDomain.share`: a BIGINT; 0 for NULL. ``low`` and
        ``span`` are expressions, both halved."""
        ...

    def double(self, value: float) -> str:
        """A literal that reads back exactly."""
        ...

    def day(self, x: str, column: SqlColumn) -> str:
        """The calendar day of a date or moment; with a time zone, its day in UTC."""
        ...

    def moment(self, x: str, column: SqlColumn) -> str:
        """The moment of a moment column, without a time zone; with one, in UTC."""
        ...

    def units_since(self, moment: str, first: datetime, seconds: int) -> str:
        """How many whole units of so many seconds; only where both are finite, and not before ``first``."""
        ...

    def timestamp(self, moment: datetime) -> str:
        """A literal of a moment without a time zone."""
        ...

    def days_since(self, day: str, first: date) -> str:
        """Whole days; only where both are finite."""
        ...

    def part(self, day: str, part: Literal["year", "month", "quarter"]) -> str:
        """A part of a finite day, an integer."""
        ...

    def date(self, day: date) -> str:
        """A literal."""
        ...

    def pick(self, numbers: Sequence[int], index: str) -> str:
        """The ``index``-th of public whole numbers, from 0."""
        ...

    def pick_double(self, numbers: Sequence[float], index: str) -> str:
        """The same of doubles."""
        ...

    def lookup(self, numbers: Mapping[str, int], text: str) -> str:
        """The number of a string, told apart by bytes; NULL for any other one. Strings that the database cannot hold
        are left out."""
        ...


class StandardEnds(ABC):
    """What databases say alike whose ``least`` and ``greatest`` pass over NULL."""

    @abstractmethod
    def double(self, value: float) -> str:
        """The same double, to the last bit."""

    def between(self, x: str, low: float, high: float) -> str:
        ends = f"least(greatest({x}, {self.double(low)}), {self.double(high)})"
        return f"CASE WHEN {x} IS NOT NULL THEN {ends} END"

    def inside(self, x: str, low: float, high: float) -> str:
        return f"CASE WHEN {x} BETWEEN {self.double(low)} AND {self.double(high)} THEN {x} END"


class Database(Protocol):
    """One state of a database, read by our own SQL. EngineError for what fails, which quotes no value."""

    @property
    def name(self) -> str:
        """For the ledger's header."""
        ...

    @property
    def address(self) -> str:
        """Without a password."""
        ...

    @property
    def dialect(self) -> Dialect: ...

    def table(self, name: str) -> SqlTable | None:
        """The table or view of that name, in any case."""
        ...

    def behind(self, table: SqlTable) -> tuple[SqlTable, ...]:
        """The tables that a view reads, also by way of other views; a table reads itself."""
        ...

    def rows(self, what: str, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        ...

    def arrow(self, what: str, sql: str) -> pa.Table:
        """The same as an Arrow table."""
        ...

    def public(self, table: SqlTable) -> pa.Table:
        """A whole table in types that DuckDB has."""
        ...

    def close(self) -> None:
        """Idempotent."""
        ...
