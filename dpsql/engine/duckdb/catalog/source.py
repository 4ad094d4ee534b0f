"""A table or view of the database, as its catalog describes it."""

import re
from dataclasses import dataclass
from functools import cached_property

from dpsql.dialect.quoting import identifier
from dpsql.dialect.types import INTEGERS, sql_type
from dpsql.engine.origin import Origin

_LAST = re.compile(r'"((?:[^"]|"")*)"$')


@dataclass(frozen=True)
class Source:
    """A table or view: its qualified, quoted name, its columns with their DuckDB types, and whether it is no view.

    ``origin``: what a table of an extract was copied from; a copy of a view is no base table. ``derived``: name, DuckDB
    type and SQL of columns that are worked out from the others; they are no part of what the table is known by.
    """

    sql: str
    columns: tuple[tuple[str, str], ...]
    is_base_table: bool = False
    origin: Origin | None = None
    derived: tuple[tuple[str, str, str], ...] = ()

    @property
    def relation(self) -> str:
        """What stands after FROM for all columns, the derived ones too."""
        if not self.derived:
            return self.sql
        more = ", ".join(f"{expression} AS {identifier(name)}" for name, _, expression in self.derived)
        return f"(SELECT *, {more} FROM {self.sql})"

    @property
    def name(self) -> str:
        """Unqualified, without quotes."""
        last = _LAST.search(self.sql)
        return self.sql if last is None else last[1].replace('""', '"')

    @cached_property
    def types(self) -> dict[str, str]:
        """DuckDB types by lower-cased column name."""
        return {name.lower(): kind for name, kind, *_ in (*self.columns, *self.derived)}

    def type_of(self, column: str) -> str:
        return self.types[column.lower()]

    def has(self, column: str) -> bool:
        return column.lower() in self.types

    def is_of_integers(self, column: str) -> bool:
        """Whether a column of that name is of a type of whole numbers."""
        known = sql_type(self.types.get(column.lower(), ""))
        return known is not None and known.name in INTEGERS
