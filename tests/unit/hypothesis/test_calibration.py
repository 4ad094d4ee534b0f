"""Calibrated error bars: they cover fresh noise, follow it, repeat, and keep silent where nothing was measured."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from math import ceil, hypot, inf, log

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.hypothesis import TableModel
from dpsql.hypothesis.bars.assumed.unseen_interactions import UnseenInteractions
from dpsql.hypothesis.bars.calibration import Calibration, ranges
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.bars.random_queries import random_queries
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST, ModelRules
from dpsql.query import Crosstab, Factor, KeyedFactor, LinearQuery, linear_query
from tests.support.four_columns import CELLS, FACTOR, NAMES, SHAPE, TABLE, TOTAL, calibrated, noisy, truth, wide
from tests.support.simulated import all_of, measured

ITSELF = replace(NEWEST, left_out=False)
"""A condition's bar by its own formula, whatever is known of what it leaves out."""


def fit(measurements: Sequence[Measurement]) -> Callable[[LinearQuery], float]:
    return wide(measurements).answer


def asked(number: int, count: int, seed: int) -> list[LinearQuery]:
    coverage = Coverage(TABLE, TOTAL, noisy(30.0, 1))
    return random_queries(coverage, number, count, np.random.default_rng(seed))


@pytest.mark.statistical
@pytest.mark.parametrize("sigma", [15.0, 80.0])
def test_error_bars_cover_fresh_queries_without_being_wide(sigma: float) -> None:
    inside: dict[int, list[bool]] = {}
    errors, bounds = [], []
    for seed in (11, 12):
        found = noisy(sigma, seed)
        answer, bars = fit(found), calibrated(found)
        for number in (1, 2, 3, 4):
            for q in asked(number, 120, seed):
                bound = bars.bound(q, FACTOR)
                assert bound is not None
                errors.append(abs(round(answer(q)) - truth(q)))
                bounds.append(bound)
                inside.setdefault(number, []).append(errors[-1] <= bound)
    assert np.mean([x for found in inside.values() for x in found]) >= 0.95
    assert min(np.mean(found) for found in inside.values()) >= 0.92
    assert np.median(bounds) <= 7 * np.median(errors)


def test_before_the_first_lesson_bars_know_what_pairs_leave_open() -> None:
    """Noise alone covers too little of what three columns have; with older rules nothing else is known."""
    found = noisy(5.0, 51)
    model = wide(found)
    coverages = [Coverage(TABLE, TOTAL, found, rules) for rules in (NEWEST, MODEL_RULES[17])]
    new, old = [Calibration(c, lambda asked: model.answers(asked), model.contingency) for c in coverages]
    queries = asked(3, 300, 52)
    off = np.array([abs(round(model.answer(q)) - truth(q)) for q in queries])
    bars = np.array([new.bound(q, FACTOR) for q in queries], dtype=np.float64)
    noise = np.array([1.96 * float(np.max(new.noise(Crosstab.of([q]).choices))) for q in queries])
    assert (off <= bars).mean() >= 0.95 > 0.9 > (off <= noise).mean()
    assert [old.bound(q, FACTOR) for q in queries[:9]] == [None] * 9


def test_error_bars_follow_the_noise() -> None:
    small, large = calibrated(noisy(10.0, 21)), calibrated(noisy(100.0, 21))
    ratios = [large.bound(q, FACTOR) / small.bound(q, FACTOR) for q in asked(2, 60, 3)]  # type: ignore[operator]
    assert float(np.median(ratios)) > 2.5


def test_equal_measurements_give_equal_error_bars() -> None:
    found = noisy(30.0, 31)
    one, other = calibrated(found), calibrated(found)
    assert [one.bound(q, FACTOR) for q in asked(3, 40, 4)] == [other.bound(q, FACTOR) for q in asked(3, 40, 4)]


def test_columns_that_were_not_measured_together_have_no_error_bar() -> None:
    rng = np.random.default_rng(41)
    found = [*all_of(CELLS, 1, 20.0, rng), measured(CELLS, "ab", 20.0, rng), measured(CELLS, "ac", 20.0, rng)]
    bars = calibrated(found)
    half = {c: Factor((c,), np.arange(n) % 2) for c, n in zip(NAMES, SHAPE, strict=True)}

    def over(columns: str) -> LinearQuery:
        query = linear_query(TABLE, [half[c] for c in columns])
        assert query is not None
        return query

    assert bars.bound(over("a"), FACTOR) is not None
    assert bars.bound(over("ab"), FACTOR) is not None
    assert bars.bound(over("bc"), FACTOR) is None
    assert bars.bound(over("abc"), FACTOR) is None
    assert calibrated([]).bound(over("a"), FACTOR) is None


def test_an_error_bar_is_at_least_one_and_grows_with_its_factor() -> None:
    bars = calibrated(noisy(0.01, 51))
    for q in asked(2, 20, 5):
        narrow, broad = bars.bound(q, 1.0), bars.bound(q, 50.0)
        assert narrow is not None
        assert broad is not None
        assert 1 <= narrow <= broad


def test_noise_of_a_query_is_that_of_its_best_table() -> None:
    rng = np.random.default_rng(61)
    coverage = Coverage(TABLE, TOTAL, [measured(CELLS, "ab", 10.0, rng), measured(CELLS, "abc", 4.0, rng)])
    q = linear_query(
        TABLE, [Factor(("a",), np.array([1, 1, 0, 0, 0, 0, 0, 0])), Factor(("b",), np.array([1, 0, 0, 0, 0]))]
    )
    assert q is not None
    noise = coverage.noise(Crosstab.of([q]).choices, np.zeros(1), [])
    assert noise == pytest.approx(min(10.0 * 2**0.5, 4.0 * 8**0.5))


def test_cut_parts_are_taken_in_or_left_out_whole() -> None:
    rng = np.random.default_rng(71)
    labels = {"a": np.array([0, 0, 0, 1, 1, 2, 2, 2])}
    found = [measured(CELLS, p, 10.0, rng, labels) for p in combinations(NAMES, 2)]
    coverage = Coverage(TABLE, TOTAL, found)
    b = Factor(("b",), np.array([1, 0, 0, 0, 1]))
    cut = linear_query(TABLE, [Factor(("a",), np.array([0, 1, 1, 1, 1, 0, 0, 0])), b])
    whole = linear_query(TABLE, [Factor(("a",), np.array([0, 0, 0, 1, 1, 0, 0, 0])), b])
    assert cut is not None
    assert whole is not None
    outer, inner, cuts = coverage.rounded(Crosstab.of([cut, whole, cut]).choices)
    assert cuts.tolist() == [True, False, True]
    assert [[f.weights.tolist() for f in found or ()] for found in outer[0]] == [
        [[1, 1, 1, 1, 1, 0, 0, 0]],
        [whole.factors[0].weights.tolist()],
    ]
    assert [f.digest for f in inner[0][0] or ()] == [whole.factors[0].digest]
    assert [f.digest for found in (outer[1][0], inner[1][0]) for f in found or ()] == [b.digest, b.digest]


def test_bars_of_large_answers_follow_errors_that_level_off() -> None:
    found = noisy(1.0, 81)
    answer, rng = fit(found), np.random.default_rng(8)
    model = wide(found)
    bars = Calibration(Coverage(TABLE, TOTAL, found), model.answers, model.contingency)
    queries = asked(2, 200, 9)
    size = np.log1p([answer(q) for q in queries])
    # errors that are largest for answers of middle size: without the square of log h the ratio below is 1.8
    sds = 2000.0 * np.exp(-((size - np.median(size)) ** 2))
    bars.learn(2, queries, rng.normal(0.0, 1.0, (40, len(queries))) * sds)
    bounds = np.array([bars.bound(q, 1.0) for q in queries], dtype=float)
    _, middle, large = np.array_split(np.argsort(size), 3)
    assert float(np.median(bounds[middle] / (1.96 * sds[middle]))) > 0.8
    assert float(np.median(bounds[large] / (1.96 * sds[large]))) < 1.6


def test_raw_noise_counts_up_to_ten_times_the_answer() -> None:
    """With errors of 0 in every simulation, what is left of a bar is a tenth of the noise: of 300, or of 10 (h + 1)."""
    sigma = 300.0
    found, queries = noisy(sigma, 3), asked(2, 80, 5)

    def bounds(h: float) -> list[int]:
        rules = replace(NEWEST, coarsely=False)  # such pairs hide more of their noise than that
        coverage = Coverage(TABLE, TOTAL, found, rules)
        out = Calibration(coverage, lambda products: np.full(len(products), h), wide(found).contingency)
        out.learn(2, queries, np.zeros((4, len(queries))))
        return [bound for q in queries if (bound := out.bound(q, FACTOR)) is not None]

    assert max(bounds(0.0)) <= 3
    assert max(bounds(4.0)) <= 11
    assert min(bounds(1000.0)) >= 1.96 * 0.1 * sigma
    assert len(bounds(0.0)) == len(queries)


def test_bars_of_many_are_the_bars_of_each() -> None:
    labels = {"a": np.array([0, 0, 0, 1, 1, 2, 2, 2]), "d": np.array([0, 1, 1, 0, 2, 2])}
    rng = np.random.default_rng(91)
    pairs = [measured(CELLS, p, 10.0, rng, labels) for p in combinations(NAMES, 2)]
    bars = calibrated([measured(CELLS, "abc", 30.0, rng), *pairs, *all_of(CELLS, 1, 5.0, rng)])
    for number in (1, 2, 3, 4):
        of_columns: dict[tuple[str, ...], list[LinearQuery]] = {}
        for query in asked(number, 40, number):
            of_columns.setdefault(query.scope, []).append(query)
        for same in of_columns.values():
            together = bars.bounds(Crosstab.of([*same, same[0]]), FACTOR)
            assert together == [bars.bound(query, FACTOR) for query in (*same, same[0])]


def test_what_measurements_say_of_many_is_what_they_say_of_each() -> None:
    labels = {"a": np.array([0, 0, 0, 1, 1, 2, 2, 2])}
    rng = np.random.default_rng(92)
    model = TableModel(TABLE, Measurement("t", (), np.array(int(TOTAL)), 3.0), 10.0, WideHypothesis)
    parts = [measured(CELLS, "abc", 30.0, rng), measured(CELLS, "ab", 20.0, rng)]
    parts.append(measured(CELLS, "ab", 9.0, rng, labels))
    for m in parts:
        model.absorb(m)
    whole = Factor(("a",), np.array([1, 1, 1, 0, 0, 2, 2, 2]), 2)
    rows = [Factor(("b",), np.eye(5, dtype=np.int64)[i]) for i in range(5)]
    cut = [Factor(("a",), np.eye(8, dtype=np.int64)[i]) for i in range(3)]
    asked = Crosstab.of([LinearQuery("t", (a, b)) for b in rows for a in (whole, *cut)])
    for limit in (inf, 100.0, 40.0, 10.0, 0.1):
        assert model.readings(asked, limit) == [model.measured(query, limit) for query in asked]
    for m in parts:
        values, sds = m.answers(asked)
        each = [m.answer(query) for query in asked]
        assert [sd < inf for sd in sds] == [found is not None for found in each]
        known = [(v, sd) for v, sd in zip(values.tolist(), sds.tolist(), strict=True) if sd < inf]
        assert known == [pytest.approx(found) for found in each if found is not None]


def test_of_many_strings_only_those_that_are_asked_for_are_looked_at() -> None:
    axis = Axis.cells(("b",), (5,))
    counts = np.arange(15).reshape(3, 5)
    m = Measurement("t", (axis,), counts, 2.0, ("name",), (("x",), ("y",), (None,)))

    def query(*strings: str | None, unit: int = 1) -> LinearQuery:
        keys = tuple((s,) for s in strings)
        keyed = KeyedFactor(("name",), keys, (), np.arange(len(keys)) % unit + 1, unit)
        return LinearQuery("t", (Factor(("b",), np.array([0, 1, 1, 0, 0])),), keyed)

    assert m.answer(query("y")) == (6 + 7, pytest.approx(2.0 * 2**0.5))
    assert m.answer(query("x", None)) == (1 + 2 + 11 + 12, pytest.approx(2.0 * 2))
    assert m.answer(query("x", None, unit=2)) == ((3 + 2 * 23) // 2, pytest.approx(2.0 * 10**0.5 / 2))
    assert m.answer(query("x", "z")) is None
    assert m.answer(LinearQuery("t", query("x").factors)) is None
    assert replace(m, text_columns=("other",)).answer(query("y")) is None


LONG = TableDomain("long", (IntegerDomain("age", 0, 59, nullable=False),))
PEAKS = np.random.default_rng(4).integers(0, 12, 60) * np.linspace(12, 1, 60)


def of_ages(scattered: bool, seed: int) -> tuple[list[float], list[float]]:
    """Ratios of errors to bars of ``age % 5`` and of ``age // 12`` where noise is about as large as the counts."""
    rng, rows, sigma = np.random.default_rng(seed), np.rint(PEAKS), 40.0

    def made(measurements: Sequence[Measurement]) -> WideHypothesis:
        out = WideHypothesis(LONG, float(rows.sum()))
        for m in measurements:
            out.absorb(m)
        return out

    parts = [np.arange(60), np.arange(60) // 12]
    axes = [Axis(("age",), labels, int(labels.max()) + 1) for labels in parts]
    counts = [np.bincount(a.labels, rows, a.size) for a in axes]
    noisy_counts = [np.rint(c + rng.normal(0, sigma, len(c))).astype(np.int64) for c in counts]
    found = [Measurement("long", (a,), c, sigma) for a, c in zip(axes, noisy_counts, strict=True)]
    bars = learn_calibration(
        LONG,
        float(rows.sum()),
        found,
        made,
        rules=replace(NEWEST, scattered=scattered, smooth=False),
    )
    out: list[list[float]] = [[], []]
    for place, labels in enumerate((np.arange(60) % 5, np.arange(60) // 12)):
        for i in range(5):
            query = linear_query(LONG, [Factor(("age",), (labels == i).astype(np.int64))])
            assert query is not None
            bar = bars.bound(query, FACTOR)
            assert bar is not None
            out[place].append(abs(made(found).answer(query) - float(rows[labels == i].sum())) / bar)
    return out[0], out[1]


@pytest.mark.statistical
def test_bars_of_values_that_lie_apart_are_not_those_of_ranges() -> None:
    """With one bar for both the first are covered too seldom; both are covered with a bar for each."""
    apart, together = zip(*(of_ages(scattered=True, seed=seed) for seed in range(12)), strict=True)
    assert np.mean(np.concatenate(apart) <= 1) >= 0.92
    assert np.mean(np.concatenate(together) <= 1) >= 0.92
    before, ranged = zip(*(of_ages(scattered=False, seed=seed) for seed in range(12)), strict=True)
    assert np.quantile(np.concatenate(before), 0.9) > 1.15 * np.quantile(np.concatenate(apart), 0.9)
    assert np.quantile(np.concatenate(ranged), 0.9) < np.quantile(np.concatenate(together), 0.9)


@pytest.mark.parametrize(("weights", "number"), [([1, 1, 1], 1), ([0, 0], 0), ([1, 0, 1], 2), ([0, 2, 0, 1, 1], 2)])
def test_ranges(weights: list[int], number: int) -> None:
    assert ranges(np.array(weights)) == number


def too_low(h: float, known: Sequence[float], shares: tuple[float, float], *, upwards: bool) -> float:
    """By how much a product of what is known may be off: a power of the factor between both, or a share of its rows."""
    above = max(h, min(known))
    if upwards:
        return float(h * (((above + 1.0) / (h + 1.0)) ** shares[1] - 1.0))
    return shares[0] * h * log((above + 1.0) / (h + 1.0))


def unseen(found: Sequence[Measurement], bars: Calibration, query: LinearQuery, h: float) -> float:
    """What interactions of three columns and more add to the square of a bar."""
    asked, coverage = Crosstab.of([query]).choices, Coverage(TABLE, TOTAL, found)
    interactions = UnseenInteractions(coverage, wide(found).contingency)
    return float(interactions.squared(asked, np.array([h]), bars.noise(asked))[0])


Ruled = Callable[[LinearQuery, ModelRules], int | None]


def ruled(bars: Calibration, found: Sequence[Measurement]) -> Ruled:
    """Bars by other rules, from what was learned by these."""
    known: dict[ModelRules, Calibration] = {}
    model = wide(found)

    def bound(query: LinearQuery, rules: ModelRules) -> int | None:
        if rules not in known:
            coverage = Coverage(TABLE, TOTAL, found, rules)
            known[rules] = bars.on(coverage, model.answers, model.contingency)
        return known[rules].bound(query, FACTOR)

    return bound


@pytest.mark.parametrize("upwards", [False, True])
def test_a_bar_grows_with_how_far_the_answer_is_below_its_pairs(upwards: bool) -> None:
    """Against the formula, from answers of the model alone; nothing for two columns, and in rules before the eighth."""
    found = noisy(30.0, 61)
    bars, answer = calibrated(found), fit(found)
    bound = ruled(bars, found)
    grown = 0
    for number in (2, 3, 4):
        for q in asked(number, 40, 6):
            rules = [replace(ITSELF, extrapolated=on, upwards=upwards) for on in (False, True)]
            before, after = (bound(q, r) for r in rules)
            assert before is not None and after is not None
            h = max(0.0, answer(q))
            pairs = [max(0.0, answer(LinearQuery("t", two))) for two in combinations(q.factors, 2)]
            share = 0.3 if number > 3 else 0.35  # a model follows its threes
            more = too_low(h, pairs, (0.5, share), upwards=upwards) ** 2 if number > 2 else 0.0
            if upwards and number > 2:
                more = max(0.0, more - unseen(found, bars, q, h))
            assert ceil(hypot(before - 1, more**0.5)) <= after <= ceil(hypot(before, more**0.5) + 1e-9)
            grown += after > before
    assert grown > 10
    assert {n: rules.extrapolated for n, rules in MODEL_RULES.items()} == {n: n >= 8 for n in MODEL_RULES}
    assert {n: rules.upwards for n, rules in MODEL_RULES.items()} == {n: n >= 12 for n in MODEL_RULES}


def with_triples(sigma: float, columns: str = "abcd", parts: int = 0) -> list[Measurement]:
    """Where the triples of ``columns`` are measured too; of ``parts`` of a column instead of its cells."""
    rng = np.random.default_rng(7)
    triples = [m for m in all_of(CELLS, 3, sigma, rng) if set(m.scope) <= set(columns)]
    if parts:
        triples = [coarser(m, parts) for m in triples]
    return [*noisy(30.0, 61), *triples]


def coarser(m: Measurement, parts: int) -> Measurement:
    first = m.axes[0]
    labels = np.arange(first.size) * parts // first.size
    values = np.stack([m.values[labels == part].sum(axis=0) for part in range(parts)])
    return replace(m, axes=(Axis(first.columns, labels, parts), *m.axes[1:]), values=values)


def grown(bound: Ruled, q: LinearQuery, *, upwards: bool = False) -> float:
    """What a bar has more than without extrapolation, squares apart; and as rules before the eleventh had it."""
    none, before, now = (
        bound(q, replace(ITSELF, extrapolated=e, triples=t, upwards=upwards))
        for e, t in ((False, True), (True, False), (True, True))
    )
    assert none is not None and before is not None and now is not None
    assert none <= now <= before
    return float(now**2 - none**2)


@pytest.mark.parametrize("upwards", [False, True])
@pytest.mark.parametrize("sigma", [3.0, 40.0])
def test_what_was_measured_together_is_no_product_of_pairs(sigma: float, upwards: bool) -> None:
    """Of three columns that one table has, a bar grows by no more than the noise of that table over the cells asked."""
    found = with_triples(sigma)
    bars, answer = calibrated(found), fit(found)
    bound = ruled(bars, found)
    less = 0
    for q in asked(3, 40, 6):
        cells = float(np.prod([(f.weights / f.unit) @ (f.weights / f.unit) for f in q.factors]))
        known = 1.96 * sigma * np.sqrt(cells)
        h = max(0.0, answer(q))
        least = min(max(0.0, answer(LinearQuery("t", two))) for two in combinations(q.factors, 2))
        off = min(known, too_low(h, [least], (0.5, 0.35), upwards=upwards))
        more = off**2 - (unseen(found, bars, q, h) if upwards else 0.0)
        bar = float(bound(q, replace(ITSELF, upwards=upwards)) or 0)
        assert abs(grown(bound, q, upwards=upwards) - max(0.0, more)) <= 4.0 * bar + 2.0  # both bars are rounded up
        less += off == known
    assert less > 3


@pytest.mark.parametrize("upwards", [False, True])
def test_more_columns_are_products_of_triples_where_these_are_known(upwards: bool) -> None:
    found = with_triples(3.0)
    every, answer, fewer = calibrated(found), fit(found), with_triples(3.0, "abc")
    of_every, of_some = ruled(every, found), ruled(calibrated(fewer), fewer)
    less = 0
    for q in asked(4, 40, 6):
        h = max(0.0, answer(q))
        two, three = (
            min(max(0.0, answer(LinearQuery("t", some))) for some in combinations(q.factors, n)) for n in (2, 3)
        )
        off = min(too_low(h, [known], of, upwards=upwards) for known, of in ((two, (0.5, 0.35)), (three, (0.6, 0.42))))
        more = off**2 - (unseen(found, every, q, h) if upwards else 0.0)
        bar = of_every(q, replace(ITSELF, upwards=upwards)) or 0
        assert abs(grown(of_every, q, upwards=upwards) - max(0.0, more)) <= 4.0 * bar + 2.0
        one, other = (of_some(q, replace(ITSELF, triples=t)) for t in (True, False))
        assert one == other  # three triples are missing
        rules = [replace(ITSELF, triples=t, upwards=upwards) for t in (True, False)]
        now, before = (of_every(q, r) or 0 for r in rules)
        less += now < before
    assert less > 3


def test_a_triple_of_parts_says_nothing_of_what_cuts_them() -> None:
    found = with_triples(3.0, parts=2)
    bound = ruled(calibrated(found), found)
    for q in asked(3, 40, 6):
        one, other = (bound(q, replace(ITSELF, triples=t)) for t in (True, False))
        assert one == other
    assert {n: rules.triples for n, rules in MODEL_RULES.items()} == {n: n >= 11 for n in MODEL_RULES}
