"""Averages within the public range of what is averaged."""

from math import isclose

import pytest

from dpsql.postprocess import divide
from dpsql.result import Answer
from dpsql.sql import FrontEnd
from tests.support.exact import front_end


def measured(value: float, error: float | None, bound: float | None = None) -> Answer:
    interval = None if error is None else (value - error, value + error)
    return Answer(value, error, interval, "exact", "measurement", bound is not None, bound)


def test_a_wild_average_is_clipped() -> None:
    answer = divide(measured(2270, 400), measured(10, 4), 17, 90)
    assert answer.value == 90
    assert answer.interval == (17, 90)
    assert answer.error == 73


def test_one_end_of_the_interval_is_clipped() -> None:
    free = divide(measured(200, 20), measured(10, 1))
    clipped = divide(measured(200, 20), measured(10, 1), 17, 90)
    assert free.interval is not None
    assert free.interval[0] < 17
    assert clipped.interval == (17, free.interval[1])
    assert clipped.error == pytest.approx(free.error)  # the other end is as far as before


def test_nothing_changes_well_inside_the_range() -> None:
    parts = measured(400_000, 900, 900), measured(10_000, 30, 30)
    assert divide(*parts, 17, 90) == divide(*parts)


@pytest.mark.parametrize(("rows", "error", "value"), [(5, 8, None), (8, 8, None), (9, 8, 100 / 3), (1, 0, 90)])
def test_there_is_no_average_where_there_may_be_no_row(rows: int, error: float, value: float | None) -> None:
    """A group that cannot occur has a noisy count and a noisy sum, and would come first in ORDER BY AVG(x) DESC."""
    answer = divide(measured(300, 100), measured(rows, error), 17, 90)
    assert answer.value == (None if value is None else pytest.approx(value))
    if value is None:
        assert (answer.error, answer.interval) == (None, None)


def test_an_interval_that_misses_the_range_gives_way_to_it() -> None:
    answer = divide(measured(30_000, 100, 120), measured(100, 2, 3), 17, 90)
    assert answer.value == 90
    assert answer.interval == (17, 90)
    assert answer.error == answer.certified_bound == 73


@pytest.mark.parametrize("top", [-500, 0, 150, 500, 3000])
@pytest.mark.parametrize("bottom", [1, 4, 10, 1000])
@pytest.mark.parametrize("errors", [(1, 0.5), (300, 3.5), (0, 0)])
def test_clipping_only_shrinks(top: float, bottom: float, errors: tuple[float, float]) -> None:
    free = divide(measured(top, errors[0], errors[0]), measured(bottom, errors[1], errors[1]))
    clipped = divide(measured(top, errors[0], errors[0]), measured(bottom, errors[1], errors[1]), 17, 90)
    if bottom <= errors[1]:
        assert clipped.value is None
        return
    assert clipped.value is not None
    assert clipped.error is not None
    assert clipped.interval is not None
    assert 17 <= clipped.interval[0] <= clipped.value <= clipped.interval[1] <= 90
    assert isclose(clipped.error, max(clipped.value - clipped.interval[0], clipped.interval[1] - clipped.value))
    if free.interval is not None and free.error is not None and free.interval[0] <= 90 and free.interval[1] >= 17:
        assert clipped.error <= free.error + 1e-9
        assert clipped.certified_bound is not None
        assert clipped.certified_bound <= free.error + 1e-9


def test_no_average_over_nothing() -> None:
    answer = divide(measured(30, 9), measured(0, 9), 17, 90)
    assert (answer.value, answer.error, answer.interval) == (None, None, None)


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("AVG(age)", (17, 25)),
        ("AVG(age - 20)", (-3, 5)),
        ("AVG(-hours)", (-20, 0)),
        ("AVG(nullif(kids, 0))", (1, 2)),
        ("AVG(age) FILTER (WHERE member)", (17, 25)),
        ("AVG(CASE WHEN member THEN 1 ELSE 0 END)", (0, 1)),
        ("AVG(CASE WHEN member THEN 3 END)", (3, 3)),
        ("AVG(CASE WHEN member THEN -2 ELSE 5.5 END)", (-2, 5.5)),
        ("AVG((age > 20)::INT)", (0, 1)),
        ("AVG(CASE WHEN name = 'a' THEN age ELSE kids END)", (0, 25)),
        ("AVG(CASE WHEN name = 'a' THEN age END)", (17, 25)),
        ("AVG(7)", (7, 7)),
        ("AVG(CASE WHEN member THEN NULL ELSE kids + 1 END)", (1, 3)),
        ("SUM(age)", (None, None)),
        ("COUNT(*)", (None, None)),
    ],
)
def test_the_range_of_an_average(front: FrontEnd, expression: str, expected: tuple[float, float]) -> None:
    (block,) = front.lower(f"SELECT {expression} FROM people").blocks
    (aggregate,) = block.aggregates
    assert (aggregate.low, aggregate.high) == expected
