"""Which contingencies are measured first: shares, and when 3-way ones are worth it."""

from datetime import date, datetime
from itertools import combinations, pairwise
from typing import Any

import duckdb
import numpy as np
import pytest

from dpsql.domain import BooleanDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain
from dpsql.hypothesis.partition import triple_parts
from dpsql.planning.contingencies import (
    ALONE_SHARE,
    ALONE_SHARES,
    CALENDAR_SHARE,
    INSIDE,
    LEAST_TRIPLE_PARTS,
    LONGER_SHARE,
    ONE_WAY_SHARE,
    PARTS,
    RANGE_PARTS,
    TRIPLE_CELL,
    TRIPLE_SHARE,
    first_touch,
    first_touch_share,
    later_shares,
    planned_alone,
    planned_contingencies,
    planned_in_longer_units,
    range_parts,
    triple_cells,
    warm_start,
)
from tests.support.simulated import table_of

ADULT = table_of((17, 9, 16, 7, 2, 2), (True,))


def orders(precision: float, total: float = 48_842.0) -> set[int]:
    return {len(p.columns) for p in warm_start(ADULT, total, precision)}


def test_three_way_tables_only_when_their_noise_is_small() -> None:
    assert orders(0.04) == {1, 2, 3}  # epsilon 1
    assert orders(0.0005) == {1, 2}  # epsilon .1
    assert orders(0.0005, total=5e6) == {1, 2, 3}


def test_shares_are_the_whole_precision() -> None:
    for precision in (0.04, 0.0005):
        planned = warm_start(ADULT, 48_842.0, precision)
        assert sum(p.share for p in planned) == pytest.approx(1.0)
        assert sum(p.sigma(precision) ** -2 for p in planned) == pytest.approx(precision)
        assert len({p.columns for p in planned}) == len(planned)


def test_shares_follow_the_number_of_cells() -> None:
    share = {p.columns: p.share for p in warm_start(ADULT, 48_842.0, 0.04)}
    one, pair, triple = (sum(s for c, s in share.items() if len(c) == n) for n in (1, 2, 3))
    assert (one, pair, triple) == pytest.approx((0.3, 0.5, 0.2))
    a, b, e, f = (c.name for c in ADULT.finite if c.name in "abef")  # 17, 9, 2 and 2 values
    assert share[(a,)] / share[(b,)] == pytest.approx((17 / 9) ** 0.5)
    assert share[(a, b)] / share[(e, f)] == pytest.approx((17 * 9 / 4) ** 0.4)
    assert share[(a, b, e)] / share[(b, e, f)] == pytest.approx(1.0)


def test_wide_tables_measure_pairs_when_they_are_touched() -> None:
    wide = table_of((6,) * 20)
    planned = warm_start(wide, 1e5, 0.04)
    assert {len(p.columns) for p in planned} == {1}
    shares = [first_touch_share(j, 20) for j in range(1, 191)]
    assert sum(p.share for p in planned) + sum(shares) == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)
    assert min(shares) > 0
    eager = table_of((20,) * 14)
    assert sum(p.share for p in warm_start(eager, 1e5, 0.04) if len(p.columns) == 1) == pytest.approx(ONE_WAY_SHARE)


@pytest.mark.parametrize("planned", [10, 1_000, 4_000, 100_000])
def test_shares_of_pairs_are_flatter_where_more_questions_are_planned(planned: int) -> None:
    delay = first_touch(planned, 20)
    shares = [first_touch_share(j, 20, delay) for j in range(1, 191)]
    assert shares[0] / shares[-1] == pytest.approx((190 + delay * 190) / (1 + delay * 190))
    assert delay == pytest.approx(min(1.0, max(0.1, planned / 1_900)))
    assert sum(shares) == pytest.approx(1.0 - ONE_WAY_SHARE)
    for j in (0, 7, 189):
        assert later_shares(j, 20, delay) == pytest.approx(sum(shares[j:]))


def test_a_table_of_many_rows_for_its_cells_is_also_measured_whole() -> None:
    """Beside the others, whose shares shrink by a tenth; where its noise over all cells is at most .02 of the rows."""
    table = table_of((10, 8, 6, 5))
    noise = (0.1 * 0.04) ** -0.5 * 2_400**0.5
    few, many = (planned_contingencies(table, noise / 0.02 * times, 0.04) for times in (0.99, 1.01))
    assert [p.columns for p in many] == [*[p.columns for p in few], ("a", "b", "c", "d")]
    assert [p.share for p in many] == pytest.approx([*[0.9 * p.share for p in few], 0.1])
    assert sum(p.share for p in many) == pytest.approx(1.0)
    assert planned_contingencies(table, 1e9, 0.04, beside=False) == few


@pytest.mark.parametrize(
    ("sizes", "whole"), [((3,) * 8, True), ((3,) * 9, False), ((20, 20, 20), False), ((70,) * 4, False)]
)
def test_only_tables_of_four_to_eight_columns_and_one_tensor_are_measured_whole(
    sizes: tuple[int, ...], whole: bool
) -> None:
    planned = planned_contingencies(table_of(sizes), 1e8, 0.04)
    assert any(len(p.columns) == len(sizes) > 3 for p in planned) == whole


def test_wide_tables_of_many_rows_measure_three_columns_together() -> None:
    """From so many rows on that an average cell of six parts of each holds six sds of its noise."""
    table, precision = table_of((20, 30, 40, 50, 60)), 0.04
    noise = (TRIPLE_SHARE / 10 * precision) ** -0.5
    rows = LEAST_TRIPLE_PARTS**3 * TRIPLE_CELL * noise
    few, many = (planned_contingencies(table, rows * times, precision) for times in (0.999, 1.001))
    assert {len(p.columns) for p in few} == {1, 2}
    assert [p.columns for p in many[: len(few)]] == [p.columns for p in few]
    assert [p.share for p in many[: len(few)]] == pytest.approx([(1.0 - TRIPLE_SHARE) * p.share for p in few])
    assert [p.share for p in many[len(few) :]] == pytest.approx([TRIPLE_SHARE / 10] * 10)
    assert {p.columns for p in many[len(few) :]} == set(combinations("abcde", 3))
    assert sum(p.share for p in many) == pytest.approx(1.0)
    assert planned_contingencies(table, 1e9, precision, triples=False) == few


@pytest.mark.parametrize("sizes", [(600, 600), (9, 8, 7), (6,) * 17])
def test_other_tables_have_no_coarse_triples(sizes: tuple[int, ...]) -> None:
    table = table_of(sizes)
    assert planned_contingencies(table, 1e9, 0.04, triples=False) == planned_contingencies(table, 1e9, 0.04)


@pytest.mark.parametrize("sizes", [(60, 50, 40), (60, 50, 2), (60, 3, 2), (3, 2, 2)])
@pytest.mark.parametrize("cells", [10.0, 216.0, 1000.0])
def test_parts_of_triples_are_as_many_as_their_cells_allow(sizes: tuple[int, ...], cells: float) -> None:
    most = triple_parts(sizes, cells)
    assert most == 2 or np.prod([min(n, most) for n in sizes]) <= cells
    assert most == max(sizes) or np.prod([min(n, most + 1) for n in sizes]) > cells
    assert triple_cells(6_000.0, 10.0) == 6_000.0 / (TRIPLE_CELL * 10.0)
    assert triple_parts(sizes, triple_cells(-5.0, 10.0)) == 2


def test_few_columns() -> None:
    assert warm_start(table_of((5,)), 100.0, 0.04)[0].share == 1.0
    assert [p.columns for p in warm_start(table_of((5, 1)), 100.0, 0.04)] == [("a",)]
    assert {len(p.columns) for p in warm_start(table_of((5, 4)), 100.0, 0.04)} == {1, 2}


def test_long_ranges_of_wide_tables_are_also_measured_in_parts() -> None:
    long = IntegerDomain("delay", -43, 1301)
    others = tuple(IntegerDomain(c, 0, 30) for c in "abc")
    wide, narrow = TableDomain("t", (long, *others)), TableDomain("t", (long, others[0]))
    assert [p.columns for p in planned_alone(wide)] == [("delay", PARTS)]
    assert planned_alone(wide, long_ranges=False) == () == planned_alone(narrow)
    planned = planned_contingencies(wide, 1e5, 0.04)
    assert sum(p.share for p in (*planned, *planned_alone(wide))) == pytest.approx(1.0)
    labels = range_parts(long)
    assert labels.shape == (long.size,) and (np.diff(labels) >= 0).all() and labels.max() <= RANGE_PARTS
    assert (labels == labels[-1]).sum() == 1  # NULL


def test_number_columns_have_their_positions_measured() -> None:
    table = TableDomain("t", (NumberDomain("x", (0.0, 1.0, 2.0)), BooleanDomain("b")))
    assert [p.columns for p in planned_alone(table)] == [("x", INSIDE)]
    cells = TableDomain("t", (NumberDomain("x", (0.0, 1.0, 2.0), reading="cell"), BooleanDomain("b")))
    assert planned_alone(cells) == ()
    many = TableDomain("t", tuple(NumberDomain(f"x{i}", (0.0, 1.0, 2.0)) for i in range(20)))
    assert sum(p.share for p in planned_alone(many)) == pytest.approx(ALONE_SHARES)


@pytest.mark.parametrize("wide", [True, False])
def test_long_ranges_of_dates_are_also_measured_in_longer_units(wide: bool) -> None:
    days = DateDomain("day", date(2023, 1, 15), date(2024, 12, 31))
    others = tuple(IntegerDomain(c, 0, 30) for c in "abc")[: 3 if wide else 1]
    table = TableDomain("t", (days, *others))
    (planned,) = planned_alone(table)
    assert (planned.columns, planned.share) == (("day", PARTS), ALONE_SHARE if wide else CALENDAR_SHARE)
    assert planned_alone(table, calendar=False) == planned_alone(table, long_ranges=False) == ()
    labels = range_parts(days)
    months = [(v.year, v.month) for v in days.values if isinstance(v, date)]
    assert len(set(months)) == 24 == labels.max()
    assert all(
        (labels[i] == labels[j]) == (months[i] == months[j]) for i in (0, 16, 17, 400) for j in range(len(months))
    )
    assert (labels == labels[-1]).sum() == 1  # NULL
    few = DateDomain("day", date(2023, 1, 1), date(2023, 5, 1))
    assert planned_alone(TableDomain("t", (few, *others))) == ()


def test_dates_of_a_tensor_are_measured_with_other_columns_in_longer_units() -> None:
    """Each contingency of their cells gives up a share for it; those without such a date keep theirs."""
    days = DateDomain("day", date(2023, 1, 1), date(2023, 12, 31), nullable=False)
    table = TableDomain("t", (days, *(IntegerDomain(c, 1, 5, nullable=False) for c in "ab")))
    both, alone = (planned_contingencies(table, 1e6, 0.05, calendar_pairs=more) for more in (True, False))
    longer = planned_in_longer_units(table, both)
    assert [p.columns for p in longer] == [
        (*p.columns, PARTS) for p in both if "day" in p.columns and len(p.columns) > 1
    ]
    assert len(longer) == 3  # a, b, and both
    for p, q in zip(both, alone, strict=True):
        times = 1.0 - LONGER_SHARE if "day" in p.columns and len(p.columns) > 1 else 1.0
        assert p.columns == q.columns
        assert p.share == pytest.approx(times * q.share)
    shares = {p.columns: p.share for p in alone}
    assert [p.share for p in longer] == pytest.approx([LONGER_SHARE * shares[p.columns[:-1]] for p in longer])
    assert sum(p.share for p in (*both, *longer, *planned_alone(table))) == pytest.approx(1.0)


def test_other_tables_measure_nothing_in_longer_units_with_other_columns() -> None:
    lasts = date(2023, 5, 1), date(2023, 12, 31)
    few, days = (DateDomain("day", date(2023, 1, 1), last, nullable=False) for last in lasts)
    others = tuple(IntegerDomain(c, 0, 30) for c in "abc")
    for table in (TableDomain("t", (few, others[0])), TableDomain("t", (days, *others)), TableDomain("t", (days,))):
        planned = planned_contingencies(table, 1e6, 0.05)
        assert planned_in_longer_units(table, planned) == ()
        assert planned == planned_contingencies(table, 1e6, 0.05, calendar_pairs=False)


@pytest.mark.parametrize(
    ("unit", "longer", "first", "last"),
    [
        ("minute", "hour", "2023-03-01T05:00", "2023-03-01T20:00"),
        ("hour", "day", "2023-03-01T05:00", "2023-03-09T00:00"),
        ("day", "month", "2011-01-05", "2013-09-01"),
        ("week", "quarter", "2011-01-05", "2030-01-01"),
        ("month", "year", "2011-01-05", "2030-01-01"),
    ],
)
def test_each_unit_of_the_calendar_has_a_longer_one(unit: Any, longer: str, first: str, last: str) -> None:
    """As DuckDB truncates its values."""
    of = datetime if "T" in first else date
    domain = DateDomain("d", of.fromisoformat(first), of.fromisoformat(last), unit)
    with duckdb.connect() as con:
        texts = [str(v) for v in domain.values]
        told = con.execute("SELECT date_trunc(?, unnest(?)::TIMESTAMP)", [longer, texts]).fetchall()
    labels = range_parts(domain)
    assert len(told) == domain.size - 1 > 128
    assert [labels[i] == labels[i + 1] for i in range(len(told) - 1)] == [a == b for a, b in pairwise(told)]
    assert labels.max() == len(set(told))


def test_years_have_nothing_longer() -> None:
    """Their parts would be their cells, which are measured under another name."""
    years = DateDomain("d", date(1850, 1, 1), date(1999, 12, 31), "year")
    assert years.size > 129
    for others in (1, 3):
        table = TableDomain("t", (years, *(IntegerDomain(c, 0, 60) for c in "abc"[:others])))
        assert planned_alone(table) == ()
