"""Pairs whose cells are lost in their noise are seen in coarse parts, and bars know what may be hidden there."""

from dataclasses import replace

import numpy as np
import pytest

from dpsql.domain import CategoryDomain, IntegerDomain, TableDomain
from dpsql.hypothesis.bars.assumed.lost_in_noise import HIDDEN, LostInNoise
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.components import Interaction, pure
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import NEWEST
from dpsql.hypothesis.shrinkage import interaction_target, scatter_beyond_chance
from dpsql.hypothesis.tensor.dense import DenseHypothesis
from dpsql.hypothesis.tensor.levels import followed, levels_of
from dpsql.query import Crosstab, Factor, LinearQuery

SHAPE, SIGMA, ROWS = (48, 60), 8.0, 5_000
TABLE = TableDomain("t", (IntegerDomain("a", 0, 47, nullable=False), IntegerDomain("b", 0, 59, nullable=False)))


def cells(kind: str, rng: np.random.Generator) -> np.ndarray:
    a = np.arange(ROWS) % 48 if kind == "even" else rng.integers(0, 48, ROWS)
    b = {
        "apart": rng.integers(0, 60, ROWS),
        "halves": np.where(a < 24, rng.integers(0, 30, ROWS), rng.integers(30, 60, ROWS)),
        "line": np.clip(a + rng.integers(0, 8, ROWS), 0, 59),
        "even": np.arange(ROWS) // 48 % 60,
    }[kind]
    out = np.zeros(SHAPE)
    np.add.at(out, (a, b), 1.0)
    return out


def measured(counts: np.ndarray, columns: tuple[str, ...], sigma: float, rng: np.random.Generator) -> Measurement:
    axes = tuple(Axis((c,), np.arange(TABLE.finite_domain(c).size), TABLE.finite_domain(c).size) for c in columns)
    return Measurement("t", axes, np.rint(counts + rng.normal(0, sigma, counts.shape)).astype(np.int64), sigma)


def blocks(table: np.ndarray) -> np.ndarray:
    return table.reshape(6, 8, 6, 10).sum(axis=(1, 3))


def errors(kind: str, *, coarsely: bool) -> float:
    """Root mean square error of 36 blocks, over five tables."""
    squares = []
    for seed in range(5):
        rng = np.random.default_rng([seed, 7])
        counts = cells(kind, rng)
        model = DenseHypothesis(TABLE, float(ROWS), replace(NEWEST, coarsely=coarsely))
        model.absorb(measured(counts.sum(axis=1), ("a",), SIGMA, rng))
        model.absorb(measured(counts.sum(axis=0), ("b",), SIGMA, rng))
        model.absorb(measured(counts, ("a", "b"), SIGMA, rng))
        squares.append(((blocks(model.contingency(("a", "b"))) - blocks(counts)) ** 2).mean())
    return float(np.sqrt(np.mean(squares)))


@pytest.mark.parametrize("kind", ["halves", "line"])
def test_dependence_that_no_cell_shows_is_found(kind: str) -> None:
    assert errors(kind, coarsely=True) < 0.7 * errors(kind, coarsely=False)


def test_columns_that_do_not_tell_of_each_other_stay_apart() -> None:
    assert errors("apart", coarsely=True) < 1.1 * errors("apart", coarsely=False)


def test_what_is_followed_keeps_the_columns() -> None:
    rng = np.random.default_rng(4)
    counts = cells("halves", rng)
    model = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / ROWS
    part = Interaction(("a", "b"), pure(counts + rng.normal(0, SIGMA, SHAPE)), SIGMA)
    found = followed(model, part, levels_of((model.sum(axis=1), model.sum(axis=0)), (True, True)))
    assert found.sum(axis=0) == pytest.approx(model.sum(axis=0), rel=1e-6)
    assert found.sum(axis=1) == pytest.approx(model.sum(axis=1), rel=0.02)
    assert found.min() > 0.0


def test_levels_have_the_noise_of_their_parts() -> None:
    """By brute force: the sd of the parts' sums of many draws of pure noise."""
    rng = np.random.default_rng(9)
    masses = rng.integers(1, 50, SHAPE[0]).astype(float), rng.integers(1, 50, SHAPE[1]).astype(float)
    for level in levels_of(masses, (True, False)):
        sums = [level.rows @ pure(rng.normal(0, 1, SHAPE)) @ level.columns.T for _ in range(400)]
        assert np.std(sums, axis=0).mean() == pytest.approx(level.noise.mean(), rel=0.03)
        assert (np.diff(level.left) >= 0).all()  # ranges of an ordered column
        assert {len(level.rows), len(level.columns)} <= {4, 8, 16, 32, *SHAPE}


def blocks_of_many_rows(kind: str, *, coarsely: bool) -> np.ndarray:
    """Errors of 36 blocks where an average cell holds 20 sds of its noise, and half of the cells or more hold none."""
    rng = np.random.default_rng(11)
    counts = 100.0 * cells(kind, rng)
    model = DenseHypothesis(TABLE, 100.0 * ROWS, replace(NEWEST, coarsely=coarsely))
    for columns, table in ((("a",), counts.sum(axis=1)), (("b",), counts.sum(axis=0)), (("a", "b"), counts)):
        model.absorb(measured(table, columns, SIGMA, rng))
    return blocks(model.contingency(("a", "b"))) - blocks(counts)


@pytest.mark.parametrize(("kind", "most"), [("halves", 135.0), ("line", 70.0)])
def test_cells_without_rows_do_not_get_what_noise_adds(kind: str, most: float) -> None:
    """Of 80 cells that cannot be below none, noise of sd 8 makes 250 rows. Without coarse parts at first it is 160 and
    80."""
    now, before = (blocks_of_many_rows(kind, coarsely=c) for c in (True, False))
    empty = blocks(cells(kind, np.random.default_rng(11))) == 0.0
    assert np.abs(now[empty]).mean() < most < 0.4 * before[empty].mean()
    assert np.abs(now).mean() < 0.4 * np.abs(before).mean()


def test_light_cells_do_not_follow_noise_step_by_step() -> None:
    """500 cells without rows beside heavy ones that are followed: again and again, as the fit's sweeps are."""
    rng = np.random.default_rng(5)
    truth = np.zeros((20, 50))
    truth[:10, :25], truth[10:, 25:] = rng.integers(500, 3_000, (2, 10, 25))
    part = Interaction(("a", "b"), pure(truth + rng.normal(0.0, SIGMA, truth.shape)), SIGMA)
    model = np.where(truth > 0.0, np.outer(truth.sum(axis=1), truth.sum(axis=0)) * 2.0 / truth.sum(), 0.5)
    kept, followed_on = model, model
    for _ in range(60):
        kept = interaction_target(kept, part, again=True)
        followed_on = interaction_target(followed_on, part)
    assert kept[truth == 0.0].sum() < 700.0 < 0.7 * followed_on[truth == 0.0].sum()


def test_pairs_clear_of_their_noise_are_followed_as_before() -> None:
    small = TableDomain(
        "t", (CategoryDomain("a", tuple("wxyz"), nullable=False), IntegerDomain("b", 0, 5, nullable=False))
    )
    rng = np.random.default_rng(2)
    counts = rng.integers(50, 400, (4, 6)).astype(float)
    axes = tuple(Axis((c.name,), np.arange(c.size), c.size) for c in small.finite)
    found = Measurement("t", axes, np.rint(counts + rng.normal(0, 9, (4, 6))).astype(np.int64), 9.0)
    models = []
    for coarsely in (True, False):
        model = DenseHypothesis(small, float(counts.sum()), replace(NEWEST, coarsely=coarsely))
        model.absorb(found)
        models.append(model.contingency(("a", "b")))
    assert models[0] == pytest.approx(models[1], abs=0.1)


def test_scatter_is_learned_from_light_cells_apart() -> None:
    """Heavy cells far from the model say nothing of empty ones, whose gaps are their noise alone."""
    rng = np.random.default_rng(8)
    model = np.concatenate([np.full(500, 1.0), np.full(500, 2_000.0)])
    gap = rng.normal(0.0, 8.0, 1000) + np.where(model > 100.0, rng.normal(0.0, 300.0, 1000), 0.0)
    chance, power, light = np.full(1000, 64.0), model**1.7, model < 16.0
    assert scatter_beyond_chance(gap, chance, power, light) <= 64.0 * 0.1
    assert scatter_beyond_chance(gap, chance, power, ~light) * 2_000.0**1.7 == pytest.approx(300.0**2, rel=0.2)
    gap += np.where(light, rng.normal(0.0, 16.0, 1000), 0.0)
    assert scatter_beyond_chance(gap, chance, power, light) == pytest.approx(16.0**2, rel=0.3)


def share(kind: str, taken: tuple[int, int], *, coarsely: bool = True, sigma: float = SIGMA) -> float:
    """Of a question about the first ``taken`` cells of both columns."""
    rng = np.random.default_rng(3)
    counts = cells(kind, rng)
    found = [measured(counts, ("a", "b"), sigma, rng)]
    coverage = Coverage(TABLE, float(ROWS), found, replace(NEWEST, coarsely=coarsely))
    lost = LostInNoise(coverage, lambda columns: counts if columns == ("a", "b") else counts.T)
    factors = tuple(
        Factor((c,), (np.arange(n) < k).astype(np.int64)) for c, n, k in zip("ab", SHAPE, taken, strict=True)
    )
    return float(lost.share(Crosstab.of([LinearQuery("t", factors)]).choices))


def test_bars_know_what_noise_hides_of_such_pairs() -> None:
    assert share("halves", (1, 1)) == 1.0
    hidden = HIDDEN * np.sqrt(1.0 + ROWS / 2880 / SIGMA)
    assert share("halves", (24, 30)) == pytest.approx(hidden / 0.5)
    assert share("halves", (6, 6)) == pytest.approx(min(1.0, hidden / np.sqrt(36 / 2880)))
    assert share("apart", (6, 6)) < 0.7 * share("halves", (6, 6))
    assert share("halves", (6, 6), coarsely=False) == share("even", (6, 6), sigma=0.5) == 0.0


def test_many_questions_have_the_shares_of_each() -> None:
    rng = np.random.default_rng(3)
    counts = cells("line", rng)
    coverage = Coverage(TABLE, float(ROWS), [measured(counts, ("a", "b"), SIGMA, rng)])
    lost = LostInNoise(coverage, lambda columns: counts)
    queries = [
        LinearQuery(
            "t", tuple(Factor((c,), (np.arange(n) < k).astype(np.int64)) for c, n in zip("ab", SHAPE, strict=True))
        )
        for k in (1, 5, 20)
    ]
    together = lost.share(Crosstab.of(queries).choices)
    assert np.asarray(together).tolist() == [float(lost.share(Crosstab.of([q]).choices)) for q in queries]
