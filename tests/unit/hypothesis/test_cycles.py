"""What comes again each hour, day and week: against Python's calendar, drawn noise, and days that have mornings."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.domain import CategoryDomain, DateDomain, IntegerDomain, TableDomain
from dpsql.hypothesis.bars.assumed.recurring import Recurring
from dpsql.hypothesis.bars.assumed.single_columns import SingleColumns
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.columns.cycles import cycles_of, in_proportion, in_step
from dpsql.hypothesis.local.one_way import PartCounts, clean_one_way
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.query import Crosstab, Estimates, Factor, LinearQuery

moment = datetime.fromisoformat
DAYS = 21
HOURS = DateDomain("h", moment("2026-02-20"), moment("2026-02-20") + timedelta(hours=24 * DAYS - 1), "hour", False)
TABLE = TableDomain("t", (HOURS, CategoryDomain("g", tuple("abc"), nullable=False)))
SIGMA = 50.0
OF_DAY = np.arange(24 * DAYS) % 24
BY_HOUR = 200.0 + 190.0 * np.sin((np.arange(24) - 9) * np.pi / 12)
COUNTS = BY_HOUR[OF_DAY] * np.random.default_rng(3).uniform(0.97, 1.03, 24 * DAYS)


@pytest.mark.parametrize(
    "domain",
    [
        DateDomain("d", date(2024, 2, 27), date(2025, 3, 2)),
        DateDomain("d", date(1899, 12, 31), date(1900, 3, 2), nullable=False),
        DateDomain("d", moment("2024-02-28 17:00"), moment("2024-04-02 03:00"), "hour"),
        DateDomain("d", moment("2023-12-30 22:41"), moment("2024-01-22 03:07"), "minute"),
    ],
)
def test_cycles_are_those_of_the_calendar(domain: DateDomain) -> None:
    days = [d for d in domain.values if isinstance(d, date)]
    found = {int(labels.max()) + 1: labels.tolist() for labels in cycles_of(domain)}
    assert found[7] == [d.weekday() for d in days]
    if domain.unit != "day":
        assert found[24] == [d.hour for d in days if isinstance(d, datetime)]
    if domain.unit == "minute":
        assert found[60] == [d.minute for d in days if isinstance(d, datetime)]
    assert list(found) == sorted(found, reverse=True)


def test_other_columns_and_short_ones_have_none() -> None:
    assert cycles_of(IntegerDomain("n", 0, 900)) == cycles_of(
        DateDomain("d", date(2020, 1, 1), date(2026, 1, 1), "month")
    )
    assert cycles_of(DateDomain("d", date(2026, 1, 1), date(2026, 1, 20))) == ()
    assert [int(c.max()) for c in cycles_of(DateDomain("d", moment("2026-01-01"), moment("2026-01-08"), "hour"))] == [
        23
    ]


def test_the_mean_for_a_place_is_nearer_shrunk_than_as_counted_or_not_at_all() -> None:
    """James and Stein's factor, of the effects that noise was drawn to: nearer whatever their size is."""
    rng, labels = np.random.default_rng(11), OF_DAY
    for size in (0.0, 4.0, 12.0, 60.0):
        off = {"shrunk": 0.0, "counted": 0.0, "none": 0.0}
        for _ in range(60):
            effect = rng.normal(0.0, size, 24)
            effect -= effect.mean()
            cells = 300.0 + effect[labels] + rng.normal(0.0, SIGMA, len(labels))
            means = np.bincount(labels, cells) / DAYS - cells.mean()
            found = in_step(cells, SIGMA, (labels,))
            assert abs(found.sum()) < 1e-6
            off["shrunk"] += float(((found[:24] - effect) ** 2).sum())
            off["counted"] += float(((means - effect) ** 2).sum())
            off["none"] += float((effect**2).sum())
        assert off["shrunk"] < 1.01 * off["counted"]
        assert off["shrunk"] < max(off["none"], 0.25 * off["counted"])


def test_null_is_in_no_cycle() -> None:
    cells = np.append(COUNTS, 9_000.0)
    assert in_step(cells, SIGMA, (OF_DAY,), apart=True)[-1] == 0.0
    assert np.array_equal(in_step(cells, SIGMA, (OF_DAY,), apart=True)[:-1], in_step(COUNTS, SIGMA, (OF_DAY,)))


def test_smoothing_takes_nothing_from_mornings_for_nights() -> None:
    rng = np.random.default_rng(5)
    bias = {}
    for cycles in ((), cycles_of(HOURS)):
        errors = []
        for _ in range(12):
            noisy = PartCounts(np.arange(len(COUNTS)), COUNTS + rng.normal(0.0, SIGMA, len(COUNTS)), SIGMA)
            cells = clean_one_way(
                len(COUNTS), [noisy], COUNTS.sum(), ordered=True, smooth=True, peaked=True, cycles=cycles
            )
            errors.append(np.bincount(OF_DAY, cells - COUNTS))
        bias[bool(cycles)] = float(np.abs(np.mean(errors, axis=0)).max())
    assert bias[True] < 2.0 * SIGMA * DAYS**0.5 < 0.9 * bias[False]  # of a mean of twelve .29 sds of that


def query(weights: Estimates, *others: Factor) -> LinearQuery:
    return LinearQuery("t", (Factor(("h",), weights.astype(np.int64)), *others))


def measured(columns: str, counts: Estimates, sd: float, rng: np.random.Generator | None = None) -> Measurement:
    noise = 0.0 if rng is None else rng.normal(0.0, sd, counts.shape)
    axes = tuple(Axis.cells((c,), (size,)) for c, size in zip(columns, counts.shape, strict=True))
    return Measurement("t", axes, np.rint(counts + noise).astype(np.int64), sd)


def test_a_bar_has_at_least_the_noise_of_the_places_that_it_takes_in() -> None:
    ones = {"h": COUNTS, "g": np.array([0.5, 0.3, 0.2]) * COUNTS.sum()}
    coverage = Coverage(TABLE, float(COUNTS.sum()), [measured(c, ones[c], SIGMA) for c in ones])
    single = SingleColumns(coverage, lambda columns: ones[columns[0]])

    def least(asked: LinearQuery, *, used: bool = True) -> float:
        return float(Recurring(single, used=used).least(Crosstab.of([asked]).choices))

    rng, hours, nine = np.random.default_rng(2), np.isin(OF_DAY, [9, 10, 11]), OF_DAY == 9
    for taken in (hours, nine):
        noise = rng.normal(0.0, SIGMA, (4_000, len(COUNTS)))
        of_places = noise.reshape(-1, DAYS, 24).mean(axis=1)[:, OF_DAY] - noise.mean(axis=1, keepdims=True)
        sd = float(np.std(of_places[:, taken].sum(axis=1)))
        assert least(query(taken)) == pytest.approx(DEVIATIONS * sd, rel=0.05)
    assert least(query(hours), used=False) == 0.0
    for first, last in ((0, 24), (0, 48), (24, 24 * 8), (9, 12), (0, len(COUNTS))):  # ranges are known by their own
        taken = np.arange(len(COUNTS))
        assert least(query((taken >= first) & (taken < last))) == pytest.approx(0.0, abs=1e-9)
    third = Factor(("g",), np.array([0, 1, 0]))
    assert least(query(nine, third)) == pytest.approx(0.3 * least(query(nine)))


def test_hours_of_the_day_are_inside_their_bars() -> None:
    inside = {}
    for used in (True, False):
        rules, found = replace(NEWEST, cycles=used), []

        def fit(measurements: Sequence[Measurement], rules: ModelRules = rules) -> WideHypothesis:
            made = WideHypothesis(TABLE, float(COUNTS.sum()), rules)
            for m in measurements:
                made.absorb(m)
            return made

        for seed in range(6):
            rng = np.random.default_rng([39, seed])
            both = np.outer(COUNTS, [0.5, 0.3, 0.2])
            known = [measured("h", COUNTS, SIGMA, rng), measured("g", both.sum(axis=0), SIGMA, rng)]
            known.append(measured("hg", both, 2 * SIGMA, rng))
            model, bars = fit(known), learn_calibration(TABLE, float(COUNTS.sum()), known, fit, rules=rules)
            for hour in range(24):
                asked = query(hour == OF_DAY)
                bar = bars.bound(asked, 1.0)
                assert bar is not None
                found.append(abs(model.answer(asked) - COUNTS[hour == OF_DAY].sum()) <= bar)
        inside[used] = float(np.mean(found))
    assert inside[True] >= 0.92 and inside[False] < 0.85


def test_light_days_are_not_heavier_for_what_noise_cuts_off() -> None:
    """Sundays have five rows of noise of fifty each, Mondays two hundred: what is cut off below 0 adds up."""
    days, rng = np.arange(7 * 150) % 7, np.random.default_rng(8)
    counts = np.array([200.0, 100.0, 60.0, 40.0, 30.0, 15.0, 5.0])[days]
    off: dict[bool, list[Estimates]] = {True: [], False: []}
    for _ in range(10):
        noisy = PartCounts(np.arange(len(days)), counts + rng.normal(0.0, SIGMA, len(days)), SIGMA)
        for cycles in ((days,), ()):
            found = clean_one_way(
                len(days), [noisy], counts.sum(), ordered=True, smooth=True, peaked=True, cycles=cycles
            )
            assert found.min() > 0.0 and found.sum() == pytest.approx(counts.sum())
            off[bool(cycles)].append(np.bincount(days, found - counts))
    sd = SIGMA * 150**0.5
    assert np.abs(np.mean(off[True], axis=0)).max() < sd < 3_000.0 < np.abs(np.mean(off[False], axis=0)).max()


def test_shares_of_places_are_raked_and_null_is_left_alone() -> None:
    rng, labels = np.random.default_rng(6), (OF_DAY, np.arange(24 * DAYS) // 24 % 7)
    cells, told = rng.uniform(0.0, 9.0, 24 * DAYS + 1), rng.uniform(1.0, 9.0, 24 * DAYS + 1)
    found = in_proportion(cells, told, labels, apart=True)
    assert found[-1] == cells[-1] and found.sum() == pytest.approx(cells.sum())
    for of in labels:
        wanted = np.bincount(of, told[:-1]) / told[:-1].sum()
        assert np.bincount(of, found[:-1]) / found[:-1].sum() == pytest.approx(wanted, rel=1e-3)
    assert in_proportion(cells, told, (), apart=True) is cells
