"""Residuals: what is known and what is measured make up the question exactly, and no row changes more than is said."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from dpsql.hypothesis import Measurement
from dpsql.planning.sensitivity import weighted_l2_squared
from dpsql.private import Private
from dpsql.query import Counts, Factor, KeyedFactor, LinearQuery, linear_query
from dpsql.session.own.by_value.stretch import Stretch
from dpsql.session.own.cells import MOST_TOLD_APART, Known
from dpsql.session.own.residual import SCALE, Found, Residual, residual_of
from tests.support.simulated import table_of

TABLE = table_of((4, 3, 3, 2, 3))
NAMES = tuple(c.name for c in TABLE.finite)
SIZES = tuple(c.size for c in TABLE.finite)
SIGMA = 100.0


def drawn(seed: int = 3, rows: int = 200) -> Counts:
    """Codes of rows, one column each."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, size, rows) for size in SIZES], axis=1)


def column(codes: Counts, name: str) -> Counts:
    return codes[:, NAMES.index(name)]


def counted(codes: Counts, factors: Sequence[Factor]) -> float:
    inside, unit = np.ones(len(codes), dtype=np.int64), 1
    for f in factors:
        inside = inside * f.weights[tuple(column(codes, c) for c in f.columns)]
        unit *= f.unit
    return float(inside.sum()) / unit


def truth(codes: Counts, sd: float = 1.0) -> Known:
    """True counts of what local models know."""

    def known(products: Sequence[tuple[Factor, ...]], stretch: Stretch | None) -> list[tuple[float, float] | None]:
        return [(counted(codes, factors), sd) for factors in products]

    return known


def of(codes: Counts, queries: Sequence[LinearQuery], sd: float = 1.0) -> Residual:
    found = residual_of(queries, truth(codes, sd), SIGMA)
    assert found is not None
    return found


def over_axes(residual: Residual, codes: Counts) -> Counts:
    """Counts of the rows over the residual's axes, row by row."""
    out = np.zeros([a.size for a in residual.axes], dtype=np.int64)
    np.add.at(out, tuple(a.labels[tuple(column(codes, c) for c in a.columns)] for a in residual.axes), 1)
    return out


def weighted(residual: Residual, codes: Counts) -> Counts:
    return np.asarray(residual.weighted(Private(over_axes(residual, codes))).reveal())


def measured(residual: Residual, codes: Counts, sigma: float = 0.0) -> Found:
    axes = residual.axes[: residual.leading]
    return residual.found(Measurement("t", axes, weighted(residual, codes), sigma))


def single(name: str, *inside: int) -> Factor:
    return Factor((name,), np.isin(np.arange(SIZES[NAMES.index(name)]), inside).astype(np.int64))


def joint(names: str, rule: Any) -> Factor:
    sizes = [SIZES[NAMES.index(n)] for n in names]
    return Factor(tuple(names), np.array([int(rule(*c)) for c in product(*map(range, sizes))]).reshape(sizes))


def query(*factors: Factor) -> LinearQuery:
    found = linear_query(TABLE, factors)
    assert found is not None
    return found


def plain(*factors: Factor) -> LinearQuery:
    """With its factors as they come, in whatever order."""
    return LinearQuery("t", factors)


THIRDS = Factor(("a",), np.array([0, 1, 3, 2]), 3)

ASKED: dict[str, list[LinearQuery]] = {
    "one column": [query(single("a", 1, 2))],
    "and of two": [query(single("a", 1), single("c", 0, 2))],
    "and of three": [query(single("a", 1), single("b", 0), single("c", 0, 2))],
    "and of five": [query(*(single(n, 0) for n in NAMES))],
    "or": [query(joint("abc", lambda a, b, c: a == 1 or b == 2 or c == 0))],
    "not": [query(joint("abd", lambda a, b, d: not (a == 1 and b == 0 and d == 1)))],
    "case": [query(joint("abc", lambda a, b, c: b == 1 if a == 0 else c == 2 if a == 1 else False))],
    "case beside columns": [query(joint("abc", lambda a, b, c: b == 1 if a == 0 else c == 2), single("e", 1))],
    "other order": [plain(single("d", 1), single("a", 1, 3), single("c", 0))],
    "other order, or": [plain(single("e", 2), joint("bd", lambda b, d: b == 0 or d == 1))],
    "groups": [query(single("a", i), single("b", 0), single("c", 1)) for i in range(4)],
    "some groups": [query(single("a", i), single("b", 0), single("c", 1)) for i in (0, 2)],
    "groups of two": [query(single("a", i), single("b", j), single("c", 1)) for i in range(4) for j in range(3)],
    "groups by three": [query(*map(single, "abd", at)) for at in product(range(4), range(3), range(2))],
    "groups with or": [query(single("a", i), joint("bce", lambda b, c, e: b == 0 or c != e)) for i in range(4)],
    "fractions alone": [plain(THIRDS)],
    "fractions": [plain(THIRDS, single("b", 0), single("c", 1, 2))],
    "fractions of two": [plain(THIRDS, Factor(("c",), np.array([2, 0, 1]), 2), single("d", 1))],
    "fractions beside or": [plain(THIRDS, joint("bc", lambda b, c: b == 1 or c == 0))],
    "groups of fractions": [plain(THIRDS, single("b", i), single("d", 1)) for i in range(3)],
    "last leads": [query(single("a", 1), single("b", 0), single("e", i)) for i in range(3)],
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("sd", [0.0, 5.0, 70.0, 1e6])
def test_what_is_known_and_what_is_measured_are_the_question(asked: str, sd: float) -> None:
    codes, queries = drawn(), ASKED[asked]
    residual = of(codes, queries, sd)
    expected = [counted(codes, q.factors) for q in queries]
    assert measured(residual, codes).measured.tolist() == pytest.approx(expected, rel=1e-12)


# --- what a row can change -----------------------------------------------------------------------------------------


def rows_of(residual: Residual) -> Counts:
    """What each possible row adds to the weighted counts: distinct vectors."""
    cells = np.array(list(product(*map(range, SIZES))))
    return np.unique(np.array([weighted(residual, row[None]).reshape(-1) for row in cells]), axis=0)


def largest(vectors: Counts, rows: int, *, replaced: bool) -> int:
    """The squared norm of what a unit with at most so many rows changes, by trying all."""
    none = np.zeros((1, vectors.shape[1]), dtype=np.int64)
    sums = [none, *(vectors[list(c)].sum(axis=0)[None] for n in range(1, rows + 1) for c in picks(len(vectors), n))]
    units = np.unique(np.concatenate(sums), axis=0)
    if not replaced:
        return int((units**2).sum(axis=1).max())
    squares = (units**2).sum(axis=1)
    return int((squares[:, None] + squares[None, :] - 2 * units @ units.T).max())


def picks(number: int, rows: int) -> Any:
    return combinations_with_replacement(range(number), rows)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("sd", [1.0, 70.0])
def test_no_row_changes_more_than_is_said(asked: str, sd: float) -> None:
    residual = of(drawn(), ASKED[asked], sd)
    vectors = rows_of(residual)
    assert (np.count_nonzero(vectors, axis=1) <= 1).all()  # one number each
    assert residual.low <= vectors.min() <= vectors.max() <= residual.high
    for rows in (1, 2) if len(vectors) < 40 else (1,):
        table = replace(TABLE, unit="a", max_rows_per_unit=rows)
        added = weighted_l2_squared("add-remove", table, residual.low, residual.high)
        exchanged = weighted_l2_squared("replace-one", table, residual.low, residual.high)
        assert largest(vectors, rows, replaced=False) <= added
        assert largest(vectors, rows, replaced=True) <= exchanged


@pytest.mark.parametrize("asked", ["and of three", "or", "case", "groups", "last leads"])
@pytest.mark.parametrize("rows", [1, 2])
def test_some_row_changes_as_much_as_is_said(asked: str, rows: int) -> None:
    residual = of(drawn(), ASKED[asked], 70.0)
    vectors, table = rows_of(residual), replace(TABLE, unit="a", max_rows_per_unit=rows)
    low, high = residual.low, residual.high
    assert largest(vectors, rows, replaced=False) == weighted_l2_squared("add-remove", table, low, high)
    assert largest(vectors, rows, replaced=True) == weighted_l2_squared("replace-one", table, low, high)


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
def test_a_row_changes_as_little_as_the_best_combination_leaves(columns: int) -> None:
    """1/2, 1/4, 1/8, 1/6, 2/9 of what it changes in the whole question, but for rounding."""
    residual = of(drawn(), [query(*(single(n, 0) for n in NAMES[:columns]))], 1e-4)
    least = (1 / 2, 1 / 4, 1 / 8, 1 / 6, 2 / 9)[columns - 1]
    assert max(residual.high, -residual.low) == pytest.approx(least * SCALE, abs=40)


# --- what it says of its errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", ["and of three", "groups"])
def test_the_noise_said_is_that_of_the_sums(asked: str) -> None:
    """Half or twice the noise is refused."""
    codes, queries, rng = drawn(), ASKED[asked], np.random.default_rng(8)
    exact = of(codes, queries, 0.0)
    said = np.array(exact.noise(SIGMA * SCALE))
    found = []
    for _ in range(1000):
        noisy = weighted(exact, codes) + np.rint(rng.normal(0, SIGMA * SCALE, weighted(exact, codes).shape))
        released = Measurement("t", exact.axes[: exact.leading], noisy.astype(np.int64), SIGMA * SCALE)
        found.append(exact.found(released).measured)
    ratio = np.std(found, axis=0) / said
    assert (np.abs(ratio - 1.0) < 0.15).all()
    assert not (np.abs(ratio / 2 - 1.0) < 0.15).any()
    assert not (np.abs(2 * ratio - 1.0) < 0.15).any()


def test_lessons_are_of_questions_asked_alone() -> None:
    codes = drawn()
    one, many = of(codes, ASKED["and of three"], 3.0), of(codes, ASKED["groups"], 3.0)
    found = measured(one, codes, 50.0)
    ((far, noise, bar),) = found.lessons(2.0)
    assert (far, noise, bar) == (abs(found.measured[0] - found.modelled[0]), found.noise[0], 1.5)
    ((*same, own),) = found.lessons(2.0, own=True)
    assert same == [far, noise, bar]
    assert own == pytest.approx(50.0 / one.scale)
    assert measured(many, codes, 50.0).lessons(2.0) == []
    silent = replace(one, modelled_sd=np.array([np.inf]))
    assert measured(silent, codes, 50.0).lessons(2.0) == []


def test_where_the_model_says_nothing_the_measurement_is_the_answer() -> None:
    codes = drawn()
    residual = replace(of(codes, ASKED["and of three"]), modelled_sd=np.array([np.inf]), modelled=np.zeros(1))
    ((value, sd),) = measured(residual, codes, 9.0 * SCALE).answers()
    assert value == pytest.approx(counted(codes, ASKED["and of three"][0].factors), abs=1e-6)
    assert sd == pytest.approx(np.hypot(9.0, residual.known_sd[0]))


# --- what is measured as a whole -----------------------------------------------------------------------------------


def test_what_is_not_a_count_of_finite_columns_is_released_whole() -> None:
    known, three = truth(drawn()), ASKED["and of three"][0]
    keyed = KeyedFactor(("name",), (("x",),), (), np.array([1]))
    assert residual_of([replace(three, keyed=keyed)], known, SIGMA) is None
    half = LinearQuery("t", (*three.factors[:2], Factor(("c",), np.array([1, 2, 0]), 2)))
    assert residual_of([half], known, SIGMA, fractions=False) is None  # rules of earlier ledgers
    tied = Factor(("a", "b"), np.arange(12).reshape(4, 3), 11)
    assert residual_of([plain(tied, single("c", 1))], known, SIGMA) is None
    apart = [plain(Factor(("a",), w, 2), single("b", 0)) for w in (np.array([2, 0, 0, 0]), np.array([0, 1, 0, 0]))]
    assert residual_of(apart, known, SIGMA) is None  # what tells groups apart has to be a condition


@pytest.mark.parametrize(
    "apart",
    [
        [single("a", 0, 1), single("a", 1, 2)],
        [single("a", 0), single("a", 0, 1, 2)],
        [joint("ae", lambda a, e: a == 0 or e == 0), joint("ae", lambda a, e: (a == 1 and e != 0) or a == e == 2)],
    ],
)
def test_groups_that_overlap_or_tie_columns_are_released_whole(apart: list[Factor]) -> None:
    """A row would change two numbers, or it is not said in single columns which."""
    queries = [plain(f, single("b", 0), single("c", 1)) for f in apart]
    assert residual_of(queries, truth(drawn()), SIGMA) is None


def test_the_same_question_twice_is_no_group() -> None:
    assert residual_of(ASKED["and of three"] * 2, truth(drawn()), SIGMA) is None


def test_conditions_that_tell_too_many_cells_apart_are_released_whole() -> None:
    wide = table_of((30, 30, 2))
    rng = np.random.default_rng(1)
    factor = Factor(("a", "b"), rng.integers(0, 2, (30, 30)))
    assert MOST_TOLD_APART < 30 * 30
    found = linear_query(wide, [factor])
    assert found is not None
    assert residual_of([found], lambda products, stretch: [(1.0, 1.0)] * len(products), SIGMA) is None


def test_a_question_in_too_many_known_counts_is_released_whole() -> None:
    """Twelve classes of two columns each, and one more: over 96 pairs of them."""
    wide = table_of((12, 12, 3))
    both = Factor(("a", "b"), np.triu(np.ones((12, 12), dtype=np.int64)))
    found = linear_query(wide, [both, Factor(("c",), np.array([1, 0, 0]))])
    assert found is not None
    assert residual_of([found], lambda products, stretch: [(1.0, 1.0)] * len(products), SIGMA) is None


def test_where_nothing_is_known_all_is_left_to_measure() -> None:
    residual = residual_of(ASKED["and of three"], lambda products, stretch: [None] * len(products), SIGMA)
    assert residual is not None
    assert (residual.low, residual.high) == (0, SCALE)
    assert (residual.known.tolist(), residual.modelled_sd.tolist()) == ([0.0], [np.inf])


def test_a_question_that_pairs_know_exactly_still_has_a_change_to_draw_noise_for() -> None:
    """IF a THEN b ELSE c is a sum of counts over pairs: nothing is left, and noise for nothing cannot be drawn."""
    codes = drawn()
    case = query(joint("abc", lambda a, b, c: b == 1 if a == 0 else c == 2))
    residual = of(codes, [case], 0.0)
    assert not residual.weights.any()
    assert weighted_l2_squared("add-remove", TABLE, residual.low, residual.high) > 0
    assert measured(residual, codes).measured.tolist() == [counted(codes, case.factors)]


@pytest.mark.slow
def test_more_groups_and_classes_than_one_release_can_hold_are_released_whole() -> None:
    wide = table_of((2700, 20, 20))
    rule = Factor(("b", "c"), np.random.default_rng(2).integers(0, 2, (20, 20)))
    places = np.eye(2700, dtype=np.int64)
    queries = [LinearQuery(wide.name, (Factor(("a",), place), rule)) for place in places]
    assert residual_of(queries[:2], lambda products, stretch: [(1.0, 1.0)] * len(products), SIGMA) is not None
    assert residual_of(queries, lambda products, stretch: [(1.0, 1.0)] * len(products), SIGMA) is None
