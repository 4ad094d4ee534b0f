"""One budget for each table under all rules by which fingerprints were ever made.

A table's fingerprint by newer rules is another text. Without this, a new ledger for data that have one by older rules
would be a second budget that nobody decided on. Computing the other fingerprints scans the tables again, so it is done
only where the registry holds something that cannot be compared otherwise.
"""

from collections.abc import Callable, Sequence

from dpsql.ledger.registry import Registry, rules_of

Others = Callable[[], Sequence[str]]
"""Computes the fingerprints of the same tables by all other rules."""


def new_ledgers_others(registry: Registry | None, tables: Sequence[str], others: Others) -> tuple[str, ...]:
    """What a new ledger is looked for, and recorded, under besides ``tables``."""
    if registry is None or not _strangers(registry.tables_of(), tables):
        return ()
    return tuple(others())


def by_all_rules(
    registry: Registry | None, ledger: str, tables: tuple[str, ...], others: Others
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """For a ledger that is there: the fingerprints by which it is checked, and those where it is recorded as well.

    One that the registry knows is the one for its tables, as ever. A ledger by the first rules is made known by the
    newer ones at its first opening, so that engines which lack the first rules find it too.
    """
    if registry is None:
        return tables, ()
    ledgers = registry.tables_of()
    known = ledgers.get(ledger, set())
    is_known, more = bool(known & set(tables)), known - set(tables)
    if not more:
        by_first_rules = any(not rules_of(table) for table in tables)
        if by_first_rules or (not is_known and _strangers(ledgers, tables)):
            more = set(others()) - set(tables)
    if is_known:
        return tables, tuple(sorted(more))
    return tuple(sorted({*tables, *more})), ()


def _strangers(ledgers: dict[str, set[str]], tables: Sequence[str]) -> bool:
    """Whether some ledger has no fingerprint by the rules of ``tables``."""
    rules = {rules_of(table) for table in tables}
    return any(not rules & {rules_of(t) for t in known} for known in ledgers.values())
