"""How far bars are widened: what is learned, when it is enough, and that it covers what it says."""

from typing import Any

import numpy as np
import pytest

from dpsql.errors import LedgerError
from dpsql.session.own.misfit import ALIKE, FEWEST_COLUMNS, FEWEST_LESSONS, MOST_TIMES, Misfit


def taught(times: Any, columns: int = 3) -> Misfit:
    """Distances of so many bars each, with no noise."""
    misfit = Misfit()
    for x in times:
        misfit.learn(columns, 1.96 * float(x) * 10.0, 0.0, 10.0)
    return misfit


def test_nothing_learned_widens_nothing() -> None:
    assert [Misfit().times(c) for c in range(9)] == [1.0] * 9


def test_the_largest_of_nineteen_is_the_bound_and_of_fewer_there_is_none() -> None:
    assert taught([*range(FEWEST_LESSONS - 2), 7.0]).times(3) == 1.0
    assert taught([*([1.0] * (FEWEST_LESSONS - 1)), 7.0]).times(3) == pytest.approx(7.0, rel=1e-3)
    assert taught([*([1.0] * (2 * FEWEST_LESSONS)), 7.0]).times(3) == pytest.approx(1.0, rel=1e-3)  # the second of 39


def test_bars_are_never_narrowed_nor_widened_without_end() -> None:
    assert taught([0.01] * 40).times(3) == 1.0
    assert taught([1e9] * 40).times(3) == MOST_TIMES


def test_what_noise_explains_is_not_the_models() -> None:
    misfit = Misfit()
    for _ in range(40):
        misfit.learn(3, 1.96 * 50.0, 50.0, 10.0)
    assert misfit.times(3) == 1.0
    for _ in range(400):
        misfit.learn(3, 1.96 * 130.0, 50.0, 10.0)
    assert misfit.times(3) == pytest.approx(12.0, rel=1e-3)


def test_pairs_are_not_widened() -> None:
    misfit = taught([9.0] * 40)
    assert [misfit.times(c) for c in range(FEWEST_COLUMNS)] == [1.0] * FEWEST_COLUMNS


def test_numbers_of_columns_are_learned_apart_and_together_where_they_are_few() -> None:
    misfit = taught([2.0] * FEWEST_LESSONS, 3)
    assert misfit.times(4) == misfit.times(3) == pytest.approx(2.0, rel=1e-3)
    for _ in range(FEWEST_LESSONS):
        misfit.learn(4, 1.96 * 50.0, 0.0, 10.0)
    assert (misfit.times(3), misfit.times(4)) == pytest.approx((2.0, 5.0), rel=1e-3)
    assert misfit.times(5) == pytest.approx(5.0, rel=1e-3)  # of all


def test_many_columns_are_alike() -> None:
    misfit = taught([2.0] * 19, ALIKE + 3)
    assert misfit.times(ALIKE) == misfit.times(ALIKE + 9) == pytest.approx(2.0, rel=1e-3)


def test_lessons_of_pairs_are_of_no_use_to_others() -> None:
    assert taught([9.0] * 40, FEWEST_COLUMNS - 1).times(3) == 1.0


@pytest.mark.parametrize("lessons", [19, 39, 99])
@pytest.mark.parametrize("shape", ["normal", "heavy"])
def test_widened_bars_cover_what_they_say(lessons: int, shape: str) -> None:
    """95 % of distances of questions alike, at least and not all (split conformal prediction); half of it does not."""
    rng = np.random.default_rng(lessons)
    inside, half = [], []
    for _ in range(2000):
        far = np.abs(rng.normal(size=lessons + 1) if shape == "normal" else rng.standard_t(3, size=lessons + 1))
        times = taught(3.0 * far[:-1]).times(3)
        inside.append(3.0 * far[-1] <= times)
        half.append(3.0 * far[-1] <= times / 2)
    assert 0.93 <= np.mean(inside) <= 0.97
    assert np.mean(half) < 0.9


@pytest.mark.parametrize("own", [(), (2.5,)])
def test_what_a_ledger_says_is_what_was_learned(own: tuple[float, ...]) -> None:
    """Releases of rules before 25 do not say how much of the noise was drawn for the question."""
    told, read = Misfit(), Misfit()
    for i in range(25):
        lesson = (100.0 * i, 3.0, 20.0, *own)
        told.learn(4, *lesson)
        read.take({"columns": 4, "lessons": [list(lesson)]})
    assert read == told
    assert (read.variance == Misfit().variance) is not bool(own)
    assert read.times(4).hex() == told.times(4).hex() > "0x1.0"
    read.take({"columns": 4, "lessons": []})
    assert read == told


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"columns": 3},
        {"lessons": []},
        {"columns": "many", "lessons": []},
        {"columns": None, "lessons": []},
        {"columns": 3, "lessons": 5},
        {"columns": 3, "lessons": [[1.0, 2.0]]},
        {"columns": 3, "lessons": [[1.0, 2.0, 3.0, 4.0, 5.0]]},
        {"columns": 3, "lessons": [["far", 2.0, 3.0]]},
        {"columns": 3, "lessons": [[1.0, 2.0, 0.0]]},
        {"columns": 3, "lessons": [[1e300, 2.0, 1.0]]},
        {"columns": 3, "lessons": [[1e300, 2.0, 1.0, 2.0]]},
        {"columns": 3, "lessons": [[1.0, 2.0, 0.0, 2.0]]},
        {"columns": 3, "lessons": [[float("inf"), 2.0, 3.0, 2.0]]},
        {"columns": 3, "lessons": [[1.0, 2.0, 3.0, float("nan")]]},
    ],
)
def test_a_payload_that_is_none_is_refused(payload: Any) -> None:
    with pytest.raises(LedgerError, match="residual release"):
        Misfit().take(payload)
