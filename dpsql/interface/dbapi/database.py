"""What a session can be opened on, said before anything is opened: a file, an address, an open connection, a policy.

``dpsql.connect`` and the commands must mean the same rows by the same words.
"""

import sys
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from dpsql.errors import InterfaceError, OperationalError, PolicyError
from dpsql.interface.dbapi.paths import Address, DatabasePath, StrPath, is_policy_path, is_spark_session, named_ledger
from dpsql.policy_file import load_source

MEMORY = ":memory:"
_ADDRESS = 'pass the address itself: dpsql.connect("postgresql://user@host/name")'


def database_path(database: object) -> DatabasePath | None:
    """The path of a file, which may be a policy's, or a server's address; ``None`` for an open connection.

    InterfaceError for anything else, OperationalError where there is no such file.
    """
    if isinstance(database, str) and Address.is_one(database):
        return _known_scheme(Address(database))
    if not isinstance(database, str | PathLike):
        _check_connection(database)
        return None
    if database == MEMORY:
        raise InterfaceError(
            "an in-memory database holds no table to protect", hint="pass the open DuckDB connection that holds it"
        )
    path = file_path(database, "database", "census.duckdb")
    ledger = named_ledger(path)
    if ledger is not None:
        what, _, hint = ledger.partition(": ")
        raise InterfaceError(what, hint=hint)
    try:
        found = path.is_file()
    except OSError:  # a name too long, a folder that may not be read
        found = False
    if not found:
        raise OperationalError(f"there is no database file {path}", hint="check the path")
    return path


def named_by_policy(database: DatabasePath | None, policy: object) -> Path | None:
    """The policy that stands for its database: where the rows are is then for its ``[source]`` to say.

    InterfaceError where a second policy is given.
    """
    if not isinstance(database, Path) or not is_policy_path(database):
        return None
    if policy is not None:
        raise InterfaceError(
            f"{database.name} is a policy, and another one is given", hint="name the database, or leave the other out"
        )
    return database


def source_of(policy: Path) -> DatabasePath:
    """The database of a policy's ``[source]``. PolicyError without one; else as :func:`database_path`."""
    source = load_source(policy)
    if source is None:
        raise PolicyError(
            "the policy does not say where its rows are",
            path="source",
            hint="add [source] with path or uri, or name the database: dpsql shell DATABASE --policy POLICY",
        )
    found = database_path(source.path if source.uri is None else source.uri)
    if found is None or named_by_policy(found, None) is not None:
        raise PolicyError("is a policy, not a database", path="source.path", hint='write path = "clinic.duckdb"')
    return found


def file_path(given: StrPath, what: str, example: str) -> Path:
    """The path of a file that need not be there. InterfaceError where it is none."""
    text = fspath(given)
    if not isinstance(text, str) or not Path(text).name or "\0" in text or not _is_utf8(text):
        raise InterfaceError(
            f"not the path of a {what}", hint=f'write the file\'s path as a string, such as "{example}"'
        )
    return Path(text)


def _is_utf8(text: str) -> bool:
    """Whether DuckDB and SQLite can be told this name: a file system's other bytes are surrogates in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _known_scheme(address: Address) -> Address:
    if address.scheme not in ("postgresql", "postgres"):
        raise InterfaceError(
            f"there is no engine for {address.scheme}://", hint="copy the tables into a file with dpsql extract"
        )
    return address


def _check_connection(database: Any) -> None:
    duckdb = sys.modules.get("duckdb")  # who has a connection has imported it
    if (duckdb is not None and isinstance(database, duckdb.DuckDBPyConnection)) or is_spark_session(database):
        return
    other = callable(getattr(database, "cursor", None))
    raise InterfaceError(
        f"a database is a path, an address, a DuckDB connection or a Spark session, not {_kind(database)}",
        hint=_ADDRESS if other else 'call dpsql.connect("census.duckdb")',
    )


def _kind(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
