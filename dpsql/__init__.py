"""SQL counting queries on private DuckDB tables, answered with differential privacy under one (epsilon, delta).

A PEP 249 module: ``dpsql.connect("census.duckdb")`` gives a connection. Everything it returns is public.
"""

from importlib.metadata import version as _version

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

__version__ = _version("dpsql")

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
