"""A private table as the analyst may know it: declared columns and the privacy unit. All of it is public.

It is what a policy says of one table and no more: the layers between policy and engine need the columns and the privacy
unit, not the budget.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Literal

from dpsql.domain.column import ColumnDomain, FiniteDomain
from dpsql.domain.derived import Derived
from dpsql.domain.prefix import Prefix
from dpsql.domain.text import TextDomain
from dpsql.domain.weight import check_weight
from dpsql.errors import PolicyError

RowCount = Literal["measured", "public"]


@dataclass(frozen=True)
class TableDomain:
    """The declared columns of a private table, in the policy's order.

    ``unit`` names the column whose value identifies a privacy unit (``None``: every row is its own unit), and at most
    ``max_rows_per_unit`` rows of a unit are counted. ``row_count``: "public" where the owner declares that everybody
    may know the number of rows. ``joins``: two private tables that have the same unit, where this is the view of their
    inner join by it. ``derived``: the
    columns among them that are worked out from others of the same row. ``weight``: how much the table has of what is
    measured first, beside the weights of the others.

    >>> from dpsql.domain import BooleanDomain, IntegerDomain
    >>> t = TableDomain("t", (IntegerDomain("age", 0, 9, nullable=False), BooleanDomain("b", nullable=False)))
    >>> t.cells, t.shape(("age", "b"))
    (20, (10, 2))
    """

    name: str
    columns: tuple[ColumnDomain, ...]
    unit: str | None = None
    max_rows_per_unit: int = 1
    row_count: RowCount = field(default="measured", repr=False)  # ledgers are bound to the repr of earlier fields
    joins: tuple[str, ...] = field(default=(), repr=False)
    derived: tuple[Derived, ...] = field(default=(), repr=False)
    weight: Fraction = field(default=Fraction(1), repr=False)

    def __post_init__(self) -> None:
        check_weight(self.weight, f"tables.{self.name}")
        for derived, prefix in self.prefixes.items():
            if derived.lower() in self.by_name:
                raise PolicyError(
                    f"the name stands for a prefix of {prefix.column}",
                    path=f"tables.{self.name}.columns.{derived}",
                    hint="rename the column in a view, or declare no prefix of this length",
                )

    @cached_property
    def by_name(self) -> dict[str, ColumnDomain]:
        """Columns by lower-cased name: DuckDB's identifiers are case-insensitive."""
        return {c.name.lower(): c for c in self.columns}

    @cached_property
    def finite(self) -> tuple[FiniteDomain, ...]:
        return tuple(c for c in self.columns if not isinstance(c, TextDomain))

    @cached_property
    def varied(self) -> tuple[FiniteDomain, ...]:
        """The finite columns that have more than one cell: the only ones that a contingency says something of."""
        return tuple(c for c in self.finite if c.size > 1)

    @cached_property
    def text(self) -> tuple[TextDomain, ...]:
        return tuple(c for c in self.columns if isinstance(c, TextDomain))

    @cached_property
    def most_rows(self) -> dict[str, int]:
        """The owner's word on the rows of a string, by text column; nothing of columns without one."""
        return {c.name: c.max_rows_per_value for c in self.text if c.max_rows_per_value is not None}

    def are_apart(self, text_columns: tuple[str, ...]) -> bool:
        """Whether these are several text columns of which none is a prefix of another."""
        bases = {self.prefixes[c].column if c in self.prefixes else c for c in text_columns}
        return len(bases) == len(text_columns) > 1

    @cached_property
    def weighs(self) -> bool:
        """Whether the owner says how important the table or some of its strings are."""
        return any(weight != 1 for weight in (self.weight, *(c.weight for c in self.text)))

    @cached_property
    def order(self) -> dict[str, int]:
        """Position of each column, prefixes last: scopes are always listed in this order."""
        return {name: i for i, name in enumerate([*(c.name for c in self.columns), *self.prefixes])}

    @cached_property
    def prefixes(self) -> dict[str, Prefix]:
        """The derived text columns by name, in the order of their text columns and lengths."""
        found = [Prefix(c.name, length) for c in self.text for length in c.prefixes]
        return {p.name: p for p in found}

    @cached_property
    def text_names(self) -> tuple[str, ...]:
        """Every text column that can be counted by keys: the declared ones, then the derived ones."""
        return (*(c.name for c in self.text), *self.prefixes)

    @cached_property
    def cells(self) -> int:
        """Number of cells of the universe: the product of the finite domains."""
        return prod(c.size for c in self.finite)

    def finite_domain(self, name: str) -> FiniteDomain:
        """The finite domain called exactly ``name``; KeyError for a text or unknown column."""
        return self._finite_by_name[name]

    @cached_property
    def _finite_by_name(self) -> dict[str, FiniteDomain]:
        return {c.name: c for c in self.finite}

    def shape(self, columns: tuple[str, ...]) -> tuple[int, ...]:
        """Sizes of the given finite columns."""
        return tuple(self._finite_by_name[c].size for c in columns)
