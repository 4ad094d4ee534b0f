"""What becomes of values that are not declared, for every kind of column; the engines count them alike elsewhere."""

from datetime import date

import pytest

from dpsql.domain import (
    BooleanDomain,
    CategoryDomain,
    ColumnDomain,
    DateDomain,
    Fate,
    IntegerDomain,
    NumberDomain,
    TextDomain,
    undeclared_become,
)

EDGES = (0.0, 5.0, 9.0)


@pytest.mark.parametrize(
    ("column", "fate"),
    [
        (NumberDomain("a", EDGES), "clipped"),
        (NumberDomain("a", EDGES, nullable=False), "clipped"),
        (NumberDomain("a", EDGES, outside="null"), "NULL"),
        (NumberDomain("a", EDGES, outside="null", nullable=False), "left out"),
        (NumberDomain("a", EDGES, reading="cell"), "NULL"),
        (IntegerDomain("a", 0, 9), "NULL"),
        (CategoryDomain("a", ("x",), nullable=False), "left out"),
        (DateDomain("a", date(2020, 1, 1), date(2020, 2, 1)), "NULL"),
        (BooleanDomain("a"), "none"),
        (TextDomain("a", nullable=False), "none"),
    ],
)
def test_fates(column: ColumnDomain, fate: Fate) -> None:
    assert undeclared_become(column) == fate
