"""Lists by how they are drawn: against posteriors worked out count by count, and by what simulated lists are off by."""

from math import exp, pi, sqrt

import numpy as np
import numpy.typing as npt
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.strings.drawing import MOST_MOVED, Drawing, drawing
from dpsql.hypothesis.strings.hidden_keys import power_law
from dpsql.hypothesis.strings.key_list import likely_list
from dpsql.query import Key

Floats = npt.NDArray[np.float64]


def keys_of(number: int) -> list[Key]:
    return [(f"s{i}",) for i in range(number)]


def by_hand(law: Drawing, values: Floats, variances: Floats) -> tuple[Floats, float]:
    """Posterior means of the strings' rows, and the sum of their variances within a way, count by count."""
    ways = []
    for before, way in zip(law.before, law.ways, strict=True):
        likely, moments = before, []
        for y, v in zip(values, variances, strict=True):
            each = [p * exp(-((y - c) ** 2) / (2 * v)) / sqrt(2 * pi * v) for c, p in zip(law.counts, way, strict=True)]
            whole = sum(each)
            first = sum(c * e for c, e in zip(law.counts, each, strict=True)) / whole
            second = sum(c * c * e for c, e in zip(law.counts, each, strict=True)) / whole
            likely *= whole
            moments.append((first, second - first**2))
        ways.append((likely, moments))
    total = sum(likely for likely, _ in ways)
    means = np.array(
        [sum(likely * m[i][0] for likely, m in ways) / total for i in range(len(values))], dtype=np.float64
    )
    left = sum(likely * sum(v for _, v in m) for likely, m in ways) / total
    return means, float(left)


@pytest.mark.parametrize("values", [[4.0], [25.0, -8.0, 13.0], [60.0, 55.0, 71.0, 48.0], [-20.0] * 6, [200.0, 1.0]])
@pytest.mark.parametrize("mean", [0.4, 3.0, 20.0])
@pytest.mark.parametrize("unsure", [0.0, 0.5])
def test_it_is_between_the_posterior_and_what_was_measured(values: list[float], mean: float, unsure: float) -> None:
    """The step towards the posterior is the one that is least off where both errors are as said, and never too long."""
    law, y = drawing(mean, 90.0, 0.3, unsure), np.array(values)
    variances = np.linspace(100.0, 160.0, len(y))
    means, left = by_hand(law, y, variances)
    found, noise = law.rows(y, variances), float(variances.sum())
    steps = np.linspace(0.0, 1.0, 100_001)
    # posterior: off by what is left and by the misfit; measured: by its noise; both share what is left
    off = (
        steps**2 * (left + (law.misfit * means.sum()) ** 2) + (1 - steps) ** 2 * noise + 2 * steps * (1 - steps) * left
    )
    best = steps[int(off.argmin())]
    moved = best * abs(float((means - y).sum()))
    shorter = min(1.0, MOST_MOVED * sqrt(noise) / moved) if moved > 0 else 1.0
    assert np.allclose(found, y + best * shorter * (means - y), atol=1e-3 * np.abs(means - y).max() + 1e-9)
    assert abs(float((found - y).sum())) <= MOST_MOVED * sqrt(noise) + 1e-9


@pytest.mark.parametrize("mean", [1.2, 3.0, 25.0])
def test_each_way_is_what_drawing_strings_gives(mean: float) -> None:
    """Strings of a simulated table, drawn evenly or by row, a twentieth of them not in it."""
    rng, law = np.random.default_rng(3), drawing(mean, 90.0, 0.3)
    counts, likely = power_law(mean, 90.0)
    table = rng.choice(counts, size=200_000, p=likely)
    for way, p in ((1, None), (2, table / table.sum())):
        drawn = rng.choice(table, size=40_000, p=p) * (rng.random(40_000) > 0.05)
        expected = float(law.ways[way] @ law.counts)
        assert drawn.mean() == pytest.approx(expected, abs=4 * drawn.std() / 200 + 0.03 * expected)
        assert float(law.ways[way][0]) == pytest.approx(float((drawn == 0).mean()), abs=0.01)
    assert (law.ways[0] @ law.counts, law.before.sum()) == (0.0, pytest.approx(1.0))
    assert law.ways.sum(axis=1) == pytest.approx(np.ones(3))


def simulated(counts: Floats, number: int, *, by_row: bool, lists: int = 300) -> tuple[float, float]:
    """Mean error of lists of so many of these strings: as is likely, and as measured."""
    rng, sigma = np.random.default_rng(number), 12.0
    law, keys = drawing(float(counts.mean()), 90.0, 0.3), keys_of(number)
    p = counts / counts.sum() if by_row else None
    off: list[tuple[float, float]] = []
    for _ in range(lists):
        true = rng.choice(counts, size=number, replace=False, p=p)
        y = true + rng.normal(0.0, sigma, number)
        measured = {k: (float(v), sigma**2) for k, v in zip(keys, y, strict=True)}
        found = likely_list(measured, {}, law, dict.fromkeys(keys, 1.0))
        off.append((abs(sum(found.rows.values()) - true.sum()), abs(y.sum() - true.sum())))
    likely, raw = np.mean(off, axis=0)
    return float(likely), float(raw)


@pytest.mark.parametrize("number", [1, 10, 100])
def test_lists_of_strings_that_mostly_occur_once_are_nearer(number: int) -> None:
    rng = np.random.default_rng(8)
    counts, likely = power_law(2.5, 80.0)
    names = rng.choice(counts, size=20_000, p=likely)
    near, raw = simulated(names, number, by_row=False)
    assert near < raw / 1.4
    near, raw = simulated(names, number, by_row=True)
    assert near < raw


@pytest.mark.parametrize("number", [1, 10, 100])
@pytest.mark.parametrize("by_row", [False, True])
def test_lists_of_strings_that_follow_no_such_law_are_no_further(number: int, by_row: bool) -> None:
    """As many strings of each size from 10 to 70, or all of one size."""
    for counts in (np.linspace(10.0, 70.0, 3_000).round(), np.full(3_000, 35.0)):
        near, raw = simulated(counts, number, by_row=by_row)
        assert near < 1.06 * raw


@pytest.mark.parametrize("number", [1, 5, 40, 200])
@pytest.mark.parametrize("mean", [1.5, 10.0])
def test_bars_cover_strings_that_were_listed_because_they_are_unlike_others(number: int, mean: float) -> None:
    """Whatever their number of rows is: what is likely of them may be wrong, the noise is known."""
    rng, sigma, law = np.random.default_rng(2), 10.0, drawing(mean, 90.0, 0.3)
    keys = keys_of(number)
    inside = certain = 0
    for truth in (0, 1, 2, 4, 7, 10, 15, 20, 30, 60, 90) * 100:
        y = truth + rng.normal(0.0, sigma, number)
        measured = {k: (float(v), sigma**2) for k, v in zip(keys, y, strict=True)}
        found = likely_list(measured, {}, law, dict.fromkeys(keys, 1.0))
        bar = np.hypot(DEVIATIONS * np.sqrt(sum(found.variances.values())), found.error)
        inside += abs(sum(found.rows.values()) - number * truth) <= bar
        certain += abs(y.sum() - number * truth) <= DEVIATIONS * sigma * np.sqrt(number)
    assert inside >= certain >= 0.93 * 1_100


def test_a_bar_that_is_foreseen_is_no_narrower_than_what_comes() -> None:
    rng, law, keys = np.random.default_rng(4), drawing(3.0, 90.0, 0.3), keys_of(20)
    weights = dict.fromkeys(keys, 0.7)
    known = {k: (float(y), 144.0) for k, y in zip(keys[:5], rng.normal(0.0, 12.0, 5), strict=True)}
    before = likely_list(known, dict.fromkeys(keys[5:], (9.0, 144.0)), law, weights)
    assert {before.rows[k] for k in keys[5:]} == {9.0}
    for _ in range(50):
        new = {k: (float(y), 144.0) for k, y in zip(keys[5:], rng.normal(0.0, 12.0, 15), strict=True)}
        after = likely_list({**known, **new}, {}, law, weights)
        assert after.variances == before.variances
        assert after.error <= before.error + 1e-9


def test_how_far_a_list_is_moved_is_added_to_its_bar() -> None:
    """And not at right angles: noise may go the same way, for it is noise that lists are moved by."""
    law, keys = drawing(1.5, 90.0, 0.1), keys_of(100)
    measured = dict.fromkeys(keys, (8.0, 100.0))
    found = likely_list(measured, {}, law, dict.fromkeys(keys, 1.0))
    assert 800.0 - sum(found.rows.values()) == pytest.approx(MOST_MOVED * 100.0)
    bar = np.hypot(DEVIATIONS * 100.0, found.error)
    assert bar == pytest.approx((DEVIATIONS + MOST_MOVED) * 100.0)


def test_rows_without_a_string_are_none_of_them() -> None:
    few = drawing(1.5, 90.0, 0.1)
    found = likely_list({(None,): (30.0, 100.0), ("a",): (30.0, 100.0)}, {}, few, {(None,): 1.0, ("a",): 1.0})
    assert found.rows[None,] == 30.0
    assert found.rows["a",] < 30.0
    assert likely_list({}, {}, few, {}).rows == {}
