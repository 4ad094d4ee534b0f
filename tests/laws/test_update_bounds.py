"""The papers' theorems about update sequences: how many there can be, and by how much each lowers the potential.

A sequence (Gupta-Roth-Ullman 2011, Definition 3.1): each query is off by at least alpha, each released answer by less
than alpha / 2. Adversarial ones choose queries that are off by hardly more, and answers as far off as they may be.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import e, inf, log, log2

import numpy as np
import pytest

from dpsql.domain import IntegerDomain, TableDomain, TextDomain
from dpsql.hypothesis import IterativeConstruction
from dpsql.hypothesis.iterative.median import Median, candidate_rows
from dpsql.hypothesis.iterative.sparse_weights import SparseWeights, Structure, bound_of
from dpsql.hypothesis.iterative.weights import MultiplicativeWeights
from dpsql.query import Factor, KeyedFactor, LinearQuery, linear_query
from tests.support.simulated import table_of

ROWS = 10_000.0
CELLS = 24
TABLE = table_of((4, 3, 2))
NAMES = ("a", "b", "c")
HASTY = 60.0
"""Times the step of the source: a step that overshoots."""

Choose = Callable[[np.random.Generator, np.ndarray, float], np.ndarray | None]
"""(coins, gaps of the cells D - D^t, alpha) to weights in [0, 1] whose query is off by alpha, or ``None``."""


def adversary(rng: np.random.Generator, gaps: np.ndarray, alpha: float) -> np.ndarray | None:
    """Cells of one sign, in random order, until they are off by alpha: by hardly more than a cell."""
    for sign in rng.permutation([1.0, -1.0]):
        order = rng.permutation(np.flatnonzero(sign * gaps > 0))
        reach = np.cumsum(sign * gaps[order])
        if len(reach) and reach[-1] >= alpha:
            weights = np.zeros(len(gaps))
            weights[order[: int(np.argmax(reach >= alpha)) + 1]] = 1.0
            return weights
    return None


def chance(rng: np.random.Generator, gaps: np.ndarray, alpha: float) -> np.ndarray | None:
    """The first of some random queries, weighted ones among them, that is off by alpha."""
    for _ in range(400):
        weights = (
            rng.integers(0, 5, len(gaps)) / 4 if rng.random() < 0.5 else (rng.random(len(gaps)) < rng.random()) * 1.0
        )
        if abs(float(weights @ gaps)) >= alpha:
            return weights
    return None


def database(rng: np.random.Generator) -> np.ndarray:
    """Counts of CELLS cells, from concentrated to even."""
    return rng.dirichlet(np.full(CELLS, rng.choice([0.05, 0.3, 2.0]))) * ROWS


def query_of(weights: np.ndarray) -> LinearQuery:
    fine = np.rint(weights * 4).astype(np.int64).reshape(4, 3, 2)
    return LinearQuery("t", (Factor(NAMES, fine, 4),))


def sequence(
    model: IterativeConstruction,
    truth: np.ndarray,
    alpha: float,
    choose: Choose,
    rng: np.random.Generator,
    most: float,
) -> Iterator[None]:
    """Updates with answers that are off by .49 alpha towards the model; yields after each, at most ``most`` times."""
    done = 0
    while done <= most:
        cells = model.contingency(NAMES).reshape(-1)
        weights = choose(rng, truth - cells, alpha)
        if weights is None:
            return
        query, exact = query_of(weights), float(weights @ truth)
        gap = exact - model.answer(query)
        if abs(gap) < alpha:  # a median's answer is not that of its cells
            return
        model.update(query, exact - np.sign(gap) * 0.49 * alpha)
        done += 1
        yield


# --- multiplicative weights ------------------------------------------------------------------------------------------


class Hasty(MultiplicativeWeights):
    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.eta *= HASTY


class Timid(MultiplicativeWeights):
    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.eta /= 8.0


class WrongWay(MultiplicativeWeights):
    def update(self, query: LinearQuery, released: float) -> None:
        super().update(query, 2.0 * self.answer(query) - released)


def entropy_of(truth: np.ndarray, model: IterativeConstruction) -> float:
    """The potential: relative entropy of the database to the model's distribution."""
    p, q = truth / truth.sum(), model.contingency(NAMES).reshape(-1) / ROWS
    return float(np.sum(p[p > 0] * np.log(p[p > 0] / q[p > 0])))


def check_weights(make: type[MultiplicativeWeights], choose: Choose, seed: int, share: float) -> int:
    """Theorem A.4 and Lemma A.6 on one sequence; its length."""
    rng = np.random.default_rng(seed)
    truth, alpha = database(rng), share * ROWS
    model = make(TABLE, ROWS, alpha, 100)
    bound = 4.0 * ROWS**2 * log(CELLS) / alpha**2
    assert model.update_bound(alpha) == pytest.approx(bound)
    before, updates = entropy_of(truth, model), 0
    assert 0.0 <= before <= log(CELLS) + 1e-9  # Claim A.5
    for _ in sequence(model, truth, alpha, choose, rng, bound):
        after, updates = entropy_of(truth, model), updates + 1
        assert before - after >= alpha**2 / (4.0 * ROWS**2) - 1e-12
        before = after
    assert updates <= bound
    return updates


@pytest.mark.parametrize("choose", [adversary, chance])
@pytest.mark.parametrize("share", [0.1, 0.25])
def test_multiplicative_weights_end_within_their_bound(choose: Choose, share: float) -> None:
    lengths = [check_weights(MultiplicativeWeights, choose, seed, share) for seed in range(6)]
    assert max(lengths) >= 5  # there was something to bound


@pytest.mark.parametrize("broken", [Hasty, Timid, WrongWay])
def test_broken_weights_are_caught(broken: type[MultiplicativeWeights]) -> None:
    with pytest.raises(AssertionError):
        for seed in range(6):
            check_weights(broken, adversary, seed, 0.1)


# --- sparse multiplicative weights -----------------------------------------------------------------------------------

STRINGS = tuple((f"s{i:03}",) for i in range(CELLS))
ABSENT = tuple((f"t{i:03}",) for i in range(40))


def strings_table(others: int) -> TableDomain:
    """A text column beside ``others`` columns of a thousand values each."""
    rest = tuple(IntegerDomain(f"x{i}", 0, 999, nullable=False) for i in range(others))
    return TableDomain("t", (TextDomain("name", nullable=False), *rest))


def listed(weights: np.ndarray, extra: tuple[tuple[str], ...] = ()) -> LinearQuery:
    """Rows with one of the strings, weighted; ``extra`` strings that nobody has, with weight 1."""
    kept = [(STRINGS[i], round(4 * w)) for i, w in enumerate(weights) if w > 0] + [(k, 4) for k in extra]
    keys = tuple(k for k, _ in kept)
    return LinearQuery("t", (), KeyedFactor(("name",), keys, (), np.array([w for _, w in kept]), 4))


class HastySparse(SparseWeights):
    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.eta *= HASTY


class WrongWaySparse(SparseWeights):
    def update(self, query: LinearQuery, released: float) -> None:
        super().update(query, 2.0 * self.answer(query) - released)


class SmallSparse(SparseWeights):
    """A data structure of too few variables."""

    def structure(self, query: LinearQuery) -> Structure:
        found = super().structure(query)
        found.size = min(found.size, 30)
        return found


def check_sparse(make: type[SparseWeights], choose: Choose, seed: int, share: float, most: float = inf) -> int:
    """Theorem 4, Lemma 5 and Lemma 6 on one sequence over strings; its length."""
    rng = np.random.default_rng(seed)
    truth, alpha = database(rng), share * ROWS
    model = make(strings_table(0), ROWS, alpha, 100)
    bound = model.update_bound(alpha)
    kept = model.structure(listed(np.ones(CELLS)))
    assert bound == pytest.approx(4.0 * (log(kept.size) + 1.0) / share**2)
    states: list[tuple[dict[str, float], float]] = []

    def state() -> None:
        states.append(({k[0]: v for k, v in zip(kept.strings, kept.values, strict=True)}, kept.unassigned))

    state()
    while len(states) <= min(bound + 1, most):
        values, rest = states[-1]
        cells = np.array([values.get(k, rest) for (k,) in STRINGS]) * ROWS
        weights = choose(rng, truth - cells, alpha)
        if weights is None:
            break
        query = listed(weights, tuple(ABSENT[int(i)] for i in np.sort(rng.choice(len(ABSENT), 2, replace=False))))
        exact, found = float(weights @ truth), model.answer(query)
        if abs(exact - found) < alpha:
            break
        model.update(query, exact - np.sign(exact - found) * 0.49 * alpha)
        assert kept.failed == 0
        assert kept.values.sum() + kept.unassigned * (kept.size - kept.assigned) == pytest.approx(1.0)
        state()
    updates = len(states) - 1
    assert updates <= bound
    assert kept.assigned <= updates * (CELLS + 2)
    # Psi_t over the elements that are assigned in the end; those that were not yet have the common value
    share_of = {k[0]: x / ROWS for k, x in zip(STRINGS, truth, strict=True)}
    potential = [
        sum(p * log(p / values.get(k, rest)) for k in states[-1][0] if (p := share_of.get(k, 0.0)) > 0)
        for values, rest in states
    ]
    assert -1.0 / e <= potential[-1]
    assert potential[0] <= log(kept.size)
    assert all(a - b >= share**2 / 4.0 - 1e-12 for a, b in pairwise(potential))
    return updates


@pytest.mark.parametrize("choose", [adversary, chance])
def test_sparse_weights_end_within_their_bound_and_never_fail(choose: Choose) -> None:
    lengths = [check_sparse(SparseWeights, choose, seed, 0.3) for seed in range(2)]
    assert max(lengths) >= 20


@pytest.mark.parametrize("broken", [HastySparse, WrongWaySparse, SmallSparse])
def test_broken_sparse_weights_are_caught(broken: type[SparseWeights]) -> None:
    with pytest.raises(AssertionError):
        for seed in range(2):
            check_sparse(broken, adversary, seed, 0.3, most=60)


def test_the_cost_of_sparse_weights_does_not_know_the_universe() -> None:
    """The same question on a table of 10^30 cells: the same steps, structures and bound, bit by bit."""
    small, large = strings_table(0), strings_table(10)
    assert large.cells == 10**30
    models = [SparseWeights(table, ROWS, 500.0, 100) for table in (small, large)]
    rng = np.random.default_rng(2)
    for _ in range(20):
        query, answer = listed((rng.random(CELLS) < 0.3) * 1.0 + np.eye(CELLS)[0] * 0), float(rng.integers(0, 9000))
        for model in models:
            model.update(query, answer)
    one, other = (m.structure(query) for m in models)
    assert one.values.tobytes() == other.values.tobytes() and one.size == other.size
    assert one.assigned <= CELLS
    assert models[0].update_bound(500.0) == models[1].update_bound(500.0) == bound_of(10_000, 0.05)


# --- medians ---------------------------------------------------------------------------------------------------------

TWO = table_of((3,))
PLANNED = 4


class WrongWayMedian(Median):
    def update(self, query: LinearQuery, released: float) -> None:
        super().update(query, 2.0 * self.answer(query) - released)


class KeepsMost(Median):
    """Removes a tenth where half should go."""

    def update(self, query: LinearQuery, released: float) -> None:
        before = self.candidates
        super().update(query, released)
        if len(self.candidates) < len(before):
            self.candidates = before[len(before) // 10 :]


def check_median(make: type[Median], seed: int, share: float) -> int:
    """Theorem A.2 on one sequence: every update removes half; an accurate candidate stays."""
    rng = np.random.default_rng(seed)
    alpha, cells = share * ROWS, TWO.cells
    model = make(TWO, ROWS, alpha, PLANNED)
    rows = candidate_rows(ROWS, alpha, PLANNED)
    truth = rng.dirichlet(np.full(cells, 0.5)) * ROWS
    questions = [linear_query(TWO, [Factor(("a",), w)]) for w in np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]])]
    weights = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]]) * 1.0
    assert not model.sampled
    assert log2(len(model.candidates)) <= rows * log2(cells)
    updates = 0
    while updates <= model.update_bound(alpha) + 1:
        off = [
            (i, float(weights[i] @ truth))
            for i, q in enumerate(questions)
            if q is not None and abs(float(weights[i] @ truth) - model.answer(q)) >= alpha
        ]
        if not off:
            break
        i, exact = off[int(rng.integers(len(off)))]
        query = questions[i]
        assert query is not None
        before = len(model.candidates)
        model.update(query, exact - np.sign(exact - model.answer(query)) * 0.49 * alpha)
        updates += 1
        assert 1 <= len(model.candidates) <= before / 2
        accurate = np.abs((model.candidates * ROWS - truth) @ weights.T).max(axis=1) <= alpha
        assert accurate.any()  # Claim A.3
    assert updates <= model.update_bound(alpha)
    return updates


def test_medians_halve_their_candidates() -> None:
    lengths = [check_median(Median, seed, 0.1) for seed in range(12)]
    assert max(lengths) >= 2


@pytest.mark.parametrize("broken", [WrongWayMedian, KeepsMost])
def test_broken_medians_are_caught(broken: type[Median]) -> None:
    with pytest.raises(AssertionError):
        for seed in range(12):
            check_median(broken, seed, 0.1)


def test_samples_are_even_over_what_updates_leave() -> None:
    """Three cells: areas of a triangle that updates have cut, against points on a grid."""
    table = table_of((3,))
    model = Median(table, ROWS, 20.0, 1000)
    assert model.sampled
    first = LinearQuery("t", (Factor(("a",), np.array([1, 0, 0])),))
    second = LinearQuery("t", (Factor(("a",), np.array([0, 1, 0])),))
    limits = []
    for query, answer in ((first, 9000.0), (second, 0.0)):
        limits.append(model.answer(query) / ROWS)
        model.update(query, answer)
    assert (model.candidates >= 0).all() and model.candidates.sum(axis=1) == pytest.approx(1.0)
    assert (model.candidates[:, 0] >= limits[0] - 1e-12).all() and (model.candidates[:, 1] <= limits[1] + 1e-12).all()
    grid = np.array([(x, y) for x in np.linspace(0, 1, 400) for y in np.linspace(0, 1, 400) if x + y <= 1])
    left = grid[(grid[:, 0] > limits[0]) & (grid[:, 1] < limits[1])]
    error = 5 * left.std(axis=0) / len(model.candidates) ** 0.5
    assert (np.abs(model.candidates[:, :2].mean(axis=0) - left.mean(axis=0)) < error).all()
    assert (np.abs(model.candidates[:, :2].mean(axis=0) - 1 / 3) > error).any()  # and not those of the whole
