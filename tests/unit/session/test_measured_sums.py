"""Averages and sums from what was measured of distances: values and bars worked out by hand."""

from collections.abc import Callable
from math import hypot

import numpy as np
import pytest

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.rules import MODEL_RULES
from dpsql.postprocess import shown_count
from dpsql.query import Factor, Form, LinearQuery, Term
from dpsql.result import Answer
from dpsql.session.own.by_value.measured_beside import Distance
from dpsql.session.results.sums import summed
from dpsql.session.results.unasked import Said, Unasked
from dpsql.sql.statement import Aggregate

COUNT = LinearQuery("t", (Factor(("g",), np.array([0, 1])),))
SUM = LinearQuery("t", COUNT.factors, None, "x")


def exact(value: int, error: float) -> Answer:
    return Answer(value, error, (value - error, value + error), "exact", "measurement", certified=True)


def told(answers: dict[str, Answer]) -> Callable[[LinearQuery], Answer]:
    return lambda query: answers[query.digest]


def average(rows: Answer, total: Answer, distance: Distance | None) -> Answer:
    """Of values from 0 to 100."""
    form = Aggregate("a", "DOUBLE", (Form(0.0, (Term(100.0, SUM),)),), (Form(0.0, (Term(1.0, COUNT),)),), 0.0, 100.0)
    unasked = Unasked(distance_of=lambda s, c: distance if (s, c) == (SUM, COUNT) else None)
    (found,) = summed(form, told({COUNT.digest: rows, SUM.digest: total}), unasked)
    return found


def test_an_average_is_the_middle_and_the_distance_for_each_row() -> None:
    found = average(exact(400, 20.0), exact(100, 40.0), Distance(0.5, -104.0, 10.0))
    assert found.value == pytest.approx(50.0 - 26.0)
    share, quotient = (20.0 / 400) ** 2, -26.0
    half = hypot(DEVIATIONS * 1000.0 / 400 * (1 - share) ** 0.5, quotient * 20.0 / 400)
    assert found.error == pytest.approx((26.0 * share + half) / (1 - share))
    assert found.error is not None
    before = average(exact(400, 20.0), exact(100, 40.0), None)
    assert before.value == 25.0 and before.error is not None and before.error > 2 * found.error


def test_what_could_be_anything_is_as_the_sum_says() -> None:
    """Of some rows, which noise has made more, the middle would be all that is left of the distance."""
    found = average(exact(30, 28.0), exact(2, 30.0), Distance(0.5, -4.0, 12.0))
    assert found.interval == (0.0, 100.0)
    assert found.value == pytest.approx(100.0 * 2 / 30)


@pytest.mark.parametrize("nonnegative", [True, False])
def test_a_sum_is_told_as_it_was_measured(nonnegative: bool) -> None:
    form = Aggregate("a", "DOUBLE", (Form(0.0, (Term(1000.0, SUM),)),), nonnegative=nonnegative)
    unasked = Unasked(sum_of=lambda s: Said(0.25, 0.4) if s is SUM else None)
    (found,) = summed(form, told({SUM.digest: exact(0, 30.0)}), unasked)
    assert (found.value, found.error) == (250.0, 400.0)
    assert found.interval == (0.0 if nonnegative else -150.0, 650.0)


@pytest.mark.parametrize(
    ("sign", "value", "shown", "interval"),
    [(1, -250.0, 0, (0.0, 150.0)), (-1, 250.0, 0, (-150.0, 0.0)), (0, -250.0, -250.0, (-650.0, 150.0))],
)
def test_a_sum_is_shown_on_the_side_that_its_conditions_leave(
    sign: int, value: float, shown: float, interval: tuple[float, float]
) -> None:
    """By rules before 25 conditions said nothing of it."""
    form = Form(0.0, (Term(1000.0, SUM),))
    aggregate = Aggregate("a", "DOUBLE", (form,), nonnegative=False, signs=(sign,))
    unasked = Unasked(sum_of=lambda s: Said(value / 1000.0, 0.4))
    lookup = told({SUM.digest: exact(round(value / 1000.0), 30.0)})
    (found,) = summed(aggregate, lookup, unasked)
    assert (found.value, found.interval) == (value, interval)
    assert shown_count(found, sign).value == shown if sign else found.value == shown
    (older,) = summed(aggregate, lookup, unasked, MODEL_RULES[24])
    assert (older.value, older.interval) == (value, (value - 400.0, value + 400.0))
    (alone,) = summed(aggregate, lookup, Unasked())
    ends = (-30000.0, 30000.0)
    assert alone.interval == (ends[0] if sign <= 0 else 0.0, ends[1] if sign >= 0 else 0.0)


def test_a_sum_of_both_signs_takes_the_count_once() -> None:
    """-40 N + 100 S, with S = .5 N + T: 10 N + 100 T."""
    form = Aggregate("a", "DOUBLE", (Form(3.0, (Term(-40.0, COUNT), Term(100.0, SUM))),), nonnegative=False)
    unasked = Unasked(distance_of=lambda s, c: Distance(0.5, -7.5, 2.0) if (s, c) == (SUM, COUNT) else None)
    answers = {COUNT.digest: exact(50, 20.0), SUM.digest: exact(18, 30.0)}
    (found,) = summed(form, told(answers), unasked)
    assert found.value == pytest.approx(3.0 + 10.0 * 50 - 750.0)
    assert found.error == pytest.approx(hypot(200.0, DEVIATIONS * 200.0))


def test_whole_numbers_stay_whole() -> None:
    form = Aggregate("a", "BIGINT", (Form(0.0, (Term(1000.0, SUM),)),))
    (found,) = summed(
        form,
        told({SUM.digest: exact(0, 30.0)}),
        Unasked(sum_of=lambda _: Said(0.2504, 0.01)),
    )
    assert found.value == 250 and found.error == pytest.approx(10.4)
