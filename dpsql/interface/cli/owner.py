"""The owner's commands: init drafts a policy, check counts what the policy does not cover.

These look at private rows or write rules, so they stand apart from the analyst's.
"""

import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from dpsql.errors import OperationalError, PolicyError
from dpsql.interface.cli.common import database_argument, session_argument
from dpsql.interface.console import Console
from dpsql.interface.dbapi.paths import DatabasePath

if TYPE_CHECKING:
    from dpsql.engine.protocol import OwnersEngine


@click.command()
@database_argument
@click.option(
    "--table", "tables", multiple=True, metavar="NAME", help="Only this table; repeatable. Default: every table."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Default: NAME.dpsql.toml.")
@click.option("--force", is_flag=True, help="Overwrite an existing policy.")
@click.option(
    "--look-at-data", is_flag=True, help="Fill ranges and lists from the rows. They become public: read the warning."
)
def init(database: Path, tables: tuple[str, ...], output: Path | None, force: bool, look_at_data: bool) -> None:
    """Draft a policy from the schema, for the owner to correct. A csv or parquet file is made a database first."""
    console = Console()
    from dpsql.engine.duckdb import database_of, describe, hidden_tables, is_file_of_rows
    from dpsql.interface.dbapi.paths import default_policy_path
    from dpsql.interface.schemas import described, looked_at
    from dpsql.policy_file import draft_policy, is_policy_file, proposed_public

    rows_of = database if is_file_of_rows(database) else None
    database = database if rows_of is None else database_of(rows_of)
    path = default_policy_path(database) if output is None else output
    if path.exists() and not (path.is_file() and is_policy_file(path)):  # to read a pipe is to wait for ever
        raise OperationalError(f"{path} is no policy, and is not overwritten", hint="name another file with -o")
    if path.exists() and not force:
        raise _exists(path)
    if rows_of is not None:
        _import(rows_of, console)
    schemas = [described(database, name, columns) for name, columns in describe(database)]
    wanted = {t.lower() for t in tables}
    missing = wanted - {s.name.lower() for s in schemas}
    if missing:
        names = ", ".join(s.name for s in schemas) or "none"
        raise OperationalError(f"there is no table {min(missing)}", hint=f"tables: {names}")
    schemas = [s for s in schemas if not wanted or s.name.lower() in wanted]
    if look_at_data:
        schemas = looked_at(database, schemas)
    rows = {s.name: s.rows for s in schemas if s.rows is not None}
    text = _advised(draft_policy(schemas), rows)
    try:  # exclusive: a policy that somebody is writing is not lost
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL), 0o644)
    except FileExistsError:
        descriptor = None
    if descriptor is None:
        raise _exists(path)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    if look_at_data:
        console.notices(["ranges and lists were read from the rows: replace them by what is publicly known"])
        shown = [s.name for s in schemas if s.name in proposed_public(schemas)]
        console.notices([f"the draft declares as public, so that every row of {t} is shown: CHECK" for t in shown])
    ways = "create a view of it under another name"
    console.notices([f"{t} is left out, for {first} has its name: {ways}" for t, first in hidden_tables(database)])
    marks = sum("# CHECK" in line for line in text.splitlines())
    console.lines([f"{path}: {len(schemas)} table{'' if len(schemas) == 1 else 's'}, {marks} lines to check"])
    console.notice(f"next: edit the lines marked CHECK, then: dpsql shell {quote(str(database))}")


@click.command()
@session_argument
@click.option("--policy", type=click.Path(dir_okay=False, path_type=Path), help="Default: NAME.dpsql.toml.")
@click.option("--verify", is_flag=True, help="Read every row again, and say which ledger these rows have.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a listing.")
def check(database: DatabasePath, policy: Path | None, verify: bool, as_json: bool) -> None:
    """Owner only: count what the policy misses; exact and private.

    Rows that are left out of every answer, and values that the policy does not declare.
    """
    console = Console()
    from dpsql.interface.dbapi.database import database_path, named_by_policy, source_of
    from dpsql.interface.dbapi.opening import contents, open_engine
    from dpsql.interface.dbapi.paths import default_policy_path
    from dpsql.interface.render.domain_check import TableCheck, domain_check_object, render_domain_check
    from dpsql.interface.render.structured import to_json
    from dpsql.policy import cautions
    from dpsql.policy_file import load_policy

    by_policy = named_by_policy(database_path(database), policy)
    if by_policy is not None:
        database, policy = source_of(by_policy), by_policy
    rules = load_policy(default_policy_path(database) if policy is None else policy)
    engine = open_engine(database, rules, known=contents(trusted=not verify))
    try:
        doubts = cautions(rules, engine.tables_read(), owner=True)
        ledgers = _ledgers_of(engine) if verify else []
        found = [TableCheck(t, engine.row_tally(t.name), engine.out_of_domain(t.name)) for t in rules.tables]
    finally:
        engine.close()
    if as_json:
        console.text(to_json(domain_check_object(found), indent=2) + "\n")
    else:
        console.lines(render_domain_check(found, console.out))
    console.notices([*ledgers, *doubts, "these counts are exact and not protected: for the owner's eyes"])


def _ledgers_of(engine: "OwnersEngine") -> list[str]:
    """Which ledgers are known of the rows as they are now, read anew; one sentence."""
    from dpsql.interface.dbapi.opening import registry

    tables, known = engine.table_fingerprints(), registry()
    paths = sorted({anchor.path for table in tables for anchor in known.anchors(table).values()})
    if not paths:
        return ["every row was read: no ledger is known of the rows as they are now"]
    return [f"every row was read: these are the rows of {' and '.join(paths)}"]


def _exists(path: Path) -> OperationalError:
    return OperationalError(f"{path} exists", hint="edit it, or overwrite it with --force")


def _import(rows: Path, console: Console) -> None:
    from dpsql.engine.duckdb import import_rows, is_parquet, table_of

    database = import_rows(rows)
    console.notices([f"{rows} was copied into {database} as table {table_of(rows)}, which dpsql reads from now on"])
    if not is_parquet(rows):
        console.notices(["the policy shows its columns to analysts: see that they are names, not a first row of data"])


def _advised(draft: str, rows: dict[str, int] | None) -> str:
    """The draft with its advice on epsilon; as it is where a name in it must be corrected before it loads."""
    from dpsql.planning.advice import advice
    from dpsql.policy_file import load_policy, with_advice

    try:
        rules = load_policy(draft)
    except PolicyError:
        return draft
    return with_advice(draft, advice(rules, rows))
