"""Files that a session reads or writes itself: no ``-o`` of a command may name one of them.

An answer in the place of a ledger would forget what was spent, in the place of a database it would lose the rows.
"""

from collections.abc import Iterator
from pathlib import Path

import click

from dpsql.interface.dbapi.paths import Address, DatabasePath, default_ledger_path, default_policy_path

_BESIDE_LEDGER = (".answers", "-journal", "-wal", "-shm")


def refuse_own_files(
    output: Path | None, database: DatabasePath, policy: Path | None, ledger: str | None, script: Path | None = None
) -> None:
    """UsageError where ``output`` is the session's database, policy or ledger, a file beside them, or ``script``."""
    if output is None:
        return
    for what, path in _own_files(database, policy, ledger, script):
        if _same(output, path):
            raise click.UsageError(f"{output} is {what}, which the output would overwrite: name another file with -o")


def _own_files(
    database: DatabasePath, policy: Path | None, ledger: str | None, script: Path | None
) -> Iterator[tuple[str, Path]]:
    from dpsql.interface.dbapi.database import MEMORY, named_by_policy, source_of  # heavy, as connecting is

    if script is not None and str(script) != "-":
        yield "the file of statements", script
    if ledger != MEMORY:
        record = default_ledger_path(database) if ledger is None else Path(ledger)
        yield "the ledger", record
        yield from (("a file of the ledger's", Path(f"{record}{suffix}")) for suffix in _BESIDE_LEDGER)
    by_policy = named_by_policy(database, policy)
    yield "the policy", by_policy or (default_policy_path(database) if policy is None else policy)
    source = database if by_policy is None else source_of(by_policy)
    if not isinstance(source, Address):
        yield "the database", source
        yield "the database's log", Path(f"{source}.wal")


def _same(one: Path, other: Path) -> bool:
    """Whether two paths are one file; also where it is not there yet."""
    try:
        return one.samefile(other)
    except OSError:
        return one.resolve() == other.resolve()
