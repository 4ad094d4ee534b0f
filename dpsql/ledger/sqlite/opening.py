"""Everything between a path and an open ledger file: creation, identity, and refusals that say what to do.

Most of what can go wrong with a ledger goes wrong here: another policy, other data, an older copy, a file that is none.
Each is refused with what an owner can do.
"""

import json
import secrets
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from dpsql.errors import LEDGER_MISSING, NEW_BUDGET, SECOND_LEDGER, LedgerError
from dpsql.ledger.known import NOWHERE, Known, Place, budget_of, price
from dpsql.ledger.other_rules import Others, by_all_rules, new_ledgers_others
from dpsql.ledger.record import genesis
from dpsql.ledger.registry import Anchor, Registry, registered_tables
from dpsql.ledger.rule_change import rule_changes
from dpsql.ledger.sqlite.anchoring import Anchoring
from dpsql.ledger.sqlite.answer_store import answer_files, written_beside
from dpsql.ledger.sqlite.doors import Earlier, earlier_ledgers, make_way, older_copy, refuse_second, told
from dpsql.ledger.sqlite.file import BUSY_SECONDS, SqliteFile, explain
from dpsql.ledger.sqlite.glance import is_unspent, known_by_itself
from dpsql.ledger.sqlite.schema import FORMAT, check_file, companions, create, read_header, rebind

Step = Callable[[str], None]
_RULES = ("fingerprint", "unit_rows", "numbers")


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
    place: Place = NOWHERE
    notices: list[str] = field(default_factory=list)

    def anchoring(self) -> Anchoring:
        """Its ties to the registry."""
        return Anchoring(self.registry, self.path, self.header, self.tables, self.other_tables, self.place)


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
    place: Place = NOWHERE,
) -> Opening:
    """Open or create; every failure is a ``LedgerError`` with nothing of SQLite's attached."""
    step = on_step if on_step is not None else _no_step
    make = _Making(_complete(header), create_missing, new_budget, busy_timeout, step, place, tuple(former), others)
    try:
        path = path.expanduser().resolve()
        return _opened(path, make, registry)
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
    place: Place
    former: tuple[str, ...]
    others: Others

    @property
    def epsilon(self) -> float | None:
        budget = budget_of(self.wanted)
        return None if budget is None else float(budget[0])


def _opened(path: Path, make: _Making, registry: Registry | None) -> Opening:
    notices: list[str] = []
    tables = registered_tables(make.wanted)
    registry = _usable(registry, tables, notices)
    if not path.exists():
        tables = (*tables, *new_ledgers_others(registry, tables, make.others))
        with nullcontext() if registry is None else registry.exclusive(*tables):
            if not path.exists():  # another process may have created it while this one waited
                _create(path, make, tables, registry, notices)
    check_file(path)
    file = SqliteFile(path, synchronous="FULL", busy_timeout=make.busy_timeout)
    try:
        found = read_header(file, path)
        if is_unspent(file) and any(found.get(key) != make.wanted[key] for key in make.wanted.keys() - {"ledger"}):
            found = _rebound(path, file, found, make, registry, notices)
        mismatch = _mismatch(path, found, make, file)
        if mismatch is not None:
            raise mismatch
        _check_stranger(path, found, make, tables, registry, notices)
        names = tuple(sorted({*tables, *registered_tables(found)}))
        known_by, other_tables = by_all_rules(registry, found["ledger"], names, make.others)
    except BaseException:
        file.close()
        raise
    return Opening(path, found, file, registry, known_by, other_tables, make.step, make.place, notices)


def _create(path: Path, make: _Making, tables: Sequence[str], registry: Registry | None, notices: list[str]) -> None:
    """A new ledger where nothing stands in its way, known to the registry."""
    earlier = earlier_ledgers(path, tables, make.place, registry)
    if not make.new_budget:
        refuse_second(path, earlier, make.place, make.epsilon, exists=False)
    _check_absence(path, make, earlier)
    make_way(earlier, registry, tables)
    _clear_remnants(path)
    if create(path, make.wanted, make.busy_timeout, make.step):
        notices += [_announcement(path, make.wanted), *told(earlier, make.epsilon)]
        _register(path, make, tables, registry)


def _register(path: Path, make: _Making, tables: Sequence[str], registry: Registry | None) -> None:
    """Known from the first moment on; what else there is to tell follows when it is opened."""
    if registry is not None:
        anchor = Anchor(make.wanted["ledger"], str(path), 0, genesis(make.wanted).hex())
        for table in tables:
            registry.record(table, anchor, sync=True)


def _rebound(
    path: Path,
    file: SqliteFile,
    found: Mapping[str, str],
    make: _Making,
    registry: Registry | None,
    notices: list[str],
) -> dict[str, str]:
    """The header of a ledger without events, which may begin anew for another policy, other data or newer rules.

    To everybody else it is a new ledger: where one of the same people is known, the owner must decide.
    """
    tables = registered_tables(make.wanted)
    tables = (*tables, *new_ledgers_others(registry, tables, make.others))
    everybody = {*tables, *registered_tables(found)}
    with nullcontext() if registry is None else registry.exclusive(*everybody):
        if not is_unspent(file):  # another session was faster
            return read_header(file, path)
        itself = _on_record(path, found, registry, everybody)
        if itself is not None and not make.new_budget:
            raise older_copy(path, f"it has 0 events, {itself.sequence} are on record", [itself], make.epsilon)
        earlier = earlier_ledgers(path, tables, make.place, registry, found["ledger"] if itself is None else "")
        if not make.new_budget:
            refuse_second(path, earlier, make.place, make.epsilon, exists=True)
        for part in answer_files(path):  # what was answered of other data; nothing was charged for it
            part.unlink(missing_ok=True)
        if rebind(file, make.wanted, found["ledger"]):
            make_way(earlier, registry, tables)
            if registry is not None and itself is None:
                registry.forget(Known(found["ledger"], str(path)), everybody)
            what = f"nothing was spent under the ledger {path}: it begins anew for this policy and these data"
            if itself is not None:
                what = f"the ledger {path} was an older copy of one of which {itself.spend}; it begins anew"
            notices += [what + _budget(make.wanted), *told(earlier, make.epsilon)]
            _register(path, make, tables, registry)
    return read_header(file, path)


def _on_record(
    path: Path, found: Mapping[str, str], registry: Registry | None, tables: Collection[str]
) -> Known | None:
    """What the registry, or the answers beside the file, know that was spent under a ledger whose file has no event:
    the file is a copy from before. ``None`` where nothing was."""
    own, last, known = found["ledger"], written_beside(path, found["ledger"]), None
    if registry is not None:
        known = next((k for k in registry.known() if k.ledger == own), None)
        anchors = [registry.anchors(table).get(own) for table in tables]
        last = max(last, known.sequence if known else 0, *(a.sequence for a in anchors if a is not None), 0)
    return None if last == 0 else replace(known or Known(own, str(path)), sequence=last)


def _check_stranger(
    path: Path,
    found: Mapping[str, str],
    make: _Making,
    tables: Sequence[str],
    registry: Registry | None,
    notices: list[str],
) -> None:
    """A ledger that the registry does not know, beside one of the same place that it knows, is a second budget too.

    One of the same rows is found by its anchors (``Anchoring``).
    """
    if registry is None or registry.knows(found["ledger"]):
        return
    with registry.exclusive(*tables):
        earlier = earlier_ledgers(path, tables, replace(make.place, ledger=""), registry, found["ledger"])
        if not make.new_budget and not earlier.same_rows:
            refuse_second(path, earlier, make.place, make.epsilon, exists=True)
        make_way(earlier, registry, tables)
    notices += told(earlier, make.epsilon) if make.new_budget else ()


def stored_header(path: Path, busy_timeout: float = BUSY_SECONDS) -> dict[str, str]:
    """The header of the ledger at ``path``: its versions say by which rules it is kept. Empty where there is no file,
    or where nothing is spent: such a ledger begins anew, by the newest rules.

    The same refusals as ``prepare`` for a file that is no ledger.
    """
    try:
        path = path.expanduser().resolve()
        if not path.exists():
            return {}
        check_file(path)
        file = SqliteFile(path, synchronous="FULL", busy_timeout=busy_timeout)
        try:
            header = read_header(file, path)
            return {} if is_unspent(file) else header
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
    """The registry; one that is only read, with a notice, where it cannot be written; None where not even that."""
    if registry is None:
        return None
    try:
        with registry.exclusive(*tables):
            return registry
    except OSError:
        notices.append(f"{registry.directory} cannot be written: a deleted or older ledger would not be noticed")
    try:
        _ = [registry.anchors(table) for table in tables], registry.known()
        return registry.reading()
    except OSError:
        return None


def _check_absence(path: Path, make: _Making, earlier: Earlier) -> None:
    """There is no file at ``path``: is that as it should be?"""
    if not make.create_missing:
        raise LedgerError(f"there is no ledger at {path}", hint="check the path, or connect once to create it")
    unspent = any(known.path == str(path) for known in earlier.gone)
    if not make.new_budget and not unspent and any(part.exists() for part in _remnants(path)):
        raise LedgerError(
            f"the ledger {path} is missing, but files that belong to one are still beside it",
            hint=f"restore the ledger from a copy, or decide on another budget with {NEW_BUDGET}: what the missing one "
            "has spent is spent, and the losses of the same people add up",
        )


def _remnants(path: Path) -> tuple[Path, ...]:
    return (*companions(path), answer_files(path)[0])


def _clear_remnants(path: Path) -> None:
    """SQLite would replay a former ledger's write-ahead log into the new file: move such files aside."""
    suffix = f".aside-{secrets.token_hex(4)}"
    for part in _remnants(path):
        if part.exists():
            part.rename(part.with_name(part.name + suffix))


def _mismatch(path: Path, found: Mapping[str, str], make: _Making, file: SqliteFile) -> LedgerError | None:
    """Why the ledger is not this policy's, or not these data's; ``None`` where it is both."""
    wanted = make.wanted
    if any(found.get(key, "1") != wanted.get(key, "1") for key in _RULES):
        return LedgerError(  # the header was read once before: by its rules the engine counts
            f"the ledger {path} was created by another version of dpsql just now", hint="open it again, or remove it"
        )
    if found.get("policy") not in (wanted["policy"], *make.former):
        told = "rules" in found and "rules" in wanted
        changes = rule_changes(found["rules"], wanted["rules"]) if told else ()
        what = "another policy: the policy was changed after the ledger was created"
        what += f" ({'; '.join(changes)})" if changes else ""
        return _other(path, found, make, file, what, "restore the policy")
    if found.get("data") != wanted["data"]:
        what = "other data: the database is not the one it was created for, or was changed since"
        return _other(path, found, make, file, what, "restore the database as it was: a copy of it has this ledger too")
    return None


def _other(path: Path, found: Mapping[str, str], make: _Making, file: SqliteFile, what: str, way: str) -> LedgerError:
    """The refusal of a ledger under which something was spent, with the price of another one."""
    known = known_by_itself(file, path, found)
    door = LEDGER_MISSING if make.new_budget else f"{way}; or begin a second budget with {SECOND_LEDGER}"
    return LedgerError(
        f"the ledger {path} belongs to {what}; {known.spend}",
        hint=f"{door}: {price([known], make.epsilon)}",
    )


def _announcement(path: Path, header: Mapping[str, str]) -> str:
    return f"new ledger {path}{_budget(header)}; keep it: it is the only record of what has been spent"


def _budget(header: Mapping[str, str]) -> str:
    epsilon = header.get("epsilon")
    if epsilon is None:
        try:
            plan = json.loads(header.get("plan", ""))
        except ValueError:
            plan = None
        if isinstance(plan, dict) and "epsilon" in plan:
            epsilon = str(plan["epsilon"])
    return "" if epsilon is None else f" with a budget of epsilon {epsilon}"
