"""From values over variants to an error, and why there is none."""

import numpy as np
import pytest

from dpsql.postprocess.spread import Cells, Unknown, spread, turning, widened

INF, NAN = float("inf"), float("nan")


def cells(values: list[float], missing: tuple[int, ...] = ()) -> Cells:
    present = np.ones((len(values), 1), dtype=bool)
    present[list(missing)] = False
    return Cells(np.array(values, dtype=float)[:, np.newaxis], present)


def test_corners_give_the_farthest() -> None:
    found = spread(np.array([5.0]), cells([5, 4, 7, 5]), None)
    assert (found.errors[0], found.unknown[0], found.nonnegative[0]) == (2, Unknown.NO, True)
    assert not spread(np.array([5.0]), cells([5, -1, 7]), None).nonnegative[0]


def test_draws_give_their_spread_times_a_factor() -> None:
    found = spread(np.array([5.0]), cells([5, 4, 6, 8, 2]), 2.0)
    assert found.errors[0] == pytest.approx(2 * 1.96 * np.sqrt((1 + 1 + 9 + 9) / 4))


@pytest.mark.parametrize(
    ("shown", "values", "missing", "factor", "why"),
    [
        (5, [5, 4, INF], (), None, Unknown.DENOMINATOR),
        (5, [5, 4, NAN], (), None, Unknown.DENOMINATOR),
        (5, [5, 4, 6], (2,), None, Unknown.ROW),
        (5, [5, 4, 6, 4, 6], (1, 2), 1.0, Unknown.NO),
        (5, [5, 4, 6, 4, 6], (1, 2, 3), 1.0, Unknown.ROW),
        (5, [5] + [4, 6] * 30 + [INF], (), 1.0, Unknown.NO),
        (5, [5] + [4, 6] * 30 + [INF, INF], (), 1.0, Unknown.DENOMINATOR),
        (5, [INF, 4, 6], (), None, Unknown.DENOMINATOR),
        (5, [5.01, 4, 6], (), None, Unknown.ROW),
        (5, [5, 4, 6], (0,), None, Unknown.ROW),
        (NAN, [NAN, 4, 6], (), None, Unknown.NULL),
        (INF, [INF, 4, INF], (), None, Unknown.DENOMINATOR),
        (1e308, [1e308, -1e308, 1e308], (), None, Unknown.LARGE),
        (1e308, [1e308, 0, 1.7e308], (), None, Unknown.LARGE),  # its interval would end beyond all floats
        (-1e308, [-1e308, 1e308, -1e308], (), 1.0, Unknown.LARGE),
        (1e308, [-1e308, 1e308, 1e308], (), None, Unknown.ROW),
        (-INF, [-INF, -INF, 1e308], (), 1.0, Unknown.DENOMINATOR),
    ],
)
def test_why_an_error_is_not_known(
    shown: float, values: list[float], missing: tuple[int, ...], factor: float | None, why: Unknown
) -> None:
    assert spread(np.array([shown]), cells(values, missing), factor).unknown[0] == why


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_errors_grow_with_the_numbers(scale: float) -> None:
    """Their squares are beyond the floats; a warning is an error in this suite."""
    column = cells([5 * scale, *(v * scale for v in (4, 6, 8, 2))])
    assert spread(np.array([5 * scale]), column, 2.0).errors[0] / scale == pytest.approx(2 * 1.96 * np.sqrt(5))
    assert spread(np.array([5 * scale]), column, None, nested=np.array([True])).errors[0] / scale == pytest.approx(2)


def test_lost_draws_are_not_counted() -> None:
    few = spread(np.array([5.0]), cells([5, *[4, 6] * 30, INF]), 1.0)
    assert few.errors[0] == pytest.approx(1.96)


@pytest.mark.parametrize(
    ("corners", "nested", "error"),
    [
        ([-1, -7, 7, 1], False, 7),  # a pulls by 4, b by 3 the other way: the sum
        ([-1, -7, 7, 1], True, 5),  # the root of the sum of squares
        ([-7, -1, 1, 7], True, 7),  # both pull in one direction: errors that are shared add up
    ],
)
def test_a_part_and_its_whole(corners: list[float], nested: bool, error: float) -> None:
    found = spread(np.array([0.0]), cells([0, *corners]), None, np.array([nested]))
    assert found.errors[0] == pytest.approx(error)


@pytest.mark.parametrize(
    ("ends", "missing", "error", "why"),
    [
        ([5, 1, 25], (), 20.0, Unknown.NO),  # what draws of a spread hardly reach, bounds may
        ([5, 4, 6], (), 1.96, Unknown.NO),
        ([5, 1, 25], (2,), 1.96, Unknown.NO),
        ([5, 1, INF], (), None, Unknown.DENOMINATOR),
    ],
)
def test_bounds_widen_what_draws_say(
    ends: list[float], missing: tuple[int, ...], error: float | None, why: Unknown
) -> None:
    shown = np.array([5.0])
    found = widened(spread(shown, cells([5, 4, 6]), 1.0), spread(shown, cells(ends, missing), None))
    assert found.unknown[0] == why
    assert error is None or found.errors[0] == pytest.approx(error)


@pytest.mark.parametrize(
    ("corners", "inside", "missing", "error", "why"),
    [
        ([5, 4, 6], [4, 4.5, 6], (), 1.0, Unknown.NO),  # what only rises or falls
        ([4, 4, 4], [4, 0, 6], (), 4.0, Unknown.NO),  # n % 7: equal at both ends, and at the value
        ([5, 4, 9], [3, 9, 5], (), 4.0, Unknown.NO),  # nothing inside is farther than an end
        ([0, 0, 0], [0, 1, 0], (), 1.0, Unknown.NO),  # CASE WHEN n BETWEEN ..
        ([5, 4, 6], [5, INF, 5], (), None, Unknown.DENOMINATOR),
        ([5, 4, 6], [5, 5, 5], (1,), None, Unknown.ROW),
        ([5, 4, INF], [5, 5, 5], (), None, Unknown.DENOMINATOR),
        ([4, 4, 4], [4, 1.7e308, -1.7e308], (), None, Unknown.NO),
        ([-1.7e308, -1.7e308, -1.7e308], [0, 1.7e308, 0], (), None, Unknown.LARGE),
    ],
)
def test_arithmetic_may_turn_between_the_ends(
    corners: list[float], inside: list[float], missing: tuple[int, ...], error: float | None, why: Unknown
) -> None:
    shown = np.array([float(corners[0])])
    ends = cells(corners)
    found = turning(spread(shown, ends, None), shown, ends, cells(inside, missing))
    assert found.unknown[0] == why
    assert error is None or found.errors[0] == error


def test_a_part_of_a_whole_keeps_its_narrow_bar_where_nothing_turns() -> None:
    shown, ends = np.array([0.0]), cells([0, -1, -7, 7, 1])
    narrow = spread(shown, ends, None, np.array([True]))
    assert turning(narrow, shown, ends, cells([-6.9, 6.9])).errors == narrow.errors
