"""Parquet and CSV files as a source: one file, a pattern, or a folder of them, hive partitions included.

Files are listed once, and must be the same when they have been read: one that was written meanwhile is refused.
The types of csv columns are guessed from all rows, but what is declared as strings is read as it is written: a guess
would make 'yes' a boolean, 'true', and one row of another kind decide how all others are read.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from hashlib import sha256
from pathlib import Path

import duckdb

from dpsql.engine.duckdb.catalog import described
from dpsql.engine.duckdb.importing import is_file_of_rows, is_parquet
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.extracting.source import Reading, Relation
from dpsql.errors import EngineError

_SIGNS = "*?["


@dataclass(frozen=True)
class FilesSource:
    """``pattern``: a file, a folder, or a pattern with ``*``, ``**`` and ``?``, whose files are all of one kind."""

    pattern: str

    holds_one_table = True

    @contextmanager
    def open(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Reading]:
        """EngineError when there is no such file, when kinds are mixed, and when a file changed while it was read."""
        files = _files(self.pattern)
        before = _state(files)
        name = os.path.abspath(self.pattern)  # noqa: PTH100 - links are part of a name
        yield _FilesReading(name, before, files, connection)
        if _state(_files(self.pattern)) != before:
            raise EngineError(
                f"{self.pattern} was written to while it was read", hint="extract again once its writer has finished"
            )


@dataclass(frozen=True)
class _FilesReading:
    address: str
    snapshot: str
    files: tuple[Path, ...]
    connection: duckdb.DuckDBPyConnection

    def relation(
        self,
        table: str,
        columns: Sequence[str] | None,
        *,
        unit: str | None = None,
        strings: Sequence[str] = (),
        private: bool = True,
    ) -> Relation:
        listed = "[" + ", ".join("'" + str(f).replace("'", "''") + "'" for f in self.files) + "]"
        keys, wanted = _folder_keys(self.files), {name.lower() for name in strings}
        options = "union_by_name = true"
        if keys:
            options += (
                f", hive_partitioning = true{_as_strings('hive_types', [k for k in keys if k.lower() in wanted])}"
            )
        if is_parquet(self.files[0]):
            return Relation(f"read_parquet({listed}, {options})")
        guessed = f"{listed}, {options}, sample_size = -1"
        if wanted:
            found = described(Reader(self.connection), f"read_csv({guessed})").columns
            own = [name for name, _ in found if name.lower() in wanted and name not in keys]
            guessed += _as_strings("types", own)
        return Relation(f"read_csv({guessed})")


def _as_strings(option: str, names: Sequence[str]) -> str:
    """DuckDB's option that reads these columns as strings; empty for none."""
    listed = ", ".join("'" + name.replace("'", "''") + "': 'VARCHAR'" for name in names)
    return f", {option} = {{{listed}}}" if names else ""


def _files(pattern: str) -> tuple[Path, ...]:
    path = Path(pattern)
    if os.path.isdir(path):  # noqa: PTH112 - a name too long is an error of Path's, and of no folder here
        found = [p for p in path.rglob("*") if is_file_of_rows(p)]
    elif any(sign in pattern for sign in _SIGNS):
        found = [p for p in map(Path, glob(pattern, recursive=True)) if not p.is_dir()]  # noqa: PTH207 - may be absolute
    else:
        found = [path]
    found = sorted(p for p in found if not p.name.startswith((".", "_")))
    if not found or not all(os.path.isfile(p) for p in found):  # noqa: PTH113
        raise EngineError(f"there are no files {pattern}", hint="name a parquet or csv file, a folder, or a pattern")
    if any(sign in str(p) for p in found for sign in _SIGNS):
        raise EngineError(f"a file of {pattern} is named like a pattern", hint="rename it, without * ? [")
    if len({(is_file_of_rows(p), is_parquet(p)) for p in found}) != 1 or not is_file_of_rows(found[0]):
        raise EngineError(f"{pattern} has files of several kinds", hint="name the parquet files or the csv files alone")
    return tuple(found)


def _folder_keys(files: Sequence[Path]) -> tuple[str, ...]:
    """The keys of folders that are named ``key=value``, where they are the same for each file."""
    keys = {tuple(part.partition("=")[0] for part in f.parts[:-1] if "=" in part) for f in files}
    return keys.pop() if len(keys) == 1 else ()


def _state(files: Sequence[Path]) -> str:
    """Names, sizes and times of the last write of all files, as one digest."""
    told = []
    for file in files:
        try:
            found = file.stat()
        except OSError:
            found = None
        told.append((str(file), None) if found is None else (str(file), found.st_size, found.st_mtime_ns, found.st_ino))
    return f"{len(files)} files {sha256(repr(told).encode()).hexdigest()[:32]}"
