"""Tables of Delta and Iceberg as sources: one version of a table, whose files are never written again.

Both name a state of a table for ever, until it is expired. Their readers are extras, loaded when they are first needed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from dpsql.engine.extracting.frames import stream_relation
from dpsql.engine.extracting.source import Reading, Relation
from dpsql.errors import EngineError

_ICEBERG = ".metadata.json"


def is_delta(path: Path) -> bool:
    """Whether a folder is a table of Delta."""
    return (path / "_delta_log").is_dir()


def is_iceberg(path: Path) -> bool:
    """Whether a file is the metadata of an Iceberg table, which names one snapshot of it."""
    return path.name.endswith(_ICEBERG)


@dataclass(frozen=True)
class DeltaSource:
    """The newest version of the table in a folder, when it is opened."""

    path: Path

    holds_one_table = True

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Reading]:
        """EngineError without the reader, or for a table that it cannot read."""
        table = _opened("deltalake", str(self.path), lambda module: module.DeltaTable(str(self.path)))

        def stream(columns: list[str] | None) -> pa.RecordBatchReader:
            return table.to_pyarrow_dataset().scanner(columns=columns).to_reader()

        snapshot = f"{table.metadata().id} version {table.version()}"
        names = [str(field.name) for field in table.schema().fields]
        yield _LakeReading(connection, str(self.path.resolve()), snapshot, tuple(names), stream)


@dataclass(frozen=True)
class IcebergSource:
    """The snapshot that a metadata file calls the current one."""

    path: Path

    holds_one_table = True

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Reading]:
        """EngineError without the reader, or for a table that it cannot read."""
        path = str(self.path)
        table = _opened("pyiceberg.table", path, lambda module: module.StaticTable.from_metadata(path))
        current = table.current_snapshot()
        if current is None:
            raise EngineError(f"the table of {path} has no snapshot", hint="name a later metadata file")

        def stream(columns: list[str] | None) -> pa.RecordBatchReader:
            chosen = ("*",) if columns is None else tuple(columns)
            return table.scan(selected_fields=chosen, snapshot_id=current.snapshot_id).to_arrow_batch_reader()

        snapshot = f"{table.metadata.table_uuid} snapshot {current.snapshot_id}"
        names = tuple(str(field.name) for field in table.schema().fields)
        yield _LakeReading(connection, str(table.location()), snapshot, names, stream)


@dataclass(frozen=True, eq=False)
class _LakeReading:
    connection: duckdb.DuckDBPyConnection
    address: str
    snapshot: str
    names: tuple[str, ...]
    stream: Any

    def relation(
        self, table: str, columns: Sequence[str] | None, *, unit: str | None = None, private: bool = True
    ) -> Relation:
        wanted = None
        if columns is not None:
            asked = {name.lower() for name in columns}
            wanted = [name for name in self.names if name.lower() in asked]
        try:
            return stream_relation(self.connection, self.stream(wanted))
        except Exception:  # noqa: BLE001 - the readers raise what they like, and may quote values
            failure = EngineError(f"{self.address} cannot be read", hint="see with its own reader why")
        raise failure


def _opened(module: str, path: str, work: Any) -> Any:
    package = module.partition(".")[0]
    try:
        found = import_module(module)
    except ImportError:
        missing = EngineError(f"{path} needs {package}", hint="pip install 'dpsql[lakehouse]'")
    else:
        try:
            return work(found)
        except Exception:  # noqa: BLE001 - as above
            missing = EngineError(f"{path} cannot be read by {package}", hint="see with its own reader why")
    raise missing
