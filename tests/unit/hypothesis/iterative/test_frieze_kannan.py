"""Gupta-Roth-Ullman 2011, Theorem 5.1: updates end, and each takes its part off the potential."""

from collections.abc import Callable

import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.hypothesis.iterative.frieze_kannan import FriezeKannan, update_bound
from dpsql.query import Factor, KeyedFactor, LinearQuery
from tests.support.simulated import table_of

SIDE = 8
TABLE = table_of((SIDE, SIDE))
CELLS = SIDE * SIDE
ALPHA = 3.0
Ask = Callable[[np.ndarray, FriezeKannan, np.random.Generator], LinearQuery]


def cut(left: np.ndarray, right: np.ndarray) -> LinearQuery:
    factors = tuple(Factor((c,), w.astype(np.int64)) for c, w in (("a", left), ("b", right)))
    return LinearQuery("t", factors)


def true(cells: np.ndarray, query: LinearQuery) -> float:
    left, right = (f.weights for f in query.factors)
    return float(left @ cells @ right)


def random_cut(cells: np.ndarray, model: FriezeKannan, rng: np.random.Generator) -> LinearQuery:
    return cut(rng.random(SIDE) < 0.5, rng.random(SIDE) < 0.5)


def worst_cut(cells: np.ndarray, model: FriezeKannan, rng: np.random.Generator) -> LinearQuery:
    """About the cut on which the model is most wrong: turns between the best left and the best right side."""
    gap = cells - model.contingency(("a", "b"))
    return max(
        (climbed(sign * gap, rng) for sign in (1, -1) for _ in range(3)), key=lambda found: abs(true(gap, found))
    )


def climbed(gap: np.ndarray, rng: np.random.Generator) -> LinearQuery:
    right = rng.random(SIDE) < 0.5
    for _ in range(4):
        left = gap @ right > 0
        right = left @ gap > 0
    return cut(left, right)


def graphs() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    halves = np.zeros((SIDE, SIDE), dtype=np.int64)
    halves[: SIDE // 2, SIDE // 2 :] = 1
    return {
        "two halves": halves,
        "uniform": (rng.random((SIDE, SIDE)) < 0.5).astype(np.int64),
        "sparse": (rng.random((SIDE, SIDE)) < 0.15).astype(np.int64),
        "many rows in a cell": rng.poisson(rng.random((SIDE, SIDE)) * 4.0),
    }


def potential(cells: np.ndarray, model: FriezeKannan) -> float:
    return float(((cells - model.contingency(("a", "b"))) ** 2).sum())


def drops(model: FriezeKannan, cells: np.ndarray, ask: Ask, asked: int = 250) -> list[float]:
    """What each update takes off the potential; answers are as wrong as Definition 3.1 lets them be."""
    rng, out = np.random.default_rng(9), []
    for _ in range(asked):
        query = ask(cells, model, rng)
        exact = true(cells, query)
        gap = exact - model.answer(query)
        if abs(gap) < ALPHA:
            continue
        before = potential(cells, model)
        model.update(query, exact - np.sign(gap) * 0.99 * ALPHA)
        out.append(before - potential(cells, model))
        if len(out) > most_updates(cells):
            break
    return out


def most_updates(cells: np.ndarray) -> float:
    """|D|_2^2 |X| / alpha^2."""
    return float((cells**2).sum()) * CELLS / ALPHA**2


def made(cells: np.ndarray, start: float, kind: type[FriezeKannan] = FriezeKannan) -> FriezeKannan:
    return kind(TABLE, float(cells.sum()), ALPHA, 1, start=start)


def keeps_the_theorem(model: FriezeKannan, cells: np.ndarray, ask: Ask) -> bool:
    found = drops(model, cells, ask)
    return len(found) <= most_updates(cells) and all(d >= ALPHA**2 / CELLS * (1 - 1e-9) for d in found)


@pytest.mark.parametrize("ask", [random_cut, worst_cut])
@pytest.mark.parametrize("graph", graphs())
@pytest.mark.parametrize("share", [0.0, 1.0, 2.0])
def test_updates_end_and_each_takes_its_part_off_the_potential(graph: str, ask: Ask, share: float) -> None:
    cells = graphs()[graph]
    assert keeps_the_theorem(made(cells, share * cells.sum()), cells, ask)


def test_there_are_updates_to_bound() -> None:
    found = {g: len(drops(made(cells, 0.0), cells, worst_cut)) for g, cells in graphs().items()}
    assert all(n >= 1 for n in found.values())
    assert found["two halves"] >= 10


def all_rows(cells: np.ndarray, model: FriezeKannan, rng: np.random.Generator) -> LinearQuery:
    """The query of the largest norm: a step along it takes off least."""
    return cut(np.ones(SIDE), np.ones(SIDE))


@pytest.mark.parametrize("graph", graphs())
def test_the_least_drop_is_reached(graph: str) -> None:
    """A query that counts every cell, off by alpha and no more: the case in which the lemma holds with equality."""
    cells = graphs()[graph]
    (first, *_) = drops(made(cells, cells.sum() - ALPHA), cells, all_rows)
    assert first == pytest.approx(ALPHA**2 / CELLS)


class Stepping(FriezeKannan):
    """With steps ``times`` as long."""

    times = 1.0

    def __init__(self, *given: float, **named: float) -> None:
        super().__init__(*given, **named)
        self.step *= self.times


class TooFar(Stepping):
    times = 1.05


class TooShort(Stepping):
    times = 0.95


class Backwards(Stepping):
    times = -1.0


class Doubled(Stepping):
    """To where the potential is as it was."""

    times = 2.0


@pytest.mark.parametrize("wrong", [TooFar, TooShort, Backwards, Doubled])
@pytest.mark.parametrize("graph", graphs())
def test_other_steps_are_caught(graph: str, wrong: type[FriezeKannan]) -> None:
    cells = graphs()[graph]
    assert not keeps_the_theorem(made(cells, cells.sum() - ALPHA, wrong), cells, all_rows)


def test_steps_that_lead_nowhere_do_not_end() -> None:
    """More updates than the theorem allows, on the query that is most wrong each time."""
    cells = graphs()["two halves"]
    asked = int(most_updates(cells)) + 60
    assert len(drops(made(cells, 0.0), cells, worst_cut, asked)) <= most_updates(cells)
    assert len(drops(made(cells, 0.0, Backwards), cells, worst_cut, asked)) > most_updates(cells)


def test_the_bound_is_that_of_the_theorem() -> None:
    for n2, alpha in ((100.0, 3.0), (7.0, 4.0)):
        assert update_bound(TABLE, n2, alpha, 5) == pytest.approx(n2 * SIDE**2 / alpha**2)
        assert FriezeKannan(TABLE, n2, 2.0, 5).update_bound(alpha) == update_bound(TABLE, n2, alpha, 5)


def test_an_answer_that_agrees_changes_nothing() -> None:
    model = FriezeKannan(TABLE, 100.0, ALPHA, 1)
    query = cut(np.arange(SIDE) < 3, np.arange(SIDE) < 3)
    model.update(query, model.answer(query))
    assert model.contingency(("a",)) == pytest.approx(np.full(SIDE, 100.0 / SIDE))
    assert not model.contingency(("a",)).flags.writeable


def test_what_is_no_query_of_finite_columns_is_refused() -> None:
    model = FriezeKannan(TABLE, 100.0, ALPHA, 1)
    strings = LinearQuery("t", (), KeyedFactor(("s",), (("x",),), (), np.ones(1, dtype=np.int64)))
    for query in (strings, LinearQuery("t", (), None, "a")):
        with pytest.raises(InternalError):
            model.answer(query)
        with pytest.raises(InternalError):
            model.update(query, 1.0)
