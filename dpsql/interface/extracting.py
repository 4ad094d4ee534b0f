"""``dpsql.extract``: which source each table of a policy has, in the words of an owner.

Tables are told by a policy; a file of rows has no name for its table. What fits what is decided here, before anything
is opened.
"""

import os
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsql.errors import InterfaceError, OperationalError, PolicyError
from dpsql.interface.dbapi.database import file_path
from dpsql.policy import Policy
from dpsql.policy_file import load_policy

if TYPE_CHECKING:
    from dpsql.engine.extracting import Source


def extract(
    source: Any, policy: "str | PathLike[str] | Policy", output: "str | PathLike[str]", *, replace: bool = False
) -> Path:
    """Copy a policy's tables, from wherever they are, into a new DuckDB file that dpsql reads. For the owner.

    ``source``: a parquet or csv file, a folder or a pattern of them; the folder of a Delta table (``PATH@v3``: of its
    version 3), the metadata file of an Iceberg one (``PATH@ID``: of the snapshot with this id); a DuckDB file;
    ``postgresql://user@host/name``; a pandas, Polars or pyarrow frame or reader, such as an ADBC cursor's; or a mapping
    of table names to these, where ``""`` is for all tables that are not named.
    ``policy``: the path of a policy file, or a ``Policy``. ``output``: the path of the file, which is complete or not
    there at all. ``replace``: whether it may take the place of another.

    It holds the declared columns of one state of the source, of a table with a unit the rows that count, in random
    order, and can be read by its owner only. Raises PolicyError, EngineError, OperationalError, InterfaceError.
    """
    from dpsql.engine import extracting

    rules = policy if isinstance(policy, Policy) else load_policy(policy)
    given = source if isinstance(source, Mapping) else {"": source}
    path = file_path(output, "new database", "people.duckdb")
    extracting.extract(_by_table(given, rules), rules, path, replace=replace)
    return path


def named_sources(texts: Iterable[str], policy: Policy) -> dict[str, str]:
    """``TABLE=SOURCE`` and ``SOURCE`` items of a command line, by table; "" for the one without a name.

    >>> from dpsql.policy_file import load_policy
    >>> people = load_policy('''version = 1
    ... privacy = { epsilon = 1, delta = 1e-6 }
    ... tables.people.columns = { age = { type = "integer", min = 0, max = 9 } }
    ... ''')
    >>> named_sources(["people=year=2020/*.parquet"], people), named_sources(["year=2020/*.parquet"], people)
    ({'people': 'year=2020/*.parquet'}, {'': 'year=2020/*.parquet'})
    """
    known = {name.lower() for name in (*policy.by_name, *policy.public_tables)}
    found: dict[str, str] = {}
    for text in texts:
        name, sign, rest = text.partition("=")
        table = name.lower() if sign and name.lower() in known else ""
        if table in found:
            which = f"the table {name}" if table else "all tables that are not named"
            raise OperationalError(f"{which} would have two sources", hint="name each source once, as TABLE=SOURCE")
        found[table] = rest if table else text
    return found


def _by_table(given: Mapping[str, Any], policy: Policy) -> "dict[str, Source]":
    """The source of every table. PolicyError where a table has none, or a nameless one is for several."""
    tables = [t.name.lower() for t in policy.tables] + [name.lower() for name in policy.public_tables]
    named = {str(name).lower(): value for name, value in given.items()}
    unknown = sorted(name for name in named if name and name not in tables)
    if unknown:
        raise PolicyError("the policy has no such table", path=f"tables.{unknown[0]}", hint=f"it has {tables[0]}")
    sources = {name: _source(value) for name, value in named.items()}
    rest = [table for table in tables if table not in sources]
    if rest and "" not in sources:
        raise PolicyError("the table has no source", path=f"tables.{rest[0]}", hint=f"add {rest[0]}=SOURCE")
    if rest and sources[""].holds_one_table and len(rest) > 1:
        raise PolicyError(
            f"one source of rows cannot be both {rest[0]} and {rest[1]}",
            path=f"tables.{rest[1]}",
            hint=f"name them: {rest[0]}=SOURCE {rest[1]}=SOURCE",
        )
    return {table: sources[table if table in sources else ""] for table in tables}


def _source(given: Any) -> "Source":
    from dpsql.engine.duckdb import is_file_of_rows
    from dpsql.engine.extracting.duckdb_file import DuckDbSource
    from dpsql.engine.extracting.files import FilesSource
    from dpsql.engine.extracting.frames import FrameSource
    from dpsql.engine.extracting.lakehouse import lake_source
    from dpsql.engine.extracting.postgresql import PostgresSource
    from dpsql.engine.postgresql import is_address

    if not isinstance(given, str | PathLike):
        if not (callable(getattr(given, "__arrow_c_stream__", None)) or callable(getattr(given, "scanner", None))):
            raise InterfaceError(
                f"a source is a path, an address or a frame, not {type(given).__name__}",
                hint='call dpsql.extract("people.parquet", "people.dpsql.toml", "people.duckdb")',
            )
        return FrameSource(given)
    text = fspath(given)
    if is_address(text):
        return PostgresSource(text)
    if not text or "\0" in text:
        raise InterfaceError("not the path of a source", hint='write a path, such as "people.parquet"')
    path = Path(text)
    lake = lake_source(text)
    if lake is not None:
        return lake
    if os.path.isfile(path) and not is_file_of_rows(path):  # noqa: PTH113 - a name too long is no file
        return DuckDbSource(path)
    return FilesSource(text)
