"""``dpsql.connect``: finds the database, its policy and its ledger, and has them opened.

What is wrong with a path or an argument is said before anything is opened.
"""

import warnings
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from dpsql.errors import InterfaceError, OperationalError, PolicyWarning
from dpsql.interface.dbapi.connection import Connection
from dpsql.interface.dbapi.opening import open_parts
from dpsql.interface.dbapi.paths import (
    Address,
    DatabasePath,
    StrPath,
    default_ledger_path,
    default_policy_path,
    is_spark_session,
)
from dpsql.policy import Policy
from dpsql.policy_file import load_policy

MEMORY = ":memory:"


def connect(
    database: StrPath | Any,
    policy: StrPath | Policy | None = None,
    ledger: StrPath | None = None,
    *,
    new_budget: bool = False,
) -> Connection:
    """Open a private database for differentially private SQL.

    ``database``: the path of a DuckDB file (opened read-only), an open DuckDB connection of the owner's, an open
    session of Spark 4 with tables of Parquet files, or the address of a server's database,
    ``postgresql://user@host/name``, read as it is at this moment.
    ``policy``: the path of a policy file or a ``Policy``; by default ``census.dpsql.toml`` beside ``census.duckdb``.
    ``ledger``: the path of the ledger, by default ``census.dpsql.ledger`` beside the database, or ``":memory:"``, which
    forgets at close what was spent: for tests and throw-away data only.
    ``new_budget``: the owner's decision to spend a second (epsilon, delta) on people who have a ledger already.

    Warns (``dpsql.PolicyWarning``) of policies that may protect less than they seem to.
    Raises PolicyError, LedgerError, EngineError, OperationalError (no such file), InterfaceError (a path is missing).
    """
    where = _database_path(database)
    ledger_path = _ledger_path(where, ledger)
    rules = policy if isinstance(policy, Policy) else load_policy(_policy_path(where, policy))
    opened = open_parts(database if where is None else where, rules, ledger_path, new_budget=new_budget)
    for caution in opened.cautions:
        warnings.warn(caution, PolicyWarning, stacklevel=2)
    return Connection(opened.session, opened.cautions)


def _database_path(database: object) -> DatabasePath | None:
    """The path of a database file, or a server's address; ``None`` for an open connection."""
    if isinstance(database, str) and Address.is_one(database):
        address = Address(database)
        if address.scheme not in ("postgresql", "postgres"):
            raise InterfaceError(
                f"there is no engine for {address.scheme}://", hint="copy the tables into a file with dpsql extract"
            )
        return address
    if not isinstance(database, str | PathLike):
        if not callable(getattr(database, "cursor", None)) and not is_spark_session(database):
            raise InterfaceError(
                f"a database is a path, a DuckDB connection or a Spark session, not {type(database).__name__}",
                hint='call dpsql.connect("census.duckdb")',
            )
        return None
    if database == MEMORY:
        raise InterfaceError(
            "an in-memory database holds no table to protect", hint="pass the open DuckDB connection that holds it"
        )
    path = _path(database, "database", "census.duckdb")
    try:
        found = path.is_file()
    except OSError:  # a name too long, a folder that may not be read
        found = False
    if not found:
        raise OperationalError(f"there is no database file {path}", hint="check the path")
    return path


def _policy_path(database: DatabasePath | None, policy: object) -> Path:
    if isinstance(policy, str) and "\n" in policy:
        raise InterfaceError("a policy is a path or a Policy, not its text", hint="pass policy=dpsql.load_policy(text)")
    if isinstance(policy, str | PathLike):
        return _path(policy, "policy", "census.dpsql.toml")
    if policy is not None:
        raise InterfaceError(
            f"a policy is a path or a Policy, not {type(policy).__name__}", hint='pass policy="census.dpsql.toml"'
        )
    if database is None:
        raise InterfaceError("an open connection needs a policy", hint='pass policy="census.dpsql.toml"')
    return default_policy_path(database)


def _ledger_path(database: DatabasePath | None, ledger: object) -> Path | None:
    """The path of the ledger; ``None`` for a ledger in memory."""
    if ledger == MEMORY:
        return None
    if isinstance(ledger, str | PathLike):
        return _path(ledger, "ledger", "census.dpsql.ledger")
    if ledger is not None:
        raise InterfaceError(
            f"a ledger is a path, not {type(ledger).__name__}", hint='pass ledger="census.dpsql.ledger"'
        )
    if database is None:
        raise InterfaceError("an open connection needs a ledger", hint='pass ledger="census.dpsql.ledger"')
    return default_ledger_path(database)


def _path(given: "str | PathLike[str]", what: str, example: str) -> Path:
    text = fspath(given)
    if not isinstance(text, str) or not Path(text).name or "\0" in text:
        raise InterfaceError(
            f"not the path of a {what}", hint=f'write the file\'s path as a string, such as "{example}"'
        )
    return Path(text)
