"""The doors to a second budget: who has a ledger already, and what another one would cost the same people.

A ledger is about one state of the rows, and one changed row is another state. The people stay the same, so a ledger
that is known by its rows, by its database and a table's name, or by its own path stands in the way of a new one, until
the owner has read the price and decides. A ledger under which nothing was spent stands in nobody's way.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote

from dpsql.errors import NEW_BUDGET, SECOND_LEDGER, LedgerError
from dpsql.ledger.known import Known, Place, budget_of, price
from dpsql.ledger.registry import Registry, registered_tables
from dpsql.ledger.sqlite.glance import glance, rows_of

_SHOWN = 3


@dataclass(frozen=True)
class Earlier:
    """Ledgers that are there already: of the same rows, of the same place or path, and of tables that look alike.

    ``gone``: unspent ones whose file is no more, or will be this one.
    """

    same_rows: tuple[Known, ...] = ()
    same_place: tuple[Known, ...] = ()
    alike: tuple[Known, ...] = ()
    gone: tuple[Known, ...] = ()

    @property
    def same_people(self) -> tuple[Known, ...]:
        return (*self.same_rows, *self.same_place)


def earlier_ledgers(
    path: Path, tables: Collection[str], place: Place, registry: Registry | None, own: str = ""
) -> Earlier:
    """What is known besides the ledger ``own``, for a ledger at ``path`` of these fingerprints at this place."""
    found = [k for k in _all(path, place, registry) if k.ledger != own and not k.forgotten]
    gone = [k for k in found if k.is_unspent and (k.path == str(path) or not Path(k.path).exists())]
    left = [k for k in found if k not in gone]
    anchored = set() if registry is None else {ledger for table in tables for ledger in registry.anchors(table)}
    if place.ledger and place.ledger != str(path):  # the registry may be gone
        beside, told = rows_of(Path(place.ledger))
        anchored |= {beside} - {""} if not told.isdisjoint(tables) else set()
    rows = [k for k in left if k.ledger in anchored]
    here = [k for k in left if k not in rows and (k.path == str(path) or _is_at(k, path, place))]
    others = [k for k in left if k not in rows and k not in here and not k.is_unspent]
    alike = [k for k in others if k.place().looks_like(place) and _exists(k)]
    return Earlier(_spent_first(rows), _spent_first(here), tuple(alike), tuple(gone))


def refuse_second(path: Path, earlier: Earlier, place: Place, epsilon: float | None, *, exists: bool) -> None:
    """``LedgerError`` where a ledger of the same people is there already; ``exists``: one is at ``path`` too."""
    if not earlier.same_people:
        return
    first = next((k for k in earlier.same_people if k.path == str(path)), earlier.same_people[0])
    if first.path == str(path) and not exists:
        whose = "these data" if first in earlier.same_rows else "other data"
        whose = f"{place.database} as it was" if _is_at(first, path, place) and whose == "other data" else whose
        message = f"the ledger {path} is missing; it existed for {whose}"
        way = "restore it from a copy"
    elif first in earlier.same_rows:
        message = f"these data already have a ledger, {first.path}"
        way = f"open that one with --ledger {quote(first.path)}"
    else:
        message = f"{place.database or 'this database'} already has a ledger, {first.path}, of other rows or columns"
        way = f"restore the database as it was and open that ledger with --ledger {quote(first.path)}"
    if first.is_unspent:
        way += ", or remove it: nothing is lost"
    raise LedgerError(
        f"{message} ({first.spend})",
        hint=f"{way}; or decide on another budget with {NEW_BUDGET}: {price(earlier.same_people, epsilon)}",
    )


def older_copy(path: Path, seen: str, known: Collection[Known], epsilon: float | None) -> LedgerError:
    """The refusal of a file that is not the latest one of its ledger, as what was ``seen`` elsewhere tells."""
    return LedgerError(
        f"the ledger {path} is older than its state on record, or continues an older one: {seen}",
        hint="restore the latest copy of the ledger; where there is none, decide on another budget with "
        f"{SECOND_LEDGER}: {price(known, epsilon)}",
    )


def refuse_unrecorded(header: Mapping[str, str], place: Place, registry: Registry, *, new_budget: bool) -> None:
    """``LedgerError`` for a session that leaves no record, on people who have spent under a ledger already."""
    try:
        earlier = earlier_ledgers(Path(), registered_tables(header), place, registry)
    except OSError:  # where there is no registry, or none that can be read, there is nothing to compare with
        return
    spent = [known for known in earlier.same_people if not known.is_unspent]
    if spent and not new_budget:
        budget = budget_of(header)
        raise LedgerError(
            f"these people already have a ledger, {spent[0].as_words()}, and a ledger in memory would forget its own",
            hint=f"open that one with --ledger {quote(spent[0].path)}; or decide on another budget with {NEW_BUDGET}: "
            + price(spent, None if budget is None else float(budget[0])),
        )


def told(earlier: Earlier, epsilon: float | None) -> Iterator[str]:
    """What an owner should hear once the new ledger is made."""
    people = [k for k in earlier.same_people if not k.is_unspent]
    for known in people[:_SHOWN]:
        yield f"a second budget: {known.as_words()} is about the same people"
    if people:
        yield price(people, epsilon)
    for known in earlier.alike[:_SHOWN]:
        where = f", of {known.databases[-1]}," if known.databases else ""
        yield (
            f"the ledger {known.as_words()}{where} is about a table of the same name and columns: "
            f"if its people are the same, {price([known], epsilon, 'they')}"
        )


def make_way(earlier: Earlier, registry: Registry | None, tables: Sequence[str]) -> None:
    """Unspent ledgers whose files are gone are known no more; call within the registry's ``exclusive``."""
    if registry is not None:
        for known in earlier.gone:
            registry.forget(known, tables)


def _all(path: Path, place: Place, registry: Registry | None) -> list[Known]:
    """The registry's ledgers, and the one beside the database, which an owner would open without naming it."""
    found = [] if registry is None else [_completed(known, place) for known in registry.known()]
    if place.ledger and place.ledger != str(path):
        beside = glance(Path(place.ledger))
        if beside is not None and beside.ledger not in {known.ledger for known in found}:
            found.append(replace(beside, databases=(place.database,)))
    return found


def _completed(known: Known, place: Place) -> Known:
    """A ledger of which only its anchors are known, with what its file tells if it lies near the database."""
    if known.tables or known.forgotten or not place.database or _folder(known.path) != _folder(place.database):
        return known
    seen = glance(Path(known.path))
    return known if seen is None or seen.ledger != known.ledger else replace(seen, databases=(place.database,))


def _is_at(known: Known, path: Path, place: Place) -> bool:
    """Whether it is about this database and one of these tables, or about one that was moved here.

    Databases in memory have no name: they are told by the folder where their ledgers lie.
    """
    if not known.place().shares_table(place):
        return False
    if not known.databases:
        return not place.addresses and _folder(known.path) == path.parent
    moved = not any("://" in d or Path(d).exists() for d in known.databases) and Path(known.path).exists()
    addresses = (*place.addresses, *place.attached)
    here = any(same_file(Path(a), Path(b)) for a in addresses for b in known.databases)  # by a hard link, too
    return here or (moved and known.place().looks_like(place))


def same_file(one: Path, other: Path) -> bool:
    """Whether both are the same path, or names of the same file."""
    try:
        return one == other or one.samefile(other)
    except OSError:
        return False


def _folder(path: str) -> Path:
    return Path(path).parent


def _exists(known: Known) -> bool:
    """Whether the ledger or its database is still there."""
    return any(Path(name).exists() for name in (known.path, *known.databases))


def _spent_first(found: list[Known]) -> tuple[Known, ...]:
    return tuple(sorted(found, key=lambda known: known.is_unspent))
