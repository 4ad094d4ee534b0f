"""The module-level names of PEP 249: globals, constructors and type objects.

PEP 249 fixes these names and spellings; they are in a file of their own because nothing else follows its style.
"""

from datetime import date, datetime, time
from typing import Final

from dpsql.dialect.types import sql_type

apilevel: Final = "2.0"
threadsafety: Final = 1
"""Threads may share the module, not connections."""
paramstyle: Final = "qmark"
"""``?`` with a sequence; ``$name`` with a mapping is understood as well."""

Date = date
Time = time
Timestamp = datetime
Binary = bytes


def DateFromTicks(ticks: float) -> Date:  # noqa: N802
    """The local date at ``ticks`` seconds after the epoch."""
    return Date.fromtimestamp(ticks)


def TimeFromTicks(ticks: float) -> Time:  # noqa: N802
    """The local time of day at ``ticks`` seconds after the epoch."""
    return Timestamp.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> Timestamp:  # noqa: N802
    """The local time at ``ticks`` seconds after the epoch."""
    return Timestamp.fromtimestamp(ticks)


class TypeObject:
    """Compares equal to the type codes of ``cursor.description`` (DuckDB type names) that it stands for.

    >>> NUMBER == "DECIMAL(18,3)", NUMBER == "VARCHAR", STRING == STRING
    (True, False, True)
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeObject):
            return self.name == other.name
        if not isinstance(other, str):
            return NotImplemented
        found = sql_type(other)
        return found is not None and found.family == self.name

    __hash__ = None  # type: ignore[assignment] # equal to many strings, so it cannot hash like them

    def __repr__(self) -> str:
        return f"dpsql.{self.name}"


STRING: Final = TypeObject("STRING")
BINARY: Final = TypeObject("BINARY")
NUMBER: Final = TypeObject("NUMBER")
DATETIME: Final = TypeObject("DATETIME")
ROWID: Final = TypeObject("ROWID")
"""Equal to no type code: a private row has no address."""
