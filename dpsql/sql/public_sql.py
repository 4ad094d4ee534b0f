"""What the SQL front end needs from DuckDB: evaluating over public values, and running outer statements.

The front end may not import DuckDB; what it needs from it is written down here, and tests can pass something smaller.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpsql.domain import Value
from dpsql.query import Weights

COUNT_TEXT = "count text by groups, or with COUNT(DISTINCT x); numbers in text are TRY_CAST(x AS DOUBLE)"
"""What to do instead of taking a sum of text."""
Truth = npt.NDArray[np.bool_]
"""Where a predicate is TRUE on a grid of cells."""


@dataclass(frozen=True)
class GridColumn:
    """A column of a public grid: its quoted-able name, DuckDB type and the values it runs through, in order."""

    name: str
    sql_type: str
    values: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class CellCodes:
    """An expression's value in every cell, row-major, as an index into ``values``: distinct, as they first appear."""

    codes: Weights
    values: tuple[Value, ...]
    sql_type: str


@dataclass(frozen=True, eq=False)
class CellNumbers:
    """A numeric expression's value in every cell, row-major: int64 or float64, 0 where it is NULL (not ``known``)."""

    numbers: npt.NDArray[np.int64] | npt.NDArray[np.float64]
    known: Truth
    sql_type: str


class PublicSql(Protocol):
    """A locked, empty, in-memory DuckDB. It never sees a private row.

    Every method raises ``dpsql.errors`` only: DataError when an expression fails on public values (a cast error,
    a division by zero), UnsupportedQuery when the statement uses more time or memory than it may.
    """

    def statement(self) -> AbstractContextManager[None]:
        """Everything asked inside shares the time of one statement; what is asked outside has it for itself."""
        ...

    def read(self, text: str) -> None:
        """Whether the text is SQL at all, by DuckDB's own parser. Raises SqlSyntaxError with line and column."""
        ...

    def truth(self, columns: Sequence[GridColumn], predicates: Sequence[str]) -> list[Truth]:
        """Where each predicate is TRUE on the cross product of the columns, row-major.

        Each array has shape ``tuple(len(c.values) for c in columns)``.
        """
        ...

    def codes(self, columns: Sequence[GridColumn], expression: str) -> CellCodes:
        """The expression's value in every cell. UnsupportedQuery for what is no group key, DataError for a value that
        has no Python form."""
        ...

    def numbers(self, columns: Sequence[GridColumn], expression: str) -> CellNumbers:
        """The numeric expression's value in every cell. DataError for what is no number."""
        ...

    def run(
        self, sql: str, tables: Mapping[str, pa.Table], public_tables: Sequence[str] = (), *, trial: bool = False
    ) -> pa.Table:
        """The rows of one SELECT over released tables (dropped afterwards) and copies of the named public tables.

        A ``trial`` may use half of the statement's time at most, so that what it tries can be done in the rest.
        """
        ...
