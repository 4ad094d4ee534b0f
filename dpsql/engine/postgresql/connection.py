"""One snapshot of a PostgreSQL database: everything asked of it speaks of the same moment.

REPEATABLE READ gives each statement of a transaction the rows of the transaction's beginning, whatever others write
meanwhile, and READ ONLY sees to it that nothing is changed. PostgreSQL's own messages quote rows: none leaves here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

import pyarrow as pa

from dpsql.dialect.address import ServerAddress
from dpsql.errors import EngineError, Error

T = TypeVar("T")
SCHEMES = ("postgresql", "postgres")

_CANCELLED = "57014"
"""SQLSTATE of a statement that took too long, or that somebody stopped."""
_LOST = ("IO", "INVALID_STATE")
"""Of the driver: the connection has ended, or the transaction with a statement before."""
_BEGIN = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL client_encoding = 'UTF8'",  # the server may have another one by default, or PGCLIENTENCODING
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO'",
    "SET LOCAL extra_float_digits = 1",
    "SET LOCAL row_security = off",  # an error where a policy of the server would hide rows in silence
    # PostgreSQL's own functions and operators before those of the same arguments, wherever a role looks first
    "SELECT set_config('search_path', coalesce((SELECT string_agg(quote_ident(s), ', ' ORDER BY i) "
    "FROM unnest(current_schemas(false)) WITH ORDINALITY u(s, i) WHERE s <> 'pg_catalog'), ''), true)",
)
_COLUMNS = """
    SELECT n.nspname::text, c.relname::text, c.relkind::text, a.attname::text, t.typname::text, t.typtype::text,
           a.atttypmod::int4
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_catalog.pg_type d ON d.oid = a.atttypid
    JOIN pg_catalog.pg_type t ON t.oid = CASE WHEN d.typtype = 'd' THEN d.typbasetype ELSE d.oid END
    WHERE {which} AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    ORDER BY array_position(current_schemas(false), n.nspname), c.relname, a.attnum
"""
_NAMES = """
    SELECT DISTINCT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
_NAMED = "c.relname IN ({}) AND n.nspname = ANY (current_schemas(false))"
_BEHIND = """
    c.oid IN (
        WITH RECURSIVE behind(id) AS (
            SELECT '{}'::regclass::oid UNION
            SELECT d.refobjid FROM behind JOIN pg_catalog.pg_rewrite w ON w.ev_class = id
            JOIN pg_catalog.pg_depend d ON d.objid = w.oid AND d.classid = 'pg_catalog.pg_rewrite'::regclass
                AND d.refclassid = 'pg_catalog.pg_class'::regclass)
        SELECT id FROM behind)
"""


@dataclass(frozen=True)
class Column:
    """``kind``: PostgreSQL's own name of the type, that below a domain; ``precision`` of a numeric with a limit."""

    name: str
    kind: str
    is_enum: bool = False
    precision: tuple[int, int] | None = None


@dataclass(frozen=True)
class Table:
    """A table or view of the database: quoted SQL for it, and its columns in order."""

    name: str
    sql: str
    columns: tuple[Column, ...]
    view: bool

    def column(self, name: str) -> Column | None:
        """By name, in any case."""
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)


def identifier(name: str) -> str:
    """A quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string literal that reads back exactly, whatever the server's settings: standard, or escaped by E.

    >>> print(literal("it's"), literal("a" + chr(92)))
    'it''s' E'a\\\\'
    """
    quoted = "'" + text.replace("'", "''") + "'"
    return quoted if "\\" not in text else "E" + quoted.replace("\\", "\\\\")


def is_address(text: str) -> bool:
    """Whether a text is the address of a PostgreSQL database."""
    return text.partition("://")[0].lower() in SCHEMES


class Snapshot:
    """A transaction on one database that sees one moment of it, until it is closed.

    EngineError with a next step: no driver, no connection, a statement that fails. One statement at a time.
    """

    def __init__(self, uri: str) -> None:
        self.address = ServerAddress.of(uri).public
        driver = _driver()
        self._streaming: Any = None
        self._failures: tuple[type[Exception], ...] = (*_failures(), OSError)
        self._connection: Any = self._quietly(lambda: driver.connect(uri), self._refused)
        try:
            for statement in _BEGIN:
                self.run("beginning a snapshot", statement)
            if self.rows("beginning a snapshot", "SELECT current_setting('transaction_isolation')") != [
                ("repeatable read",)
            ]:
                raise EngineError(f"{self.address} gives no snapshot", hint="extract from another server")
            self.snapshot = str(self.rows("naming the snapshot", "SELECT pg_current_snapshot()::text")[0][0])
        except BaseException:
            self.close()
            raise

    def table(self, name: str) -> Table | None:
        """The table or view of that name, in any case; ``None`` where there is none on the search path."""
        what = f"looking for {name}"
        # compared here: lower() of a server may know ASCII only
        named = [n for (n,) in self.rows(what, _NAMES) if n.lower() == name.lower()]
        found = self._described(what, _NAMED.format(", ".join(map(literal, named)))) if named else []
        return next((t for t in found if t.name == name), found[0] if found else None)

    def behind(self, table: Table) -> tuple[Table, ...]:
        """The stored tables that a view reads, also by way of other views; a stored one reads itself."""
        found = self._described("looking behind a view", _BEHIND.format(table.sql.replace("'", "''")))
        return tuple(t for t in found if not t.view)

    def _described(self, what: str, which: str) -> list[Table]:
        tables: dict[tuple[str, str, str], list[Column]] = {}
        for schema, name, kind, column, of, is_enum, modifier in self.rows(what, _COLUMNS.format(which=which)):
            described = Column(column, of, is_enum == "e", _precision(of, modifier))
            tables.setdefault((schema, name, kind), []).append(described)
        foreign = next((name for _, name, kind in tables if kind == "f"), None)
        if foreign is not None:
            raise EngineError(
                f"{foreign} is a foreign table, of which there is no snapshot",
                hint="extract from the server that has it",
            )
        return [
            Table(name, f"{identifier(schema)}.{identifier(name)}", tuple(columns), kind in ("v", "m"))
            for (schema, name, kind), columns in tables.items()
        ]

    def run(self, what: str, sql: str) -> None:
        """A statement without rows."""
        self._quietly(lambda: self._run(sql), lambda error: _failed(what, error))

    def rows(self, what: str, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        found: list[tuple[Any, ...]] = [tuple(row.values()) for row in self.arrow(what, sql).to_pylist()]
        return found

    def arrow(self, what: str, sql: str) -> pa.Table:
        """All rows of a query as an Arrow table."""
        return self._quietly(lambda: self._arrow(sql), lambda error: _failed(what, error))

    def stream(self, what: str, sql: str) -> pa.RecordBatchReader:
        """The rows of a query, one batch after the other; to be read before another statement."""

        def begun() -> pa.RecordBatchReader:
            if self._streaming is not None:
                self._streaming.close()
            self._streaming = self._open().cursor()  # it ends its rows when nobody holds it
            self._streaming.execute(sql)
            return self._streaming.fetch_record_batch()

        return self._quietly(begun, lambda error: _failed(what, error))

    def close(self) -> None:
        """End the transaction; idempotent."""
        for held in (self._streaming, self._connection):
            if held is not None:
                self._quietly(held.close, lambda _: None)
        self._streaming = self._connection = None

    def _open(self) -> Any:
        if self._connection is None:
            raise EngineError("the connection to the private database is closed", hint="open a new one")
        return self._connection

    def _run(self, sql: str) -> None:
        with self._open().cursor() as cursor:
            cursor.execute(sql)

    def _arrow(self, sql: str) -> pa.Table:
        with self._open().cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetch_arrow_table()

    def _refused(self, error: Exception) -> Error:
        if _state(error) == _CANCELLED:
            return _failed("connecting", error)
        hint = "check address, user and password; PGPASSWORD or ~/.pgpass hold it"
        return EngineError(f"no connection to {self.address}", hint=hint)

    def _quietly(self, work: Callable[[], T], failed: Callable[[Exception], Error | None]) -> T:
        """``work()``; a failure is raised as ours, after the ``except`` block, so that it carries no trace."""
        error: Error | None
        try:
            return work()
        except self._failures as e:
            error = failed(e)
        if error is not None:
            raise error
        return None  # type: ignore[return-value]  # only where a connection is closed


def _failed(what: str, error: Exception) -> EngineError:
    """What is said of a failure, by its SQLSTATE; none of its text."""
    state = _state(error)
    if state == _CANCELLED:
        return EngineError(
            f"PostgreSQL cancelled its work while {what}",
            hint="give the role a longer statement_timeout, or none, and connect again",
        )
    if state is None and getattr(getattr(error, "status_code", None), "name", "") in _LOST:
        return EngineError(
            f"the connection to PostgreSQL was lost while {what}", hint="connect again; what was paid is kept"
        )
    return EngineError(
        f"PostgreSQL failed while {what}",
        hint="look into the server's log; a role must be allowed to read the tables whole",
    )


def _state(error: Exception) -> str | None:
    state: str | None = getattr(error, "sqlstate", None)
    return state


def _driver() -> Any:
    try:
        return import_module("adbc_driver_postgresql.dbapi")
    except ImportError:
        pass
    raise EngineError("PostgreSQL needs its ADBC driver", hint="pip install 'dpsql[postgresql]'")


def _failures() -> tuple[type[Exception], ...]:
    return (import_module("adbc_driver_manager").Error, pa.ArrowException)


def _precision(kind: str, modifier: int) -> tuple[int, int] | None:
    """(precision, scale) of a numeric that has them, with a scale that DuckDB has too."""
    if kind != "numeric" or modifier < 4:
        return None
    precision, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
    return (precision, scale) if scale <= precision <= 38 else None
