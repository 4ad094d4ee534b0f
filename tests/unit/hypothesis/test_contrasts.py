"""Smoothed counts of an ordered column: by matrices, on columns of many kinds, drawn, and what bars make of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.columns.contrasts import BLOCK, FEWEST, kept_shares, smoothed
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import NEWEST
from dpsql.query import Estimates, Factor, linear_query

SIGMA = 20.0


def haar(size: int) -> list[Estimates]:
    """The rows of the orthonormal Haar matrix of a power of two, a level each, the finest first (Haar 1910)."""
    levels = []
    width = 1
    while 2 * width <= size:
        rows = np.zeros((size // (2 * width), size))
        for i in range(len(rows)):
            rows[i, 2 * i * width : (2 * i + 1) * width] = 1.0
            rows[i, (2 * i + 1) * width : (2 * i + 2) * width] = -1.0
        levels.append(rows / np.sqrt(2.0 * width))
        width *= 2
    return levels


@pytest.mark.parametrize("size", [64, 512])
def test_it_is_shrinkage_of_wavelets(size: int) -> None:
    """The same by orthonormal matrices, in which every coefficient of equal cells has noise of sd sigma."""
    rng = np.random.default_rng(size)
    true = 100.0 + 50.0 * np.sin(np.arange(size) / 20.0)
    true[size // 3] += 40 * SIGMA
    noisy = true + rng.normal(0.0, SIGMA, size)
    expected = np.full(size, noisy.mean())
    for rows in haar(size):
        z = rows @ noisy / SIGMA
        kept = np.ones(len(z))
        if len(z) >= FEWEST:
            for part in np.array_split(np.arange(len(z)), len(z) // BLOCK):
                if np.max(np.abs(z[part])) <= 4.0:
                    kept[part] = max(0.0, 1.0 - (len(part) - 2) / float(z[part] @ z[part]))
        expected += rows.T @ (kept * z * SIGMA)
    np.testing.assert_allclose(smoothed(noisy, SIGMA), expected, atol=1e-8)


@pytest.mark.parametrize("size", [1, 5, 2 * FEWEST - 1, 2 * FEWEST, 365, 1000])
@pytest.mark.parametrize("apart", [False, True])
def test_sums_and_null_are_kept(size: int, apart: bool) -> None:
    cells = np.random.default_rng(size).normal(30.0, SIGMA, size + apart)
    for drawn in (None, np.random.default_rng(1).standard_normal):
        found = smoothed(cells, SIGMA, apart=apart, drawn=drawn)
        assert found.shape == cells.shape and found.sum() == pytest.approx(cells.sum())
        if apart:
            assert found[-1] == cells[-1]
    if size < 2 * FEWEST:
        assert smoothed(cells, SIGMA, apart=apart) is cells


def columns() -> dict[str, Estimates]:
    rng = np.random.default_rng(3)
    place = np.arange(1024)
    round_numbers = np.where(place % 10 == 0, 600.0, 5.0) * (place < 500)
    return {
        "even": np.full(1024, 12.0),
        "falling": 200.0 * np.exp(-place / 150.0),
        "weekends": np.where(place % 7 < 5, 90.0, 15.0),
        "spikes": np.where(rng.random(1024) < 0.03, 2_000.0, 0.0),
        "round numbers": round_numbers,
        "rugged": rng.exponential(400.0, 1024),
    }


def off(found: Estimates, true: Estimates) -> float:
    return float(np.sqrt(((found - true) ** 2).mean()))


@pytest.mark.parametrize(("name", "most"), [("even", 0.4), ("falling", 0.4), ("weekends", 0.95)])
def test_smooth_columns_are_nearer(name: str, most: float) -> None:
    true, rng = columns()[name], np.random.default_rng(5)
    for _ in range(5):
        noisy = true + rng.normal(0.0, SIGMA, len(true))
        assert off(smoothed(noisy, SIGMA), true) < most * off(noisy, true)


@pytest.mark.parametrize("name", list(columns()))
def test_no_column_is_much_farther(name: str) -> None:
    """That of James and Stein is never farther, on average; shares that are kept whole are as measured."""
    true, rng = columns()[name], np.random.default_rng(6)
    pairs = []
    for _ in range(10):
        noisy = true + rng.normal(0.0, SIGMA, len(true))
        pairs.append((off(smoothed(noisy, SIGMA), true), off(noisy, true)))
    found, measured_so = np.mean(pairs, axis=0)
    assert found < 1.02 * measured_so


def test_a_block_with_something_large_is_kept_whole() -> None:
    level = np.full(64, 0.5)
    assert (kept_shares(level) == 0.0).all()
    level[20] = 4.1
    assert kept_shares(level).tolist() == [0.0] * 16 + [1.0] * 16 + [0.0] * 32
    level[20] = -4.1
    assert kept_shares(level)[16:32].tolist() == [1.0] * 16
    assert (kept_shares(level[: FEWEST - 1]) == 1.0).all()


@pytest.mark.statistical
def test_draws_are_as_rugged_as_columns() -> None:
    """Differences of neighbours, which the mean has too little of: draws have what the column has, and not as much more
    as half of what its noise has, for sixteen of them do not tell less."""
    rng = np.random.default_rng(8)
    for rugged in (10.0, 20.0):
        seen: list[list[float]] = []
        for _ in range(40):
            true = 100.0 + rng.normal(0.0, rugged, 1024)
            noisy = true + rng.normal(0.0, SIGMA, 1024)
            some = smoothed(noisy, SIGMA), smoothed(noisy, SIGMA, drawn=rng.standard_normal)
            seen.append([float(np.diff(x)[::2].var()) for x in (true, *some)])
        of_true, of_mean, of_draw = np.mean(seen, axis=0)
        assert of_mean < 0.9 * of_true
        assert of_true < of_draw < of_true + SIGMA**2


def single_values(true: Estimates, *, smooth: bool) -> tuple[float, float]:
    """Of every other value of a column in order beside another: how many are inside their bars, and the mean error."""
    size, total = len(true), float(true.sum())
    table = TableDomain(
        "t", (IntegerDomain("a", 0, size - 1, nullable=False), IntegerDomain("b", 0, 3, nullable=False))
    )
    rules, inside, off = replace(NEWEST, smooth=smooth), [], []

    def fit(found: Sequence[Measurement]) -> WideHypothesis:
        model = WideHypothesis(table, total, rules)
        for m in found:
            model.absorb(m)
        return model

    both = np.outer(true, np.full(4, 0.25))
    for seed in range(3):
        rng = np.random.default_rng([31, seed])
        measurements = [
            Measurement(
                "t",
                tuple(Axis.cells((c,), (table.finite_domain(c).size,)) for c in columns),
                np.rint(counts + rng.normal(0.0, sd, counts.shape)).astype(np.int64),
                sd,
            )
            for columns, counts, sd in (("a", true, SIGMA), ("b", both.sum(axis=0), SIGMA), ("ab", both, 3 * SIGMA))
        ]
        model, known = fit(measurements), learn_calibration(table, total, measurements, fit, rules=rules)
        for i in range(0, size, 2):
            query = linear_query(table, [Factor(("a",), (np.arange(size) == i).astype(np.int64))])
            assert query is not None
            bar = known.bound(query, 1.0)
            assert bar is not None
            off.append(abs(model.answer(query) - true[i]))
            inside.append(off[-1] <= bar)
    return float(np.mean(inside)), float(np.mean(off))


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["even", "falling", "weekends"])
def test_single_values_are_nearer_and_inside_their_bars(name: str) -> None:
    true = columns()[name][:512]
    known, unknown = single_values(true, smooth=True), single_values(true, smooth=False)
    assert known[0] >= 0.94
    assert known[1] < (0.97 if name == "weekends" else 0.7) * unknown[1]
