"""SQL counting queries on private DuckDB tables, answered with differential privacy under one (epsilon, delta).

A PEP 249 module: ``dpsql.connect("census.duckdb")`` gives a connection. Everything it returns is public.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from dpsql.errors import (
    BudgetExhausted,
    DatabaseError,
    DataError,
    EngineError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    LedgerError,
    NotSupportedError,
    OperationalError,
    PolicyError,
    PolicyWarning,
    ProgrammingError,
    SqlSyntaxError,
    UnknownName,
    UnsupportedQuery,
    Warning,  # noqa: A004 - the name is PEP 249's
)

if TYPE_CHECKING:
    from dpsql.interface.dbapi.connect import connect
    from dpsql.interface.dbapi.connection import Connection
    from dpsql.interface.dbapi.cursor import Cursor
    from dpsql.interface.dbapi.types import (
        BINARY,
        DATETIME,
        NUMBER,
        ROWID,
        STRING,
        Binary,
        Date,
        DateFromTicks,
        Time,
        TimeFromTicks,
        Timestamp,
        TimestampFromTicks,
        apilevel,
        paramstyle,
        threadsafety,
    )
    from dpsql.interface.extracting import extract
    from dpsql.policy import Policy
    from dpsql.policy_file import dump_policy, load_policy
    from dpsql.result import Answer, Budget, Explanation, Note, Result

    __version__: str

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Answer",
    "Binary",
    "Budget",
    "BudgetExhausted",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "EngineError",
    "Error",
    "Explanation",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "LedgerError",
    "NotSupportedError",
    "Note",
    "OperationalError",
    "Policy",
    "PolicyError",
    "PolicyWarning",
    "ProgrammingError",
    "Result",
    "SqlSyntaxError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "UnknownName",
    "UnsupportedQuery",
    "Warning",
    "apilevel",
    "connect",
    "dump_policy",
    "extract",
    "load_policy",
    "paramstyle",
    "threadsafety",
]

_LATER = {
    "dpsql.interface.dbapi.connect": ("connect",),
    "dpsql.interface.dbapi.connection": ("Connection",),
    "dpsql.interface.dbapi.cursor": ("Cursor",),
    "dpsql.interface.extracting": ("extract",),
    "dpsql.policy": ("Policy",),
    "dpsql.policy_file": ("dump_policy", "load_policy"),
    "dpsql.result": ("Answer", "Budget", "Explanation", "Note", "Result"),
}
"""What needs NumPy and Arrow is imported with the first use: the command line must hear Ctrl-C meanwhile."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("dpsql")
    if name in __all__:
        module = next((module for module, names in _LATER.items() if name in names), "dpsql.interface.dbapi.types")
        found = globals()[name] = getattr(_import_module(module), name)
        return found
    raise AttributeError(f"module 'dpsql' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
