"""Cells of one release by what they have in common: nearer than each alone, as many rows; bars and certificates."""

from dataclasses import replace

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis import MODEL_RULES
from dpsql.planning.plans import make_plan
from dpsql.policy import Policy
from dpsql.query import Estimates, Factor, LinearQuery
from dpsql.session.answers import from_measurement
from dpsql.session.own.in_common import (
    FARTHEST,
    GRAIN,
    LAW_ROUNDS,
    MOST_ALIKE,
    are_alike,
    in_common,
    moved_together,
)
from dpsql.session.own.weighing import TOGETHER
from tests.support.asking import ask_all
from tests.support.warm import WIDE, asker_of, ledger_of, policy, query, unit

SIGMA = 40.0
CELLS = 500


def sparse(seed: int, cells: int = CELLS) -> tuple[Estimates, Estimates]:
    """Most cells have no rows, some have few, and few have many: true and measured counts."""
    rng = np.random.default_rng(seed)
    true = np.floor(np.exp(rng.uniform(-6.0, 8.0, cells)))
    return true, np.rint(true + rng.normal(0.0, SIGMA, cells))


def moved(measured: Estimates) -> Estimates:
    return in_common(measured, np.full(len(measured), SIGMA))


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_small_cells_are_nearer_and_large_ones_no_worse() -> None:
    both = [sparse(seed) for seed in range(10)]
    true, measured = (np.concatenate(x) for x in zip(*both, strict=True))
    said = np.maximum(np.concatenate([moved(m) for _, m in both]), 0.0)
    alone, together = np.abs(np.maximum(measured, 0.0) - true), np.abs(said - true)
    small, large = true < SIGMA, true > 3 * SIGMA
    assert together[small].mean() < 0.7 * alone[small].mean()
    assert together[large].mean() < 1.2 * alone[large].mean()
    assert together.mean() < 0.9 * alone.mean()
    assert together.max() < alone.max() + FARTHEST * SIGMA


def test_no_count_moves_by_more_than_its_noise() -> None:
    true, measured = sparse(1)
    noise = np.random.default_rng(5).uniform(20, 60, len(true))
    said = in_common(measured, noise)
    far = np.abs(said - measured)
    assert (far <= np.maximum(FARTHEST * noise, -measured) + 0.2 * noise).all()  # and what the sum takes of each
    assert far[measured > 0].max() > 0.9 * FARTHEST * noise.min()
    assert (said >= -0.2 * noise).all()


@pytest.mark.parametrize("rows", [0.0, 1.0, 50.0, None], ids=["empty", "a row each", "fifty each", "sparse"])
def test_cells_add_up_to_what_was_measured(rows: float | None) -> None:
    """Exactly, in whole numbers too: of numbers not below 0 empty cells alone would make rows, and sums be worse."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        measured = sparse(seed)[1] if rows is None else np.rint(rows + rng.normal(0.0, SIGMA, CELLS))
        assert moved(measured).sum() == pytest.approx(measured.sum(), abs=1e-6)
        noise = rng.uniform(20, 60, CELLS)
        assert in_common(measured, noise).sum() == pytest.approx(measured.sum(), abs=1e-6)
        counted = LinearQuery("t", (Factor(("a",), np.array([1, 0])),))
        answers = moved_together([from_measurement(counted, int(m), SIGMA, 5.0) for m in measured], [SIGMA] * CELLS)
        assert sum(a.value for a in answers if a.value is not None) == measured.sum()


def test_cells_that_are_far_from_each_other_stay_where_they_are() -> None:
    measured = np.arange(64) * 20 * SIGMA
    assert moved(measured) == pytest.approx(measured, abs=SIGMA / GRAIN)


def test_the_law_is_that_of_the_most_likely_counts() -> None:
    """Each step of the fit, written out for one cell and one number of the law at a time."""
    rng = np.random.default_rng(2)
    measured = np.rint(np.where(np.arange(40) % 4 == 0, 90.0, 0.0) + rng.normal(0, 10.0, 40))
    noise = rng.uniform(8.0, 12.0, 40)
    grain = float(np.median(noise)) / GRAIN
    atoms = sorted({0.0, *(round(max(float(y), 0.0) / grain) * grain for y in measured)})
    law = [1.0 / len(atoms)] * len(atoms)
    likely = [
        [float(np.exp(-((y - a) ** 2) / (2 * s * s))) for a in atoms] for y, s in zip(measured, noise, strict=True)
    ]
    for _ in range(LAW_ROUNDS):
        parts = [[w * p for w, p in zip(law, row, strict=True)] for row in likely]
        law = [sum(row[j] / sum(row) for row in parts) / len(parts) for j in range(len(atoms))]
    parts = [[w * p for w, p in zip(law, row, strict=True)] for row in likely]
    means = np.array([sum(a * p for a, p in zip(atoms, row, strict=True)) / sum(row) for row in parts])
    expected = np.clip(means, measured - FARTHEST * noise, np.maximum(measured + FARTHEST * noise, 0.0))
    squares, less = [s * s for s in noise], float(sum(measured)) - float(sum(expected))
    expected = expected + np.array([less * s / sum(squares) for s in squares])
    np.testing.assert_allclose(in_common(measured, noise), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("far", [-1e6, -1e3, 0.0, 1e12])
def test_counts_of_any_size_are_taken(far: float) -> None:
    assert np.isfinite(moved(np.full(TOGETHER, far))).all()


# --- answers ---------------------------------------------------------------------------------------------------------


def cells(number: int) -> list[LinearQuery]:
    return [LinearQuery("t", (Factor(("age",), row),)) for row in np.eye(number, dtype=np.int64)]


def test_bars_and_certificates_hold() -> None:
    inside = []
    for seed in range(10):
        true, measured = sparse(seed)
        answers = [from_measurement(q, int(v), SIGMA, 4.0) for q, v in zip(cells(CELLS), measured, strict=True)]
        said = moved_together(answers, [SIGMA] * CELLS)
        for a, b, t in zip(answers, said, true.tolist(), strict=True):
            assert b.value is not None
            assert b.interval is not None
            assert b.certified_bound is not None
            inside.append(b.interval[0] <= t <= b.interval[1])
            assert abs(b.value - t) <= b.certified_bound or abs((a.value or 0) - t) > 4.0 * SIGMA
            assert (b.error, b.error_kind, b.source) == (a.error, "calibrated", "measurement")
    assert np.mean(inside) >= 0.95
    assert answers[0].error == np.ceil(DEVIATIONS * SIGMA)


def test_only_counts_of_enough_cells_are_alike() -> None:
    assert are_alike(cells(TOGETHER))
    assert not are_alike(cells(TOGETHER - 1))
    assert not are_alike([cells(TOGETHER)[0]] * (MOST_ALIKE + 1))
    assert not are_alike([replace(q, value="pay") for q in cells(TOGETHER)])
    assert not are_alike([LinearQuery("t", (Factor(("age",), row, 2),)) for row in np.eye(TOGETHER, dtype=np.int64)])


# --- sessions --------------------------------------------------------------------------------------------------------


def each_question() -> Policy:
    made = policy(WIDE, 1)
    return replace(made, privacy=replace(made.privacy, planned_queries=4))


def asked(models: int, number: int) -> tuple[list[int], list[int], list[int]]:
    """The answers of so many groups, what their release measured, and the answers after a restart."""
    rules = each_question()
    assert make_plan(rules).questions == 4
    ledger = ledger_of(rules, models=models)
    asker, _ = asker_of(rules, ledger, 1)
    queries = [query(WIDE, a=unit(40, i)) for i in range(number)]
    said = [int(a.value or 0) for a in ask_all(asker, queries)]
    raw = [found[0] for q in queries if (found := asker.states["t"].measured(q)) is not None]
    again, _ = asker_of(rules, ledger, 2)
    return said, raw, [int(a.value or 0) for a in ask_all(again, queries)]


def test_a_session_moves_the_groups_of_a_release_and_keeps_what_was_measured() -> None:
    said, raw, again = asked(9, 40)
    assert said != raw
    assert said == again
    noise = np.full(40, float(make_plan_sigma()))
    expected = in_common(np.array(raw, dtype=float), noise)
    assert all(abs(value - e) < 1.0 for value, e in zip(said, expected.tolist(), strict=True))
    assert sum(said) == sum(raw)


@pytest.mark.parametrize(("models", "number"), [(8, 40), (9, TOGETHER - 1)])
def test_older_ledgers_and_few_groups_are_answered_as_measured(models: int, number: int) -> None:
    said, raw, again = asked(models, number)
    assert said == raw == again


def make_plan_sigma() -> float:
    """The sd of a planned question's release."""
    rules = each_question()
    asker, _ = asker_of(rules, ledger_of(rules, models=9), 1)
    return float(asker.states["t"].plan.question.sigma)


def test_it_is_of_the_ninth_rules() -> None:
    assert [rules.in_common for rules in MODEL_RULES.values()] == [False] * 8 + [True] * (len(MODEL_RULES) - 8)
    assert [rules.mixed for rules in MODEL_RULES.values()] == [False] * 8 + [True] * (len(MODEL_RULES) - 8)
