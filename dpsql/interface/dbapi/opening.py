"""Engine, ledger and session, opened in this order.

A wrong order would open a budget before it is known what it protects: first the rules, the policy's and those that the
ledger was begun under, then the rows, then the record of what was spent.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsql.errors import LedgerError
from dpsql.interface.dbapi.paths import Address, default_ledger_path, is_spark_session
from dpsql.policy import Policy, cautions

if TYPE_CHECKING:
    from dpsql.engine.protocol import OwnersEngine
    from dpsql.engine.rules import Rules
    from dpsql.interface.dbapi.session_view import SessionView
    from dpsql.ledger import Contents, Place, Registry


@dataclass(frozen=True, eq=False)
class Opened:
    """An open session, and what its owner should look at again in the policy, one sentence each. Public."""

    session: "SessionView"
    cautions: tuple[str, ...]


def open_parts(database: Any, policy: Policy, ledger: Path | None, *, new_budget: bool) -> Opened:
    """The ledger's header, engine, ledger and session, in this order; what was opened is closed when a later one fails.

    Imported here, so that ``import dpsql`` does not load DuckDB, sqlglot and OpenDP.
    """
    from dpsql.engine.rules import Rules
    from dpsql.interface.dbapi.ledger_header import as_begun, ledger_header
    from dpsql.ledger import MemoryLedger, SqliteLedger, stored_header
    from dpsql.mechanism import SystemEntropy
    from dpsql.planning import make_plan, paper_notices
    from dpsql.public.locked_duckdb import DuckDbPublicSql
    from dpsql.session import open_session

    with ExitStack() as opened:
        stored = {} if ledger is None else stored_header(ledger)
        rules = Rules.of(stored)  # those of the ledger, before any private question
        policy = as_begun(policy, stored)
        read = rules.read(policy)
        engine = open_engine(database, read, rules, known=contents(), beside=ledger)
        opened.callback(engine.close)
        plan = make_plan(policy)
        public = DuckDbPublicSql(engine.public_table)
        header = ledger_header(policy, engine, plan, stored)
        record: MemoryLedger | SqliteLedger
        if ledger is None:
            _check_unrecorded(header, engine, new_budget=new_budget)
            record = MemoryLedger(header)
        else:
            record = SqliteLedger.open(
                ledger,
                header,
                registry=registry(),
                new_budget=new_budget,
                former=policy.former_digests,
                others=engine.other_table_fingerprints,
                place=_place(engine),
            )
        opened.callback(record.close)
        unspent = record.totals().spent == 0  # later the owner has chosen: another unit is another ledger
        doubts = cautions(policy, engine.tables_read(), units=unspent) + paper_notices(plan, policy)
        session: SessionView = open_session(engine, record, read, public, SystemEntropy())
        opened.pop_all()  # from here on the session closes them
        return Opened(session, doubts)


def open_engine(
    database: Any,
    policy: Policy,
    rules: "Rules | None" = None,
    *,
    known: "Contents | None" = None,
    beside: Path | None = None,
) -> "OwnersEngine":
    """The engine of a database, for sessions and for ``dpsql check``: another engine is chosen here.

    ``rules``: those of the ledger, the newest without one. ``known``: what remembers the content of files; without it
    rows are read. ``beside``: the ledger beside which counts of a large file are kept. PolicyError and EngineError as
    the engine's own.
    """
    if isinstance(database, Address):
        from dpsql.engine.postgresql.database import PostgresDatabase
        from dpsql.engine.sql import SqlEngine

        return SqlEngine(PostgresDatabase(database), policy, rules)
    if is_spark_session(database):
        from dpsql.engine.spark import SparkDatabase
        from dpsql.engine.sql import SqlEngine

        return SqlEngine(SparkDatabase(database), policy, rules)
    from dpsql.engine.companion import Companion
    from dpsql.engine.duckdb.engine import DuckDbEngine

    companion = None if beside is None else Companion(beside.with_name(f"{beside.name}.cells"))
    return DuckDbEngine(database, policy, rules, known, companion)


def contents(*, trusted: bool = True) -> "Contents | None":
    """What this machine remembers of database files; ``None`` where it has no place for it.

    ``trusted=False``: nothing of it is believed, and all that is read is remembered anew.
    """
    from dpsql.ledger import Contents, default_state_directory

    try:
        return Contents(default_state_directory(), trusted=trusted)
    except RuntimeError:  # no home directory
        return None


def _place(engine: "OwnersEngine") -> "Place":
    """By what its people are known again once rows have changed."""
    from dpsql.ledger import Place

    address = engine.address
    beside = "" if not address or Address.is_one(address) else str(default_ledger_path(address).resolve())
    return Place(address, engine.tables_read(), beside, engine.origins, engine.attached)


def _check_unrecorded(header: Mapping[str, str], engine: "OwnersEngine", *, new_budget: bool) -> None:
    """A ledger in memory is a second budget too, where a first one is on record."""
    from dpsql.ledger import Registry, default_state_directory, refuse_unrecorded

    try:
        directory = default_state_directory()
    except RuntimeError:  # no home directory: nothing is on record
        return
    refuse_unrecorded(header, _place(engine), Registry(directory), new_budget=new_budget)


def registry() -> "Registry":
    """Where this machine remembers its ledgers. Raises LedgerError when the user has no home directory."""
    from dpsql.ledger import Registry, default_state_directory

    try:
        return Registry(default_state_directory())
    except RuntimeError:
        pass
    raise LedgerError("there is no place to remember ledgers", hint="set DPSQL_STATE_HOME to a directory")
