"""What becomes of a value that a column does not declare: one rule, for notes, listings and the owner's counts."""

from typing import Literal

from dpsql.domain.column import (
    BooleanDomain,
    CategoryDomain,
    ColumnDomain,
    DateDomain,
    IntegerDomain,
    NumberDomain,
)
from dpsql.domain.text import TextDomain

Fate = Literal["clipped", "NULL", "left out", "none"]
"""``clipped``: the value counts as the nearer end of its range. ``NULL``: the row counts as one without a value there.
``left out``: it is counted nowhere. ``none``: every value is declared."""


def undeclared_become(column: ColumnDomain) -> Fate:
    """What a row counts as whose value in ``column`` is not NULL and not declared.

    >>> undeclared_become(IntegerDomain("age", 0, 9)), undeclared_become(IntegerDomain("age", 0, 9, nullable=False))
    ('NULL', 'left out')
    """
    match column:
        case BooleanDomain() | TextDomain():
            return "none"
        case NumberDomain() if column.outside == "clip" and column.reading == "value":
            return "clipped"
        case CategoryDomain() | IntegerDomain() | NumberDomain() | DateDomain():
            return "NULL" if column.nullable else "left out"
