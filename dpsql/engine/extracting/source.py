"""What an extract is made from: something that shows one state of its tables while it is read.

A table that changes between two of its rows, or between two tables, is no state that ever was. So each kind of source
says how it holds one still, or how it would notice that it did not stand still.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import duckdb


@dataclass(frozen=True)
class Relation:
    """A table as DuckDB can read it, once: ``sql`` for a FROM clause, and whether it is a view in its source."""

    sql: str
    view: bool = False


class Reading(Protocol):
    """One state of a source, while its context lasts. Nothing of a failure quotes a value."""

    @property
    def address(self) -> str:
        """Where it is: an absolute path, or an address without its password; "" for what is in memory. Public."""
        ...

    @property
    def snapshot(self) -> str:
        """Which state of it this is, in its own words. Public."""
        ...

    def relation(
        self,
        table: str,
        columns: Sequence[str] | None,
        *,
        unit: str | None = None,
        strings: Sequence[str] = (),
        private: bool = True,
    ) -> Relation:
        """A table and those of its columns that are asked for (all: ``None``), names in any case.

        ``unit``: the column whose values are told apart here exactly where the source tells them apart.
        ``strings``: those that are declared as strings; a source without types hands them out as they are written.

        PolicyError with the key's path where it is not there.
        """
        ...


class Source(Protocol):
    """Where tables are, before anything of it was opened."""

    @property
    def holds_one_table(self) -> bool:
        """Whether it has rows and no names: files of rows, a frame."""
        ...

    def open(self, connection: duckdb.DuckDBPyConnection) -> AbstractContextManager[Reading]:
        """Held still until the context ends. ``connection``: that which will read it. EngineError with a next step."""
        ...
