"""Affine forms of answers: value, error, interval, bound, kind, source and charge of a number made of several."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpsql.domain import BooleanDomain, TableDomain
from dpsql.postprocess import combine, divide, merged_source
from dpsql.query import Factor, Form, LinearQuery, Term, linear_query
from dpsql.result import Answer, Source

TABLE = TableDomain("t", tuple(BooleanDomain(name, nullable=False) for name in ("a", "b", "c")))


def over(column: str) -> LinearQuery:
    query = linear_query(TABLE, [Factor((column,), np.array([0, 1]))])
    assert query is not None
    return query


A, B, C = over("a"), over("b"), over("c")
ANSWERS = {
    A: Answer(100, 10.0, (90.0, 110.0), "exact", "measurement", True, 10.0, 0.25),
    B: Answer(40, 4.0, (36.0, 44.0), "exact", "measurement", True, 5.0, 0.5),
    C: Answer(7, 1.0, (6.0, 8.0), "calibrated", "hypothesis", False, None, 0.0),
}


def combined(*terms: tuple[float, LinearQuery], constant: float = 0.0, integer: bool = False, **changed: Any) -> Answer:
    """The form's value; ``changed`` replaces fields of the answer to B."""
    answers = {**ANSWERS, B: replace(ANSWERS[B], **changed)}
    return combine(Form(constant, tuple(Term(c, q) for c, q in terms)), answers.__getitem__, integer=integer)


def test_a_sum_of_two() -> None:
    assert combined((2, A), (3, B)) == Answer(320, 32.0, (288.0, 352.0), "exact", "measurement", True, 35.0, 0.75)


def test_a_difference_adds_its_errors() -> None:
    """|x - y| can be off by both errors at once, whatever the signs of their coefficients."""
    answer = combined((2, A), (-3, B))
    assert (answer.value, answer.error, answer.certified_bound) == (80, 32.0, 35.0)
    assert answer.interval == (48.0, 112.0)


def test_a_constant_moves_the_number_and_not_its_error() -> None:
    answer = combined((-1, A), constant=1000.0, integer=True)
    assert answer == Answer(900, 10.0, (890.0, 910.0), "exact", "measurement", True, 10.0, 0.25)


def test_one_count_is_its_own_answer() -> None:
    assert combined((1, B), integer=True) is not ANSWERS[A]
    assert combine(Form(0.0, (Term(1, A),)), ANSWERS.__getitem__, integer=True) is ANSWERS[A]


@pytest.mark.parametrize(("terms", "constant"), [([(2, A)], 0.0), ([(1, A)], 5.0), ([(1, A), (1, B)], 0.0)])
def test_more_than_one_count_is_worked_out(terms: list[tuple[float, LinearQuery]], constant: float) -> None:
    answer = combined(*terms, constant=constant, integer=True)
    assert answer.value == constant + sum(c * (ANSWERS[q].value or 0) for c, q in terms)
    assert type(answer.value) is int


def test_one_part_of_a_double_is_a_double() -> None:
    answer = combined((1, A))
    assert (answer.value, type(answer.value)) == (100.0, float)


def test_the_interval_of_a_rounded_number_holds_that_of_the_number() -> None:
    answer = combined((0.5, C), constant=-2.0, integer=True)  # 1.5 give or take .5
    assert (answer.value, answer.error, answer.interval) == (2, 1.0, (1.0, 3.0))
    assert combined((0.5, C)).value == 3.5


@pytest.mark.parametrize(
    ("terms", "constant", "interval"),
    [
        ([(1, B), (1, C)], 0.0, (0.0, 92.0)),  # a sum of counts
        ([(1, B), (1, C)], 5.0, (0.0, 97.0)),
        ([(1, B), (0.5, C)], 0.0, (0.0, 86.0)),  # of which a part is guessed
        ([(1, B), (1, C)], -1.0, (-9.0, 91.0)),
    ],
)
def test_what_no_row_makes_smaller_is_not_negative(
    terms: list[tuple[float, LinearQuery]], constant: float, interval: tuple[float, float]
) -> None:
    wide = {**ANSWERS, B: replace(ANSWERS[B], error=40.0), C: replace(ANSWERS[C], value=2, error=10.0)}
    form = Form(constant, tuple(Term(c, q) for c, q in terms))
    found = combine(form, wide.__getitem__, integer=True)
    assert found.error is not None and found.value is not None
    assert found.interval == pytest.approx(interval)
    assert combine(form, wide.__getitem__, integer=False).interval == pytest.approx(interval, abs=0.6)
    free = combine(form, wide.__getitem__, integer=False, sign=0)
    assert free.interval == (float(free.value or 0) - found.error, float(free.value or 0) + found.error)


def test_a_sum_that_may_be_negative_has_an_interval_below_0() -> None:
    found = combine(Form(0.0, (Term(-1, B),)), ANSWERS.__getitem__, integer=True, sign=0)
    assert found.interval is not None and found.value is not None
    assert found.interval[0] <= found.value <= found.interval[1]


def test_an_unknown_part_makes_the_error_unknown() -> None:
    first = combined((1, B), (1, A), error=None, interval=None)
    last = combined((1, A), (1, B), error=None, interval=None)
    for answer in (first, last):
        assert (answer.value, answer.error, answer.interval) == (140, None, None)
        assert (answer.certified, answer.certified_bound) == (True, 15.0)


def test_certified_is_what_is_certified_throughout() -> None:
    assert combined((1, A), (1, B)).certified
    for terms in ([(1, A), (1, C)], [(1, C), (1, A)]):
        answer = combined(*terms)
        assert (answer.certified, answer.certified_bound) == (False, None)


def test_one_calibrated_part_makes_a_calibrated_number() -> None:
    assert combined((1, A), (1, B)).error_kind == "exact"
    assert combined((1, A), (1, C)).error_kind == combined((1, C), (1, A)).error_kind == "calibrated"


def test_what_is_guessed_of_rows_is_never_exact() -> None:
    found = combine(Form(0.0, (Term(1.0, A, 0.5), Term(1.0, B))), ANSWERS.__getitem__, integer=False)
    assert found.error_kind == "calibrated" and (found.error or 0.0) > (combined((1, A), (1, B)).error or 0.0)


def test_charges_add_up_whatever_the_coefficients() -> None:
    assert combined((-7, A), (0.5, B), (1, C)).charged == 0.75


def test_a_part_without_a_value_counts_nothing() -> None:
    assert combined((1, A), (1, B), value=None).value == 100


@pytest.mark.parametrize(("integer", "value"), [(True, 2), (False, 2.4)])
def test_a_public_form_is_exact(integer: bool, value: float) -> None:
    answer = combine(Form(2.4), ANSWERS.__getitem__, integer=integer)
    assert answer == Answer(value, 0.0, (value, value), "exact", "public", True, 0.0)
    assert (type(answer.value) is int) == integer


@pytest.mark.parametrize(
    ("sources", "least"),
    [
        (["public", "measurement"], "measurement"),
        (["measurement", "hypothesis", "public"], "hypothesis"),
        (["public"], "public"),
        ([], "public"),
    ],
)
def test_the_least_certain_source(sources: list[Source], least: Source) -> None:
    assert merged_source(sources) == merged_source(sources[::-1]) == least
    parts = [replace(ANSWERS[A], source=s) for s in sources]
    if len(parts) == 2:
        assert combined((1, A), (1, B)).source == "measurement"
        assert divide(*parts).source == divide(*parts[::-1]).source == least


def test_a_ratio() -> None:
    """17.5 +- (10 + 17.5 * .5) / (10 - .5) by Fieller; the certified bound likewise, from the certified bounds."""
    answer = divide(replace(ANSWERS[A], value=175), replace(ANSWERS[B], value=10, error=0.5, certified_bound=2.0))
    assert answer.value == 17.5
    assert answer.error == pytest.approx((10 + 17.5 * 0.5) / 9.5)
    assert answer.certified_bound == pytest.approx((10 + 17.5 * 2) / 8)
    assert answer.interval == (17.5 - (answer.error or 0), 17.5 + (answer.error or 0))
    assert (answer.certified, answer.charged, answer.error_kind) == (True, 0.75, "exact")


@pytest.mark.parametrize(("top", "rows", "error"), [(175, 10, 0.5), (-175, 10, 9.5), (0, 10, 3.0), (40, 200, 0.0)])
def test_a_calibrated_ratio_ends_where_fieller_says(top: int, rows: int, error: float) -> None:
    """The roots of (top - q rows)^2 = e_top^2 + q^2 e_rows^2; the certified bound stays that of any dependence."""
    above = replace(ANSWERS[A], value=top, error_kind="calibrated")
    below = replace(ANSWERS[B], value=rows, error=error, certified_bound=1.0)
    answer, known = divide(above, below), divide(replace(above, error_kind="exact"), below)
    assert above.error is not None
    ends = np.roots([rows**2 - error**2, -2 * top * rows, top**2 - above.error**2])
    assert answer.error == pytest.approx(max(abs(ends - top / rows)))
    assert known.error is not None and answer.error is not None and answer.error <= known.error + 1e-12
    assert answer.certified_bound == known.certified_bound
    assert divide(above, below, independent=False).error == known.error  # ledgers of older rules


def test_the_ratio_of_a_negative_sum() -> None:
    """The error grows with the size of the quotient, whatever its sign."""
    below = divide(replace(ANSWERS[A], value=-175), replace(ANSWERS[B], value=10, error=0.5))
    above = divide(replace(ANSWERS[A], value=175), replace(ANSWERS[B], value=10, error=0.5))
    assert (below.value, below.error) == (-17.5, above.error)
    assert below.interval is not None and below.interval[0] < -17.5 < below.interval[1] < 0


@pytest.mark.parametrize("error", [10.0, 11.0])
def test_a_ratio_whose_denominator_may_be_zero_is_null(error: float) -> None:
    answer = divide(ANSWERS[A], replace(ANSWERS[B], value=10, error=error, certified_bound=1.0))
    assert (answer.value, answer.error, answer.interval, answer.certified) == (None, None, None, False)


def test_a_ratio_whose_denominator_has_no_known_error_has_none() -> None:
    answer = divide(ANSWERS[A], replace(ANSWERS[B], value=10, error=None, certified_bound=1.0))
    assert (answer.value, answer.error, answer.interval) == (10.0, None, None)
    assert answer.certified and answer.certified_bound == pytest.approx(20 / 9)


def test_a_ratio_without_a_certified_bound_is_not_certified() -> None:
    known = replace(ANSWERS[B], value=10)
    for top, bottom in (
        (replace(ANSWERS[A], certified=False), known),
        (ANSWERS[A], replace(known, certified=False)),
        (ANSWERS[A], replace(known, certified_bound=10.0)),
    ):
        assert not divide(top, bottom).certified
    assert divide(ANSWERS[A], known).certified


@pytest.mark.parametrize("low_high", [(None, None), (0.0, 5.0)])
@pytest.mark.parametrize(("top", "bottom"), [(30, 0), (30, -4), (None, 5), (30, None)])
def test_a_ratio_over_nothing_is_null(
    top: float | None, bottom: float | None, low_high: tuple[float | None, float | None]
) -> None:
    answer = divide(replace(ANSWERS[A], value=top), replace(ANSWERS[C], value=bottom), *low_high)
    assert answer == Answer(None, None, None, "calibrated", "hypothesis", False, None, 0.25)


def test_kind_of_a_ratio() -> None:
    for top, bottom in ((A, C), (C, A)):
        assert divide(ANSWERS[top], ANSWERS[bottom]).error_kind == "calibrated"
    assert divide(ANSWERS[A], ANSWERS[B]).error_kind == "exact"


def test_nothing_is_certified_of_an_average_over_nothing() -> None:
    answer = divide(ANSWERS[A], replace(ANSWERS[B], value=0))
    assert (answer.value, answer.certified, answer.certified_bound) == (None, False, None)


def test_the_certified_bound_is_clipped_by_itself() -> None:
    """Error and bound are two intervals: each is clipped to the range, and each gives its own farther end."""
    top, bottom = replace(ANSWERS[A], value=850, error=20.0, certified_bound=200.0), replace(ANSWERS[B], value=10)
    narrow = divide(replace(top, certified_bound=20.0), replace(bottom, error=0.5, certified_bound=0.5), 17, 90)
    answer = divide(top, replace(bottom, error=0.5, certified_bound=0.5), 17, 90)
    assert answer.error == narrow.error == narrow.certified_bound == pytest.approx((20 + 85 * 0.5) / 9.5)
    assert answer.certified_bound == pytest.approx((200 + 85 * 0.5) / 9.5)


def test_the_interval_of_a_count_below_zero_is_zero() -> None:
    below = replace(ANSWERS[A], value=-30)
    answer = combine(Form(0.0, (Term(1, A), Term(1, C))), {**ANSWERS, A: below}.__getitem__, integer=True)
    assert (answer.value, answer.error, answer.interval) == (-23, 11.0, (0.0, 0.0))


def test_a_whole_number_keeps_the_interval_of_the_guess_that_it_is_rounded_from() -> None:
    """.6 of 374 rows that are known exactly, give or take .4 of each: all of them are possible."""
    known = replace(ANSWERS[A], value=374, error=0.0, interval=(374.0, 374.0), certified_bound=0.0)
    form = Form(0.0, (Term(0.6, A, doubt=0.4),))
    answer = combine(form, {A: known}.__getitem__, integer=True)
    assert answer.value == 224
    assert answer.interval is not None and answer.interval[1] == pytest.approx(374)
    assert answer.error == answer.certified_bound == pytest.approx(150)
