"""Tables of Delta and Iceberg as sources: one version of a table, whose files are never written again.

Both name a state of a table for ever, until it is expired. Their readers are extras, loaded when they are first needed.
An older state is named behind the path, as Delta's own paths do: ``visits@v3``, ``00004.metadata.json@8744736658``.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
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
_AT = re.compile(r"(?P<path>.+)@(?P<version>v?[0-9]{1,19})")


def lake_source(text: str) -> "DeltaSource | IcebergSource | None":
    """The source of a path of Delta or Iceberg, with ``@`` and a state behind it or without; ``None`` for another path.

    >>> lake_source("00004.metadata.json@8744736658"), lake_source("visits.parquet")
    (IcebergSource(path=PosixPath('00004.metadata.json'), version=8744736658), None)
    """
    path, version = Path(text), None
    there = os.path.exists(path)  # noqa: PTH110 - a name too long is an error of Path's, and of no file here
    found = None if there else _AT.fullmatch(text)  # what is there has its own name, whatever is in it
    if found is not None:
        path, version = Path(found["path"]), int(found["version"].removeprefix("v"))
    if os.path.isdir(path / "_delta_log"):  # noqa: PTH112
        return DeltaSource(path, version)
    return IcebergSource(path, version) if path.name.endswith(_ICEBERG) else None


@dataclass(frozen=True)
class DeltaSource:
    """A version of the table in a folder; ``None``: the newest when it is opened."""

    path: Path
    version: int | None = None

    holds_one_table = True

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Reading]:
        """EngineError without the reader, or for a table that it cannot read."""
        table = _opened("deltalake", str(self.path), lambda module: module.DeltaTable(str(self.path)))
        if self.version is not None:
            newest, found = table.version(), False
            with suppress(Exception):  # the readers raise what they like, and may quote values
                table.load_as_version(self.version)
                found = True
            if not found:
                raise _no_state(self.path, f"version {self.version}", f"{self.path}@v{newest}, its newest")

        def stream(columns: list[str] | None) -> pa.RecordBatchReader:
            return table.to_pyarrow_dataset().scanner(columns=columns).to_reader()

        snapshot = f"{table.metadata().id} version {table.version()}"
        names = [str(field.name) for field in table.schema().fields]
        yield _LakeReading(connection, str(self.path.resolve()), snapshot, tuple(names), stream)


@dataclass(frozen=True)
class IcebergSource:
    """A snapshot that a metadata file lists; ``None``: the one that it calls the current one."""

    path: Path
    version: int | None = None

    holds_one_table = True

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Reading]:
        """EngineError without the reader, or for a table that it cannot read."""
        path = str(self.path)
        table = _opened("pyiceberg.table", path, lambda module: module.StaticTable.from_metadata(path))
        newest = table.current_snapshot()
        if newest is None:
            raise EngineError(f"the table of {path} has no snapshot", hint="name a later metadata file")
        current = newest if self.version is None else table.snapshot_by_id(self.version)
        if current is None:
            raise _no_state(self.path, f"snapshot {self.version}", f"{path}@{newest.snapshot_id}, its newest")

        def stream(columns: list[str] | None) -> pa.RecordBatchReader:
            chosen = ("*",) if columns is None else tuple(columns)
            return table.scan(selected_fields=chosen, snapshot_id=current.snapshot_id).to_arrow_batch_reader()

        snapshot = f"{table.metadata.table_uuid} snapshot {current.snapshot_id}"
        schema = table.schemas().get(current.schema_id, table.schema())
        names = tuple(str(field.name) for field in schema.fields)
        yield _LakeReading(connection, str(table.location()), snapshot, names, stream)


@dataclass(frozen=True, eq=False)
class _LakeReading:
    connection: duckdb.DuckDBPyConnection
    address: str
    snapshot: str
    names: tuple[str, ...]
    stream: Any

    def relation(
        self,
        table: str,
        columns: Sequence[str] | None,
        *,
        unit: str | None = None,
        strings: Sequence[str] = (),
        private: bool = True,
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


def _no_state(path: Path, what: str, other: str) -> EngineError:
    return EngineError(f"{path} has no {what}, or it is expired", hint=f"name one that it has: {other}")


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
