"""Several counts of cells as two: what they add up to, cell by cell."""

import numpy as np
import pytest

from dpsql.domain import FIXED_POINT, BooleanDomain, IntegerDomain, NumberDomain, TableDomain
from dpsql.hypothesis.values import joined as module
from dpsql.hypothesis.values.joined import joined
from dpsql.query import Factor, KeyedFactor, LinearQuery, linear_query

TABLE = TableDomain(
    "t",
    (
        IntegerDomain("a", 0, 4, nullable=False),
        BooleanDomain("b", nullable=False),
        IntegerDomain("c", 0, 2, nullable=False),
        NumberDomain("x", (0.0, 1.0, 2.0), nullable=False),
    ),
)
SIZES = {"a": 5, "b": 2, "c": 3, "x": 2}


def query(rng: np.random.Generator, *columns: tuple[str, ...], unit: int = 8) -> LinearQuery:
    factors = [Factor(c, rng.integers(0, unit + 1, [SIZES[n] for n in c]), unit) for c in columns]
    found = linear_query(TABLE, factors)
    assert found is not None
    return found


def of_cells(query: LinearQuery) -> np.ndarray:
    """The weight of each cell of the table, by looking at every one."""
    out = np.ones(tuple(SIZES.values()))
    for at in np.ndindex(out.shape):
        for f in query.factors:
            cell = tuple(at[list(SIZES).index(c)] for c in f.columns) or (0,)
            out[at] *= f.weights[cell] / f.unit
    return out


@pytest.mark.parametrize("seed", range(6))
def test_two_counts_weigh_every_cell_as_all_of_them_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shared = Factor(("b",), np.array([1, 0]))
    parts = [(3.0, query(rng, ("a",))), (-2.5, query(rng, ("a", "c"))), (0.25, query(rng, ("c",), ("x",)))]
    parts = [
        (times, LinearQuery("t", tuple(sorted((*q.factors, shared), key=lambda f: f.columns)))) for times, q in parts
    ]
    found = joined(TABLE, parts)
    assert found is not None
    total = sum(times * of_cells(q) for times, q in parts)
    assert sum(times * of_cells(q) for times, q in found) == pytest.approx(total, abs=6 / FIXED_POINT * 2**6)
    assert [times > 0 for times, _ in found] == [True, False]
    for times, q in found:
        q.check_sensitivity()
        assert any(f.digest == shared.digest for f in q.factors)
        assert times * of_cells(q) == pytest.approx(np.sign(times) * np.maximum(np.sign(times) * total, 0), abs=1e-5)


def test_what_cancels_is_not_there() -> None:
    rng = np.random.default_rng(3)
    same = query(rng, ("a",))
    assert joined(TABLE, [(2.0, same), (-2.0, same)]) == joined(TABLE, []) == []


def test_strings_values_and_too_many_cells_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    plain = query(rng, ("a",))
    by_value = LinearQuery("t", plain.factors, value="x")
    keyed = LinearQuery("t", (), KeyedFactor(("w",), (("one",),), (), np.array([1])))
    assert joined(TABLE, [(1.0, plain), (1.0, by_value)]) is None
    assert joined(TABLE, [(1.0, plain), (1.0, keyed)]) is None
    monkeypatch.setattr(module, "MOST_CELLS", 14)
    assert joined(TABLE, [(1.0, plain), (1.0, query(rng, ("a", "c")))]) is None
