"""Moves take error away, end where none is left to take, and stay in the columns' domains."""

from itertools import combinations

import numpy as np
import pytest

from dpsql.query import Estimates
from dpsql.synthesis.coins import coins
from dpsql.synthesis.rows import fitting
from dpsql.synthesis.rows.fitting import fit_rows
from dpsql.synthesis.rows.target import Codes, Target

SIZES = (3, 4, 2, 40)
N = 3000


def dependent(seed: str) -> list[Codes]:
    """Rows whose columns lean on a hidden kind, the last one longer than a round looks at."""
    rng = coins(seed)
    kind = rng.integers(3, size=N)
    return [np.where(rng.random(N) < 0.6, kind % n, rng.integers(n, size=N)) for n in SIZES]


def pairs(rows: list[Codes]) -> list[Target]:
    shapes = [(c, np.zeros([SIZES[i] for i in c])) for c in combinations(range(4), 2)]
    return [Target.cells(c, Target.cells(c, empty).found(rows)) for c, empty in shapes]


def shuffled(rows: list[Codes]) -> list[Codes]:
    rng = coins("shuffled")
    return [rng.permutation(r) for r in rows]


def squares(errors: list[Estimates]) -> float:
    return sum(float((e**2).sum()) for e in errors)


def test_independent_columns_become_dependent_as_the_targets_say() -> None:
    targets = pairs(dependent("truth"))
    rows = shuffled(dependent("truth"))
    before = squares([t.found(rows) - t.counts for t in targets])
    left = fit_rows(rows, SIZES, targets, coins("fit"))
    for error, target in zip(left, targets, strict=True):
        assert (error == target.found(rows) - target.counts).all()  # what is said to be left is what is left
    assert squares(left) < before / 100
    assert max(float(np.abs(e).max()) for e in left) < 10.0
    assert all(int(r.min()) >= 0 and int(r.max()) < n for r, n in zip(rows, SIZES, strict=True))


def test_rows_that_fit_are_left_alone() -> None:
    rows = dependent("truth")
    before = [r.copy() for r in rows]
    assert squares(fit_rows(rows, SIZES, pairs(rows), coins("fit"))) == 0.0
    assert all((a == b).all() for a, b in zip(rows, before, strict=True))


def test_no_single_change_of_a_value_helps_where_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "SWEEPS", 60)
    monkeypatch.setattr(fitting, "ENOUGH", -1.0)
    rng = coins("small")
    sizes, rows = (2, 3, 2), [rng.integers(n, size=60) for n in (2, 3, 2)]
    targets = [Target.cells(c, rng.random([sizes[i] for i in c]) * 20) for c in combinations(range(3), 2)]
    left = squares(fit_rows(rows, sizes, targets, coins("fit")))
    for column, size in enumerate(sizes):
        for row in range(60):
            for value in range(size):
                changed = [r.copy() for r in rows]
                changed[column][row] = value
                assert squares([t.found(changed) - t.counts for t in targets]) >= left - 1e-9


def test_parts_of_cells_are_followed_and_nothing_within_them() -> None:
    labels = (np.array([0, 0, 1]), np.array([0, 1, 1, 0]))
    target = Target((0, 1), labels, np.array([[40.0, 10.0], [10.0, 40.0]]))
    rng = coins("parts")
    rows = [rng.integers(3, size=100), rng.integers(4, size=100)]
    (left,) = fit_rows(rows, (3, 4), [target], coins("fit"))
    assert float(np.abs(left).max()) <= 1.0
    assert set(rows[0].tolist()) == {0, 1, 2} and set(rows[1].tolist()) == {0, 1, 2, 3}


def test_the_error_never_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "SWEEPS", 1)
    monkeypatch.setattr(fitting, "BLOCKS", 1)  # all rows at once: what each gains alone, together they would lose
    rng = coins("grows")
    target = Target.cells((0,), np.array([52.0, 48.0]))
    rows = [np.zeros(100, dtype=np.int64)]
    last = squares([target.found(rows) - target.counts])
    for _ in range(30):
        now = squares(fit_rows(rows, (2,), [target], rng))
        assert now <= last
        last = now
    assert last <= 2.0


def test_rounds_are_told_and_equal_coins_move_equally() -> None:
    heard: list[tuple[int, int]] = []
    first, second = shuffled(dependent("truth")), shuffled(dependent("truth"))
    targets = pairs(dependent("truth"))
    fit_rows(first, SIZES, targets, coins("same"), lambda done, of: heard.append((done, of)))
    fit_rows(second, SIZES, targets, coins("same"))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert heard[0] == (0, fitting.SWEEPS) and heard[-1] == (fitting.SWEEPS, fitting.SWEEPS)


def test_heavier_targets_are_followed_first() -> None:
    rows = [np.zeros(100, dtype=np.int64)]
    light, heavy = Target.cells((0,), np.array([90.0, 10.0])), Target.cells((0,), np.array([10.0, 90.0]), 9.0)
    left = fit_rows(rows, (2,), [light, heavy], coins("weights"))
    assert [e.tolist() for e in left] == [[-72.0, 72.0], [8.0, -8.0]]  # the mean of the targets, weighted 1 : 9


def crowded() -> float:
    """Rows too many of a rare value that are left, where all other rows would be moved by their noise as well."""
    rng = coins("crowded")
    sizes, rows = (24, 24, 24), [rng.integers(23, size=20_000) for _ in range(3)]
    rows[0][:1500] = 23  # should be none
    truth = [rng.integers(23, size=20_000) for _ in range(3)]
    alone = Target.cells((0,), Target.cells((0,), np.zeros(24)).found(truth), 4.0)
    empty = np.zeros((24, 24))
    both = [Target.cells(c, Target.cells(c, empty).found(truth)) for c in combinations(range(3), 2)]
    return float(fit_rows(rows, sizes, [alone, *both], coins("fit"))[0][23])


def test_moves_that_gain_most_are_not_held_up_by_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "SWEEPS", 1)
    first = crowded()
    monkeypatch.setattr(fitting, "PARTS", 1)
    assert first < crowded() / 3
