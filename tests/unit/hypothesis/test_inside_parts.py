"""Pairs inside of their measured parts: as neighbours have it, where these differ by more than noise."""

import numpy as np
import pytest

from dpsql.hypothesis.local.inside_parts import MOST_CELLS, inside_parts
from dpsql.hypothesis.local.pair_table import PairTable
from dpsql.hypothesis.partition import part_sums
from dpsql.query import Estimates

DAYS, WIDTH, EDGE = 24, 4, 10
"""Parts of four days each; who is at day 10 and beyond is overdue: the third part has two days of both."""
LABELS = np.arange(DAYS) // WIDTH
ROWS = np.linspace(900.0, 300.0, DAYS)
OVERDUE = (np.arange(DAYS) >= EDGE).astype(np.float64)
NEITHER = np.zeros(2, dtype=bool)


def of(late: Estimates, labels: np.ndarray = LABELS, rows: Estimates = ROWS) -> tuple[PairTable, Estimates]:
    """What is known of days beside two values, with so many of each day's rows in the second; and all cells."""
    cells = np.stack([rows * (1.0 - late), rows * late], axis=1)
    parts = np.stack([part_sums(labels, cells[:, i]) for i in range(2)], axis=1)
    return PairTable(labels, np.arange(2), parts), cells


def inside(
    table: PairTable, cells: Estimates, sigma: float = 20.0, *, ordered: bool = True, null: bool = False
) -> PairTable:
    ones = cells.sum(axis=1), cells.sum(axis=0)
    return inside_parts(table, ones, (ordered, False), (null, False), sigma)


def by_cells(table: PairTable, cells: Estimates) -> Estimates:
    """The table's counts of every cell: as the rows of its part."""
    rows = cells.sum(axis=1)
    return table.counts[table.left] * (rows / part_sums(table.left, rows)[table.left])[:, None]


def test_a_rule_inside_of_a_part_is_where_its_rows_say() -> None:
    table, cells = of(OVERDUE)
    found = by_cells(inside(table, cells), cells)
    before = by_cells(table, cells)
    assert np.abs(before[:EDGE, 1]).sum() > 600.0
    assert np.abs(found - cells).sum() < 0.05 * np.abs(before - cells).sum()


def test_the_table_of_parts_and_both_columns_stay() -> None:
    table, cells = of(OVERDUE)
    found = by_cells(inside(table, cells), cells)
    parts = np.stack([part_sums(LABELS, found[:, i]) for i in range(2)], axis=1)
    assert parts == pytest.approx(table.counts, rel=1e-4, abs=1e-3)
    assert found.sum(axis=1) == pytest.approx(ROWS, rel=1e-3)


def test_inside_the_odds_change_evenly_from_cell_to_cell() -> None:
    """Of all tables with these sums the nearest to a log-linear one has the same odds ratio between neighbours: raking
    multiplies rows and columns alone (Csiszar 1975)."""
    table, cells = of(0.05 + 0.9 * np.arange(DAYS) / DAYS)
    found = inside(table, cells, 1.0)
    for part in range(1, DAYS // WIDTH - 1):  # at the ends shares change no more than beside them
        here = found.counts[found.left[part * WIDTH : (part + 1) * WIDTH]]
        odds = np.log(here[1:, 1] * here[:-1, 0] / (here[1:, 0] * here[:-1, 1]))
        assert odds == pytest.approx(np.full(WIDTH - 1, odds[0]), rel=1e-6)
        assert odds[0] > 0.0


@pytest.mark.parametrize(
    ("late", "sigma", "ordered"),
    [(np.full(DAYS, 0.3), 20.0, True), (OVERDUE, 2000.0, True), (OVERDUE, 20.0, False)],
    ids=["nothing changes", "noise is more", "no order"],
)
def test_else_the_table_is_as_it_was(late: Estimates, sigma: float, ordered: bool) -> None:
    table, cells = of(late)
    assert inside(table, cells, sigma, ordered=ordered) is table


def test_cells_of_their_own_are_kept() -> None:
    table, cells = of(OVERDUE, np.arange(DAYS))
    assert inside(table, cells) is table


def test_null_is_no_neighbour() -> None:
    """All rows without a day are overdue: that tells nothing of the last days."""
    late = np.append(np.zeros(DAYS - 1), 1.0)
    labels = np.append(np.arange(DAYS - 1) // WIDTH, (DAYS - 2) // WIDTH + 1)
    table, cells = of(late, labels)
    assert inside(table, cells, null=True) is table
    assert inside(table, cells, null=False) is not table


def test_a_part_that_null_is_in_is_kept() -> None:
    late, labels = np.where(np.arange(DAYS) >= EDGE, 1.0, 0.0), LABELS
    table, cells = of(late, labels)
    found = inside(table, cells, null=True)
    assert np.count_nonzero(found.left == found.left[-1]) == WIDTH


def test_both_columns_go_inside() -> None:
    """Who is at day 10 and beyond pays, and pays more than 5: both columns are in parts that the rule cuts."""
    cells = np.zeros((DAYS, 12))
    cells[:EDGE, :6], cells[EDGE:, 6:] = 60.0, 60.0
    fines = np.arange(12) // 4
    counts = np.zeros((6, 3))
    np.add.at(counts, (LABELS[:, None], fines[None, :]), cells)
    ones = cells.sum(axis=1), cells.sum(axis=0)
    found = inside_parts(PairTable(LABELS, fines, counts), ones, (True, True), (False, False), 5.0)
    assert found.counts.sum() == pytest.approx(cells.sum(), rel=1e-4)
    early = found.counts[: int(found.left[EDGE - 1]) + 1]
    paid = early[:, found.right[6] :].sum()
    assert paid < 0.1 * counts[:3, 2].sum() + 200.0
    assert found.counts.shape == (len(np.unique(found.left)), len(np.unique(found.right)))


def test_a_table_of_too_many_cells_keeps_its_parts() -> None:
    others = 1 << 7
    labels = np.arange(MOST_CELLS // others + 100) // 100
    share = np.zeros((int(labels.max()) + 1, others))
    share[:2, 0], share[2:, 1] = 1e6, 1e6
    ones = 1e4 * np.ones(len(labels)), share.sum(axis=0)
    table = PairTable(labels, np.arange(others), share)
    assert len(inside_parts(table, ones, (True, False), (False, False), 1.0).counts) == 2 + 200
    wider = PairTable(labels, np.arange(2 * others), np.concatenate([share, share], axis=1))
    assert inside_parts(wider, (ones[0], np.tile(ones[1], 2)), (True, False), (False, False), 1.0) is wider


def test_codes_whose_order_means_nothing_keep_their_parts() -> None:
    """Parts differ from each other, and as much from those beyond: there is no one place at which shares change."""
    late = np.repeat([0.1, 0.6, 0.9, 0.3, 0.8, 0.2], WIDTH)
    table, cells = of(late)
    found = inside(table, cells)
    steep = [
        part
        for part in range(1, 5)
        if np.count_nonzero(found.left[part * WIDTH : (part + 1) * WIDTH] != found.left[part * WIDTH])
    ]
    assert len(steep) <= 1
