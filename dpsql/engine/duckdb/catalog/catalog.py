"""What the database's catalog says about tables and columns. Reads no rows.

Names, types and views decide which policies fit a database. Reading them apart from the rows keeps it obvious that
opening a table looks at no data.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from dpsql.dialect.quoting import identifier, written
from dpsql.domain import TableDomain
from dpsql.engine.duckdb.catalog.source import Source
from dpsql.engine.duckdb.catalog.views import about_tables, base_tables
from dpsql.engine.duckdb.codes import fits
from dpsql.engine.duckdb.derived import derived_sql
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.origin import Origin, units_of
from dpsql.errors import EngineError, PolicyError
from dpsql.policy import Policy

_NAMES = """
    SELECT database_name, schema_name, name, comment, stored AND database_name IN (
        SELECT database_name FROM duckdb_databases() WHERE type = 'duckdb')  -- elsewhere a view may look like a table
    FROM (SELECT database_name, schema_name, table_name AS name, comment, internal, true AS stored FROM duckdb_tables()
          UNION ALL SELECT database_name, schema_name, view_name, NULL, internal, false FROM duckdb_views())
    WHERE NOT internal AND database_name = current_database()
    ORDER BY schema_name <> current_schema() ASC, schema_name ASC, name ASC
"""

_MACROS = """
    SELECT DISTINCT function_name FROM duckdb_functions()
    WHERE NOT internal AND database_name = current_database() AND schema_name = current_schema()
"""
_BUILT_IN = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE internal"


def own_file(reader: Reader) -> str:
    """The path of the database's file, symbolic links resolved; "" for one in memory."""
    found = reader.rows(
        "asking for its path", "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
    )
    return str(Path(found[0][0]).resolve()) if found and found[0][0] else ""


def attached_files(reader: Reader, tables: Iterable[str]) -> tuple[str, ...]:
    """The files of attached databases that these tables, as quoted SQL, are in: paths, symbolic links resolved.

    Of DuckDB's and SQLite's alone: others are no files, and an address may hold a password.
    """
    found = reader.rows(
        "listing attached databases",
        "SELECT database_name, path FROM duckdb_databases() "
        "WHERE database_name <> current_database() AND path <> '' AND type IN ('duckdb', 'sqlite')",
    )
    files = {identifier(name) + ".": path for name, path in found}
    used = {str(Path(path).resolve()) for name, path in files.items() if any(sql.startswith(name) for sql in tables)}
    return tuple(sorted(used))


def tables_behind(reader: Reader, views: Iterable[Source], public: Iterable[Source]) -> list[Source]:
    """The tables that these views read, but for ``public`` ones."""
    behind = {sql for view in views for sql in set(base_tables(reader, view)) - {view.sql}}
    return [described(reader, sql) for sql in sorted(behind - {source.sql for source in public})]


def described(reader: Reader, sql: str) -> Source:
    """The source that quoted SQL names."""
    rows = reader.rows(f"reading the columns of {sql}", f"DESCRIBE FROM {sql}")
    return Source(sql, tuple((str(row[0]), str(row[1])) for row in rows))


class Catalog:
    """Tables and views of the current database; the current schema goes first when a name occurs twice."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._check_functions()
        self._names: dict[str, tuple[str, str, str]] = {}
        self._stored: dict[str, bool] = {}
        self._origins: dict[str, Origin | None] = {}
        hidden: list[tuple[str, str]] = []
        for database, schema, name, comment, stored in reader.rows("listing its tables", _NAMES):
            if name.lower() in self._names:
                hidden.append((_dotted(schema, name), _dotted(*self._names[name.lower()][1:])))
            self._names.setdefault(name.lower(), (database, schema, name))
            self._stored.setdefault(name.lower(), bool(stored))
            self._origins.setdefault(name.lower(), Origin.of(comment))
        self.hidden = tuple(hidden)
        """Tables that cannot be named, for the second one of a pair has their name in a schema that goes first."""

    def _check_functions(self) -> None:
        """EngineError where a macro would be called in place of DuckDB's own function: it may fail on some rows, or
        give numbers that no bound is kept of."""
        what = "listing its macros"
        macros = {str(name).lower() for (name,) in self.reader.rows(what, _MACROS)}
        if macros:
            macros &= {str(name).lower() for (name,) in self.reader.rows(what, _BUILT_IN)}
        if macros:
            raise EngineError(
                f"the database has a macro {min(macros)}, which stands in the way of DuckDB's function of that name",
                hint="drop it, or make it under another name instead: rows and ledger stay as they are",
            )

    @property
    def names(self) -> tuple[str, ...]:
        """As written in the database."""
        return tuple(name for _, _, name in self._names.values())

    def source(self, name: str) -> Source | None:
        """The table or view of that name (in any case), or None."""
        found = self._names.get(name.lower())
        if found is None:
            return None
        sql = ".".join(identifier(part) for part in found)
        stored, origin = self._stored[name.lower()], self._origins[name.lower()]
        if not stored:
            self._check_readable(found[2], sql)
        is_base_table = stored and not (origin is not None and origin.view)
        return replace(described(self.reader, sql), is_base_table=is_base_table, origin=origin)

    def _check_readable(self, name: str, sql: str) -> None:
        """EngineError for a view of something else than this database's tables: a session reads no other file."""
        with suppress(EngineError):
            described(self.reader, sql)
            return
        raise EngineError(
            f"the view {name} cannot be read from this database alone: it may show rows of files or of other databases",
            hint="copy its rows once, with dpsql extract DATABASE --policy POLICY -o EXTRACT.duckdb",
        )

    def attached(self, name: str, path: str) -> PolicyError | None:
        """The error for a table that only an attached database has: USE holds for the connection that said it."""
        found = self.reader.rows(
            "listing the tables of attached databases",
            "SELECT min(database_name) FROM (FROM duckdb_tables() SELECT database_name, table_name AS name, temporary "
            "UNION ALL FROM duckdb_views() SELECT database_name, view_name, temporary WHERE NOT internal) "
            "WHERE NOT temporary AND database_name <> current_database() AND lower(name) = ?",
            [name.lower()],
        )[0][0]
        if found is None:
            return None
        return PolicyError(
            f"this database has no such table or view, the attached {found} has one",
            path=path,
            hint=f"connect to the file of {found}, or create a view of its table in this database",
        )

    def details(self, name: str) -> list[tuple[str, str, bool, tuple[str, ...]]]:
        """(column, type, declared NOT NULL, values of an ENUM) of a table or view that exists."""
        sql = ".".join(identifier(part) for part in self._names[name.lower()])
        out = []
        for column, kind, null, *_ in self.reader.rows(f"reading the columns of {name}", f"DESCRIBE {sql}"):
            values: tuple[str, ...] = ()
            if str(kind).startswith("ENUM"):
                enum = f"SELECT unnest(enum_range(any_value({identifier(column)}))) FROM (SELECT * FROM {sql} LIMIT 0)"
                values = tuple(row[0] for row in self.reader.rows(f"reading the type of {column}", enum))
            out.append((str(column), str(kind), null == "NO", values))
        return out


def _dotted(schema: str, name: str) -> str:
    return f"{written(schema)}.{written(name)}"


def stored_tables(reader: Reader) -> frozenset[str]:
    """The tables, as quoted SQL, whose rows are bytes of the database's file and nothing else: no generated column."""
    found = reader.rows(
        "listing its tables",
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary "
        "AND database_name = current_database() AND NOT contains(upper(sql), 'GENERATED ALWAYS')",
    )
    return frozenset(".".join(identifier(part) for part in names) for names in found)


def private_sources(catalog: Catalog, policy: Policy) -> dict[str, Source]:
    """The source of every private table, by the table's name. PolicyError with the key's path when one does not fit."""
    out = {}
    for table in policy.tables:
        source = catalog.source(table.name)
        if source is None:
            path = f"tables.{table.name}"
            raise catalog.attached(table.name, path) or missing(table.name, catalog.names, path)
        source = with_derived(table, source)
        check_columns(table, source)
        _check_units(table, source)
        out[table.name] = source
    return out


def with_derived(table: TableDomain, source: Source) -> Source:
    """The source with the derived columns; PolicyError where one cannot be worked out or has a column's name."""
    out = []
    for derived in table.derived:
        path = f"tables.{table.name}.columns.{derived.name}"
        if source.has(derived.name):
            raise PolicyError(
                "the table has a column of this name", path=path, hint="give the derived one another name, or no sql"
            )
        sql, kind = derived_sql(derived, source.types, f"{path}.sql")
        out.append((derived.name, kind, sql))
    return replace(source, derived=tuple(out))


def _check_units(table: TableDomain, source: Source) -> None:
    """PolicyError where an extract holds some rows of each unit, and this policy would count others."""
    origin = source.origin
    if origin is not None and origin.units not in ("", units_of(table)):
        raise PolicyError(
            "this extract holds the rows of each unit that count under other columns, unit or max_rows_per_unit",
            path=f"tables.{table.name}",
            hint="extract again with this policy, or go back to the one that it was made with",
        )


def public_sources(catalog: Catalog, policy: Policy, private: Iterable[Source]) -> dict[str, Source]:
    """The source of every public table, by lower-cased name. PolicyError when one is missing or shows a private one."""
    taken = {source.sql for source in private}
    behind: set[str] = {sql for source in private for sql in base_tables(catalog.reader, source)}
    out = {}
    for name in policy.public_tables:
        source = catalog.source(name)
        if source is None:
            raise PolicyError(
                f"the database has no table or view {name!r}",
                path="public.tables",
                hint=_did_you_mean(name, catalog.names),
            )
        if source.sql in taken or name.lower() in policy.by_name:
            raise PolicyError(
                f"{name!r} is a private table", path="public.tables", hint="remove it here or under [tables]"
            )
        out[name.lower()] = source
    tables = {source.sql for source in out.values()}
    for source in private:
        shown = base_tables(catalog.reader, source)
        if shown and set(shown) <= tables:
            raise PolicyError(
                f"all rows that the private {source.sql} reads would be public",
                path="public.tables",
                hint="remove the table that has its rows here",
            )
    for name, source in out.items():
        told = about_tables(catalog.reader, source)
        if told is not None:
            raise PolicyError(
                f"{name!r} reads {told}, which tells of private tables, too",
                path="public.tables",
                hint="publish a table of its own, made from what everybody may know",
            )
        read = set(base_tables(catalog.reader, source)) - {source.sql}
        if read & ((taken | behind) - tables):
            raise PolicyError(
                f"{name!r} reads a private table",
                path="public.tables",
                hint="publish a table of its own, made from what everybody may know",
            )
    return out


def missing(table: str, existing: Iterable[str], path: str) -> PolicyError:
    """The error for a table that is not there."""
    return PolicyError("the database has no such table or view", path=path, hint=_did_you_mean(table, existing))


def check_columns(table: TableDomain, source: Source) -> None:
    """PolicyError with the key's path when a column or the unit is missing, or cannot be read as declared."""
    path = f"tables.{table.name}"
    existing = [name for name, _ in source.columns]
    for column in table.columns:
        where = f"{path}.columns.{column.name}"
        if not source.has(column.name):
            raise PolicyError("the table has no such column", path=where, hint=_did_you_mean(column.name, existing))
        kind = source.type_of(column.name)
        if not fits(column, kind):
            raise PolicyError(
                f"a column of DuckDB type {kind} cannot be declared as {column.kind}",
                path=where,
                hint=instead_of(kind, column.sql_type),
            )
    if table.unit is not None and not source.has(table.unit):
        raise PolicyError(
            f"the table has no column {table.unit!r}", path=f"{path}.unit", hint=_did_you_mean(table.unit, existing)
        )


_READ_AS = {
    "INTERVAL": "epoch(x), a number",
    "TIME": "hour(x), an integer",
    "TIME WITH TIME ZONE": "hour(x), an integer",
    "UUID": "CAST(x AS VARCHAR), a text",
}
"""By a type that no declared one fits: what a view may have in its place."""


def instead_of(kind: str, wanted: str) -> str:
    """What to declare in place of a column of this type, which is none of the declared one's.

    >>> instead_of("INTERVAL", "BIGINT")
    'declare a view that has epoch(x), a number, in its place'
    """
    if kind in _READ_AS:
        return f"declare a view that has {_READ_AS[kind]}, in its place"
    return f"declare another type, or a view that has TRY_CAST(x AS {wanted}) in its place: NULL where it is none"


def _did_you_mean(name: str, existing: Iterable[str]) -> str:
    lower = {e.lower(): e for e in existing}
    close = get_close_matches(name.lower(), lower, n=1)
    if close:
        return f"did you mean {lower[close[0]]}?"
    listed = ", ".join(list(lower.values())[:8])
    return f"it has {listed}" if listed else "the database is empty"
