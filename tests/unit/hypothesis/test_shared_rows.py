"""Bars where columns rise together and noise hides their far ends: against rows that copy, and where none do."""

from dataclasses import replace

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.domain import CategoryDomain, IntegerDomain, TableDomain
from dpsql.hypothesis.bars.assumed.shared_rows import SharedRows
from dpsql.hypothesis.bars.assumed.single_columns import SingleColumns
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import NEWEST
from dpsql.query import Choices, Crosstab, Estimates, Factor, LinearQuery, linear_query

SIZE, ROWS = 20, 40_000
FALLING = 0.65 ** np.arange(SIZE) / (0.65 ** np.arange(SIZE)).sum()
TABLE = TableDomain("t", tuple(IntegerDomain(c, 0, SIZE - 1, nullable=False) for c in "ab"))
Ranges = dict[str, tuple[int, int]]


def copies(share: float, *, reverse: bool = False) -> Estimates:
    """Rows in which b is a with this probability, and drawn alone otherwise."""
    rng = np.random.default_rng(11)
    a, alone = (rng.choice(SIZE, p=FALLING, size=ROWS) for _ in range(2))
    b = np.where(rng.random(ROWS) < share, a, alone)
    out = np.zeros((SIZE, SIZE))
    np.add.at(out, (a, SIZE - 1 - b if reverse else b), 1.0)
    return out


def over(table: TableDomain, ranges: Ranges) -> LinearQuery:
    factors = []
    for c, (low, high) in ranges.items():
        weights = np.zeros(table.finite_domain(c).size, dtype=np.int64)
        weights[low : high + 1] = 1
        factors.append(Factor((c,), weights))
    query = linear_query(table, factors)
    assert query is not None
    return query


class Model:
    """A model that is right about ``cells``. ``unsure``: of a condition on one column, ``hidden``: of two, in rows;
    ``sigma``: of each column's cells, 0 where none was measured."""

    def __init__(
        self,
        cells: Estimates,
        table: TableDomain = TABLE,
        *,
        unsure: float = 0.0,
        hidden: float = 1e9,
        sigma: float = 0.0,
        used: bool = True,
    ) -> None:
        self.cells, self.table, self.names = cells, table, [c.name for c in table.finite]
        axes = [Axis.cells((c.name,), (c.size,)) for c in table.finite]
        ones = [Measurement("t", (a,), self.contingency(a.columns).astype(np.int64), sigma) for a in axes if sigma]
        self.shared = SharedRows(
            SingleColumns(Coverage(table, float(cells.sum()), ones), self.contingency),
            self.answers,
            lambda factors: np.full(len(factors), unsure),
            lambda asked: hidden if asked.is_one else np.full(len(asked), hidden),
            used=used,
        )

    def answers(self, asked: Choices) -> Estimates:
        out = []
        for k in range(len(asked)):
            left = self.cells
            for f in asked.product(k):
                place = self.names.index(f.columns[0])
                left = np.moveaxis(np.moveaxis(left, place, -1) * f.weights, -1, place)
            out.append(left.sum())
        return np.array(out)

    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        kept = [self.names.index(c) for c in columns]
        return np.asarray(self.cells.sum(axis=tuple(i for i in range(self.cells.ndim) if i not in kept)))

    def beyond(self, h: float, ranges: Ranges) -> float:
        found = self.shared.beyond(Crosstab.of([over(self.table, ranges)]).choices, h)
        assert isinstance(found, float)
        return found


def as_copies(cells: Estimates, ranges: Ranges, *, reverse: bool = False) -> float:
    """Rows in both ranges where the n-th smallest of one column has the n-th smallest (or largest) of the other."""
    left, right = (np.repeat(np.arange(SIZE), cells.sum(axis=1 - i).astype(int)) for i in range(2))
    right = right[::-1] if reverse else right
    inside = [(low <= x) & (x <= high) for x, (low, high) in zip((left, right), ranges.values(), strict=True)]
    return float((inside[0] & inside[1]).sum())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_share_of_copies_is_found(share: float) -> None:
    assert abs(Model(copies(share)).shared.copied("a", "b") - share) < 0.03
    assert abs(Model(copies(share, reverse=True)).shared.copied("a", "b") + share) < 0.03


def test_columns_apart_copy_nothing() -> None:
    cells = np.outer(FALLING, FALLING) * ROWS
    assert abs(Model(cells).shared.copied("a", "b")) < 1e-9
    assert Model(cells).beyond(0.0, {"a": (12, 19), "b": (12, 19)}) < 1e-6


def test_it_is_found_among_the_rows_that_have_both_values() -> None:
    """Rows without either would look like copies of each other."""
    table = TableDomain("t", tuple(IntegerDomain(c, 0, SIZE - 1) for c in "ab"))
    for share in (0.0, 0.6):
        cells = np.zeros((SIZE + 1, SIZE + 1))
        cells[:SIZE, :SIZE], cells[SIZE, SIZE] = copies(share), 30_000.0
        assert abs(Model(cells, table).shared.copied("a", "b") - share) < 0.03
    assert Model(cells, table).beyond(0.0, {"a": (SIZE, SIZE), "b": (SIZE, SIZE)}) == 0.0


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "ranges",
    [
        {"a": (12, 19), "b": (13, 19)},
        {"a": (0, 3), "b": (2, 9)},
        {"a": (5, 5), "b": (4, 8)},
        {"a": (0, 2), "b": (9, 19)},
    ],
)
def test_as_many_rows_are_shared_as_sorted_columns_share(ranges: Ranges, reverse: bool) -> None:
    model = Model(copies(0.6, reverse=reverse))
    shared = abs(model.shared.copied("a", "b")) * as_copies(model.cells, ranges, reverse=reverse)
    assert model.beyond(0.0, ranges) == pytest.approx(shared, abs=1e-6)
    assert model.beyond(0.4 * shared, ranges) == pytest.approx(0.6 * shared, abs=1e-6)
    assert model.beyond(2.0 * shared + 1.0, ranges) == 0.0


def test_no_more_is_allowed_for_than_noise_hides_and_what_is_unsure_may_be_shared() -> None:
    cells, ranges = copies(0.6), {"a": (12, 19), "b": (12, 19)}
    share, whole = Model(cells).shared.copied("a", "b"), Model(cells).beyond(0.0, ranges)
    assert Model(cells, unsure=50.0).beyond(0.0, ranges) == pytest.approx(whole + 50.0 * share)
    assert Model(cells, unsure=50.0, hidden=20.0).beyond(0.0, ranges) == 20.0
    noise = DEVIATIONS * 5.0 * 8**0.5  # of eight cells
    assert Model(cells, unsure=50.0, sigma=5.0).beyond(0.0, ranges) == pytest.approx(whole + noise * share)


def test_others_keep_their_share_or_what_they_share() -> None:
    """Of three columns: c is apart, and keeps its share; or a copy as well, and keeps most."""
    ranges = {"a": (12, 19), "b": (12, 19), "c": (12, 19)}
    table = TableDomain("t", tuple(IntegerDomain(c, 0, SIZE - 1, nullable=False) for c in "abc"))
    two = copies(0.6)
    apart = Model(two[:, :, None] * FALLING, table)
    alone = Model(two).beyond(0.0, {c: ranges[c] for c in "ab"})
    assert apart.beyond(0.0, ranges) == pytest.approx(alone * FALLING[12:].sum(), rel=1e-3)
    copied = np.zeros((SIZE,) * 3)
    copied[:, np.arange(SIZE), np.arange(SIZE)] = two
    assert Model(copied, table).beyond(0.0, ranges) > 0.5 * alone


def test_columns_without_an_order_older_rules_and_several_products() -> None:
    cells, ranges = copies(0.6), {"a": (12, 19), "b": (12, 19)}
    names = tuple(f"v{i:02}" for i in range(SIZE))
    words = TableDomain(
        "t", (IntegerDomain("a", 0, SIZE - 1, nullable=False), CategoryDomain("b", names, nullable=False))
    )
    assert Model(cells, words).beyond(0.0, ranges) == 0.0
    assert Model(cells, used=False).beyond(0.0, ranges) == 0.0
    model = Model(cells)
    several = [ranges, {"a": (0, 3), "b": (2, 9)}, {"a": (12, 19), "b": (2, 9)}]
    asked = Crosstab.of([over(TABLE, some) for some in several]).choices
    found = model.shared.beyond(asked, np.zeros(3))
    assert np.allclose(found, [model.beyond(0.0, some) for some in several])


def test_a_product_has_the_same_alone_and_among_others() -> None:
    """Pairs that others bring in, groups of one value each, and conditions that several have."""
    three = TableDomain("t", tuple(IntegerDomain(c, 0, SIZE - 1, nullable=False) for c in "abc"))
    two, cells = copies(0.9), np.zeros((SIZE,) * 3)
    cells[:, np.arange(SIZE), np.arange(SIZE)] = 0.3 * two
    cells += 0.7 * two[:, :, None] * FALLING
    rng = np.random.default_rng(19)
    for unsure in (0.0, 1e9):
        model = Model(cells, three, unsure=unsure, sigma=60.0)
        for width in (1, 6):
            low = rng.integers(0, SIZE - width + 1, (40, 3)).tolist()
            asked = Crosstab.of(
                [over(three, {c: (x, x + width - 1) for c, x in zip("abc", here, strict=True)}) for here in low]
            )
            h = model.answers(asked.choices)
            alone = [
                float(model.shared.beyond(Crosstab.of([q]).choices, float(x))) for q, x in zip(asked, h, strict=True)
            ]
            assert model.shared.beyond(asked.choices, h).tolist() == alone
            assert max(alone) > 0.0


def test_a_constant_keeps_all_rows() -> None:
    model, ranges = Model(copies(0.6)), {"a": (12, 19), "b": (12, 19)}
    factors = over(TABLE, ranges).factors
    asked = Crosstab.of([LinearQuery("t", (Factor((), np.array([3]), 7), *factors))]).choices
    assert model.shared.beyond(asked, 0.0) == model.beyond(0.0, ranges)


def far_ends(share: float, *, shared_rows: bool) -> tuple[float, float]:
    """Of far ends of two columns under noise: how many are inside their bars, and the mean bar."""
    rules, sigma = replace(NEWEST, shared_rows=shared_rows), 400.0
    cells, inside, bars = copies(share), [], []
    for seed in range(6):
        rng = np.random.default_rng([17, seed])
        measurements = [
            Measurement("t", axes, np.rint(counts + rng.normal(0.0, sd, counts.shape)).astype(np.int64), sd)
            for axes, counts, sd in (
                ((Axis.cells(("a",), (SIZE,)),), cells.sum(axis=1), 80.0),
                ((Axis.cells(("b",), (SIZE,)),), cells.sum(axis=0), 80.0),
                (tuple(Axis.cells((c,), (SIZE,)) for c in "ab"), cells, sigma),
            )
        ]

        def fit(found: list[Measurement]) -> WideHypothesis:
            model = WideHypothesis(TABLE, float(ROWS), rules)
            for m in found:
                model.absorb(m)
            return model

        model = fit(measurements)
        calibration = learn_calibration(TABLE, float(ROWS), measurements, fit, rules=rules)
        for low in range(10, 17):
            query = over(TABLE, {"a": (low, 19), "b": (low, 19)})
            bar = calibration.bound(query, 1.0)
            assert bar is not None
            inside.append(abs(model.answer(query) - cells[low:, low:].sum()) <= bar)
            bars.append(bar)
    return float(np.mean(inside)), float(np.mean(bars))


def test_far_ends_of_copies_are_inside_their_bars() -> None:
    known, unknown = far_ends(0.6, shared_rows=True), far_ends(0.6, shared_rows=False)
    assert known[0] >= 0.92
    assert unknown[0] < 0.6


def test_columns_apart_have_the_bars_that_they_had() -> None:
    known, unknown = far_ends(0.0, shared_rows=True), far_ends(0.0, shared_rows=False)
    assert known[0] >= 0.92
    assert known[1] < 1.1 * unknown[1]
