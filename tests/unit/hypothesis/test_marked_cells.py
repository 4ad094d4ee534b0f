"""What counts at and between round numbers say of a bin, against the rows that they were counted from."""

from math import inf, nextafter

import numpy as np
import pytest

from dpsql.domain import NumberDomain, log_edges, marks_of
from dpsql.hypothesis import Axis, Measurement
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.query import Interval

ROWS, SIGMA = 60_000, 40.0
DOMAIN = NumberDomain("x", log_edges(0.0, 500.0, 50), nullable=False)
EDGES = np.array(DOMAIN.edges)
MARKS = np.array(marks_of(DOMAIN.edges))


def drawn(kind: str) -> np.ndarray:
    rng = np.random.default_rng(3)
    x = rng.lognormal(3.0, 1.0, ROWS)
    if kind == "whole":
        x = np.rint(x)
    if kind == "prices":
        x = np.where(rng.random(ROWS) < 0.6, np.rint(x / 5) * 5 - 0.01, np.round(x, 2))
    return np.clip(x, 0.0, 500.0)


def bin_of(x: np.ndarray) -> np.ndarray:
    return np.minimum(np.searchsorted(EDGES, x, side="right") - 1, len(EDGES) - 2)


def measured(x: np.ndarray, seed: int, sigma: float = SIGMA) -> Measurement:
    """By ``searchsorted`` in place of any engine."""
    place = np.searchsorted(MARKS, x, side="right") - 1
    counts = np.bincount(2 * place + (x != MARKS[place]), minlength=2 * len(MARKS))
    noise = np.rint(sigma * np.random.default_rng(seed).normal(size=len(counts))).astype(np.int64)
    return Measurement("t", (Axis.cells(("x",), (len(counts),)),), counts + noise, sigma)


def cells(x: np.ndarray, seed: int) -> MarkedCells:
    return MarkedCells.of(DOMAIN, np.bincount(bin_of(x), minlength=len(EDGES) - 1).astype(float), measured(x, seed))


INTERVALS = [Interval("x", float(t), 500.0) for t in (3, 7, 12, 25, 40, 50, 75, 110)] + [
    Interval("x", 0.0, nextafter(float(t), -inf)) for t in (5, 10, 20, 35, 60, 100)
]


@pytest.mark.parametrize("kind", ["smooth", "whole", "prices"])
def test_shares_are_nearer_than_an_even_spread(kind: str) -> None:
    x = drawn(kind)
    rows, even = np.bincount(bin_of(x), minlength=len(EDGES) - 1), MarkedCells.of(DOMAIN)
    off: dict[str, list[float]] = {"counted": [], "evenly": []}
    for seed in range(5):
        for interval in INTERVALS:
            true = int(((x >= interval.low) & (x <= interval.high)).sum())
            for name, known in (("counted", cells(x, seed)), ("evenly", even)):
                off[name].append(abs(float(known.inside(interval).share @ rows) - true))
    worst = 1.0 if kind == "smooth" else 0.25
    assert np.mean(off["counted"]) < 60.0 and np.mean(off["counted"]) < worst * np.mean(off["evenly"])


@pytest.mark.parametrize("kind", ["smooth", "whole", "prices"])
def test_means_of_bins_and_their_sds(kind: str) -> None:
    """z-scores of the mean places of full bins: neither too narrow, nor twenty times too wide."""
    x = drawn(kind)
    b = bin_of(x)
    rows = np.bincount(b, minlength=len(EDGES) - 1)
    true = np.bincount(b, (x - EDGES[b]) / np.diff(EDGES)[b], minlength=len(rows)) / np.maximum(rows, 1)
    full = rows > 400
    z = np.concatenate([((found.mean - true) / found.mean_sd)[full] for found in (cells(x, s) for s in range(8))])
    assert 0.1 < np.sqrt(np.mean(z**2)) < 1.5


def test_what_a_whole_interval_takes_is_all() -> None:
    found = cells(drawn("prices"), 1)
    everything = found.inside(Interval("x", 0.0, 500.0))
    assert everything.share == pytest.approx(1.0) and not everything.doubt.any() and not everything.cut.size
    nothing = found.inside(Interval("x", 3.0, 2.0))
    assert not nothing.share.any() and not nothing.cut.size
    low, high = found.inside(Interval("x", 0.0, nextafter(25.0, -inf))), found.inside(Interval("x", 25.0, 500.0))
    assert low.share + high.share == pytest.approx(1.0)  # a mark is in one of the two
    assert low.sd == pytest.approx(high.sd)


def test_an_end_between_two_marks_is_doubtful() -> None:
    found = cells(drawn("smooth"), 1)
    place = int(np.searchsorted(MARKS, 25.0))
    inner = (MARKS[place] + MARKS[place + 1]) / 2
    at_mark, between = (found.inside(Interval("x", low, 500.0)) for low in (float(MARKS[place]), float(inner)))
    assert not at_mark.doubt.any() and between.doubt.max() > 0.0
    assert 0.0 < (at_mark.share - between.share).max() < 0.2


def test_an_empty_bin_and_one_bin() -> None:
    one = NumberDomain("x", (0.0, 10.0))
    counts = np.zeros(2 * len(marks_of(one.edges)), dtype=np.int64)
    told = Measurement("t", (Axis.cells(("x",), (len(counts),)),), counts, 40.0)
    for rows in (0.0, 1000.0):
        found = MarkedCells.of(one, np.array([rows, 3.0]), told)
        assert (
            np.isfinite(found.mean).all() and np.isfinite(found.mean_sd).all() and found.share.sum() == pytest.approx(1)
        )
        half = found.inside(Interval("x", 0.0, 5.0))
        assert 0.0 <= half.share[0] <= 1.0 and np.isfinite(half.sd).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "edges",
    [(0.0, 5.0, nextafter(5.0, 9.0), 10.0), (0.0, 1e-310, 1e-300), (-1e300, 0.0, 1e300), (1.0, nextafter(1.0, 2.0))],
)
@pytest.mark.parametrize("rows", [0.0, 700.0])
def test_bins_of_neighbouring_doubles_and_of_all_doubles(edges: tuple[float, ...], rows: float) -> None:
    domain = NumberDomain("x", edges)
    counts = np.full(2 * len(marks_of(edges)), 60, dtype=np.int64)
    told = Measurement("t", (Axis.cells(("x",), (len(counts),)),), counts, 40.0)
    found = MarkedCells.of(domain, np.full(len(edges), rows), told)
    inside = found.inside(Interval("x", edges[0], (edges[0] + edges[-1]) / 2))
    for array in (found.share, found.mean, found.mean_sd, inside.share, inside.sd, inside.doubt, inside.center):
        assert np.isfinite(array).all()
    assert (inside.share >= 0.0).all() and (inside.share <= 1.0).all()


@pytest.mark.parametrize("steep", [-0.9, -0.4, 0.6])
def test_the_slope_of_a_bin_is_that_of_its_neighbours(steep: float) -> None:
    """Rows with density exp(steep * x): the share of a bin's upper half is an integral, and no cell stands out."""
    domain = NumberDomain("x", tuple(float(i) for i in range(11)), nullable=False)
    ends = np.array(marks_of(domain.edges))
    mass = np.diff(np.exp(steep * (ends - 5.0)))
    counts = np.zeros(2 * len(ends))
    counts[1:-1:2] = 1e5 * mass / mass.max()
    rows = np.add.reduceat(counts[1:-1:2], np.searchsorted(ends, domain.edges)[:-1])
    told = Measurement("t", (Axis.cells(("x",), (len(counts),)),), np.rint(counts).astype(np.int64), 3000.0)
    half = MarkedCells.of(domain, rows, told).inside(Interval("x", 4.5, 10.0)).share[4]
    exact = (np.exp(steep) - np.exp(steep / 2)) / (np.exp(steep) - 1.0)
    assert half == pytest.approx(exact, abs=0.01) and abs(exact - 0.5) > 0.04


PRICES = NumberDomain("price", tuple(float(i) for i in range(0, 55, 5)), nullable=False)
CHARGED = np.array([0.99, 4.99, 9.99, 14.49, 19.99, 49.99])


def of_prices(
    seed: int, *, possible: bool = True, together: bool = True, sigma: float = 20.0
) -> tuple[MarkedCells, np.ndarray]:
    """50,000 prices that end in .99 or .49, counted with noise beside known rows of each bin."""
    x = np.random.default_rng(7).choice(CHARGED, 50_000)
    marks = np.array(marks_of(PRICES.edges))
    place = np.searchsorted(marks, x, side="right") - 1
    counts = np.bincount(2 * place + 1, minlength=2 * len(marks))
    counts += np.rint(sigma * np.random.default_rng(seed).normal(size=len(counts))).astype(np.int64)
    told = Measurement("t", (Axis.cells(("price",), (len(counts),)),), counts, sigma)
    rows = np.histogram(x, np.array(PRICES.edges))[0].astype(float)
    return MarkedCells.of(PRICES, rows, told, possible=possible, together=together), x


def test_noise_of_empty_cells_does_not_add_up_beside_crowded_ones() -> None:
    """Below 9.7 of the bin from 5 to 10 there is no row: all of its prices are 9.99."""
    off: dict[bool, list[float]] = {True: [], False: []}
    noise = []
    for seed in range(40):
        for possible in off:
            cells, x = of_prices(seed, possible=possible, together=False)
            inside = cells.inside(Interval("price", 0.0, 9.7))
            rows = float((x > 5.0).sum() - (x > 10.0).sum())
            off[possible].append(rows * float(inside.share[1]))
            if possible:
                noise.append(rows * float(inside.sd[1]))
    assert np.mean(off[True]) < 60.0 and np.mean(off[False]) > 100.0  # of 20 in each of 31 cells below it
    assert np.quantile(off[True], 0.95) < 1.96 * np.mean(noise)


def test_what_crowds_between_round_numbers_leaves_sums_open() -> None:
    cells, x = of_prices(1)
    width = 5.0 * cells.loose
    assert width[[0, 1, 2, 3, 9]] == pytest.approx([0.25] * 5, abs=0.03) and (width[4:9] < 0.26).all()
    for bin_ in (1, 2, 3, 9):
        true = x[(x >= 5.0 * bin_) & (x < 5.0 * bin_ + 5.0)].mean()
        assert abs(5.0 * (bin_ + cells.mean[bin_]) - true) < width[bin_]
    smooth = MarkedCells.of(DOMAIN, np.histogram(drawn("smooth"), EDGES)[0].astype(float), measured(drawn("smooth"), 1))
    assert np.median(smooth.loose) == 0.0


def test_one_value_between_round_numbers_may_have_all_rows_there() -> None:
    cells, _ = of_prices(1)
    inside = cells.inside(Interval("price", 9.99, 9.99))
    assert inside.cut.tolist() == [1] and inside.share[1] == 0.0
    assert inside.doubt[1] == pytest.approx(1.0, abs=0.05) and inside.before[1][1] == 0.0
    assert not cells.inside(Interval("price", 5.0, nextafter(10.0, -inf))).doubt.any()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sigma", [3_000.0, 1e6, 1e12])
@pytest.mark.parametrize("hidden", [True, False])
def test_noise_beyond_all_rows_leaves_shares(sigma: float, hidden: bool) -> None:
    """Where nothing is expected of a kind of cells its distances are beyond every multiple of that."""
    x = drawn("smooth")
    domain = NumberDomain("x", tuple(float(i) for i in range(0, 525, 25)), nullable=False)
    rows = np.histogram(x, np.array(domain.edges))[0].astype(float)
    number = 2 * len(marks_of(domain.edges))
    for seed in range(12):
        rng = np.random.default_rng(seed)
        counts = np.rint(sigma * rng.normal(size=number)).astype(np.int64)
        told = Measurement("t", (Axis.cells(("x",), (number,)),), counts, sigma)
        found = MarkedCells.of(
            domain, np.maximum(rows + sigma / 3 * rng.normal(size=len(rows)), 0.0), told, hidden=hidden
        )
        inside = found.inside(Interval("x", 25.0, 40.0))
        for array in (found.share, found.mean, found.mean_sd, inside.share, inside.sd, inside.doubt):
            assert np.isfinite(array).all()
        assert (inside.share >= 0.0).all() and (inside.share <= 1.0).all()
