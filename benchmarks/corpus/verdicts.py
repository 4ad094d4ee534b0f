"""What the front end says of a statement: answered, or refused where, why, and what to write instead."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.corpus.statements import ANSWERED, Case, every
from benchmarks.corpus.tables import DRAFTED, SCHEMA, STRINGS, drafted, policy
from dpsql.errors import Error
from dpsql.policy import Policy
from dpsql.public import DuckDbPublicSql
from dpsql.sql import FrontEnd

SECONDS = 20.0


class AllKeys:
    """Every string of the text columns has been released; of a prefix, its first characters."""

    def keys(self, table: str, text_column: str) -> Sequence[str | None]:
        """The strings of a text column or of its prefix."""
        _, _, length = text_column.rstrip("]").partition("[:")
        cut = dict.fromkeys(s[: int(length)] if length else s for s in STRINGS)
        return (*cut, None)

    def shown_from(self, table: str, text_column: str) -> int | None:
        """Every column has some that are shown."""
        return None


def front_end(rules: Policy, read: Callable[[str], Any]) -> FrontEnd:
    """A front end whose public tables are what ``read`` gives."""
    return FrontEnd(rules, DuckDbPublicSql(read, seconds=SECONDS))


MOMENT = datetime(2024, 6, 15, 12, 30, 15)  # noqa: DTZ001 - what clock functions stand for, in the middle of the data


def verdict(front: FrontEnd, sql: str) -> str:
    """``answered``, or class, message with its place, and hint of the refusal."""
    try:
        front.lower(sql, keys=AllKeys(), rows={}, moment=MOMENT)
    except Error as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]} | {error.hint}"
    return ANSWERED


def verdicts(cases: Sequence[Case] | None = None) -> list[str]:
    """The verdict of each statement; of the whole corpus by default."""
    con = duckdb.connect()
    con.execute((SCHEMA / "public.sql").read_text(encoding="utf-8"))
    trips, draft = drafted()

    def reader(source: duckdb.DuckDBPyConnection) -> Callable[[str], pa.Table]:
        return lambda name: source.sql(f'FROM "{name}"').to_arrow_table()

    usual, of_draft = front_end(policy(), reader(con)), front_end(draft, reader(trips))
    found = every() if cases is None else cases
    return [verdict(of_draft if c.family == DRAFTED else usual, c.sql) for c in found]
