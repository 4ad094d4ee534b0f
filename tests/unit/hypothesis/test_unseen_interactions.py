"""UnseenInteractions of three columns: bars cover what pairs cannot show, and stay narrow where triples are known."""

import numpy as np
import pytest

from dpsql.hypothesis.bars.assumed.unseen_interactions import INSIDE, UnseenInteractions
from dpsql.hypothesis.bars.calibration import Calibration
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.lesson import learn_calibration
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST, ModelRules
from dpsql.policy import Mechanism
from dpsql.query import Crosstab, Factor, LinearQuery, linear_query
from tests.support.simulated import all_of, marginal, measured, table_of

SIZES = (6, 4, 4, 2)
TABLE = table_of(SIZES)
CELL = 200.0
FACTOR = float(Mechanism().error_factor)
TOTAL = CELL * np.prod(SIZES)
FLAT = np.full(SIZES, CELL)
SIGNS = (-1.0) ** np.add.outer(np.add.outer(np.arange(6), np.arange(4)), np.arange(4))
PARITY = FLAT * (1.0 + 0.6 * SIGNS[..., None])
"""a, b and c: every cell has three fifths of its rows more or less, and every pair is flat."""


def over(cells: dict[str, list[int]]) -> LinearQuery:
    """Rows in the listed values of each column."""
    factors = []
    for c, values in cells.items():
        weights = np.zeros(SIZES["abcd".index(c)], dtype=np.int64)
        weights[values] = 1
        factors.append(Factor((c,), weights))
    query = linear_query(TABLE, factors)
    assert query is not None
    return query


def model(measurements: list[Measurement]) -> WideHypothesis:
    out = WideHypothesis(TABLE, float(TOTAL))
    for m in measurements:
        out.absorb(m)
    return out


def flat(columns: tuple[str, ...]) -> np.ndarray:
    return marginal(FLAT, "abcd", columns)


def pairs_of(cells: np.ndarray, sigma: float) -> list[Measurement]:
    rng = np.random.default_rng(5)
    return [*all_of(cells, 1, sigma, rng), *all_of(cells, 2, sigma, rng)]


def learned(found: list[Measurement]) -> tuple[WideHypothesis, Calibration]:
    fitted = model(found)
    bars = learn_calibration(TABLE, float(TOTAL), found, lambda m: model(list(m)), simulations=4, queries=60)
    return fitted, bars


CELLS = [over({"a": [i], "b": [j], "c": [k]}) for i in range(6) for j in range(4) for k in range(4)]


def test_bars_cover_a_parity_that_pairs_do_not_show() -> None:
    fitted, bars = learned(pairs_of(PARITY, 5.0))
    off = [abs(fitted.answer(q) - q.estimate(marginal(PARITY, "abcd", q.scope))) for q in CELLS]
    assert min(off) > 200
    bounds = [bars.bound(q, FACTOR) or 0 for q in CELLS]
    assert np.mean([o <= b for o, b in zip(off, bounds, strict=True)]) >= 0.95
    assert max(bounds) <= 2.0 * float(np.median(off))


def interactions(found: list[Measurement]) -> UnseenInteractions:
    return UnseenInteractions(Coverage(TABLE, float(TOTAL), found), flat)


def squared(known: UnseenInteractions, query: LinearQuery, h: float, raw: float) -> float:
    return float(known.squared(Crosstab.of([query]).choices, h, raw))


def test_a_cell_may_be_off_by_its_own_rows_and_sums_by_less() -> None:
    known = interactions(pairs_of(FLAT, 5.0))
    cell, h = over({"a": [0], "b": [0], "c": [0]}), 2 * CELL
    # less what the finite population correction takes off: 5/6, 3/4 and 3/4
    assert squared(known, cell, h, 1.0) == pytest.approx(h**2 * (5 / 6) * (3 / 4) * (3 / 4))
    half = over({"a": [0, 1, 2], "b": [0, 1], "c": [0, 1]})
    assert squared(known, half, 12 * h, 1.0) == pytest.approx((12 * h) ** 2 * (1 / 6) * (1 / 4) * (1 / 4))
    assert squared(known, over({"a": [0], "b": [0]}), 8 * CELL, 1.0) == 0.0


def test_four_columns_may_have_the_interactions_of_their_triples_as_well() -> None:
    known = interactions(pairs_of(FLAT, 5.0))
    query = over({"a": [0], "b": [0], "c": [0], "d": [0]})
    a, b, c, d = 5 / 6, 3 / 4, 3 / 4, 1 / 2
    every = a * b * c + a * b * d + a * c * d + b * c * d + a * b * c * d
    assert squared(known, query, CELL, 1.0) == pytest.approx(CELL**2 * every)


def test_what_was_measured_together_hides_no_more_than_its_noise() -> None:
    triple = measured(FLAT, "abc", 5.0, np.random.default_rng(7))
    known = interactions([*pairs_of(FLAT, 5.0), triple])
    cell = over({"a": [0], "b": [0], "c": [0]})
    assert squared(known, cell, 2 * CELL, 5.0) == pytest.approx(25.0)
    other = over({"a": [0], "b": [0], "d": [0]})
    assert squared(known, other, 4 * CELL, 5.0) == pytest.approx((4 * CELL) ** 2 * (5 / 6) * (3 / 4) * (1 / 2))


def test_inside_the_parts_on_which_three_columns_were_measured_some_of_it_goes_on() -> None:
    """Of a condition that cuts none nothing; of one that takes a third of a part of a, and half of one of b, all but
    that share."""
    parts = {"a": np.array([0, 0, 0, 1, 1, 1]), "b": np.array([0, 0, 1, 1])}
    found = [*pairs_of(FLAT, 5.0), measured(FLAT, "abc", 5.0, np.random.default_rng(7), parts)]
    known, whole = interactions(found), over({"a": [0, 1, 2], "b": [0, 1], "c": [0]})
    assert squared(known, whole, 12 * CELL, 5.0) == pytest.approx(25.0)
    cell, h = over({"a": [0], "b": [0], "c": [0]}), 2 * CELL
    all_of_it = h**2 * (5 / 6) * (3 / 4) * (3 / 4)
    assert squared(known, cell, h, 5.0) == pytest.approx(25.0 + INSIDE**2 * (1 - 1 / 6) * all_of_it)
    older = UnseenInteractions(Coverage(TABLE, float(TOTAL), found, MODEL_RULES[19]), flat)
    assert squared(older, cell, h, 5.0) == pytest.approx(25.0)
    half = Factor(("d",), np.array([1, 2]), 2)  # a sum, of whose weights no parts were measured
    summed = linear_query(TABLE, [*over({"a": [0, 1, 2], "b": [0, 1]}).factors, half])
    assert summed is not None
    assert squared(known, summed, h, 5.0) == squared(interactions(pairs_of(FLAT, 5.0)), summed, h, 5.0)


def test_sums_of_parts_tell_nothing_of_a_condition_that_ties_their_columns() -> None:
    """A diagonal is in no sum of blocks: nothing is known of it, as where nothing was measured together. Cells are."""
    parts = {"a": np.array([0, 0, 0, 1, 1, 1]), "b": np.array([0, 0, 1, 1])}
    diagonal = np.zeros((6, 4, 4), dtype=np.int64)
    for i in range(4):
        diagonal[i, i, i] = 1
    tied = linear_query(TABLE, [Factor(("a", "b", "c"), diagonal)])
    assert tied is not None
    asked, rng = Crosstab.of([tied]).choices, np.random.default_rng(7)
    rows = np.array([4 * 2 * CELL])

    def noise(*triples: Measurement, rules: ModelRules = NEWEST) -> float:
        coverage = Coverage(TABLE, float(TOTAL), [*pairs_of(FLAT, 5.0), *triples], rules)
        return float(np.atleast_1d(coverage.noise(asked, rows, []))[0])

    coarse, fine = measured(FLAT, "abc", 5.0, rng, parts), measured(FLAT, "abc", 5.0, rng)
    assert noise() == noise(coarse) == TOTAL
    assert noise(coarse, rules=MODEL_RULES[19]) < 0.1 * TOTAL
    assert noise(fine) < 0.1 * TOTAL


def test_columns_under_one_factor_count_as_one() -> None:
    known = interactions(pairs_of(FLAT, 5.0))
    weights = np.zeros((6, 4), dtype=np.int64)
    weights[0, 0] = weights[1, 1] = 1
    query = linear_query(TABLE, [Factor(("a", "b"), weights), over({"c": [0]}).factors[0]])
    assert query is not None
    joint, c = (1 / 2) * (11 / 12), 3 / 4
    assert squared(known, query, 4 * CELL, 1.0) == pytest.approx((4 * CELL) ** 2 * ((1 + joint) * (1 + c) - 1))


@pytest.mark.parametrize("rows", [0.0, 5e-324, 1e-310, 1e-200, 1e-160, 1e-9])
def test_a_model_with_hardly_any_row_in_a_value_has_finite_bars(rows: float) -> None:
    """What a fit takes for empty may be any float above 0, squares that underflow included."""
    cells = FLAT.copy()
    cells[0] = rows / 32.0

    def contingency(columns: tuple[str, ...]) -> np.ndarray:
        return marginal(cells, "abcd", columns)

    bars = UnseenInteractions(Coverage(TABLE, float(TOTAL), pairs_of(FLAT, 30.0)), contingency)
    query = over({"a": [0], "b": [1, 2], "c": [3]})
    assert squared(bars, query, 0.0, 30.0) == 0.0
    assert 0.0 < squared(bars, query, 10.0, 30.0) < 1e3


def test_what_rows_count_alike_no_interaction_moves() -> None:
    """By drawing: cells of a column deviate by shares of their rows, and by nothing together, for pairs are known."""
    weights, rng = np.array([3, 4, 5, 5, 6, 9]), np.random.default_rng(3)
    rows = np.array([500.0, 300.0, 40.0, 900.0, 20.0, 100.0])
    asked = Crosstab.of([LinearQuery("t", (Factor(("a",), weights, 9), *over({"b": [0], "c": [1]}).factors))]).choices
    interactions = UnseenInteractions(
        Coverage(TABLE, TOTAL, []), lambda columns: {"a": rows, "b": np.eye(4)[0], "c": np.eye(4)[1]}[columns[0]]
    )
    drawn = rng.normal(0.0, 1.0, (200_000, 6)) * rows
    moved, together = drawn @ (weights / 9), drawn.sum(axis=1)
    slope = float((moved * together).mean() / (together**2).mean())
    share = float((moved - slope * together).var()) / float((weights / 9) @ rows) ** 2
    (found,) = interactions.squared(asked, np.ones(1), np.zeros(1))
    others = 1.0 - 1.0 / TOTAL  # b and c: one row each of all
    assert found == pytest.approx(share * others**2, rel=0.03)
