"""Lets the classic PEP 249 suite, which creates and fills tables, run on dpsql, which only answers.

DDL and INSERT go to the owner's DuckDB connection; ``select name from T`` becomes the GROUP BY that lists the same
rows. Everything else is dpsql's own cursor and connection.
"""

import re
from collections.abc import Callable
from typing import Any

import dpsql
from dpsql import Connection, Cursor
from dpsql.interface.session_view import Parameters, SessionView

OpenSession = Callable[[Any], SessionView]
"""A new session over the owner's tables as they are now."""

_SELECT = re.compile(r"\s*select\s+(?P<columns>[\w, ]+)\s+from\s+(?P<table>\w+)\s*", re.IGNORECASE)
_OWNERS = ("create", "drop", "insert")


class Reopening:
    """A session view that opens a session for each statement: the suite's tables come and go."""

    notices: tuple[str, ...] = ()

    def __init__(self, owner: Any, open_session: OpenSession) -> None:
        self.owner = owner
        self._open = open_session

    def execute(self, text: str, parameters: Parameters = None) -> dpsql.Result:
        session = self._open(self.owner)
        try:
            return session.execute(text, parameters)
        finally:
            session.close()

    def explain(self, text: str, parameters: Parameters = None) -> dpsql.Explanation:
        raise NotImplementedError

    def budget(self) -> dpsql.Budget:
        raise NotImplementedError

    def tables(self) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        """The owner's connection is the test's."""


class ShimCursor(Cursor):
    def execute(self, operation: str, parameters: Parameters = None) -> "ShimCursor":
        if operation.split()[0].lower() in _OWNERS:
            self.setinputsizes(())  # raises when the cursor or its connection is closed
            self._forget()
            self.connection.owner.execute(operation, [] if parameters is None else parameters)
            return self
        asked = _SELECT.fullmatch(operation)
        if asked is None:
            raise AssertionError(f"the suite sends a statement that the shim does not know: {operation}")
        columns, table = asked["columns"], asked["table"]
        return super().execute(f"SELECT {columns} FROM {table} GROUP BY {columns} HAVING COUNT(*) > 0.5", parameters)

    def executemany(self, operation: str, seq_of_parameters: Any) -> None:
        for parameters in seq_of_parameters:
            self.execute(operation, parameters)


class ShimConnection(Connection):
    def __init__(self, session: Reopening) -> None:
        super().__init__(session)
        self.owner = session.owner

    def cursor(self) -> ShimCursor:
        super().cursor()  # raises when the connection is closed
        return ShimCursor(self)


class Driver:
    """dpsql's module with the shim's ``connect``."""

    def __init__(self, open_session: OpenSession) -> None:
        self._open = open_session

    def connect(self, owner: Any) -> ShimConnection:
        return ShimConnection(Reopening(owner, self._open))

    def __getattr__(self, name: str) -> Any:
        return getattr(dpsql, name)
