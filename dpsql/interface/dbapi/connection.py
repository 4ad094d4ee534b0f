"""A PEP 249 connection: one session.

Libraries that know nothing of privacy use it: pandas and Polars ask for a connection and a cursor. What PEP 249 does
not know (budget, explanations) are further methods.
"""

import os
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Self

from dpsql import errors
from dpsql.domain import Parameters, TableDomain
from dpsql.interface.dbapi.cursor import Cursor
from dpsql.interface.dbapi.session_view import SessionView
from dpsql.result import Budget, Explanation, Terms

if TYPE_CHECKING:
    from dpsql.interface.wanted import Epsilon, Workload
    from dpsql.synthesis.released import SyntheticTable


class Connection:
    """Answers SQL under one policy and one ledger. Made by ``dpsql.connect``.

    Closes its session when it is closed, collected, or left by ``with``, and at the end of the program: a session that
    is not closed leaves a reservation behind, which counts as spent.
    """

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, session: SessionView, cautions: tuple[str, ...] = ()) -> None:
        self._session: SessionView | None = session
        self._cautions = cautions
        self._pid = os.getpid()
        self._finalizer = weakref.finalize(self, _close_in_process, session, self._pid)

    def __repr__(self) -> str:
        if self._session is None:
            return "<dpsql.Connection: closed>"
        names = ", ".join(repr(t.name) for t in self._session.tables())
        return f"<dpsql.Connection: private tables {names}; execute(sql) asks, budget shows what is left>"

    @property
    def session(self) -> SessionView:
        """The open session; InterfaceError after ``close``."""
        if self._session is None:
            raise errors.InterfaceError("the connection is closed", hint="open a new one with dpsql.connect(...)")
        return self._session

    @property
    def closed(self) -> bool:
        return self._session is None

    def cursor(self) -> Cursor:
        """A new cursor."""
        _ = self.session
        return Cursor(self)

    def execute(
        self,
        operation: str,
        parameters: Parameters = None,
        *,
        max_charge: float | None = None,
        within: float | None = None,
    ) -> Cursor:
        """A new cursor that has executed the statement, on the terms of ``Cursor.execute``."""
        return self.cursor().execute(operation, parameters, max_charge=max_charge, within=within)

    @property
    def budget(self) -> Budget:
        """epsilon, delta, what has been spent and what is left."""
        return self.session.budget()

    def explain(self, operation: str, parameters: Parameters = None, *, within: float | None = None) -> Explanation:
        """The public plan of a statement: scope, cells, expected source and error, worst-case charge. Free.

        ``within``: what a 95 % bound of so many counts would take and charge.
        """
        return self.session.explain(operation, parameters, Terms(within))

    def synthesize(
        self,
        table: str,
        method: str = "session",
        *,
        workload: "Workload" = None,
        epsilon: "Epsilon" = None,
        rows: int | None = None,
        seed: int = 1,
        keeps_first_look: bool = True,
        **options: object,
    ) -> "SyntheticTable":
        """A synthetic table to take away: ``.to_arrow()``, ``.report``, ``.charged`` (docs/synthetic-tables.md).

        ``workload``: what it should answer well: words such as ``"marginals:2"``, statements, files of statements.
        ``epsilon``: what a method that asks the private rows may spend of the budget. ``seed``: of random queries and
        values inside bins, never of noise. ``keeps_first_look``: whether what is kept for first looks at tables stays
        kept. ``options``: the method's own. The same call again is free as far as it
        came before. DataError for what cannot be done, BudgetExhausted where it cannot be paid: nothing is charged.
        """
        from dpsql.interface.wanted import wanted  # methods load what a session has loaded already

        asked = wanted(table, method, workload, epsilon, rows, seed, options, keeps_first_look=keeps_first_look)
        return self.session.synthesize(asked)

    def tables(self) -> tuple[TableDomain, ...]:
        """The private tables: columns, domains, privacy unit."""
        return self.session.tables()

    @property
    def notices(self) -> tuple[str, ...]:
        """What there is to know about how the session was opened, and about its policy."""
        return (*self.session.notices, *self._cautions)

    def commit(self) -> None:
        """Does nothing: what was paid is durable before it is shown. Raises after ``close``."""
        _ = self.session

    def rollback(self) -> None:
        """Does nothing: what was shown stays spent. Raises after ``close``."""
        _ = self.session

    def close(self) -> None:
        """Close the session; the connection and its cursors cannot be used any more. Idempotent."""
        session, self._session = self._session, None
        if session is not None:
            self._finalizer.detach()
            _close_in_process(session, self._pid)

    def __enter__(self) -> Self:
        _ = self.session
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _close_in_process(session: SessionView, pid: int) -> None:
    if os.getpid() == pid:  # a forked child does not own the parent's reservation, nor its database
        session.close()
