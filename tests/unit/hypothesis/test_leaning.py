"""How strings lean within a column: simulated strings that do or do not, and the variances against draws."""

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.hypothesis.strings.leaning import LEAST_CROWDED, crowded, halves, leaning

Floats = npt.NDArray[np.float64]
CELLS, STRINGS, SIGMA = 16, 120, 20.0
SHARES = np.linspace(1.0, 3.0, CELLS) / np.linspace(1.0, 3.0, CELLS).sum()
ROWS = np.geomspace(60.0, 4_000.0, STRINGS)
FIRST = np.where(np.arange(CELLS) < CELLS // 2, 1.0, 0.0)


def drawn(lean: float, seed: int, *, within: float = 0.0) -> tuple[Floats, Floats]:
    """True counts and measured ones: ``lean`` is the sd of the share of the first half, in its largest possible one,
    ``within`` that of one of two cells that follow each other."""
    rng = np.random.default_rng(seed)
    true = np.outer(ROWS, SHARES)
    for sd, sides in ((lean, [(0, CELLS // 2, CELLS)]), (within, [(i, i + 1, i + 2) for i in range(0, CELLS, 2)])):
        for low, middle, high in sides:
            left, right = true[:, low:middle].sum(axis=1), true[:, middle:high].sum(axis=1)
            share = left / (left + right)
            moved = share + sd * np.sqrt(share * (1.0 - share)) * rng.choice([-1.0, 1.0], STRINGS)
            moved = np.clip(moved, 0.0, 1.0)
            true[:, low:middle] *= (moved / share)[:, None]
            true[:, middle:high] *= ((1.0 - moved) / (1.0 - share))[:, None]
    return true, true + rng.normal(0.0, SIGMA, true.shape)


def test_every_cell_is_halved_until_it_is_alone() -> None:
    for cells in (1, 2, 3, 7, 50):
        of = halves(cells)
        assert len(of.low) == cells - 1
        parts = sorted(
            (lo, hi) for lo, hi in [*zip(of.low, of.middle, strict=True), *zip(of.middle, of.high, strict=True)]
        )
        assert [p for p in parts if p[1] - p[0] == 1] == [(i, i + 1) for i in range(cells)] or cells == 1


@pytest.mark.parametrize("lean", [0.1, 0.3, 0.6])
def test_bars_hold_of_strings_that_lean(lean: float) -> None:
    """What was estimated is the table's shares: by noise of the cells alone the bars would be far too small."""
    inside, sizes = list[bool](), list[float]()
    for seed in range(20):
        true, measured = drawn(lean, seed)
        counts = np.outer(ROWS, SHARES)
        found = leaning(measured, np.full(STRINGS, SIGMA**2), counts, SHARES)
        off = np.abs((true - counts) @ FIRST)
        sds = np.sqrt(found.variance(list(range(STRINGS)), FIRST))
        inside += (off <= 1.96 * sds).tolist()
        sizes += (sds / off).tolist()
    assert np.mean(inside) > 0.93
    assert np.median(sizes) < 1.6


def test_strings_that_do_not_lean_have_small_bars() -> None:
    for seed in range(10):
        _, measured = drawn(0.0, seed)
        counts = np.outer(ROWS, SHARES)
        found = leaning(measured, np.full(STRINGS, SIGMA**2), counts, SHARES)
        noise = SIGMA * np.sqrt(CELLS) / 2.0
        sds = np.sqrt(found.variance(list(range(STRINGS)), FIRST))
        assert np.median(sds) < noise / 2.0
        assert found.crowding == LEAST_CROWDED


@pytest.mark.parametrize(("within", "low", "high"), [(0.0, 0.0, 0.02), (0.5, 0.15, 0.35), (1.0, 0.7, 1.0)])
def test_what_crowds_within_neighbours_is_found(within: float, low: float, high: float) -> None:
    found = []
    for seed in range(10):
        _, measured = drawn(0.0, seed, within=within)
        found.append(crowded(measured, np.full(STRINGS, SIGMA**2), np.outer(ROWS, SHARES), SHARES))
    assert low <= float(np.mean(found)) <= high


def test_rows_inside_of_a_cell_are_as_unknown_as_strings_crowd() -> None:
    """One string of one cell, half of which a condition takes: all of its rows may be on either side."""
    _, measured = drawn(0.0, 1, within=1.0)
    found = leaning(measured, np.full(STRINGS, SIGMA**2), np.outer(ROWS, SHARES), SHARES)
    half = np.zeros(CELLS)
    half[3] = 0.5
    inside = half * (1.0 - half)
    (told,) = found.inside([STRINGS - 1], inside)
    rows = ROWS[-1] * SHARES[3]
    assert told == pytest.approx(found.crowding * rows**2 / 4.0)


def test_a_variance_is_that_of_rows_moved_between_halves() -> None:
    """Against draws: what each halving moves is spread as the cells of both sides are."""
    true, measured = drawn(0.4, 3)
    found = leaning(measured, np.full(STRINGS, SIGMA**2), true, SHARES)
    of, rng, place = halves(CELLS), np.random.default_rng(4), 50
    weights = rng.random(CELLS)
    cells = np.maximum(found.counts[place], 0.0)
    drawn_sums = []
    for _ in range(20_000):
        moved = np.zeros(CELLS)
        for i in range(len(of.low)):
            rows = rng.normal(found.moved[place, i], np.sqrt(found.variances[place, i]))
            left, right = slice(of.low[i], of.middle[i]), slice(of.middle[i], of.high[i])
            moved[left] += rows * cells[left] / cells[left].sum()
            moved[right] -= rows * cells[right] / cells[right].sum()
        drawn_sums.append(float(moved @ weights))
    (told,) = found.variance([place], weights)
    assert np.mean(np.square(drawn_sums)) == pytest.approx(told, rel=0.05)
