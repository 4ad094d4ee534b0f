"""What was measured and what the model says as one number: near, far, many cells together, and the sds shown."""

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.query import Estimates
from dpsql.session.own import weighing
from dpsql.session.own.weighing import BELIEVED, SCALES, SURELY, TOGETHER, weighed

ONE = np.ones(1)


def one(measured: float, noise: float, modelled: float, bar: float) -> tuple[float, float]:
    values, sds = weighed(measured * ONE, noise * ONE, modelled * ONE, bar * ONE)
    return float(values[0]), float(sds[0])


def test_each_counts_by_its_precision() -> None:
    assert one(100.0, 10.0, 110.0, 10.0) == (105.0, 10.0)
    value, sd = one(100.0, 10.0, 106.0, 5.0)
    assert value == pytest.approx((100 / 10**2 + 106 / 5**2) / (1 / 10**2 + 1 / 5**2))
    assert sd == 5.0


def test_a_bar_without_end_leaves_the_measurement() -> None:
    value, sd = one(100.0, 10.0, 0.0, np.inf)
    assert value == pytest.approx(100.0)
    assert sd == 10.0


@pytest.mark.parametrize("far", [100.0, 1000.0, -1e5])
def test_a_model_that_is_far_from_the_measurement_is_not_believed(far: float) -> None:
    """Whatever its bar says: the noise is known, the bar is a guess."""
    value, sd = one(far, 10.0, 0.0, 1.0)
    assert abs(value - far) <= 2 * 10.0**2 / abs(far)
    assert sd == 10.0


def test_the_sd_shown_is_never_more_than_that_of_the_noise() -> None:
    rng = np.random.default_rng(2)
    for cells in (1, 5, TOGETHER, 200):
        noise = rng.uniform(1, 20, cells)
        _, sds = weighed(rng.normal(0, 100, cells), noise, rng.normal(0, 100, cells), rng.uniform(0.1, 1000, cells))
        assert (sds <= noise).all()
        assert (sds >= 0).all()


def simulated(cells: int, off: Estimates, bars: Estimates, seed: int) -> tuple[Estimates, Estimates]:
    """Errors of the answers, and their sds: cells of 0 to 500 rows, a model off by normal errors with sds ``off``."""
    rng = np.random.default_rng(seed)
    true, noise = rng.uniform(0, 500, cells), np.full(cells, 10.0)
    values, sds = weighed(true + rng.normal(0, noise), noise, true + rng.normal(0, off), bars)
    return values - true, sds


@pytest.mark.parametrize("off", [0.1, 2.0, 10.0, 50.0])
@pytest.mark.parametrize("bar", [1.0, 20.0])
def test_many_cells_are_nearly_as_near_as_can_be_and_their_sds_cover(off: float, bar: float) -> None:
    """However wide the bars are for what the cells are off by: nearly as if that were known. Sds of a third would not
    cover.
    """
    cells = 1920
    errors, sds = simulated(cells, np.full(cells, off), np.full(cells, bar * off), 5)
    assert np.sqrt((errors**2).mean()) <= 1.0 / np.sqrt(1 / 10.0**2 + 1 / off**2) + 0.3 * 10.0
    assert (np.abs(errors) <= DEVIATIONS * sds).mean() >= 0.93
    if bar == 1.0 or off >= 10.0:
        assert (np.abs(errors) <= DEVIATIONS * sds / 3).mean() < 0.93


@pytest.mark.parametrize("off", [20.0, 50.0])
def test_bars_that_are_too_narrow_are_found_out_where_the_noise_lets_it_show(off: float) -> None:
    """A fifth of what the model is off by: the cells together say more."""
    cells = 1920
    errors, sds = simulated(cells, np.full(cells, off), np.full(cells, 0.2 * off), 5)
    assert (np.abs(errors) <= DEVIATIONS * sds).mean() >= 0.93


def test_blocks_of_other_bars_are_looked_at_apart() -> None:
    """Half of the cells are empty and known, half are off by much: the first do not pay for the others."""
    bars = np.repeat([1.0, 300.0], 320)
    errors, sds = simulated(640, np.repeat([0.5, 60.0], 320), bars, 6)
    assert np.abs(errors[:320]).mean() < 1.0
    assert np.sqrt((errors[320:] ** 2).mean()) < 11.0
    assert np.median(sds[:320]) < 3.0
    assert (np.abs(errors) <= DEVIATIONS * sds).mean() > 0.94


def test_one_cell_of_many_that_the_model_misses_is_believed() -> None:
    cells = 4 * TOGETHER
    measured, modelled = np.zeros(cells), np.zeros(cells)
    measured[7] = 400.0
    values, sds = weighed(measured, np.full(cells, 10.0), modelled, np.full(cells, 5.0))
    assert abs(values[7] - 400.0) < 10.0
    assert sds[7] == 10.0
    near, _ = weighed(np.where(measured > 0, BELIEVED * 9.9, 0.0), np.full(cells, 10.0), modelled, np.full(cells, 5.0))
    assert near[7] < 15.0


def test_the_order_of_cells_is_kept() -> None:
    rng = np.random.default_rng(9)
    given = [rng.normal(0, 50, 100), rng.uniform(5, 10, 100), rng.normal(0, 50, 100), rng.uniform(1, 90, 100)]
    order = rng.permutation(100)
    first, again = weighed(*given), weighed(*(x[order] for x in given))
    for a, b in zip(first, again, strict=True):
        assert b == pytest.approx(a[order])


@pytest.mark.parametrize("times", [0.1, 1.0])
def test_bars_of_a_few_cells_that_are_too_narrow_are_widened_together(times: float) -> None:
    """Each alone, with a bar of a tenth, covers too little: a distance within the noise tells nothing."""
    together, alone = [], []
    for seed in range(60):
        off, bars = np.full(8, 30.0), np.full(8, 30.0 * times)
        errors, sds = simulated(8, off, bars, seed)
        together.append(np.abs(errors) <= DEVIATIONS * sds)
        for at in range(8):
            errors, sds = simulated(1, off[:1], bars[:1], 1000 * seed + at)
            alone.append(np.abs(errors) <= DEVIATIONS * sds)
    assert np.mean(together) > 0.9
    assert (np.mean(alone) > 0.9) == (times == 1.0)


def test_bars_of_nothing_are_no_division_by_zero() -> None:
    for cells in (1, 5, TOGETHER, 100):
        values, sds = weighed(np.arange(cells, dtype=float), np.full(cells, 10.0), np.zeros(cells), np.zeros(cells))
        assert np.isfinite(values).all()
        assert np.isfinite(sds).all()


# --- a mixture of scales ---------------------------------------------------------------------------------------------


def few_are_off(seed: int, share: float, off: float, cells: int = 400) -> tuple[Estimates, Estimates]:
    """Errors by one scale for blocks of cells, and by a mixture: a model that is right but for a share of its cells."""
    rng = np.random.default_rng(seed)
    noise, bars = np.full(cells, 10.0), np.full(cells, 15.0)
    true = rng.uniform(0, 500, cells)
    modelled = true + np.where(rng.random(cells) < share, rng.normal(0, off, cells), 0.0)
    measured = true + rng.normal(0, noise)
    one, _ = weighed(measured, noise, modelled, bars)
    mixture, sds = weighed(measured, noise, modelled, bars, mixed=True)
    assert (np.abs(mixture - true) <= DEVIATIONS * sds).mean() > 0.93
    return one - true, mixture - true


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_cells_of_which_few_are_off_by_much_are_nearer_by_a_mixture(share: float) -> None:
    both = [few_are_off(seed, share, 80.0) for seed in range(12)]
    one, mixture = (np.abs(np.concatenate(errors)) for errors in zip(*both, strict=True))
    assert mixture.mean() < 0.8 * one.mean()
    assert mixture.max() < 5 * 10.0 + 4 * 10.0


def test_a_mixture_is_the_posterior_mean_under_its_own_shares() -> None:
    """Worked out cell by cell and scale by scale, and by a grid of true distances."""
    rng = np.random.default_rng(4)
    cells = 64
    noise, bars = rng.uniform(5, 15, cells), rng.uniform(3, 30, cells)
    distance = rng.normal(0, noise) + rng.normal(0, np.where(np.arange(cells) % 9 == 0, 60.0, 1.0))
    values, _ = weighed(distance, noise, np.zeros(cells), bars, mixed=True)
    scales = [s * np.sqrt((noise**2).mean()) for s in SCALES]
    shape = bars / np.sqrt((bars**2).mean())
    shares = np.full(len(scales), 1.0 / len(scales))

    def density(i: int, s: float) -> float:
        spread = (s * shape[i]) ** 2 + noise[i] ** 2
        return float(np.exp(-(distance[i] ** 2) / (2 * spread)) / np.sqrt(spread))

    for _ in range(50):
        each = np.array([[w * density(i, s) for w, s in zip(shares, scales, strict=True)] for i in range(cells)])
        shares = (each / each.sum(axis=1, keepdims=True)).mean(axis=0)
    grid = np.linspace(-400, 400, 16001)
    for i in np.flatnonzero(np.abs(distance) <= SURELY * noise):
        prior = np.zeros(len(grid))
        for w, s in zip(shares, scales, strict=True):
            law = np.exp(-(grid**2) / (2 * max(s * shape[i], 0.02) ** 2))
            prior += w * law / law.sum()
        posterior = prior * np.exp(-((distance[i] - grid) ** 2) / (2 * noise[i] ** 2))
        assert values[i] == pytest.approx(float((grid * posterior).sum() / posterior.sum()), abs=0.1)


def test_a_mixture_believes_a_cell_that_noise_does_not_explain() -> None:
    cells = 4 * TOGETHER
    noise, bars = np.full(cells, 10.0), np.full(cells, 0.02)
    bars[:3] = np.inf  # of a few cells nothing is known: then the bars of all others are as nothing beside theirs
    measured = np.zeros(cells)
    measured[7] = 400.0
    values, _ = weighed(measured, noise, np.zeros(cells), bars, mixed=True)
    assert abs(values[7] - 400.0) < 10.0
    assert np.abs(np.delete(values, 7)).max() < 1e-6


def test_a_mixture_takes_distances_of_any_size() -> None:
    rng = np.random.default_rng(8)
    for far in (0.0, 1e3, 1e9):
        measured = far * rng.normal(0, 1, 100)
        found = weighed(measured, np.full(100, 10.0), np.zeros(100), np.full(100, 5.0), mixed=True)
        assert all(np.isfinite(x).all() for x in found)


def test_few_cells_are_weighed_as_before() -> None:
    rng = np.random.default_rng(8)
    given = [rng.normal(0, 50, 31), rng.uniform(5, 10, 31), rng.normal(0, 50, 31), rng.uniform(1, 90, 31)]
    for a, b in zip(weighed(*given), weighed(*given, mixed=True), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("scales", [(0.0, 2.0), (0.4, 5.2), (1.4,)])
def test_what_a_mixture_leaves_is_what_its_answers_are_off_by(scales: tuple[float, ...]) -> None:
    """Bars that say nothing: mean squares of errors beside variances of the posterior, over cells of known scales."""
    rng = np.random.default_rng(14)
    cells, noise = 40_000, 10.0
    true = rng.uniform(0, 500, cells)
    modelled = true + rng.normal(0, noise * rng.choice(scales, cells))
    nothing = np.full(cells, 1e-2)
    values, sds = weighed(true + rng.normal(0, noise, cells), np.full(cells, noise), modelled, nothing, mixed=True)
    assert (sds**2).mean() == pytest.approx(((values - true) ** 2).mean(), rel=0.1)


def with_errors_in_common(common: float, seed: int, told: float = 1.0) -> float:
    """The share of bars that hold where the measurement starts from what the model is wrong about, too."""
    rng = np.random.default_rng(seed)
    cells, own, off = 400, 10.0, 3.0
    true, shared = rng.uniform(0, 500, cells), rng.normal(0, common, cells)
    measured, modelled = true + shared + rng.normal(0, own, cells), true + shared + rng.normal(0, off, cells)
    bars = np.full(cells, np.hypot(common, off))
    noise, known = np.full(cells, np.hypot(own, common)), np.full(cells, common * told)
    values, sds = weighed(measured, noise, modelled, bars, shared=known, mixed=True)
    return float((np.abs(values - true) <= DEVIATIONS * sds).mean())


def test_bars_allow_for_errors_in_common() -> None:
    assert np.mean([with_errors_in_common(5.0, seed) for seed in range(20)]) > 0.94
    assert np.mean([with_errors_in_common(5.0, seed, told=0.0) for seed in range(20)]) < 0.92


def unlike(seed: int) -> float:
    """The share of bars that hold where wide bars are far too wide, as those of cells of many rows are, and narrow ones
    are not."""
    rng = np.random.default_rng(seed)
    cells = 400
    true, bars = rng.uniform(0, 500, cells), np.exp(rng.normal(1, 1.2, cells))
    modelled = true + rng.normal(0, np.where(bars < np.median(bars), 0.6, 0.02) * bars)
    values, sds = weighed(true + rng.normal(0, 10, cells), np.full(cells, 10.0), modelled, bars, mixed=True)
    return float((np.abs(values - true) <= DEVIATIONS * sds).mean())


def test_cells_are_not_as_alike_as_a_mixture_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert np.mean([unlike(seed) for seed in range(20)]) > 0.95
    monkeypatch.setattr(weighing, "KEPT_BAR", 0.0)
    assert np.mean([unlike(seed) for seed in range(20)]) < 0.85


def test_a_mixture_never_leaves_more_than_the_noise() -> None:
    rng = np.random.default_rng(3)
    noise = rng.uniform(1, 20, 200)
    _, sds = weighed(rng.normal(0, 100, 200), noise, rng.normal(0, 100, 200), rng.uniform(0.1, 1000, 200), mixed=True)
    assert (sds <= noise).all()
    assert (sds >= 0).all()


@pytest.mark.parametrize("wide", [1e3, 5e3, np.inf])
def test_a_few_bars_that_say_nothing_do_not_narrow_the_others(wide: float) -> None:
    """Three bars of 200 as wide as that; the model is off by more than its other bars say."""
    rng = np.random.default_rng(6)
    inside = []
    for _ in range(20):
        true, bars = rng.uniform(0, 500, 200), np.full(200, 5.0)
        bars[:3] = wide
        modelled = true + rng.normal(0, 12, 200)
        values, sds = weighed(true + rng.normal(0, 10, 200), np.full(200, 10.0), modelled, bars, mixed=True)
        inside.append(np.abs(values - true) <= DEVIATIONS * sds)
    assert np.mean(inside) > 0.93
