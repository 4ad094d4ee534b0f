"""Lets the classic PEP 249 suite, which creates and fills tables, run on dpsql, which only answers.

DDL and INSERT go to the owner's DuckDB connection; ``select name from T`` becomes the GROUP BY that lists the same
rows. Each row is inserted ``COPIES`` times, which GROUP BY does not show, so that no noise can hide a row or invent
one. Everything else is dpsql's own cursor and connection.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import dpsql
from dpsql import Connection, Cursor, InterfaceError, Policy, ProgrammingError
from dpsql.domain import CategoryDomain, Parameters, TableDomain
from dpsql.policy import Privacy
from dpsql.result import NO_TERMS, Terms

Open = Callable[[Any], Connection]
"""A new connection of dpsql to the owner's tables as they are now."""

_SELECT = re.compile(r"\s*select\s+(?P<columns>[\w, ]+)\s+from\s+(?P<table>\w+)\s*", re.IGNORECASE)
COPIES = 100

_NAMES = (
    "Boag's",
    "Carlton Cold",
    "Carlton Draft",
    "Cooper's",
    "Mountain Goat",
    "Redback",
    "Victoria Bitter",
    "XXXX",
    "a",
)
_DRINKS = ("thi%s :may ca%(u)se? troub:1e",)
_TABLES = {
    "dbapi20test_booze": (CategoryDomain("name", _NAMES),),
    "dbapi20test_barflys": (CategoryDomain("name", _NAMES), CategoryDomain("drink", _DRINKS)),
}
_LITTLE_NOISE = Privacy(epsilon=Fraction(1000), delta=Fraction(1, 10**6), planned_queries=1000)
"""With it the noise has a standard deviation of 0.3 rows and an easy answer is within a dozen: far from COPIES / 2."""


def connect_privately(owner: Any) -> Connection:
    """dpsql itself over the suite's tables that exist now."""
    there = {name for (name,) in owner.cursor().execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    tables = tuple(TableDomain(name, columns) for name, columns in _TABLES.items() if name in there)
    return dpsql.connect(owner, Policy(_LITTLE_NOISE, tables), ":memory:")


class Reopening:
    """A session view that connects for each statement: the suite's tables come and go."""

    notices: tuple[str, ...] = ()

    def __init__(self, owner: Any, open_privately: Open) -> None:
        self.owner = owner
        self._open = open_privately

    def execute(self, text: str, parameters: Parameters = None, terms: Terms = NO_TERMS) -> dpsql.Result:
        with self._open(self.owner) as con:
            return con.execute(text, parameters).result

    def explain(self, text: str, parameters: Parameters = None) -> dpsql.Explanation:
        raise NotImplementedError

    def budget(self) -> dpsql.Budget:
        raise NotImplementedError

    def tables(self) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        """The owner's connection is the test's."""


class ShimCursor(Cursor):
    def execute(self, operation: str, parameters: Parameters = None, **terms: Any) -> "ShimCursor":
        verb = operation.split()[0].lower()
        if verb in ("create", "drop", "insert"):
            with suppress(ProgrammingError):
                super().executemany(operation, ())  # forgets the result; raises InterfaceError when it is closed
            for _ in range(COPIES if verb == "insert" else 1):
                self.connection.owner.execute(operation, [] if parameters is None else parameters)
            return self
        asked = _SELECT.fullmatch(operation)
        if asked is None:
            raise AssertionError(f"the suite sends a statement that the shim does not know: {operation}")
        columns, table = asked["columns"], asked["table"]
        rows = f"SELECT {columns} FROM {table} GROUP BY {columns} HAVING COUNT(*) > {COPIES // 2}"
        return super().execute(rows, parameters, **terms)

    def executemany(self, operation: str, seq_of_parameters: Any) -> None:
        for parameters in seq_of_parameters:
            self.execute(operation, parameters)


class ShimConnection(Connection):
    def __init__(self, session: Reopening) -> None:
        super().__init__(session)
        self.owner = session.owner

    def close(self) -> None:
        """The suite wants a second close to fail; dpsql's own is idempotent, as its own tests check."""
        if self.closed:
            raise InterfaceError("the connection is closed")
        super().close()

    def cursor(self) -> ShimCursor:
        super().cursor()  # raises when the connection is closed
        return ShimCursor(self)


class Driver:
    """dpsql's module with the shim's ``connect``."""

    def __init__(self, open_privately: Open) -> None:
        self._open = open_privately

    def connect(self, owner: Any) -> ShimConnection:
        return ShimConnection(Reopening(owner, self._open))

    def __getattr__(self, name: str) -> Any:
        return getattr(dpsql, name)
