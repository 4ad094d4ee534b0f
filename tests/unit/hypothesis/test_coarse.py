"""Dates of a tensor that were measured with another column by the day and by the month."""

from datetime import date

import numpy as np
import pytest

from dpsql.domain import CategoryDomain, DateDomain, TableDomain
from dpsql.hypothesis.components import Interaction, pure
from dpsql.hypothesis.measurement import Axis, Labels, Measurement
from dpsql.hypothesis.rules import MODEL_RULES
from dpsql.hypothesis.tensor.coarse import Coarse, PartSums, in_parts
from dpsql.hypothesis.tensor.dense import DenseHypothesis
from dpsql.planning.contingencies import range_parts
from dpsql.query import Counts

DAYS = DateDomain("day", date(2023, 1, 1), date(2023, 12, 31), nullable=False)
KINDS = CategoryDomain("kind", ("a", "b", "c", "d"), nullable=False)
TABLE = TableDomain("t", (DAYS, KINDS))
MONTHS = range_parts(DAYS)
SIGMA = 12.0


def rows(*, weekly: bool = False) -> Counts:
    """Of each day and kind; kinds change from month to month, and at weekends."""
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.full(4, 3.0), size=12)[MONTHS]
    if weekly:
        shares[np.arange(365) % 7 >= 5] = [0.7, 0.1, 0.1, 0.1]
    return rng.poisson(160.0 * shares)


def axis(name: str, size: int) -> Axis:
    return Axis.cells((name,), (size,))


def measured(truth: Counts, seed: int) -> list[Measurement]:
    """By the day, the month, the kind, and by day or month and kind: whole numbers with noise of sd SIGMA."""
    rng = np.random.default_rng(seed)
    months = Axis(("day",), MONTHS, 12)
    by_month = np.stack([np.bincount(MONTHS, weights=kind) for kind in truth.T], axis=1)
    found = [
        ((axis("day", 365),), truth.sum(axis=1)),
        ((months,), by_month.sum(axis=1)),
        ((axis("kind", 4),), truth.sum(axis=0)),
        ((axis("day", 365), axis("kind", 4)), truth),
        ((months, axis("kind", 4)), by_month),
    ]
    noisy = [(axes, np.rint(values + rng.normal(0.0, SIGMA, values.shape)).astype(np.int64)) for axes, values in found]
    return [Measurement("t", axes, values, SIGMA) for axes, values in noisy]


def fitted(measurements: list[Measurement], truth: Counts, rules: int = 30) -> np.ndarray:
    model = DenseHypothesis(TABLE, float(truth.sum()), MODEL_RULES[rules])
    for m in measurements:
        model.absorb(m)
    return model.contingency(("day", "kind"))


def by_month(cells: np.ndarray) -> np.ndarray:
    return np.stack([np.bincount(MONTHS, weights=kind) for kind in cells.T], axis=1)


def rms(off: np.ndarray) -> float:
    return float(np.sqrt((off**2).mean()))


def test_months_by_a_column_are_as_near_as_they_were_measured() -> None:
    """Thirty days' cells have 5.5 times the noise of a month's; days are no further off than without it."""
    truth = rows()
    found = [measured(truth, seed) for seed in range(3)]
    for m in found:
        assert rms(by_month(fitted(m, truth)) - by_month(truth)) < 1.2 * SIGMA
        assert rms(fitted(m, truth) - truth) < 1.1 * rms(fitted(m[:-1], truth) - truth)
    without = [rms(by_month(fitted(m[:-1], truth)) - by_month(truth)) for m in found]
    assert min(without) > 3.0 * SIGMA
    older, newer = ([rms(by_month(fitted(m, truth, n)) - by_month(truth)) for m in found] for n in (29, 30))
    assert sum(newer) < sum(older)


def test_days_say_how_rows_are_inside_months() -> None:
    """At weekends three days in four are of one kind: two months in a row, of equal sums, would not show it."""
    truth = rows(weekly=True)
    cells = fitted(measured(truth, 1), truth)
    weekend = np.arange(365) % 7 >= 5
    assert cells[weekend, 0].mean() == pytest.approx(truth[weekend, 0].mean(), rel=0.1)
    assert cells[~weekend, 0].mean() == pytest.approx(truth[~weekend, 0].mean(), rel=0.1)


def test_what_is_inside_parts_leaves_these_as_they_are() -> None:
    rng = np.random.default_rng(2)
    both = Coarse({in_parts("day"): MONTHS})
    model, noisy = rng.uniform(10.0, 50.0, (365, 4)), rng.uniform(10.0, 50.0, (365, 4))
    part = both.inside(model, Interaction(("day", "kind"), pure(noisy), 1.0))
    gap = part.values - pure(model)
    assert by_month(gap) == pytest.approx(np.zeros((12, 4)), abs=1e-9)
    inside = pure(noisy) - pure(model)
    means = np.stack([[inside[m == MONTHS, k].mean() for k in range(4)] for m in range(12)])
    assert gap == pytest.approx(inside - means[MONTHS])
    kept = both.kept(noisy, model, ("day", "kind"))
    assert by_month(kept) == pytest.approx(by_month(model))
    assert kept[40:45, 2] / noisy[40:45, 2] == pytest.approx(np.full(5, kept[40, 2] / noisy[40, 2]))


def test_the_best_linear_estimate_of_a_parts_sum() -> None:
    """Against weighted least squares by matrices."""
    labels: Labels = np.array([0, 0, 0, 1, 1])
    cells, sums = np.array([5.0, 9.0, 2.0, 7.0, 7.0]), np.array([40.0, 4.0])
    told = np.vstack([np.eye(5) / 3.0, (labels == np.arange(2)[:, None]) / 2.0])
    oracle = np.linalg.lstsq(told, np.concatenate([cells / 3.0, sums / 2.0]), rcond=None)[0]
    assert PartSums("day", labels, sums, 2.0).told(cells, 9.0) == pytest.approx(oracle)


def test_what_is_no_measurement_of_these_parts_is_left_to_others() -> None:
    both = Coarse({in_parts("day"): MONTHS})
    counts = np.zeros((12, 4), dtype=np.int64)
    renamed = both.renamed(Measurement("t", (Axis(("day",), MONTHS, 12), axis("kind", 4)), counts, 1.0), 5)
    assert renamed is not None
    assert renamed.scope == (in_parts("day"), "kind")
    assert all(a.is_cells for a in renamed.axes)
    quarters = Axis(("day",), MONTHS // 3, 4)
    pairs = Axis(("kind",), np.array([0, 0, 1, 1]), 2)
    for axes in [(quarters, axis("kind", 4)), (Axis(("day",), MONTHS, 12), pairs), (axis("kind", 4),)]:
        values = np.zeros([a.size for a in axes], dtype=np.int64)
        assert both.renamed(Measurement("t", axes, values, 1.0), 5) is None
    assert both.renamed(Measurement("t", (Axis(("day",), MONTHS, 12), axis("kind", 4)), counts, 1.0), 1) is None


def test_parts_are_ranges_and_those_measured_first() -> None:
    first, later = (
        Measurement("t", (Axis(("day",), labels, int(labels.max()) + 1),), np.zeros(1, dtype=np.int64), 1.0)
        for labels in (MONTHS, MONTHS // 3)
    )
    assert np.array_equal(Coarse.of([first, later]).labels[in_parts("day")], MONTHS)
    weekdays = Measurement("t", (Axis(("day",), np.arange(365) % 7, 7),), np.zeros(7, dtype=np.int64), 1.0)
    assert not Coarse.of([weekdays]).labels


def test_what_says_nothing_of_another_column_changes_nothing() -> None:
    """A hard round on some kinds has parts, too, which no date was measured with."""
    truth = rows(weekly=True)
    found = measured(truth, 1)
    some = Measurement("t", (Axis(("kind",), np.array([0, 0, 1, 1]), 2),), np.zeros(2, dtype=np.int64), 1e9)
    assert fitted([*found, some], truth) == pytest.approx(fitted(found, truth), rel=1e-6)


@pytest.mark.parametrize("rules", [28, 29, 30])
def test_a_measurement_over_both_columns_at_once_is_of_no_parts(rules: int) -> None:
    """As a hard round on a comparison measures: one axis, whose parts are pairs of values."""
    truth = rows()
    both = np.add.outer(np.arange(365), np.arange(4)) % 7 < 2
    joint = Axis.level_sets(("day", "kind"), [both.astype(np.int64)])
    counted = np.array([truth[joint.labels == part].sum() for part in range(2)])
    moved = counted + np.array([3_000, -3_000])
    found = [*measured(truth, 1), Measurement("t", (joint,), moved, 1.0)]
    cells = fitted(found, truth, rules)
    assert abs(cells[joint.labels == 0].sum() - counted[0]) > 1_000
