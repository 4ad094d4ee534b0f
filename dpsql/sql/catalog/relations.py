"""The relations of a database's catalog, as SELECTs over constants that the policy makes. All public.

DuckDB's own catalog would show what the policy does not declare: names, sizes, checks. So its relations are written
anew, with the columns that tools read; what would be a private number is NULL.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from dpsql.dialect.quoting import identifier
from dpsql.dialect.types import type_name
from dpsql.domain import CategoryDomain, ColumnDomain, FiniteDomain, TextDomain
from dpsql.errors import UnknownName
from dpsql.policy import Policy
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.text.spellings import DATABASE, SCHEMA

_DIGITS = {"BIGINT": (64, 2, 0), "DOUBLE": (53, 2, None)}

PublicColumns = Callable[[str], Sequence[tuple[str, str]]]
"""Names and DuckDB types of a public table's columns."""


class _Column(NamedTuple):
    table: str
    name: str
    position: int
    sql_type: str
    nullable: bool
    domain: ColumnDomain | None


class Catalog:
    """The catalog of one policy: its private tables, then its public ones."""

    def __init__(self, policy: Policy, public_columns: PublicColumns) -> None:
        self._policy = policy
        self._public_columns = public_columns

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that an analyst may name."""
        return (*(t.name for t in self._policy.tables), *self._policy.public_tables)

    def public_tables(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Names and DuckDB types of the columns of each public table."""
        return {name: tuple(self._public_columns(name)) for name in self._policy.public_tables}

    def known(self, name: str, line: int | None = None, column: int | None = None) -> str:
        """The table of this name as the policy writes it. Raises UnknownName."""
        for table in self.names:
            if table.lower() == name.lower():
                return table
        raise UnknownName(
            f"there is no table {name[:80]!r}",
            name=name,
            line=line,
            column=column,
            hint="SHOW TABLES lists what exists",
        )

    def relation(self, schema: str, name: str, argument: str | None = None) -> str | None:
        """The SELECT that stands for a relation or, with ``schema`` "()", a table function; ``None`` for others."""
        match schema, name:
            case "information_schema", "tables":
                return _select(_TABLES, [(DATABASE, SCHEMA, t, "BASE TABLE", "NO", "NO") for t in self.names])
            case "information_schema", "columns":
                return _select(_COLUMNS, [self._described(c) for c in self._columns()])
            case "information_schema", "schemata":
                return _select(_SCHEMATA, [(DATABASE, SCHEMA, "duckdb")])
            case "()", "duckdb_tables":
                return _select(
                    _DUCKDB_TABLES, [(DATABASE, SCHEMA, t, False, False, self._count(t)) for t in self.names]
                )
            case "()", "duckdb_columns":
                return _select(_DUCKDB_COLUMNS, [self._described_by_duckdb(c) for c in self._columns()])
            case "()", "duckdb_schemas":
                return _select(_DUCKDB_SCHEMAS, [(DATABASE, SCHEMA, True)])
            case "()", "duckdb_databases":
                return _select(_DUCKDB_DATABASES, [(DATABASE, False, "duckdb", True)])
            case "()", "duckdb_views":
                return _select(_DUCKDB_VIEWS, [])
            case "()", "pragma_table_info" if argument is not None:
                of = [c for c in self._columns() if c.table == self.known(argument)]
                return _select(_TABLE_INFO, [(c.position - 1, c.name, c.sql_type, not c.nullable, False) for c in of])
        return None

    def described(self, table: str) -> str:
        """What DESCRIBE shows of a table; what is declared of a column stands under ``extra``."""
        of = [c for c in self._columns() if c.table == table]
        return describing([(c.name, c.sql_type, c.nullable, _declared(c.domain)) for c in of])

    def summarized(self, table: str) -> str:
        """What SUMMARIZE shows of a table: declared ranges and numbers of values; every number of rows is NULL."""
        rows = []
        for c in self._columns():
            if c.table == table:
                low, high, values = _range(c.domain)
                rows.append((c.name, c.sql_type, low, high, values))
        return _select(_SUMMARY, rows)

    def listed(self) -> str:
        """What SHOW ALL TABLES shows."""
        columns = f"SELECT * FROM ({self.relation('information_schema', 'columns')}) AS c ORDER BY ordinal_position"
        return (
            "SELECT table_catalog AS database, table_schema AS schema, table_name AS name, "
            "list(column_name ORDER BY ordinal_position) AS column_names, "
            "list(data_type ORDER BY ordinal_position) AS column_types, FALSE AS temporary "
            f"FROM ({columns}) AS c GROUP BY 1, 2, 3 ORDER BY 3"
        )

    def _columns(self) -> Iterator[_Column]:
        for table in self._policy.tables:
            for i, domain in enumerate(table.columns, start=1):
                yield _Column(table.name, domain.name, i, domain.sql_type, domain.nullable, domain)
        for name in self._policy.public_tables:
            for i, (column, sql_type) in enumerate(self._public_columns(name), start=1):
                yield _Column(name, column, i, sql_type, True, None)

    def _count(self, table: str) -> int:
        return sum(c.table == table for c in self._columns())

    def _described(self, c: _Column) -> tuple[object, ...]:
        digits = _DIGITS.get(c.sql_type, (None, None, None))
        nullable = "YES" if c.nullable else "NO"
        return (DATABASE, SCHEMA, c.table, c.name, c.position, nullable, c.sql_type, *digits, _declared(c.domain))

    def _described_by_duckdb(self, c: _Column) -> tuple[object, ...]:
        digits = _DIGITS.get(c.sql_type, (None, None, None))
        said = _declared(c.domain)
        return (DATABASE, SCHEMA, c.table, c.name, c.position, said, False, c.nullable, c.sql_type, *digits)


def catalog_of(policy: Policy, public: PublicSql) -> Catalog:
    """The catalog of a policy; the columns of public tables are looked up when they are asked for."""

    def columns(table: str) -> list[tuple[str, str]]:
        found = public.run(f"FROM {identifier(table)} LIMIT 0", {}, [table]).schema
        return [(name, type_name(kind)) for name, kind in zip(found.names, found.types, strict=True)]

    return Catalog(policy, columns)


def describing(rows: Sequence[tuple[str, str, bool, str | None]]) -> str:
    """The SELECT of what DESCRIBE shows: name, type, whether NULL may be, what is declared."""
    return _select(_DESCRIBE, [(name, kind, "YES" if null else "NO", extra) for name, kind, null, extra in rows])


def _declared(domain: ColumnDomain | None) -> str | None:
    match domain:
        case None:
            return None
        case CategoryDomain():
            return f"{len(domain.values):,} values"
    return domain.words


def _range(domain: ColumnDomain | None) -> tuple[str | None, str | None, int | None]:
    """Least and greatest declared value, and how many there are; ``None`` where there is no such list."""
    if domain is None or isinstance(domain, TextDomain):
        return None, None, None
    values = [str(v).lower() if isinstance(v, bool) else str(v) for v in _ends(domain)]
    ordered = values if domain.ordered else [min(values), max(values)]
    binned = getattr(domain, "is_binned", False)
    return ordered[0], ordered[-1], None if binned else len(domain.values)


def _ends(domain: FiniteDomain) -> Sequence[object]:
    """Of a domain in order its ends, of others all values."""
    match domain:
        case CategoryDomain():
            return domain.values
        case _ if domain.kind == "number":
            return (domain.edges[0], domain.edges[-1])
        case _ if domain.kind in ("integer", "date"):
            return (domain.low, domain.high)
    return domain.values


_Wanted = Sequence[tuple[str, str, bool]]
"""Columns of a relation: name, type, and whether a row gives it; the others are NULL."""


def _wanted(text: str) -> _Wanted:
    """From ``name TYPE`` and, for what is NULL in every row, ``name TYPE -``."""
    parts = [line.split() for line in text.split(",")]
    return [(p[0], p[1], len(p) < 3) for p in parts]


_TABLES = _wanted(
    "table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, table_type VARCHAR, "
    "self_referencing_column_name VARCHAR -, reference_generation VARCHAR -, user_defined_type_catalog VARCHAR -, "
    "user_defined_type_schema VARCHAR -, user_defined_type_name VARCHAR -, is_insertable_into VARCHAR, "
    "is_typed VARCHAR, commit_action VARCHAR -, TABLE_COMMENT VARCHAR -"
)
_COLUMNS = _wanted(
    "table_catalog VARCHAR, table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR, ordinal_position INTEGER, "
    "column_default VARCHAR -, is_nullable VARCHAR, data_type VARCHAR, character_maximum_length INTEGER -, "
    "character_octet_length INTEGER -, numeric_precision INTEGER, numeric_precision_radix INTEGER, "
    "numeric_scale INTEGER, datetime_precision INTEGER -, COLUMN_COMMENT VARCHAR"
)
_SCHEMATA = _wanted("catalog_name VARCHAR, schema_name VARCHAR, schema_owner VARCHAR, sql_path VARCHAR -")
_DUCKDB_TABLES = _wanted(
    "database_name VARCHAR, schema_name VARCHAR, table_name VARCHAR, comment VARCHAR -, internal BOOLEAN, "
    "temporary BOOLEAN, has_primary_key BOOLEAN -, estimated_size BIGINT -, column_count BIGINT, index_count BIGINT -, "
    "check_constraint_count BIGINT -, sql VARCHAR -"
)
_DUCKDB_COLUMNS = _wanted(
    "database_name VARCHAR, schema_name VARCHAR, table_name VARCHAR, column_name VARCHAR, column_index INTEGER, "
    "comment VARCHAR, internal BOOLEAN, column_default VARCHAR -, is_nullable BOOLEAN, data_type VARCHAR, "
    "character_maximum_length INTEGER -, numeric_precision INTEGER, numeric_precision_radix INTEGER, "
    "numeric_scale INTEGER"
)
_DUCKDB_SCHEMAS = _wanted(
    "database_name VARCHAR, schema_name VARCHAR, comment VARCHAR -, internal BOOLEAN, sql VARCHAR -"
)
_DUCKDB_DATABASES = _wanted(
    "database_name VARCHAR, path VARCHAR -, comment VARCHAR -, internal BOOLEAN, type VARCHAR, readonly BOOLEAN"
)
_DUCKDB_VIEWS = _wanted("database_name VARCHAR, schema_name VARCHAR, view_name VARCHAR, sql VARCHAR")
_TABLE_INFO = _wanted("cid INTEGER, name VARCHAR, type VARCHAR, notnull BOOLEAN, dflt_value VARCHAR -, pk BOOLEAN")
_DESCRIBE = _wanted(
    "column_name VARCHAR, column_type VARCHAR, null VARCHAR, key VARCHAR -, default VARCHAR -, extra VARCHAR"
)
_SUMMARY = _wanted(
    "column_name VARCHAR, column_type VARCHAR, min VARCHAR, max VARCHAR, approx_unique BIGINT, avg VARCHAR -, "
    "std VARCHAR -, q25 VARCHAR -, q50 VARCHAR -, q75 VARCHAR -, count BIGINT -, null_percentage DOUBLE -"
)


def _select(wanted: _Wanted, rows: Sequence[tuple[object, ...]]) -> str:
    """A SELECT of the rows, every column of its type; of none where there are no rows."""
    given = [i for i, (_, _, is_given) in enumerate(wanted) if is_given]
    place = {i: f"v{n}" for n, i in enumerate(given)}
    items = [f'CAST({place.get(i, "NULL")} AS {kind}) AS "{name}"' for i, (name, kind, _) in enumerate(wanted)]
    shown = rows or [(None,) * len(given)]
    values = ", ".join(f"({', '.join(_literal(v) for v in row)})" for row in shown)
    text = f"SELECT {', '.join(items)} FROM (VALUES {values}) AS v({', '.join(place.values())})"
    return text if rows else f"{text} WHERE v0 IS NOT NULL"


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int):
        return str(value).upper()
    return "'" + str(value).replace("'", "''") + "'"
