"""Groups of one component: found at once, they ask what each of them asks alone."""

from collections.abc import Mapping

import numpy as np
import pytest

from dpsql.domain import CategoryDomain, TableDomain, TextDomain
from dpsql.errors import UnsupportedQuery
from dpsql.query import Counts
from dpsql.sql.counting import groups
from dpsql.sql.counting.groups import Pieces, Ranks, pieces_of_groups
from dpsql.sql.counting.pieces import GridAxis, pieces
from dpsql.sql.counting.slabs import Slab
from dpsql.sql.expressions.text_classes import text_classes

TABLE = TableDomain("t", (CategoryDomain("kind", tuple("abcdef"), nullable=False), TextDomain("name")))
STRINGS = text_classes("name", ["x", "b", "a", "é", "Z"])
AXES = {"kind": GridAxis("kind", 6), "name": GridAxis("name", STRINGS.size, STRINGS)}


SIZES = (2, 5)  # of two group expressions over the column


def asked(found: Mapping[Ranks, Pieces]) -> dict[Ranks, list[tuple[float, str]]]:
    return {ranks: [(p.coefficient, p.query.digest) for p in here] for ranks, here in found.items()}


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        ("kind", [0, 1, 2, 3, 4, 5]),
        ("kind", [2, -1, 0, 2, -1, 9]),
        ("kind", [3, 3, 3, 3, 3, 3]),
        ("kind", [-1, -1, -1, -1, -1, -1]),
        ("name", [4, 1, 0, -1, 2, 7, -1]),  # NULL, then all other strings, which are in no group
        ("name", [4, 1, 1, -1, 4, 1, -1]),
    ],
)
def test_they_ask_what_each_asks_alone(column: str, codes: list[int]) -> None:
    axes, flat = (AXES[column],), np.array(codes)

    def one(code: int, slab: Slab) -> Pieces:
        assert slab.axes == axes
        return pieces(TABLE, axes, (flat == code).astype(np.int64))

    together = asked(pieces_of_groups(TABLE, axes, flat, None, SIZES))
    assert together == asked(pieces_of_groups(TABLE, axes, flat, one, SIZES))
    assert list(together) == [divmod(code, 5) for code in sorted(set(codes) - {-1})]


def grid(number: int) -> tuple[tuple[GridAxis], Counts]:
    return (GridAxis("kind", number),), np.arange(number)


def test_more_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MAX_GROUPS", 5)
    with pytest.raises(UnsupportedQuery, match="would make 6 groups"):
        pieces_of_groups(TABLE, *grid(6), None, SIZES)
    assert len(pieces_of_groups(TABLE, *grid(5), None, SIZES)) == 5
    monkeypatch.setattr(groups, "MAX_GROUP_CELLS", 24)
    with pytest.raises(UnsupportedQuery, match="5 groups over 25 cells"):
        pieces_of_groups(TABLE, *grid(5), None, SIZES)
    name = (AXES["name"],), np.array([0, 1, 2, 3, 4, -1, -1])
    assert len(pieces_of_groups(TABLE, *name, None, SIZES)) == 5  # strings cost what their list costs
