"""Strings that a hard round measured by several columns: cells stay what is known of them where noise says nothing."""

import numpy as np
import pytest

from dpsql.hypothesis import MODEL_RULES, NEWEST, Axis, DenseHypothesis, Measurement, ModelRules, TableModel
from dpsql.hypothesis.strings.fitted import PartsOfKeys
from dpsql.hypothesis.strings.mixture import mixed_cells
from dpsql.query import Factor, Key, KeyedFactor, LinearQuery, linear_query
from tests.support.simulated import table_of

SIZES = {"a": 4, "b": 6, "c": 3}
TABLE = table_of(tuple(SIZES.values()))
ROWS, SHOWN, EACH, SIGMA = 60_000, 100, 120, 80.0
KEYS: tuple[Key, ...] = tuple((f"k{i}",) for i in range(SHOWN))
LOW_A, HIGH_B = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0, 0, 1])


def started(rules: ModelRules) -> TableModel:
    """A hundred strings of 120 rows were shown; the columns are even and independent of them."""
    model = TableModel(TABLE, Measurement("t", (), np.array(ROWS), 0.0), 100.0, DenseHypothesis, rules=rules)
    model.know_distinct(Measurement("t", (), np.array(1_000), 1.0, ("w",)), 150.0)
    rng = np.random.default_rng(5)
    counts = (EACH + rng.normal(0.0, 10.0, SHOWN)).round().astype(np.int64)
    model.absorb(Measurement("t", (), counts, 10.0, ("w",), KEYS), selected=True)
    return model


def round_(true: np.ndarray, seed: int = 1) -> Measurement:
    """By parts of two columns, the later one first, as noisy as a round; ``true``: of shape (keys, 2 of b, 2 of a)."""
    axes = (Axis(("b",), HIGH_B, 2), Axis(("a",), LOW_A, 2))
    noisy = true + np.random.default_rng(seed).normal(0.0, SIGMA, true.shape)
    return Measurement("t", axes, noisy.round().astype(np.int64), SIGMA, ("w",), KEYS)


def even() -> np.ndarray:
    """Rows by part: a sixth is in the last of b, half in the last two of a."""
    return np.multiply.outer(np.full(SHOWN, float(EACH)), np.outer([5 / 6, 1 / 6], [0.5, 0.5]))


def listing(key: Key, *factors: Factor) -> LinearQuery:
    found = linear_query(TABLE, factors, KeyedFactor(("w",), (key,), (), np.ones(1, dtype=np.int64)))
    assert found is not None
    return found


IN_A, IN_B = Factor(("a",), np.array([0, 0, 1, 1])), Factor(("b",), np.array([0, 0, 0, 0, 0, 1]))


@pytest.mark.parametrize(
    ("factors", "rows"), [((IN_A,), EACH / 2), ((IN_B,), EACH / 6), ((IN_A, IN_B), EACH / 12)], ids=["a", "b", "both"]
)
def test_a_noisy_round_leaves_what_was_known(factors: tuple[Factor, ...], rows: float) -> None:
    off = {}
    for rules in (MODEL_RULES[34], NEWEST):
        model = started(rules)
        model.absorb(round_(even()))
        off[rules] = np.mean([abs(model.estimate(listing(key, *factors)) - rows) for key in KEYS])
    assert off[NEWEST] < 0.15 * rows + 3.0 < 0.4 * off[MODEL_RULES[34]]


def test_a_string_unlike_all_others_is_as_it_was_measured() -> None:
    model, true = started(NEWEST), even()
    rows = 3_000
    model.absorb(Measurement("t", (), np.array([rows] + [EACH] * (SHOWN - 1)), 5.0, ("w",), KEYS), selected=True)
    true[0] = [[0.0, 0.0], [0.0, rows]]
    before = model.estimate(listing(KEYS[0], IN_A, IN_B))
    model.absorb(round_(true))
    assert before < 400.0
    assert model.estimate(listing(KEYS[0], IN_A, IN_B)) == pytest.approx(rows, rel=0.15)
    assert model.estimate(listing(KEYS[0], IN_B)) == pytest.approx(rows, rel=0.15)
    assert model.estimate(listing(KEYS[1], IN_A, IN_B)) == pytest.approx(EACH / 12, abs=12.0)


@pytest.mark.parametrize("columns", [("a", "b"), ("a", "b", "c"), ("a", "c"), ("b",)])
def test_cells_are_moved_as_cell_by_cell(columns: tuple[str, ...]) -> None:
    """The mixture of the parts within ``columns``, in whichever order the round has its axes, cell by cell."""
    rng = np.random.default_rng(7)
    m = round_(rng.uniform(0.0, 400.0, (SHOWN, 2, 2)))
    cells = rng.uniform(1.0, 9.0, tuple(SIZES[c] for c in columns))
    rows, variances = rng.uniform(50.0, 900.0, SHOWN), np.full(SHOWN, 100.0)
    parts = PartsOfKeys.of(m, columns, cells, rows, variances)
    assert parts is not None
    kept = [c for c in ("b", "a") if c in columns]
    values = m.values.astype(float)
    if kept == ["a"]:
        values = values.sum(axis=1)
    elif kept == ["b"]:
        values = values.sum(axis=2)
    labels = {"a": LOW_A, "b": HIGH_B}
    shares = np.zeros((2,) * len(kept))
    for place in np.ndindex(cells.shape):
        shares[tuple(labels[c][place[columns.index(c)]] for c in kept)] += cells[place] / cells.sum()
    sd = SIGMA * 2.0 ** ((2 - len(kept)) / 2)
    found = mixed_cells(values.reshape(SHOWN, -1), np.full(SHOWN, sd**2), rows, variances, shares.reshape(-1))
    wanted = np.maximum(found.counts, 0.0).reshape(SHOWN, *shares.shape)
    asked = (KEYS[9], ("new",), KEYS[3])
    out = np.multiply.outer(np.array([rows[9], 50.0, rows[3]]), cells / cells.sum())
    before = out.copy()
    parts.move(out, asked, columns)
    assert (out[1] == before[1]).all()
    for i, key in ((0, 9), (2, 3)):
        for place in np.ndindex(cells.shape):
            part = tuple(labels[c][place[columns.index(c)]] for c in kept)
            own = before[i][place] * wanted[(key, *part)] / (rows[key] * shares[part])
            assert out[i][place] == pytest.approx(own, rel=1e-6, abs=1e-6)


def test_of_other_columns_a_round_says_nothing() -> None:
    assert PartsOfKeys.of(round_(even()), ("c",), np.ones(3), np.full(SHOWN, 50.0), np.ones(SHOWN)) is None
    model = started(NEWEST)
    one = Factor(("c",), np.array([1, 0, 0]))
    before = model.estimate(listing(KEYS[2], one))
    model.absorb(round_(even()))
    assert model.estimate(listing(KEYS[2], one)) == pytest.approx(before, rel=0.35)
