"""What an aggregate asks of its rows: sums of parts, or the counts of an expression's values.

The values that reading an aggregate produces; ``aggregates`` and ``summaries`` read them, ``blocks`` lowers them.
"""

from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from dpsql.domain import FiniteDomain
from dpsql.query.summary import CellsKind, MomentsKind
from dpsql.sql.expressions.bound import Bound


@dataclass(frozen=True, eq=False, slots=True)
class Summand:
    """``coefficient`` times the sum, over rows where every conjunct is TRUE, of ``value`` (1 when ``None``)."""

    coefficient: float
    conjuncts: tuple[Bound, ...] = ()
    value: Bound | None = None

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """All its expressions."""
        return (*self.conjuncts, *self.multiplied)

    @property
    def multiplied(self) -> tuple[Bound, ...]:
        """What is multiplied to its value, the value itself where that is no product; nothing without one."""
        return () if self.value is None else self.value.product or (self.value,)

    def within(self, shared: tuple[Bound, ...]) -> "Summand":
        """The same over the rows where ``shared`` is TRUE as well."""
        return Summand(self.coefficient, shared + self.conjuncts, self.value)


@dataclass(frozen=True, eq=False, slots=True)
class MomentsAsked:
    """A function of sums: of 1, x, x^2, to x^4 for higher moments, or of 1, x, x^2, y, y^2, xy, each a tuple of parts;
    x and y less ``centers``. ``column``: the number column that x is, where it is nothing else and alone."""

    kind: MomentsKind
    sums: tuple[tuple[Summand, ...], ...]
    centers: tuple[float, ...]
    column: str | None = None

    def within(self, shared: tuple[Bound, ...]) -> "MomentsAsked":
        """The same over the rows where ``shared`` is TRUE."""
        return replace(self, sums=tuple(tuple(s.within(shared) for s in parts) for parts in self.sums))


@dataclass(frozen=True, eq=False, slots=True)
class CellsAsked:
    """A function of the counts of the values of ``value`` in the rows where every one of ``conjuncts`` is TRUE.

    ``level``: of a quantile, or how many values. ``column``: the domain of the column that the value is, if it is one.
    """

    kind: CellsKind
    value: Bound
    level: float = 0.0
    column: FiniteDomain | None = None
    conjuncts: tuple[Bound, ...] = ()

    def within(self, shared: tuple[Bound, ...]) -> "CellsAsked":
        """The same over the rows where ``shared`` is TRUE."""
        return CellsAsked(self.kind, self.value, self.level, self.column, shared + self.conjuncts)


@dataclass(frozen=True, eq=False, slots=True)
class DistinctAsked:
    """The number of different values of ``column``, units or strings, in the rows where every conjunct is TRUE."""

    table: str
    column: str
    conjuncts: tuple[Bound, ...] = ()

    @property
    def rows(self) -> Summand:
        """These rows, counted."""
        return Summand(1.0, self.conjuncts)

    def within(self, shared: tuple[Bound, ...]) -> "DistinctAsked":
        """The same over the rows where ``shared`` is TRUE."""
        return DistinctAsked(self.table, self.column, shared + self.conjuncts)


@dataclass(frozen=True, eq=False, slots=True)
class Aggregation:
    """One aggregate: ``numerator`` (over ``denominator`` for AVG). ``integral``: all its values are whole numbers.

    ``constants``: the values that an averaged expression can have, when it is written as constants. ``summary``: what
    is asked instead of a numerator, by an aggregate that is no sum. ``values_are``: what an averaged value is of the
    values of the numerator's parts: one of them, the sum of all, or nothing that is known.
    """

    node: exp.Expr
    numerator: tuple[Summand, ...]
    denominator: tuple[Summand, ...] | None = None
    integral: bool = True
    constants: tuple[float, ...] | None = None
    summary: MomentsAsked | CellsAsked | DistinctAsked | None = None
    values_are: Literal["one", "all", "unknown"] = "one"

    @property
    def summands(self) -> tuple[Summand, ...]:
        """All its parts, in the order in which they are lowered."""
        sums = self.summary.sums if isinstance(self.summary, MomentsAsked) else ()
        if isinstance(self.summary, DistinctAsked):
            return (self.summary.rows,)
        return (*self.numerator, *(self.denominator or ()), *(s for parts in sums for s in parts))

    @property
    def values(self) -> tuple[Bound, ...]:
        """The expressions of which it takes values."""
        own = (self.summary.value,) if isinstance(self.summary, CellsAsked) else ()
        return (*own, *(s.value for s in self.summands if s.value is not None))
