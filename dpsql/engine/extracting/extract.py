"""One consistent copy of a policy's tables in a new DuckDB file: declared columns, rows of units that count, shuffled.

Values are kept as they are, so that a policy may be corrected without another extract. Of a table with a unit only the
rows that its policy counts are copied: by the digest that the engine keeps them by, which looks at one unit at a time.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event

import duckdb

from dpsql.dialect.calls import LOCKED
from dpsql.dialect.quoting import identifier
from dpsql.domain import TableDomain
from dpsql.engine.duckdb.catalog import Source as Described
from dpsql.engine.duckdb.catalog import check_columns, described
from dpsql.engine.duckdb.kept_rows import Rows
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.extracting.earlier import is_extract
from dpsql.engine.extracting.source import Reading, Relation, Source
from dpsql.engine.origin import Origin, units_of
from dpsql.engine.rules import Rules
from dpsql.engine.scope import check_row_counts, refuse_derived
from dpsql.errors import EngineError
from dpsql.policy import Policy

_HEARD = 0.1
"""Seconds after which Ctrl-C is heard at the latest."""
_READS = {"enable_external_access": "true", "lock_configuration": "false"}


def extract(sources: Mapping[str, Source], policy: Policy, output: Path, *, replace: bool = False) -> None:
    """Write the policy's tables to ``output``. ``sources``: of each private and public table, by lower-cased name.

    The file is complete or not there at all: it is written under another name, in a folder that only its owner can
    read, and then takes its place. It holds private rows: mode 0600. Each table's comment is its
    :class:`dpsql.engine.origin.Origin`.

    PolicyError where a table, a column or its type does not fit, EngineError where a source cannot be read, where it
    changed meanwhile, and where ``output`` is there already and is not to be replaced, or is no extract.
    """
    refuse_derived(policy, "in an extract")
    with _named(output):
        _check_output(output, replace)
    with _private_folder(output) as folder, ExitStack() as held:
        draft = folder / "extract.duckdb"
        connection = held.enter_context(_working(folder))
        opened = {source: held.enter_context(source.open(connection)) for source in dict.fromkeys(sources.values())}
        readings = {table: opened[source] for table, source in sources.items()}
        _copy(connection, policy, readings, draft)
        held.close()  # sources that must not have changed say so here
        _put(draft, output, replace)


def _copy(connection: duckdb.DuckDBPyConnection, policy: Policy, readings: Mapping[str, Reading], draft: Path) -> None:
    reader = Reader(connection)
    literal = "'" + str(draft).replace("'", "''") + "'"
    reader.rows("making the file", f"ATTACH {literal} AS extract")
    draft.chmod(0o600)
    reader.rows("beginning", "BEGIN TRANSACTION")
    views: set[str] = set()
    for number, table in enumerate(policy.tables):
        reading = readings[table.name.lower()]
        wanted = _wanted(table)
        strings = [c.name for c in table.columns if c.sql_type == "VARCHAR"]
        relation = reading.relation(table.name, wanted, unit=table.unit, strings=strings)
        views |= {table.name.lower()} if relation.view else set()
        source = described(reader, relation.sql)
        check_columns(table, source)
        rows = Rows(reader, number, table, source, Rules().unit_rows)
        _write(
            connection,
            reader,
            table.name,
            rows.stored(_stored_names(wanted, source)),
            _origin(reading, relation, table),
        )
    check_row_counts(policy, lambda name: name.lower() not in views)
    for name in policy.public_tables:
        reading = readings[name.lower()]
        relation = reading.relation(name, None, private=False)
        _write(connection, reader, name, f"SELECT * FROM {relation.sql}", _origin(reading, relation, None))
    reader.rows("ending", "COMMIT")
    reader.rows("closing the file", "USE memory; CHECKPOINT extract; DETACH extract")
    if Path(f"{draft}.wal").exists():
        raise EngineError("the extract could not be written whole", hint="see that the disk has room")


def _write(connection: duckdb.DuckDBPyConnection, reader: Reader, name: str, query: str, origin: Origin) -> None:
    table, comment = f"extract.main.{identifier(name)}", origin.comment.replace("'", "''")
    # the order of rows in the source may say when they were written
    copying = f"CREATE TABLE {table} AS SELECT * FROM ({query}) ORDER BY random()"
    _interruptibly(connection, lambda: reader.rows(f"copying {name}", copying))
    reader.rows(f"noting where {name} is from", f"COMMENT ON TABLE {table} IS '{comment}'")


def _interruptibly(connection: duckdb.DuckDBPyConnection, work: Callable[[], object]) -> None:
    """``work()`` in another thread: DuckDB itself looks for Ctrl-C only once a sort has ended.

    It begins once it is waited for: Ctrl-C while its thread starts would leave it at work on a closed connection.
    """
    awaited, given_up = Event(), Event()

    def begun() -> None:
        awaited.wait()
        if not given_up.is_set():
            work()

    with ThreadPoolExecutor(1) as pool:
        try:
            done = pool.submit(begun)
            awaited.set()
            while not done.done():  # a signal that another thread receives wakes nobody
                wait([done], timeout=_HEARD)
        except BaseException:
            given_up.set()
            awaited.set()
            connection.interrupt()
            raise
        done.result()


def _origin(reading: Reading, relation: Relation, table: TableDomain | None) -> Origin:
    return Origin(reading.address, reading.snapshot, "" if table is None else units_of(table), relation.view)


def _wanted(table: TableDomain) -> tuple[str, ...]:
    """The declared columns and the unit, each once."""
    names = [c.name for c in table.columns] + ([table.unit] if table.unit is not None else [])
    return tuple({name.lower(): name for name in reversed(names)}.values())[::-1]


def _stored_names(wanted: Iterable[str], source: Described) -> list[str]:
    stored = {name.lower(): name for name, _ in source.columns}
    return [stored[name.lower()] for name in wanted]


@contextmanager
def _working(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty database in memory, which may read files; what does not fit there is spilled into ``folder``."""
    connection = duckdb.connect(config=LOCKED | _READS | {"temp_directory": str(folder / "spill")})
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def _private_folder(output: Path) -> Iterator[Path]:
    """Beside ``output``, so that a rename puts the file in place; gone when the context ends, whatever ended it."""
    with _named(output):
        folder = Path(tempfile.mkdtemp(prefix=f".{output.name}.new-", dir=output.parent or Path()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _named(output: Path) -> Iterator[None]:
    """EngineError for a name that the file system does not take: too long, in a folder that is none or is closed."""
    try:
        yield
    except OSError as error:
        failure = EngineError(f"{output} cannot be written: {error.strerror}", hint="check path and permissions")
    else:
        return
    raise failure


def _check_free(output: Path) -> None:
    if output.exists():
        raise EngineError(f"{output} exists already", hint="name another file, or replace it with --force")


def _check_output(output: Path, replace: bool) -> None:
    if not replace:
        _check_free(output)
    if output.is_dir():
        raise EngineError(f"{output} is a directory", hint="name a file, such as people.duckdb")
    if Path(f"{output}.wal").exists():
        raise EngineError(
            f"{output}.wal belongs to another database and would be read into this one",
            hint="close what has that database open, or remove the file",
        )
    if output.exists() and not is_extract(output):
        raise EngineError(
            f"{output} is not seen to be an earlier extract, and is not replaced",
            hint="name another file, or move this one away; an extract that is open for writing must be closed first",
        )


def _put(draft: Path, output: Path, replace: bool) -> None:
    """In its place at once: an earlier file is there until then, and another one that came meanwhile stays."""
    descriptor = os.open(draft, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if not replace:
        _check_free(output)
        with suppress(OSError):  # claims the name, where the file system can: a file that came meanwhile stays
            os.link(draft, output)
            return
        _check_free(output)
    draft.replace(output)
