"""What the SQL front end needs from DuckDB: evaluating over public values, and running outer statements.

The front end may not import DuckDB; what it needs from it is written down here, and tests can pass something smaller.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from dpsql.domain import Value
from dpsql.query import Weights


@dataclass(frozen=True)
class GridColumn:
    """A column of a public grid: its quoted-able name, DuckDB type and the values it runs through, in order."""

    name: str
    sql_type: str
    values: tuple[Value, ...]


class PublicSql(Protocol):
    """A locked, empty, in-memory DuckDB. It never sees a private row.

    Every method raises ``dpsql.errors`` only: DataError when an expression fails on public values (a cast error,
    a division by zero), UnsupportedQuery when it takes longer than the limit.
    """

    def truth(self, columns: Sequence[GridColumn], predicates: Sequence[str]) -> list[Weights]:
        """Where each predicate is TRUE (1; FALSE and NULL are 0) on the cross product of the columns, row-major.

        Each array has shape ``tuple(len(c.values) for c in columns)``.
        """
        ...

    def values(self, columns: Sequence[GridColumn], expression: str) -> tuple[list[Value], str]:
        """The expression's value in every cell, row-major, and its DuckDB type."""
        ...

    def run(self, sql: str, tables: Mapping[str, pa.Table], public_tables: Sequence[str] = ()) -> pa.Table:
        """The rows of one SELECT over released tables (dropped afterwards) and copies of the named public tables."""
        ...
