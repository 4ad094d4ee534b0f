"""A Spark session over tables of Parquet files, whose files are the same before and after each question.

Spark has no transaction over tables. What fixes a state here is the list of a table's files with size and time of the
last write: it is taken at opening, and a count during which it changed is never handed on. Only :meth:`sql` of the
session is used, as Spark Connect has it (not tested there). Spark's own messages quote rows: none leaves here.
"""

from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from typing import Any, TypeVar

import pyarrow as pa

from dpsql.engine.spark.dialect import SparkDialect, identifier
from dpsql.engine.sql.dialect import Family, SqlColumn, SqlTable
from dpsql.errors import EngineError

T = TypeVar("T")
_FAMILIES: dict[str, Family] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "moment"),
    **dict.fromkeys(("string", "varchar", "char"), "string"),
    "decimal": "decimal",
    "boolean": "boolean",
    "date": "date",
    "binary": "bytes",
}
_NESTED = ("array", "map", "struct")
_UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
_ZONE = "spark.sql.session.timeZone"
_FILES = """
    SELECT DISTINCT _metadata.file_path AS path, _metadata.file_size AS size,
        unix_micros(_metadata.file_modification_time) AS written FROM {}
"""
_ELSEWHERE = "keep its rows as a table USING parquet, or copy them: dpsql.extract({name: rows}, policy, path)"


class SparkDatabase:
    """The catalog of an open session, which stays open. EngineError where its time zone is not UTC."""

    name = "spark"

    def __init__(self, session: Any) -> None:
        self._session: Any = session
        self._failures = _failures()
        self._files: dict[str, list[tuple[Any, ...]]] = {}
        self.dialect = SparkDialect()
        if int(str(session.version).partition(".")[0]) < 4:
            raise EngineError("Spark before version 4 is not counted in", hint="extract its tables")
        place = "SELECT current_catalog() AS c, current_schema() AS s"
        ((catalog, schema),) = self._read("asking for the catalog", place)
        told = self._quietly("asking for the catalog", lambda: session.conf.get("spark.sql.warehouse.dir"))
        self._address = f"spark://{catalog}.{schema}/{sha256(str(told).encode()).hexdigest()[:16]}"

    @property
    def address(self) -> str:
        """Catalog and schema, and a digest of the warehouse's folder, which may hold a key."""
        return self._address

    def table(self, name: str) -> SqlTable | None:
        """A table of Parquet files in the current schema; other tables and views are refused."""
        what, quoted = f"looking for {name}", identifier(name)
        if not self._quietly(what, lambda: self._session.catalog.tableExists(quoted)):
            return None
        told = self._read(what, f"DESCRIBE TABLE EXTENDED {quoted}")
        known = {key: value for key, value, _ in told[_details(told) :]}
        if known.get("Type") not in ("MANAGED", "EXTERNAL") or known.get("Provider", "").lower() != "parquet":
            raise EngineError(
                f"{name} is a view, or no table of Parquet files: no state of it can be held", hint=_ELSEWHERE
            )
        parts = (known.get("Catalog", "spark_catalog"), known["Database"], known["Table"])
        sql = ".".join(map(identifier, parts))
        fields = self._quietly(what, lambda: self._session.table(sql).schema.fields)
        columns = tuple(_described(name, f.name, f.dataType.simpleString()) for f in fields)
        self._files.setdefault(sql, self._listed(sql))
        return SqlTable(known["Table"], sql, columns, is_base_table=True)

    def behind(self, table: SqlTable) -> tuple[SqlTable, ...]:
        """Itself: there are no views."""
        return (table,)

    def rows(self, what: str, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query over one state of its tables."""
        return [tuple(row.values()) for row in self.arrow(what, sql).to_pylist()]

    def arrow(self, what: str, sql: str) -> pa.Table:
        """The same as an Arrow table."""
        found = self._fetched(what, sql)
        for table, files in self._files.items():
            if table in sql and self._listed(table) != files:
                raise EngineError(
                    f"the files of {table} are others than at opening",
                    hint="open again once nobody writes to them; a ledger is about the rows that it began with",
                )
        return found

    def public(self, table: SqlTable) -> pa.Table:
        return self.arrow(f"reading the public table {table.name}", f"SELECT * FROM {table.sql}")

    def close(self) -> None:
        """The session is its owner's and goes on."""
        self._session = None

    def _listed(self, table: str) -> list[tuple[Any, ...]]:
        what = "listing the files of a table"
        self._quietly(what, lambda: self._session.sql(f"REFRESH TABLE {table}"))
        return sorted(self._read(what, _FILES.format(table)))

    def _read(self, what: str, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self._fetched(what, sql).to_pylist()]

    def _fetched(self, what: str, sql: str) -> pa.Table:
        if self._session is None:
            raise EngineError("the connection to the private database is closed", hint="open a new one")
        if self._quietly(what, lambda: self._session.conf.get(_ZONE)) not in _UTC:
            raise EngineError("the session's time zone is not UTC", hint=f'spark.conf.set("{_ZONE}", "UTC")')
        found: pa.Table = self._quietly(what, lambda: self._session.sql(sql).toArrow())
        return found

    def _quietly(self, what: str, work: Callable[[], T]) -> T:
        """``work()``; a failure is raised as ours, after the ``except`` block, so that it carries no trace."""
        try:
            return work()
        except self._failures:
            pass
        raise EngineError(f"Spark failed while {what}", hint="look into the driver's log; it may quote rows")


def _details(told: list[tuple[Any, ...]]) -> int:
    """Where the description of the table begins, after its columns, which may have any name."""
    marks = [i for i, row in enumerate(told) if row[0] == "# Detailed Table Information"]
    return marks[-1] if marks else len(told)


def _described(table: str, name: str, kind: str) -> SqlColumn:
    """EngineError for a type whose values other engines know by a text that Spark does not write."""
    base = kind.partition("(")[0].partition(" ")[0].lower()
    family = _FAMILIES.get(base, "other")
    if family == "other" and base.partition("<")[0] not in _NESTED and not base.startswith("interval"):
        raise EngineError(f"{table} has a column of type {base}, which is not counted in Spark", hint=_ELSEWHERE)
    return SqlColumn(name, kind, family)


def _failures() -> tuple[type[Exception], ...]:
    """What a session raises; those of the wire only where they are installed."""
    found: list[type[Exception]] = [OSError, pa.ArrowException]
    for module, name in (
        ("pyspark.errors", "PySparkException"),
        ("py4j.protocol", "Py4JError"),
        ("grpc", "RpcError"),
    ):
        try:
            found.append(getattr(import_module(module), name))
        except ImportError:
            continue
    return tuple(found)
