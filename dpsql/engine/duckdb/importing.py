"""A csv or parquet file of the owner's as a DuckDB database, so that a policy can be drafted for it.

Sessions read databases only: a file of rows has no types of its own, no second table, and nothing that stands still.
"""

import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

import duckdb

from dpsql.dialect.calls import LOCKED, without_cause
from dpsql.dialect.quoting import identifier, written
from dpsql.errors import EngineError, Error

_DELIMITED = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")
_PARQUET = (".parquet", ".pq")
_SEPARATOR = re.compile(r"[,;|\t]")
_READS = {"enable_external_access": "true", "lock_configuration": "false"}


def is_file_of_rows(path: Path) -> bool:
    """Whether a file is csv or parquet, by its name.

    >>> is_file_of_rows(Path("people.CSV")), is_file_of_rows(Path("people.parquet")), is_file_of_rows(Path("a.duckdb"))
    (True, True, False)
    """
    return path.name.lower().endswith((*_DELIMITED, *_PARQUET))


def is_parquet(path: Path) -> bool:
    """Whether a file of rows has names and types of its own."""
    return path.name.lower().endswith(_PARQUET)


def database_of(path: Path) -> Path:
    """The database that is made from a file of rows: beside it, and named after it.

    >>> database_of(Path("people.csv.gz")).name
    'people.duckdb'
    """
    suffix = next(s for s in (*_DELIMITED[2:], *_DELIMITED[:2], *_PARQUET) if path.name.lower().endswith(s))
    return path.with_name((path.name[: -len(suffix)] or "rows") + ".duckdb")


def table_of(path: Path) -> str:
    """The name of its table, which an analyst can write without quotes.

    >>> [table_of(Path(name)) for name in ("2024 people-a.csv", "visits.parquet", "order.csv")]
    ['t_2024_people_a', 'visits', 't_order']
    """
    name = re.sub(r"[^A-Za-z0-9_]+", "_", database_of(path).stem).strip("_") or "rows"
    return f"t_{name}" if written(name) != name else name


def import_rows(path: Path) -> Path:
    """Copy a csv or parquet file into a new database; its path. EngineError, which quotes no value, when it cannot be.

    The types of csv columns are guessed from all of their rows. Whoever may read the file may read the database.
    """
    database = database_of(path)
    if database.exists():
        raise EngineError(
            f"{database} exists already",
            hint=f"draft its policy with dpsql init {quote(str(database))}; to read {path.name} anew, remove it first",
        )
    if any(sign in str(path) for sign in "*?["):
        raise EngineError(f"{path} reads like a pattern of several files", hint="rename it, without * ? [")
    if path.is_file() and path.stat().st_size == 0:
        raise EngineError(f"{path} is empty", hint="see where its rows are")
    hint = "see why with the duckdb shell: it shows the line; then load the rows into a database yourself"
    refused = EngineError(f"{path} cannot be read as {'parquet' if is_parquet(path) else 'csv'}", hint=hint)
    ragged = EngineError(f"{path} cannot be read as csv: its lines have different numbers of fields", hint=hint)

    def copied(draft: Path) -> None:
        with duckdb.connect(str(draft), config=LOCKED | _READS) as connection:
            connection.execute(f"CREATE TABLE {identifier(table_of(path))} AS FROM {_rows_of(path)}")
            columns = connection.execute(f"DESCRIBE {identifier(table_of(path))}").fetchall()
            skipped = not is_parquet(path) and _skips_rows(connection, path)
        if skipped or (not is_parquet(path) and len(columns) == 1 and _SEPARATOR.search(columns[0][0])):
            raise ragged  # lines were left out, or are whole, as strings

    def translate(_: Exception) -> Error:
        return refused

    with _folder_beside(database) as folder:
        draft = folder / database.name
        without_cause(lambda: copied(draft), translate)
        of, made = path.stat(), draft.stat()
        allowed = of.st_mode if of.st_gid == made.st_gid else of.st_mode & ~stat.S_IRWXG
        draft.chmod(stat.S_IMODE(made.st_mode & allowed) | stat.S_IRUSR | stat.S_IWUSR)
        draft.rename(database)
    return database


@contextmanager
def _folder_beside(database: Path) -> Iterator[Path]:
    """A folder that only its owner can read, gone afterwards: the copy is nobody else's while it is made."""
    try:
        folder = tempfile.TemporaryDirectory(dir=database.parent, prefix=f".{database.name}.new-")
    except OSError:
        raise EngineError(f"{database} cannot be written", hint="see that its folder can be written to") from None
    with folder as name:
        yield Path(name)


def _skips_rows(connection: duckdb.DuckDBPyConnection, path: Path) -> bool:
    """Whether DuckDB passes over lines at the top and finds no header behind them: these may have been rows."""
    sniffed = f"SELECT SkipRows > 0 AND NOT HasHeader FROM sniff_csv({_literal(path)}, sample_size = -1)"
    return bool(connection.execute(sniffed).fetchall()[0][0])


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _rows_of(path: Path) -> str:
    if is_parquet(path):
        return f"read_parquet({_literal(path)})"
    return f"read_csv({_literal(path)}, sample_size = -1)"
