"""Bars of cells whose rows noise does not tell from rows spread evenly: against sums by hand, and on long tails."""

from dataclasses import replace

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.domain import IntegerDomain, TableDomain
from dpsql.hypothesis.bars.assumed.even_spread import TOLD, EvenSpread, evenly, evenly_alike
from dpsql.hypothesis.bars.assumed.single_columns import SingleColumns
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import NEWEST
from dpsql.query import Choices, Crosstab, Estimates, Factor, LinearQuery, linear_query

SIZE, SIGMA = 64, 60.0
TABLE = TableDomain("t", (IntegerDomain("a", 0, SIZE - 1, nullable=False), IntegerDomain("b", 0, 3, nullable=False)))
TAIL = 3_000.0 * 0.9 ** np.arange(SIZE)
CROWDS = np.where(np.arange(SIZE) % 16 == 0, 3_000.0, 0.0)
"""A few values that have all rows, as codes do."""


def by_halves(cells: Estimates, sigma: float) -> Estimates:
    """The same, by recursion."""
    if cells.sum() ** 2 < TOLD**2 * sigma**2 * len(cells):
        return np.full(len(cells), cells.mean())
    if len(cells) == 1:
        return cells
    half = len(cells) // 2
    return np.concatenate([by_halves(cells[:half], sigma), by_halves(cells[half:], sigma)])


@pytest.mark.parametrize("sigma", [1.0, 30.0, 200.0, 5_000.0])
@pytest.mark.parametrize("size", [64, 37, 1])
def test_ranges_are_spread_by_halves(sigma: float, size: int) -> None:
    cells = np.random.default_rng(3).permutation(TAIL)[:size]
    found = evenly(cells, sigma, ordered=True, nullable=False)
    assert np.allclose(found, by_halves(cells, sigma))
    assert found.sum() == pytest.approx(cells.sum())
    beside = evenly(np.append(cells, 7.0), sigma, ordered=True, nullable=True)
    assert np.allclose(beside, [*found, 7.0])


def alike(cells: Estimates, sigma: float) -> bool:
    """Whether no half of the cells, of these halves, and so on, is told from its other one."""
    size = 1 << (len(cells) - 1).bit_length()
    halves = (cells[: size // 2], cells[size // 2 :])
    if len(cells) == 1 or not len(halves[1]):
        return len(cells) == 1 or alike(halves[0], sigma)
    gap = abs(halves[0].mean() - halves[1].mean())
    sd = sigma * np.sqrt(1.0 / len(halves[0]) + 1.0 / len(halves[1]))
    return bool(gap <= LEAST * sd) and alike(halves[0], sigma) and alike(halves[1], sigma)


def by_contrasts(cells: Estimates, sigma: float) -> Estimates:
    """``evenly_alike``, by recursion."""
    light = cells.sum() < TOLD * sigma * np.sqrt(len(cells))
    if (light or alike(cells, sigma)) and cells.mean() < TOLD * sigma:
        return np.full(len(cells), cells.mean())
    if len(cells) == 1:
        return cells
    half = (1 << (len(cells) - 1).bit_length()) // 2
    return np.concatenate([by_contrasts(cells[:half], sigma), by_contrasts(cells[half:], sigma)])


LEAST = max(TOLD, np.sqrt(2.0 * np.log(SIZE)))


@pytest.mark.parametrize("sigma", [1.0, 30.0, 200.0, 5_000.0])
@pytest.mark.parametrize("kind", ["tail", "noise", "crowds", "steps"])
def test_ranges_are_spread_where_no_half_is_told_from_the_other(sigma: float, kind: str) -> None:
    rng = np.random.default_rng(4)
    noise = np.maximum(rng.normal(60.0, 60.0, SIZE), 0.0)
    steps = np.repeat([20.0, 2_000.0, 90.0, 0.0], SIZE // 4)
    cells = {"tail": rng.permutation(TAIL), "noise": noise, "crowds": CROWDS, "steps": steps}[kind]
    found = evenly_alike(cells, sigma, nullable=False)
    assert np.allclose(found, by_contrasts(cells, sigma))
    assert np.allclose(evenly_alike(np.append(cells, 7.0), sigma, nullable=True), [*found, 7.0])


def test_what_noise_makes_of_even_rows_is_spread_as_they_are() -> None:
    """60 rows a cell and noise as large: cells of the old kind keep their crowds, which are noise."""
    cells = np.maximum(np.random.default_rng(4).normal(60.0, 60.0, SIZE), 0.0)
    assert np.ptp(evenly_alike(cells, 60.0, nullable=False)) == 0.0
    assert np.ptp(evenly(cells, 60.0, ordered=True, nullable=False)) > 60.0


@pytest.mark.parametrize("size", [1, 2, 37, 60])
def test_columns_of_any_size_keep_their_rows(size: int) -> None:
    cells = np.random.default_rng(size).exponential(50.0, size)
    assert evenly_alike(cells, 40.0, nullable=False).sum() == pytest.approx(cells.sum())


def test_light_cells_without_an_order_are_spread_together() -> None:
    cells = np.array([500.0, 0.0, 90.0, 151.0, 0.0])
    assert evenly(cells, 50.0, ordered=False, nullable=False).tolist() == [500.0, 30.0, 30.0, 151.0, 30.0]
    assert evenly(cells, 0.0, ordered=False, nullable=False).tolist() == cells.tolist()


def measured(columns: str, counts: Estimates, sd: float, rng: np.random.Generator | None) -> Measurement:
    noise = 0.0 if rng is None else rng.normal(0.0, sd, counts.shape)
    axes = tuple(Axis.cells((c,), (TABLE.finite_domain(c).size,)) for c in columns)
    return Measurement("t", axes, np.rint(counts + noise).astype(np.int64), sd)


def over(a: tuple[int, int], b: tuple[int, int] | None = None) -> Crosstab:
    factors = []
    for name, range_ in (("a", a), ("b", b)):
        if range_ is not None:
            weights = np.zeros(TABLE.finite_domain(name).size, dtype=np.int64)
            weights[range_[0] : range_[1] + 1] = 1
            factors.append(Factor((name,), weights))
    query = linear_query(TABLE, factors)
    assert query is not None
    return Crosstab.of([query])


def spread(*, used: bool = True) -> EvenSpread:
    """Of a model that says all rows of the last half are at one value."""
    ones = {"a": np.where(np.arange(SIZE) < 32, 1_000.0, 0.0), "b": np.array([8_000.0, 8_000.0, 8_000.0, 8_480.0])}
    ones["a"][50] = 480.0
    coverage = Coverage(TABLE, 32_480.0, [measured(c, ones[c], SIGMA, None) for c in "ab"])
    return EvenSpread(SingleColumns(coverage, lambda columns: ones[columns[0]]), used=used)


def test_answers_move_as_far_as_noise_lets_them() -> None:
    off = spread().off
    assert off(over((40, 47)).choices) == pytest.approx(8 * 15.0)  # none of 480 rows on 32 values
    assert off(over((50, 50)).choices) == pytest.approx(DEVIATIONS * SIGMA)  # not 465: noise of one cell tells more
    assert off(over((32, 63)).choices) == pytest.approx(0.0)
    assert off(over((0, 9)).choices) == 0.0
    assert off(over((40, 47), (0, 0)).choices) == pytest.approx(8 * 15.0 * 8_000 / 32_480)
    several = Crosstab.of([over((40 + i, 40 + i))[0] for i in range(3)]).choices
    assert np.allclose(off(several), 15.0)


def test_older_rules_and_cells_that_were_not_measured_move_nothing() -> None:
    assert spread(used=False).off(over((40, 47)).choices) == 0.0
    cells = np.where(np.arange(SIZE) == 3, 200.0, 0.0)
    for labels in (np.arange(SIZE) // 32, np.minimum(np.arange(SIZE), 1)):  # the first cell may be a part of its own
        parts = Measurement("t", (Axis(("a",), labels, 2),), np.array([100, 100]), 5.0)
        known = EvenSpread(SingleColumns(Coverage(TABLE, 200.0, [parts]), lambda columns: cells), used=True)
        assert known.off(over((3, 3)).choices) == 0.0


def test_a_constant_keeps_its_weight_and_tied_columns_move_nothing() -> None:
    query = over((40, 47))[0]
    half = LinearQuery("t", (Factor((), np.array([1]), 2), *query.factors))
    assert spread().off(Crosstab.of([half]).choices) == pytest.approx(4 * 15.0)
    both = Factor(("a", "b"), np.eye(SIZE, 4, dtype=np.int64))
    assert spread().off(Crosstab.of([LinearQuery("t", (both,))]).choices) == 0.0


def test_groups_of_one_value_move_as_they_do_alone() -> None:
    points = Factor.points("a", SIZE, range(SIZE))
    asked = Choices((points,), (np.arange(SIZE),), SIZE)
    assert spread().off(asked).tolist() == [spread().off(over((i, i)).choices) for i in range(SIZE)]


@pytest.mark.parametrize(("size", "smooth", "times"), [(SIZE, True, 1.5), (SIZE - 1, True, 1.0), (SIZE, False, 1.0)])
def test_of_many_values_rows_may_be_half_as_far_again_from_even(size: int, smooth: bool, times: float) -> None:
    cells = np.tile([0.0, 120.0], SIZE)[:size]
    table = TableDomain("t", (IntegerDomain("a", 0, size - 1, nullable=False),))
    found = Measurement("t", (Axis.cells(("a",), (size,)),), np.rint(cells).astype(np.int64), 200.0)
    single = SingleColumns(Coverage(table, float(cells.sum()), [found]), lambda _: cells)
    query = linear_query(table, [Factor(("a",), (np.arange(size) == 8).astype(np.int64))])
    assert query is not None
    moved = EvenSpread(single, used=True, smooth=smooth).off(Crosstab.of([query]).choices)
    assert moved == pytest.approx(times * 60.0, rel=0.05)


def values(cells: Estimates, *, even: bool) -> tuple[float, float, float]:
    """Of single values of the last half: how many are inside their bars, the mean error, and the mean bar."""
    rules, inside, off, bars = replace(NEWEST, evenly=even, smooth=False, cut_off=False), [], [], []
    total = float(cells.sum())

    def fit(found: list[Measurement]) -> WideHypothesis:
        model = WideHypothesis(TABLE, total, rules)
        for m in found:
            model.absorb(m)
        return model

    for seed in range(8):
        rng = np.random.default_rng([23, seed])
        both = np.outer(cells, np.full(4, 0.25))
        counts = {"a": cells, "b": both.sum(axis=0), "ab": both}
        measurements = [measured(c, counts[c], SIGMA, rng) for c in counts]
        model, known = fit(measurements), learn_calibration(TABLE, total, measurements, fit, rules=rules)
        for value in range(SIZE // 2, SIZE):
            query = over((value, value))[0]
            bar = known.bound(query, 1.0)
            assert bar is not None
            off.append(abs(model.answer(query) - cells[value]))
            inside.append(off[-1] <= bar)
            bars.append(bar)
    return float(np.mean(inside)), float(np.mean(off)), float(np.mean(bars))


def test_values_of_a_long_tail_are_inside_their_bars() -> None:
    known, unknown = values(TAIL, even=True), values(TAIL, even=False)
    assert known[0] >= 0.93
    assert unknown[0] < 0.88
    assert known[2] < 4.0 * known[1]  # and no wider than errors make them


def test_values_that_have_all_rows_keep_their_bars() -> None:
    known, unknown = values(CROWDS, even=True), values(CROWDS, even=False)
    assert known[2] < 1.1 * unknown[2]
