"""A DuckDB file as a source, its views over files included: an extract is the way of the owner, who may read them.

DuckDB lets nobody write to a file that is open for reading, and all tables are read in one transaction.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from dpsql.dialect.calls import without_cause
from dpsql.dialect.quoting import identifier
from dpsql.engine.duckdb.catalog import Catalog, base_tables, missing
from dpsql.engine.duckdb.identity.file_state import FileState
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.extracting.source import Reading, Relation
from dpsql.errors import EngineError, PolicyError


@dataclass(frozen=True)
class DuckDbSource:
    """The database at ``path``."""

    path: Path

    holds_one_table = False

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Reading]:
        """EngineError when it is no DuckDB file, or is open for writing."""
        name = f"source_{abs(hash(self.path)):x}"
        literal = "'" + str(self.path).replace("'", "''") + "'"
        refused = EngineError(
            f"{self.path} cannot be read as a DuckDB database",
            hint="close the connections that have it open, and see with the duckdb shell whether it opens",
        )
        without_cause(
            lambda: connection.execute(f"ATTACH {literal} AS {name} (READ_ONLY)").fetchall(), lambda _: refused
        )
        state = FileState.of(self.path)
        try:
            yield _DuckDbReading(str(self.path.resolve()), "" if state is None else state.text, connection, name)
        finally:
            with suppress(duckdb.Error):
                connection.execute(f"USE memory; DETACH {name}").fetchall()


@dataclass(frozen=True)
class _DuckDbReading:
    address: str
    snapshot: str
    connection: duckdb.DuckDBPyConnection
    name: str

    def relation(
        self,
        table: str,
        columns: Sequence[str] | None,
        *,
        unit: str | None = None,
        strings: Sequence[str] = (),
        private: bool = True,
    ) -> Relation:
        reader = Reader(self.connection)
        reader.rows("opening its catalog", f"USE {identifier(self.name)}")
        catalog = Catalog(reader)
        source = catalog.source(table)
        if source is None:
            raise missing(table, catalog.names, f"tables.{table}" if private else "public.tables")
        if source.origin is not None:
            raise EngineError(
                f"{self.address} is an extract itself", hint="extract from what it was made of, or copy the file"
            )
        if not private and base_tables(reader, source) != (source.sql,):
            raise PolicyError(
                f"{table!r} is a view, and may show rows of a private table",
                path="public.tables",
                hint="publish a table of its own, made from what everybody may know",
            )
        return Relation(source.sql, view=not source.is_base_table)
