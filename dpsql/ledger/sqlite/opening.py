"""Everything between a path and an open ledger file: creation, identity, and refusals that say what to do.

Most of what can go wrong with a ledger goes wrong here: another policy, other data, an older copy, a file that is none.
Each is refused with what an owner can do.
"""

import json
import secrets
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from dpsql.errors import LedgerError
from dpsql.ledger.other_rules import Others, by_all_rules, new_ledgers_others
from dpsql.ledger.record import genesis
from dpsql.ledger.registry import Anchor, Registry, registered_tables
from dpsql.ledger.rule_change import rule_changes
from dpsql.ledger.sqlite.anchoring import Anchoring
from dpsql.ledger.sqlite.file import BUSY_SECONDS, SqliteFile, explain
from dpsql.ledger.sqlite.schema import FORMAT, check_file, companions, create, read_header

Step = Callable[[str], None]


@dataclass
class Opening:
    """An open file that is the ledger of the right policy and data."""

    path: Path
    header: dict[str, str]
    file: SqliteFile
    registry: Registry | None
    tables: tuple[str, ...]
    other_tables: tuple[str, ...]
    on_step: Step
    notices: list[str] = field(default_factory=list)

    def anchoring(self) -> Anchoring:
        """Its ties to the registry."""
        return Anchoring(self.registry, self.path, self.header["ledger"], self.tables, self.other_tables)


def prepare(
    path: Path,
    header: Mapping[str, str],
    create_missing: bool,
    registry: Registry | None,
    new_budget: bool,
    busy_timeout: float,
    on_step: Step | None,
    former: Collection[str] = (),
    others: Others = tuple,
) -> Opening:
    """Open or create; every failure is a ``LedgerError`` with nothing of SQLite's attached."""
    step = on_step if on_step is not None else _no_step
    make = _Making(_complete(header), create_missing, new_budget, busy_timeout, step)
    try:
        path = path.expanduser().resolve()
        return _opened(path, make, registry, former, others)
    except (sqlite3.Error, OSError) as error:
        failure = explain(path, error)
    except (RuntimeError, ValueError):  # a loop of symbolic links, a NUL in the name
        failure = _no_path(path)
    raise failure


@dataclass(frozen=True)
class _Making:
    """What a ledger is made with where there is none; an existing one is compared with the header ``wanted``."""

    wanted: Mapping[str, str]
    create_missing: bool
    new_budget: bool
    busy_timeout: float
    step: Step


def _opened(path: Path, make: _Making, registry: Registry | None, former: Collection[str], others: Others) -> Opening:
    notices: list[str] = []
    tables = registered_tables(make.wanted)
    if not path.exists():
        registry = _usable(registry, tables, notices)
        tables = (*tables, *new_ledgers_others(registry, tables, others))
        with nullcontext() if registry is None else registry.exclusive(*tables):
            if not path.exists():  # another process may have created it while this one waited
                _create(path, make, tables, registry, notices)
    registry = _usable(registry, tables, notices)
    check_file(path)
    file = SqliteFile(path, synchronous="FULL", busy_timeout=make.busy_timeout)
    try:
        found = read_header(file, path)
        _compare(path, found, make.wanted, former)
        names = tuple(sorted({*tables, *registered_tables(found)}))
        known_by, other_tables = by_all_rules(registry, found["ledger"], names, others)
    except BaseException:
        file.close()
        raise
    return Opening(path, found, file, registry, known_by, other_tables, make.step, notices)


def _create(path: Path, make: _Making, tables: Sequence[str], registry: Registry | None, notices: list[str]) -> None:
    """A new ledger where nothing stands in its way, known to the registry."""
    _check_absence(path, tables, make.create_missing, registry, make.new_budget)
    _clear_remnants(path)
    wanted = make.wanted
    if create(path, wanted, make.busy_timeout, make.step):
        notices.append(_announcement(path, wanted))
        if registry is not None:
            anchor = Anchor(wanted["ledger"], str(path), 0, genesis(wanted).hex())
            for table in tables:
                registry.record(table, anchor, sync=True)


def stored_header(path: Path, busy_timeout: float = BUSY_SECONDS) -> dict[str, str]:
    """The header of the ledger at ``path``, empty where there is no file: its versions say by which rules it is kept.

    The same refusals as ``prepare`` for a file that is no ledger.
    """
    try:
        path = path.expanduser().resolve()
        if not path.exists():
            return {}
        check_file(path)
        file = SqliteFile(path, synchronous="FULL", busy_timeout=busy_timeout)
        try:
            return read_header(file, path)
        finally:
            file.close()
    except (sqlite3.Error, OSError) as error:
        failure = explain(path, error)
    except (RuntimeError, ValueError):  # a loop of symbolic links, a NUL in the name
        failure = _no_path(path)
    raise failure


def _no_path(path: Path) -> LedgerError:
    return LedgerError(f"{str(path)!r} cannot be a ledger's path", hint="choose another with --ledger PATH")


def _no_step(_: str) -> None:
    """Nothing: steps matter to tests only."""


def _complete(header: Mapping[str, str]) -> dict[str, str]:
    """The caller's header, checked, with the format and a new random identity."""
    wanted = dict(header)
    for key in ("policy", "data"):
        if key not in wanted:
            raise LedgerError(f"a ledger's header needs {key!r}", hint="pass the policy's digest and the fingerprint")
    if not all(isinstance(value, str) for value in wanted.values()):
        raise LedgerError("a ledger's header holds text only", hint="turn its values into strings")
    if wanted.setdefault("format", FORMAT) != FORMAT:
        raise LedgerError(f"this dpsql writes format {FORMAT} only", hint='leave "format" out of the header')
    wanted["ledger"] = secrets.token_hex(16)
    return wanted


def _usable(registry: Registry | None, tables: Sequence[str], notices: list[str]) -> Registry | None:
    """The registry, or None with a notice when its directory cannot be used."""
    if registry is None:
        return None
    try:
        with registry.exclusive(*tables):
            return registry
    except OSError:
        notices.append(f"{registry.directory} cannot be written: a deleted or older ledger would not be noticed")
        return None


def _check_absence(
    path: Path, tables: Sequence[str], create_missing: bool, registry: Registry | None, new_budget: bool
) -> None:
    """There is no file at ``path``: is that as it should be?"""
    anchors = [] if registry is None else [a for table in tables for a in registry.anchors(table).values()]
    if anchors and not new_budget:
        known = sorted(anchor.path for anchor in anchors)
        if str(path) in known:
            raise LedgerError(
                f"the ledger {path} is missing; it existed for these data",
                hint="restore it from a copy, or decide on another budget with --new-budget",
            )
        raise LedgerError(
            f"these data already have a ledger, {known[0]}",
            hint=f"open that one with --ledger {known[0]}, or decide on another budget with --new-budget",
        )
    if not create_missing:
        raise LedgerError(f"there is no ledger at {path}", hint="check the path, or connect once to create it")
    if not new_budget and any(part.exists() for part in _remnants(path)):
        raise LedgerError(
            f"the ledger {path} is missing, but files that belong to one are still beside it",
            hint="restore the ledger from a copy, or decide on another budget with --new-budget",
        )


def _remnants(path: Path) -> tuple[Path, ...]:
    return (*companions(path), path.with_name(path.name + ".answers"))


def _clear_remnants(path: Path) -> None:
    """SQLite would replay a former ledger's write-ahead log into the new file: move such files aside."""
    suffix = f".aside-{secrets.token_hex(4)}"
    for part in _remnants(path):
        if part.exists():
            part.rename(part.with_name(part.name + suffix))


def _compare(path: Path, found: Mapping[str, str], wanted: Mapping[str, str], former: Collection[str]) -> None:
    if any(found.get(key, "1") != wanted.get(key, "1") for key in ("fingerprint", "unit_rows")):
        raise LedgerError(  # the header was read once before: by its rules the engine counts
            f"the ledger {path} was created by another version of dpsql just now", hint="open it again, or remove it"
        )
    if found.get("policy") not in (wanted["policy"], *former):
        told = "rules" in found and "rules" in wanted
        changes = rule_changes(found["rules"], wanted["rules"]) if told else ()
        raise LedgerError(
            f"the ledger {path} belongs to another policy: the policy was changed after the ledger was created"
            + (f" ({'; '.join(changes)})" if changes else ""),
            hint="restore the policy, or begin a new ledger with --ledger PATH --new-budget",
        )
    if found.get("data") != wanted["data"]:
        raise LedgerError(
            f"the ledger {path} belongs to other data: the database is not the one it was created for",
            hint="open the database that it belongs to, or choose a new ledger with --ledger PATH",
        )


def _announcement(path: Path, header: Mapping[str, str]) -> str:
    epsilon = header.get("epsilon")
    if epsilon is None:
        try:
            plan = json.loads(header.get("plan", ""))
        except ValueError:
            plan = None
        if isinstance(plan, dict) and "epsilon" in plan:
            epsilon = str(plan["epsilon"])
    budget = "" if epsilon is None else f" with a budget of epsilon {epsilon}"
    return f"new ledger {path}{budget}; keep it: it is the only record of what has been spent"
