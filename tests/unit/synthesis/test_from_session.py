"""Rows of a hypothesis answer as it does: narrow and wide, with NULLs, strings, hard rounds; seeded by measurements."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, IntegerDomain, TableDomain, TextDomain
from dpsql.hypothesis import (
    Axis,
    DenseHypothesis,
    MakeHypothesis,
    Measurement,
    ScopedHypothesis,
    TableModel,
    WideHypothesis,
)
from dpsql.hypothesis.local import wide
from dpsql.query import Estimates
from dpsql.synthesis import Synthetic, Task
from dpsql.synthesis.coins import coins
from dpsql.synthesis.from_session import from_session
from dpsql.synthesis.quality import contingency
from dpsql.synthesis.rows import known as knowledge

N = 2000
COLUMNS = (IntegerDomain("a", 0, 4), BooleanDomain("b"), CategoryDomain("c", ("x", "y", "z"), nullable=False))
TABLE = TableDomain("t", COLUMNS)
STRINGS = replace(TABLE, columns=(*COLUMNS[:2], TextDomain("s"), COLUMNS[2], TextDomain("unseen")))
NOTHING: Any = None


def rows_of(table: TableDomain = TABLE) -> np.ndarray:
    """The private rows: later columns lean on the first; some cells are NULL."""
    rng = coins("private")
    a = rng.integers(6, size=N)
    return np.stack([a, np.where(rng.random(N) < 0.7, a % 3, 2), np.where(rng.random(N) < 0.7, a // 2, 0)], axis=1)


ROWS = rows_of()
SIZES = dict(zip("abc", (6, 3, 3), strict=True))


def measured(columns: str, sigma: float = 2.0) -> Measurement:
    shape = tuple(SIZES[c] for c in columns)
    cells = np.ravel_multi_index([ROWS[:, "abc".index(c)] for c in columns], shape)
    counts = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
    noise = coins("noise", columns).normal(0.0, sigma, shape).round().astype(np.int64)
    return Measurement("t", tuple(Axis.cells((c,), (SIZES[c],)) for c in columns), counts + noise, sigma)


def model(make: MakeHypothesis = DenseHypothesis, table: TableDomain = TABLE, scopes: str = "ab bc ac") -> TableModel:
    found = TableModel(table, Measurement("t", (), np.array(N), 0.0), 50.0, make)
    for columns in scopes.split():
        found.absorb(measured(columns))
    return found


def made(of: TableModel, rows: int | None = None) -> Synthetic:
    return from_session(Task(of.table, of, (), rows=rows), NOTHING, NOTHING)


def farthest(rows: Synthetic, of: TableModel, columns: int) -> float:
    names = combinations([c.name for c in of.table.finite], columns)
    return max(float(np.abs(contingency(rows, c) - of.hypothesis.contingency(c)).max()) for c in names)


@pytest.mark.parametrize("make", [DenseHypothesis, WideHypothesis, ScopedHypothesis])
def test_rows_answer_as_the_hypothesis_does(make: MakeHypothesis) -> None:
    known = model(make)
    rows = made(known)
    assert rows.codes.shape == (N, 3) and rows.scale == 1.0
    assert all(int(rows.codes[:, i].min()) >= 0 and int(rows.codes[:, i].max()) < n for i, n in enumerate((6, 3, 3)))
    assert farthest(rows, known, 1) <= 2.0
    assert farthest(rows, known, 2) <= 4.0
    assert contingency(rows, ("a",))[5] > 200  # NULL is a cell like any other


def test_independent_draws_would_not() -> None:
    known = model()
    cells = known.hypothesis.contingency(("a", "b", "c"))
    drawn = coins("drawn").choice(cells.size, size=N, p=cells.reshape(-1) / cells.sum())
    rows = Synthetic(TABLE, np.stack(np.unravel_index(drawn, cells.shape), axis=1))
    assert farthest(rows, known, 2) > 10.0


def test_more_and_fewer_rows_keep_shares() -> None:
    known = model()
    for rows in (200, 5000):
        found = made(known, rows)
        assert len(found.codes) == rows and found.scale == N / rows
        assert farthest(found, known, 1) <= 2.0 * max(found.scale, 1.0)


def test_the_measurements_are_the_seed() -> None:
    first, again = made(model()), made(model())
    assert (first.codes == again.codes).all()
    other = model(scopes="ab bc ac a")
    assert not (first.codes == made(other).codes).all()


def test_nothing_known_but_the_row_count_is_uniform() -> None:
    rows = made(model(WideHypothesis, scopes=""))
    assert np.abs(contingency(rows, ("a",)) - N / 6).max() <= 1.0


# --- strings -------------------------------------------------------------------------------------------------------


def with_strings(sigma: float = 1.0) -> TableModel:
    known = model(table=STRINGS)
    counts = np.array([[300, 0, 100], [0, 200, 50], [10, 10, 30]], dtype=np.int64)  # u, v, NULL by c
    axes = (Axis.cells(("c",), (3,)),)
    known.absorb(Measurement("t", axes, counts, sigma, ("s",), (("u",), ("v",), (None,))))
    return known


def test_strings_are_released_keys_by_the_columns_they_were_measured_with() -> None:
    known = with_strings()
    rows = made(known)
    assert set(rows.keys) == {"s"} and set(rows.keys["s"]) == {"u", "v", None}
    strings = np.array([s or "" for s in rows.keys["s"]])
    for key in ("u", "v"):
        expected = known.sparse(("s",)).keyed_contingency([(key,)], ("c",))[0]
        found = np.bincount(rows.codes[strings == key, 2], minlength=3)
        assert np.abs(found - expected).max() <= 2.0
    assert abs(int((strings == "").sum()) - (N - 400 - 250)) <= 25  # NULL, and what no key tells


def test_strings_beyond_the_rows_are_cut_to_them() -> None:
    known = model(table=STRINGS)
    known.absorb(Measurement("t", (), np.array([1500, 1500]), 1.0, ("s",), (("u",), ("v",))))
    rows = made(known)
    assert len(rows.keys["s"]) == N and abs(sum(s == "u" for s in rows.keys["s"]) - N / 2) <= 2


# --- hard rounds ---------------------------------------------------------------------------------------------------


def answer(sigma: float) -> tuple[TableModel, Estimates]:
    """A wide model that was told, by the answer of a hard round alone, of three columns together."""
    known = model(WideHypothesis)
    whole = np.zeros((2, 2, 2), dtype=np.int64)
    np.add.at(whole, (ROWS[:, 0] % 2, ROWS[:, 1] // 2, (ROWS[:, 0] + ROWS[:, 1] // 2) % 2), 1)
    parts = [np.arange(6) % 2, np.arange(3) // 2, np.array([0, 1, 1])]
    axes = tuple(Axis((c,), p.astype(np.int64), 2) for c, p in zip("abc", parts, strict=True))
    known.absorb(Measurement("t", axes, whole, sigma), fitted=False)
    return known, whole


def parity(rows: Synthetic) -> Estimates:
    table = contingency(rows, ("a", "b", "c"))
    table = np.stack([table[0::2].sum(axis=0), table[1::2].sum(axis=0)])
    table = np.stack([table[:, :2].sum(axis=1), table[:, 2]], axis=1)
    return np.stack([table[..., 0], table[..., 1:].sum(axis=-1)], axis=-1)


def test_answers_of_hard_rounds_count_as_far_as_their_noise_lets_them() -> None:
    known, whole = answer(2.0)
    told = np.abs(parity(made(known)) - whole).sum()
    untold = np.abs(parity(made(model(WideHypothesis))) - whole).sum()
    assert told < untold / 1.5
    noisy, _ = answer(3000.0)
    assert np.abs(parity(made(noisy)) - whole).sum() > told * 1.2


def test_large_tables_of_three_columns_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "TABLE_CELLS", 20)
    known = knowledge.KnownTable(model(WideHypothesis), N)
    assert {len(t.columns) for t in known.targets()} == {1, 2}
    assert known.counts((0, 1, 2)) is None and known.counts((0, 1)) is not None
    assert farthest(made(model(WideHypothesis)), model(WideHypothesis), 2) <= 8.0  # of 20 seeds: 4.2, at most 7.1


def test_work_is_bounded_and_the_strongest_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    table = replace(TABLE, columns=(*COLUMNS, BooleanDomain("d", nullable=False)))
    monkeypatch.setattr(knowledge, "WORK", N * 12)
    known = knowledge.KnownTable(model(WideHypothesis, table), N)
    assert [t.columns for t in known.targets() if len(t.columns) == 3] == [(0, 1, 2)]  # nothing is known of d


def test_tables_of_three_columns_have_the_parts_of_the_local_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide, "LOCAL_CELLS", 30)  # of 54 cells: the model has coarser parts
    known = model(WideHypothesis)
    (three,) = (t for t in knowledge.KnownTable(known, N).targets() if len(t.columns) == 3)
    assert three.counts.size <= 30
    for axis, (column, size) in enumerate(SIZES.items()):
        parts = np.bincount(three.labels[axis], weights=known.hypothesis.contingency((column,)))
        assert len(three.labels[axis]) == size
        assert np.abs(three.counts.sum(axis=tuple({0, 1, 2} - {axis})) - parts).max() < 1.0
    assert farthest(made(known), known, 2) <= 9.0  # of 20 seeds: 6.3, at most 8.0


def test_keys_under_strong_noise_sum_up_to_what_is_expected_of_them() -> None:
    known = model(table=STRINGS)
    known.know_distinct(Measurement("t", (), np.array(101), 1.0, ("s",)), 60.0)
    known.absorb(Measurement("t", (), np.array([1000]), 1.0, ("s",), (("u",),)), selected=True)
    keys = tuple((f"k{i:02}",) for i in range(20))
    counts = 10 + coins("strings").normal(0.0, 30.0, len(keys)).round().astype(np.int64)
    known.absorb(Measurement("t", (), counts, 30.0, ("s",), keys))
    rows, sparse = made(known), known.sparse(("s",))
    listed = np.array([s is not None and s.startswith("k") for s in rows.keys["s"]])
    expected, weight = (sum(map(f, keys)) for f in (sparse.expected, sparse.weight))
    assert abs(int(listed.sum()) - expected) < 20 < abs(weight - expected)
    shares = np.bincount(rows.codes[listed, 0], minlength=6) / listed.sum()
    assert np.abs(shares - known.hypothesis.contingency(("a",)) / N).max() < 0.05
