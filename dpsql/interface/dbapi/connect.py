"""``dpsql.connect``: finds the database, its policy and its ledger, and has them opened.

What is wrong with a path or an argument is said before anything is opened.
"""

import warnings
from os import PathLike
from pathlib import Path
from typing import Any

from dpsql.errors import InterfaceError, PolicyWarning
from dpsql.interface.dbapi.connection import Connection
from dpsql.interface.dbapi.database import MEMORY, database_path, file_path, named_by_policy, source_of
from dpsql.interface.dbapi.opening import open_parts
from dpsql.interface.dbapi.paths import (
    DatabasePath,
    StrPath,
    default_ledger_path,
    default_policy_path,
)
from dpsql.policy import Policy
from dpsql.policy_file import load_policy


def connect(
    database: StrPath | Any = None,
    policy: StrPath | Policy | None = None,
    ledger: StrPath | None = None,
    *,
    engine: StrPath | Any = None,
    new_budget: bool = False,
) -> Connection:
    """Open a private database for differentially private SQL.

    ``database``: the path of a DuckDB file (opened read-only), an open DuckDB connection of the owner's, an open
    session of Spark 4 with tables of Parquet files, the address of a server's database,
    ``postgresql://user@host/name``, read as it is at this moment, or the path of a policy, ``census.dpsql.toml``, whose
    ``[source]`` says which of these it is; then ``policy`` is left out and the ledger is beside the policy.
    Without one, where the ``[source]`` of the policy's file says.
    ``engine``: the same by another name: ``dpsql.connect(engine=spark, policy=.., ledger=..)``.
    ``policy``: the path of a policy file or a ``Policy``; by default ``census.dpsql.toml`` beside ``census.duckdb``.
    ``ledger``: the path of the ledger, by default ``census.dpsql.ledger`` beside the database, or ``":memory:"``, which
    forgets at close what was spent: for tests and throw-away data only.
    ``new_budget``: the owner's decision to spend a second (epsilon, delta) on people who have a ledger already.

    Warns (``dpsql.PolicyWarning``) of policies that may protect less than they seem to.
    Raises PolicyError, LedgerError, EngineError, OperationalError (no such file), InterfaceError (a path is missing).
    """
    if engine is not None and database is not None:
        raise InterfaceError("a database and an engine are two sources", hint="pass one of them")
    given = engine if database is None else database
    alone = _policy_path(None, policy) if given is None and isinstance(policy, str | PathLike) else None
    where = alone or database_path(given)
    ledger_path = _ledger_path(where, ledger)
    by_policy = alone or named_by_policy(where, policy)
    if by_policy is not None:
        where, policy = source_of(by_policy), by_policy
    rules = policy if isinstance(policy, Policy) else load_policy(_policy_path(where, policy))
    opened = open_parts(given if where is None else where, rules, ledger_path, new_budget=new_budget)
    for caution in opened.cautions:
        warnings.warn(caution, PolicyWarning, stacklevel=2)
    return Connection(opened.session, opened.cautions)


def _policy_path(database: DatabasePath | None, policy: object) -> Path:
    if isinstance(policy, str) and "\n" in policy:
        raise InterfaceError("a policy is a path or a Policy, not its text", hint="pass policy=dpsql.load_policy(text)")
    if isinstance(policy, str | PathLike):
        return file_path(policy, "policy", "census.dpsql.toml")
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
        return file_path(ledger, "ledger", "census.dpsql.ledger")
    if ledger is not None:
        raise InterfaceError(
            f"a ledger is a path, not {type(ledger).__name__}", hint='pass ledger="census.dpsql.ledger"'
        )
    if database is None:
        raise InterfaceError("an open connection needs a ledger", hint='pass ledger="census.dpsql.ledger"')
    return default_ledger_path(database)
