"""First rows keep what they are drawn from: to within a row, where independent draws do not."""

from itertools import combinations

import numpy as np

from dpsql.query import Estimates
from dpsql.synthesis.coins import Coins, coins
from dpsql.synthesis.rows.drawing import Branch, branch, cells_of, grow, tree
from dpsql.synthesis.rows.target import Codes, Target

COUNTS = coins("counts").gamma(0.4, 5.0, size=(4, 5, 6))
COUNTS *= 1000 / COUNTS.sum()


def kept(draw: list[Codes]) -> bool:
    """Whether every cell, and every cell of the first axes, has its count rounded down or up."""
    found = Target.cells((0, 1, 2), np.zeros_like(COUNTS)).found(draw)
    axes = [(), (2,), (1, 2)]
    return all(bool((np.abs(found.sum(axis=a) - COUNTS.sum(axis=a)) < 1.0).all()) for a in axes)


def independent(rng: Coins) -> list[Codes]:
    flat = rng.choice(COUNTS.size, size=1000, p=COUNTS.reshape(-1) / 1000)
    return [np.asarray(a) for a in np.unravel_index(flat, COUNTS.shape)]


def test_cells_have_their_counts_rounded() -> None:
    assert kept(cells_of(COUNTS, 1000, coins("cells")))
    assert not kept(independent(coins("cells")))


def test_other_numbers_of_rows_keep_shares() -> None:
    rows = cells_of(COUNTS, 77, coins("few"))
    found = Target.cells((0,), np.zeros(4)).found(rows)
    assert len(rows[0]) == 77 and bool((np.abs(found - COUNTS.sum(axis=(1, 2)) * 0.077) < 1.0).all())


def test_no_row_is_in_an_empty_cell() -> None:
    counts = np.array([0.0, 3.0, 0.0])
    assert {int(c) for n in range(50) for c in cells_of(counts, 3, coins(n))[0]} == {1}


def test_the_tree_has_the_strongest_bonds() -> None:
    rng = coins("bonds")
    bonds = rng.random((6, 6))
    bonds = bonds + bonds.T
    first = sum(bonds[b.column, b.parents[0]] for b in tree(bonds) if b.parents)
    # Kruskal's rule finds the same total as Prim's
    group, total = list(range(6)), 0.0
    for i, j in sorted(combinations(range(6), 2), key=lambda e: -bonds[e]):
        if group[i] != group[j]:
            total += float(bonds[i, j])
            group = [group[i] if g == group[j] else g for g in group]
    assert abs(first - total) < 1e-12
    assert branch(np.zeros((3, 3)), 2, [0, 1]) == Branch(2)


def test_a_column_follows_its_parents() -> None:
    def counts(columns: tuple[int, ...]) -> Estimates | None:
        return COUNTS.sum(axis=tuple(i for i in range(3) if i not in columns)).transpose(
            np.argsort(np.argsort(columns))
        )

    rows = [np.zeros(1000, dtype=np.int64) for _ in range(3)]
    grow(rows, [Branch(0), Branch(2, (0,)), Branch(1, (0, 2))], 1000, counts, coins("grown"))
    found = Target.cells((0, 1, 2), np.zeros_like(COUNTS)).found(rows)
    assert bool((np.abs(found - COUNTS) < 3.0).all())  # a rounding for each of the three columns
    assert bool((np.abs(found.sum(axis=(1, 2)) - COUNTS.sum(axis=(1, 2))) < 1.0).all())


def test_tables_that_are_too_large_lose_a_parent() -> None:
    asked: list[tuple[int, ...]] = []

    def counts(columns: tuple[int, ...]) -> Estimates | None:
        asked.append(columns)
        return None if len(columns) > 2 else np.ones((2,) * len(columns))

    rows = [np.zeros(10, dtype=np.int64) for _ in range(3)]
    grow(rows, [Branch(2, (1, 0))], 10, counts, coins("large"))
    assert asked == [(1, 0, 2), (1, 2)] and sorted(rows[2].tolist()) == [0] * 5 + [1] * 5
