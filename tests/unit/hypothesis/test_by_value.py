"""Questions about values as weighted counts of cells: against rows that stand where the cells say."""

from math import inf, nextafter

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.domain import CategoryDomain, NumberDomain, TableDomain
from dpsql.hypothesis import MODEL_RULES, NEWEST, ModelRules
from dpsql.hypothesis.values.by_value import CUT_SHIFT, ByValue, Cells, by_cells_unmeasured
from dpsql.hypothesis.values.positions import GROUP_SHIFT, Positions
from dpsql.query import Factor, Interval, LinearQuery
from tests.unit.hypothesis.test_marked_cells import DOMAIN, ROWS, bin_of, drawn, measured

TABLE = TableDomain("t", (DOMAIN, NumberDomain("y", (0.0, 1.0, 3.0, 9.0)), CategoryDomain("g", ("a", "b"))))
X = drawn("prices")
G = np.random.default_rng(9).integers(0, 2, ROWS)
COUNTS = np.bincount(bin_of(X), minlength=50).astype(float)
CELLS = np.zeros((50, 4, 3))
np.add.at(CELLS, (bin_of(X), 1, G), 1.0)
GROUP = Factor(("g",), np.array([1, 0, 0]))


def positions(column: str) -> Positions:
    domain = TABLE.finite_domain(column)
    assert isinstance(domain, NumberDomain)
    if column == "x":
        return Positions.of_values(domain, COUNTS, measured(X, 2, 1.0))
    return Positions.of(domain)


def estimate(query: LinearQuery) -> float:
    """Over the grid of all three columns."""
    assert set(query.scope) <= {"x", "y", "g"}
    out, names = CELLS, ("x", "y", "g")
    for f in query.factors:
        shape = [n if c in f.columns else 1 for c, n in zip(names, CELLS.shape, strict=True)]
        out = out * f.weights.reshape(shape) / f.unit
    return float(out.sum())


def rows(column: str) -> np.ndarray:
    return np.asarray(CELLS.sum(axis=tuple(i for i, c in enumerate(("x", "y", "g")) if c != column)))


def unknown(query: LinearQuery, rules: ModelRules = NEWEST) -> tuple[float, float]:
    return ByValue(TABLE, query, positions, rules).unknown(Cells(estimate, estimate, rows, float(ROWS), lambda *_: inf))


@pytest.mark.parametrize("threshold", [5.0, 12.0, 25.0, 60.0, 150.0])
def test_counts_and_sums_of_rows_in_an_interval(threshold: float) -> None:
    inside = threshold <= X
    counted = LinearQuery("t", (), intervals=(Interval("x", threshold, 500.0),))
    assert estimate(ByValue(TABLE, counted, positions).by_cells()) == pytest.approx(inside.sum(), abs=60)
    below = LinearQuery("t", (GROUP,), intervals=(Interval("x", 0.0, nextafter(threshold, -inf)),))
    assert estimate(ByValue(TABLE, below, positions).by_cells()) == pytest.approx((~inside & (G == 0)).sum(), abs=150)
    summed = LinearQuery("t", (), value="x", intervals=counted.intervals)
    assert estimate(ByValue(TABLE, summed, positions).by_cells()) == pytest.approx((X[inside] / 500.0).sum(), abs=15)
    other = LinearQuery("t", (), value="y", intervals=counted.intervals)  # all rows are in y's second bin
    assert estimate(ByValue(TABLE, other, positions).by_cells()) == pytest.approx(2.0 / 9.0 * inside.sum(), abs=25)


def test_what_is_unknown_of_a_group_and_of_all_rows() -> None:
    """Of all rows the counts at marks say it; how a group's differ from them is what its bar allows."""
    told = (Interval("x", 25.0, 500.0),)
    bin_ = int(bin_of(np.array([25.0]))[0])
    share = float(positions("x").cells.inside(told[0]).share[bin_])
    of_all, of_group = (
        unknown(LinearQuery("t", (), intervals=told)),
        unknown(LinearQuery("t", (GROUP,), intervals=told)),
    )
    assert of_all[0] < 10.0 and of_all[1] == of_group[1] == 0.0
    here = float(CELLS[bin_, :, 0].sum())
    others = 1.0 - here / COUNTS[bin_]
    shift = 2 * np.sqrt(share * (1 - share)) * CUT_SHIFT * others * here
    chance = np.sqrt(here * share * (1 - share) * others)
    assert of_group[0] == pytest.approx(np.hypot(shift, chance), rel=0.05)


def test_an_end_between_marks_is_added_to_any_bar() -> None:
    assert unknown(LinearQuery("t", (), intervals=(Interval("x", 25.137, 500.0),)))[1] > 0.0
    assert unknown(LinearQuery("t", (), intervals=(Interval("x", float(DOMAIN.edges[9]), 500.0),))) == (0.0, 0.0)


def test_sums_allow_a_groups_means_to_differ() -> None:
    of_all, of_group = (unknown(LinearQuery("t", f, value="x"))[0] for f in ((), (GROUP,)))
    widths = float((CELLS[:, :, 0].sum(axis=1) * np.diff(DOMAIN.edges)).sum()) / 500.0
    assert of_all < 60.0 and of_group == pytest.approx(GROUP_SHIFT * widths / 2, rel=0.4)


@pytest.mark.parametrize(("low", "high"), [(12.0, 13.0), (22.0, 24.0), (60.0, 65.0), (150.0, 200.0)])
def test_a_sum_over_a_stretch_is_off_by_no_more_than_its_rows_are_apart(low: float, high: float) -> None:
    """Older rules took the noise of all bins, and all of a bin where a stretch of it is summed."""
    asked = LinearQuery("t", (), value="x", intervals=(Interval("x", low, high),))
    sd, added = unknown(asked)
    inside = (low <= X) & (high >= X)
    off = abs(estimate(ByValue(TABLE, asked, positions).by_cells()) - (X[inside] / 500.0).sum())
    apart = inside.sum() * (high - low) / 500.0 / 2.0
    of_rows = unknown(LinearQuery("t", (), intervals=asked.intervals))[0] * high / 500.0  # how many they are
    assert off <= DEVIATIONS * sd + added
    assert sd <= np.hypot(apart, of_rows) * 1.01 + 0.5
    assert unknown(asked, MODEL_RULES[16])[0] > 2.0 * sd


def test_a_sum_of_one_value_between_two_marks_may_be_of_all_rows_there() -> None:
    """Nothing is expected at one value: its rows were taken to count 0, too."""
    told = (Interval("x", 25.137, 25.137),)
    counted, summed = (unknown(LinearQuery("t", (), value=v, intervals=told))[1] for v in (None, "x"))
    assert summed == pytest.approx(counted * 25.137 / 500.0, rel=1e-3) and summed > 0.0


def test_a_sum_knows_which_bins_are_summed() -> None:
    some = Factor(
        ("x",), np.append(np.arange(49) >= 40, [True, False]).astype(np.int64)[: TABLE.finite_domain("x").size]
    )
    asked = LinearQuery("t", (some,), value="x")
    sd, _ = unknown(asked)
    inside = bin_of(X) >= 40
    off = abs(estimate(ByValue(TABLE, asked, positions).by_cells()) - (X[inside] / 500.0).sum())
    assert off <= DEVIATIONS * sd < DEVIATIONS * unknown(asked, MODEL_RULES[16])[0] / 1.5


def test_before_anything_is_measured_rows_are_spread_evenly() -> None:
    domain = NumberDomain("x", (0.0, 10.0, 20.0), nullable=False)
    table = TableDomain("t", (domain,))
    asked = LinearQuery("t", (), intervals=(Interval("x", 2.5, 20.0),))
    (factor,) = by_cells_unmeasured(table, asked).factors
    assert factor.weights / factor.unit == pytest.approx([0.75, 1.0])
    plain = LinearQuery("t", (Factor(("x",), np.array([0, 1])),))
    assert by_cells_unmeasured(table, plain) is plain


def test_several_columns_share_the_fixed_point() -> None:
    asked = LinearQuery("t", (GROUP,), value="y", intervals=(Interval("x", 25.0, 40.0), Interval("y", 1.0, 2.0)))
    found = ByValue(TABLE, asked, positions).by_cells()
    found.check_sensitivity()
    assert {f.columns for f in found.factors} == {("x",), ("y",), ("g",)}


def test_conditions_that_tie_columns_are_weighted_cell_by_cell() -> None:
    rng = np.random.default_rng(4)
    tied = Factor(("x", "y"), rng.integers(0, 2, (50, 4)))
    stretches = (Interval("x", 13.0, 300.0), Interval("y", 0.5, 7.0))
    found = ByValue(TABLE, LinearQuery("t", (tied, GROUP), intervals=stretches), positions).by_cells()
    assert all(list(f.columns) == sorted(f.columns, key=TABLE.order.__getitem__) for f in found.factors)
    x, y = (positions(i.column).cells.inside(i).share for i in stretches)
    weights = tied.weights * np.append(x, [0.0] * (50 - len(x)))[:, None] * np.append(y, 0.0)
    assert estimate(found) == pytest.approx((CELLS[..., 0] * weights).sum(), rel=1e-3)


@pytest.mark.parametrize("others", [1, 2])
def test_small_values_of_weighted_rows_are_not_lost_to_rounding(others: int) -> None:
    """All of x's rows are in the lowest 1/70 of a range, and rows are weighed by fractions beside."""
    rare = Factor(("g",), np.array([3, 7, 1]), 9)
    fine = Factor(("y",), np.array([100, 333, 17, 0]), 511)
    asked = LinearQuery("t", (fine, rare)[-others:], value="x", intervals=(Interval("x", 0.0, 7.0),))
    found = ByValue(TABLE, asked, positions)
    inside, exact = X <= 7.0, np.array([3.0, 7.0])[G] / 9 * (333 / 511 if others == 2 else 1.0)
    truth = float((X[inside] / 500.0 * exact[inside]).sum())
    plain = ByValue(TABLE, LinearQuery("t", (), value="x", intervals=asked.intervals), positions).by_cells()
    off = abs(estimate(plain) - (X[inside] / 500.0).sum())
    for _, part in found.unrounded():
        part.check_sensitivity()
    assert abs(estimate(found.by_cells()) - truth) <= off + 0.02 * truth
    assert abs(sum(times * estimate(part) for times, part in found.unrounded()) - truth) <= off + 0.002 * truth


def test_rows_that_no_bin_has() -> None:
    nothing = LinearQuery("t", (), intervals=(Interval("x", 3.0, 2.0),))
    assert estimate(ByValue(TABLE, nothing, positions).by_cells()) == 0.0
