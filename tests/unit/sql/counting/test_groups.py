"""Groups of one component: found at once, they ask what each of them asks alone."""

from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pytest

from dpsql.domain import CategoryDomain, DateDomain, IntegerDomain, TableDomain, TextDomain
from dpsql.errors import UnsupportedQuery
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import Counts, Factor, LinearQuery
from dpsql.sql import FrontEnd
from dpsql.sql.counting import groups
from dpsql.sql.counting.groups import Pieces, Ranks, pieces_of_groups
from dpsql.sql.counting.pieces import GridAxis, pieces
from dpsql.sql.counting.slabs import Slab
from dpsql.sql.expressions.text_classes import text_classes
from tests.support.exact import public_sql

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


@pytest.mark.parametrize("columns", ["volume // 50, COUNT(*)", "kind, volume // 50, COUNT(*)"])
def test_too_many_cells_of_groups_name_the_column_that_has_them(columns: str) -> None:
    wide = TableDomain("wide", (IntegerDomain("volume", 0, 100_000), CategoryDomain("kind", ("a", "b", "c"))))
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (wide,))
    with pytest.raises(UnsupportedQuery, match="more work than is done") as refused:
        FrontEnd(policy, public_sql()).lower(f"SELECT {columns} FROM wide GROUP BY ALL")
    assert refused.value.hint is not None and refused.value.hint.endswith(
        "let the owner declare volume, which has 100,002 cells, as a number in bins"
    )


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        (
            "volume < 500 AND price > 2 AND day < '2023-06-01'",
            "declare volume, which has 100,002 cells, as a number in",
        ),
        ("seen < '2023-01-05 10:00' AND price > 2 AND day > '2023-06-01'", "declare seen, which has 8,761 cells, by a"),
        ("price > 2 AND cost > 2 AND tax > 2", "use fewer columns in one statement, or take strategy"),
    ],
)
def test_too_many_cells_name_the_column_that_is_most_of_them(condition: str, hint: str) -> None:
    wide = TableDomain(
        "wide",
        (
            IntegerDomain("volume", 0, 100_000),
            DateDomain(
                "seen", datetime.fromisoformat("2023-01-01"), datetime.fromisoformat("2023-12-31 23:00"), "hour"
            ),
            DateDomain("day", date(2023, 1, 1), date(2023, 12, 31)),
            *(IntegerDomain(name, 0, 400) for name in ("price", "cost", "tax")),
        ),
    )
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (wide,), mechanism=Mechanism(strategy="pmw"))
    with pytest.raises(UnsupportedQuery, match="cells at once") as refused:
        FrontEnd(policy, public_sql()).lower(f"SELECT COUNT(*) FROM wide WHERE {condition}")
    assert refused.value.hint is not None and hint in refused.value.hint


def test_conditions_on_more_columns_than_are_counted_name_the_limit() -> None:
    """Each is met or not: those on twenty columns tell 2^20 combinations apart, however many values these have."""
    wide = TableDomain("wide", tuple(IntegerDomain(f"c{i}", 0, 400) for i in range(24)))
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (wide,))

    def asked(columns: int) -> str:
        return "SELECT COUNT(*) FROM wide WHERE " + " AND ".join(f"c{i} < 9" for i in range(columns))

    FrontEnd(policy, public_sql()).lower(asked(20))
    with pytest.raises(UnsupportedQuery, match="conditions of the statement on 21 columns tell more") as refused:
        FrontEnd(policy, public_sql()).lower(asked(21))
    assert refused.value.hint is not None and refused.value.hint.startswith("use conditions on 20 columns at most")
    pmw = Policy(policy.privacy, (wide,), mechanism=Mechanism(strategy="pmw"))
    with pytest.raises(UnsupportedQuery, match=r"touches about 10\^62 cells at once"):
        FrontEnd(pmw, public_sql()).lower(asked(24))


def test_numbers_of_cells_that_python_does_not_write_are_still_said() -> None:
    """More digits than a string of an integer may have, and more parts than a float holds."""
    columns = tuple(IntegerDomain(f"c{i}", 0, 400) for i in range(1_700))
    factors = tuple(Factor((c.name,), (np.arange(c.size) < 9).astype(np.int64)) for c in columns)
    wide, query = TableDomain("wide", columns), LinearQuery("wide", factors)
    assert "about 10^4427 cells" in groups.too_many_cells(wide, query, query.cells, 1 << 24).message
    assert "on 1700 columns" in groups.too_many_cells(wide, query, query.cells, 1 << 24, 2**1_700).message
