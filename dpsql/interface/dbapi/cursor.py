"""A PEP 249 cursor over released tables.

Rows must be the plain values that such libraries expect, so the answers behind them, with errors and charges, stand
beside them in ``answers``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from operator import index
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import pyarrow as pa

from dpsql import errors
from dpsql.dialect.types import NO_PYTHON_FORM, for_pandas, python_column
from dpsql.domain import Parameters
from dpsql.errors import DataError, Error, InterfaceError, ProgrammingError
from dpsql.interface.dbapi.session_view import SessionView
from dpsql.result import Answer, Explanation, Note, Result, Terms

if TYPE_CHECKING:
    import pandas
    import polars

    from dpsql.interface.dbapi.connection import Connection

Row = tuple[Any, ...]
ColumnDescription = tuple[str, str, None, None, int | None, int | None, None]
"""name, type code (a DuckDB type name), display size, internal size, precision, scale, null_ok."""
_ROWS_AT_A_TIME = 4096


class Cursor:
    """Executes statements and hands out their rows. Made by ``Connection.cursor``; all it holds is public.

    ``arraysize`` is how many rows ``fetchmany`` returns when it is not told.
    """

    def __init__(self, connection: "Connection") -> None:
        self.arraysize = 1
        self._connection = connection
        self._closed = False
        self._executed: _Executed | None = None

    @property
    def connection(self) -> "Connection":
        return self._connection

    def execute(
        self,
        operation: str,
        parameters: Parameters = None,
        *,
        max_charge: float | None = None,
        within: float | None = None,
    ) -> Self:
        """Answer one SELECT; ``parameters`` fill ``?`` in order or ``$name`` by name. Returns the cursor.

        ``max_charge``: it charges at most so much epsilon; 0 for what is free. ``within``: each count has a 95 % bound
        of at most so many counts that holds on any data, paid from what the owner set aside where that must be
        (docs/accuracy.md). Raises ``dpsql.Error``; the cursor then holds no result.
        """
        session = self._session()
        self._executed = None
        _check_statement(operation, parameters)
        terms = Terms(within, max_charge)
        self._executed = _Executed(operation, parameters, terms, session.execute(operation, parameters, terms))
        return self

    def __repr__(self) -> str:
        if self._executed is None:
            return "<dpsql.Cursor: nothing executed>"
        names = ", ".join(map(repr, self._executed.result.names))
        rows = f"{self.rowcount:,} row{'' if self.rowcount == 1 else 's'}"
        return f"<dpsql.Cursor: {rows} of {names}; fetchall() and df() give them, answers their errors>"

    def executemany(self, operation: str, seq_of_parameters: Iterable[Parameters]) -> NoReturn:
        """Refused: every statement that dpsql answers returns rows, for which PEP 249 leaves this undefined."""
        self._session()
        self._executed = None
        raise ProgrammingError(
            "executemany cannot run a statement that returns rows",
            hint="call execute once for each set of parameters, or ask once with GROUP BY",
        )

    def fetchone(self) -> Row | None:
        """The next row, or ``None`` after the last."""
        rows = self._take(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next ``size`` rows (``arraysize`` when not given), fewer at the end, then an empty list."""
        wanted = self.arraysize if size is None else size
        rows = -1
        with suppress(TypeError):
            rows = -1 if isinstance(wanted, (bool, np.bool_)) else index(wanted)  # an integer of NumPy's too
        if rows < 0:
            raise ProgrammingError("fetchmany needs a whole number of rows", hint="call fetchmany(100)")
        return self._take(rows)

    def fetchall(self) -> list[Row]:
        """All rows not fetched yet."""
        return self._take(None)

    def _take(self, limit: int | None) -> list[Row]:
        return self._answered().take(limit)

    def __iter__(self) -> Iterator[Row]:
        self._answered()
        return self

    def __next__(self) -> Row:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    @property
    def description(self) -> tuple[ColumnDescription, ...] | None:
        """One 7-tuple per column of the result; ``None`` when nothing has been executed."""
        if self._executed is None:
            return None
        result = self._executed.result
        return tuple(_description(n, t) for n, t in zip(result.names, result.types, strict=True))

    @property
    def rowcount(self) -> int:
        """Rows of the result (public), -1 when nothing has been executed."""
        return -1 if self._executed is None else int(self._executed.result.table.num_rows)

    @property
    def rownumber(self) -> int | None:
        """Index of the next row, from 0; ``None`` when nothing has been executed."""
        return None if self._executed is None else self._executed.position

    @property
    def answers(self) -> tuple[Answer, ...]:
        """One entry per released number, in row order: value, error, interval, source, certified, charged."""
        return self.result.answers

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader of the numbers must know, one sentence each: caps, undeclared values, released groups."""
        return self.result.notes

    @property
    def messages(self) -> list[tuple[type[errors.Warning], errors.Warning]]:
        """PEP 249's optional list of (class, value): the notes of the executed statement; empty before one."""
        notes = () if self._executed is None else self._executed.result.notes
        return [(errors.Warning, errors.Warning(note.text)) for note in notes]

    @property
    def result(self) -> Result:
        """The released table with its answers by column."""
        return self._answered().result

    @property
    def explanation(self) -> Explanation:
        """The plan of the executed statement as it stands now: an equal question would be free."""
        executed = self._answered()
        return self._session().explain(executed.operation, executed.parameters, executed.terms)

    def to_arrow_table(self) -> pa.Table:
        """The whole result, whatever has been fetched of it."""
        return self.result.table

    def df(self) -> "pandas.DataFrame":
        """The whole result as a pandas DataFrame. InterfaceError when pandas is missing or cannot hold it.

        Types are those that DuckDB makes: decimals are floats, days are moments, intervals have 30 days in a month.
        """
        table = self.result.table
        frame: pandas.DataFrame = _framed("pandas", lambda: for_pandas(table).to_pandas())
        return frame

    def pl(self) -> "polars.DataFrame":
        """The whole result as a polars DataFrame. InterfaceError when polars is missing or cannot hold it."""
        frame: polars.DataFrame = _framed("polars", lambda: import_module("polars").DataFrame(self.result.table))
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The whole result as an Arrow stream (the Arrow PyCapsule interface)."""
        return self.result.table.__arrow_c_stream__(requested_schema)

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Does nothing: parameters are bound as values (PEP 249)."""
        self._session()

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: results are held whole (PEP 249)."""
        self._session()

    def close(self) -> None:
        """Forget the result; the cursor cannot be used any more. Idempotent."""
        self._executed = None
        self._closed = True

    def __enter__(self) -> Self:
        self._session()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _session(self) -> SessionView:
        if self._closed:
            raise InterfaceError("the cursor is closed", hint="take a new one with con.cursor()")
        return self._connection.session

    def _answered(self) -> "_Executed":
        self._session()
        if self._executed is None:
            raise InterfaceError("there is no result to fetch", hint="call cursor.execute(...) first")
        return self._executed


class _Executed:
    """One statement, its result, and how far its rows were fetched; ``position`` is the index of the next row."""

    def __init__(self, operation: str, parameters: Parameters, terms: Terms, result: Result) -> None:
        self.operation = operation
        self.parameters = parameters
        self.terms = terms
        self.result = result
        self.position = 0
        self._buffer: list[Row] = []
        self._buffer_start = 0

    def take(self, limit: int | None) -> list[Row]:
        """The next rows. An error leaves the position where it was, so that rows are never skipped in silence."""
        table = self.result.table
        position, end = self.position, table.num_rows
        if limit is not None:
            end = min(end, position + limit)
        rows: list[Row] = []
        while position < end:
            if not self._buffer_start <= position < self._buffer_start + len(self._buffer):
                self._buffer, self._buffer_start = self._rows(position), position
            offset = position - self._buffer_start
            rows += self._buffer[offset : offset + end - position]
            position = self.position + len(rows)
        self.position = position
        return rows

    def _rows(self, position: int) -> list[Row]:
        rows = _python_rows(self.result.table.slice(position, _ROWS_AT_A_TIME))
        if rows is None:
            error = DataError(NO_PYTHON_FORM, hint="fetch with to_arrow_table(), or cast the column to VARCHAR")
            error.after_charge(self.result.charged)
            raise error
        return rows


def _python_rows(table: pa.Table) -> list[Row] | None:
    """Rows as tuples of Python values; column names may repeat. ``None`` where a value has no Python form."""
    try:
        columns = [python_column(column) for column in table.columns]
    except (ValueError, OverflowError, TypeError):  # pyarrow's own errors are ValueErrors or TypeErrors
        return None
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _description(name: str, type_code: str) -> ColumnDescription:
    precision, scale = None, None
    if type_code.upper().startswith("DECIMAL("):
        precision, scale = (int(n) for n in type_code[8:-1].split(","))
    return (name, type_code, None, None, precision, scale, None)


def _check_statement(operation: object, parameters: object) -> None:
    if not isinstance(operation, str):
        raise ProgrammingError("a statement is a string", hint='call execute("SELECT COUNT(*) FROM ...")')
    match parameters:
        case None | [*_] | {}:  # strings and bytes are no sequences here
            return
    raise ProgrammingError(
        "parameters are a list or tuple for ?, a dict for $name",
        hint="write execute(sql, [30]), also for one value",
    )


def _framed(package: str, make: Callable[[], Any]) -> Any:
    """What ``make`` makes; names that occur twice and types of intervals are more than some packages hold."""
    hint = f"pip install {package}, or use fetchall()"
    try:
        import_module(package)
        return make()
    except Error:
        raise
    except ImportError:
        message = f"{package} is not installed"
    except Exception as error:  # noqa: BLE001 - packages have failures of their own; the result is public
        message, hint = f"{package} cannot hold this result: {str(error).partition(chr(10))[0]}", "use to_arrow_table()"
    raise InterfaceError(message, hint=hint)
