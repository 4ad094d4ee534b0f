"""Answers kept as arrays are the answers that they stand for."""

import numpy as np
import pytest

from dpsql.ledger.answer_text import decode_crosstab, encode_crosstab
from dpsql.postprocess import shown_count
from dpsql.result import Answer, CrosstabAnswers
from dpsql.session.answers import from_model

FOUND = CrosstabAnswers(np.array([3, -2, 0, 9]), np.array([5.0, 7.0, np.nan, 2.0]), "calibrated", "hypothesis")


def test_each_is_the_answer_of_a_model() -> None:
    one_by_one = (from_model(3, 5, None), from_model(-2, 7, None), from_model(0, None, None), from_model(9, 2, None))
    assert tuple(FOUND) == one_by_one == FOUND[:]
    assert [FOUND[i] for i in (0, 1, 2, -1)] == [*one_by_one]
    assert one_by_one == FOUND and one_by_one[:3] != FOUND
    for answer in FOUND:
        assert type(answer.value) is int and (answer.error is None or type(answer.error) is float)


def test_what_is_certified_is_so_for_all() -> None:
    found = CrosstabAnswers(np.array([3]), np.array([5.0]), "exact", "measurement", 8.0)
    assert found[0] == Answer(3, 5.0, (0.0, 8.0), "exact", "measurement", certified=True, certified_bound=8.0)


def test_what_is_shown_and_what_may_be_nothing() -> None:
    assert [a.value for a in FOUND.shown()] == [3, 0, 0, 9]
    assert [a.interval for a in FOUND.shown()] == [(0.0, 8.0), (0.0, 5.0), None, (7.0, 11.0)]
    assert [*FOUND.shown()] == [shown_count(a) for a in FOUND] and FOUND.shown().numbers.tolist() == [3, 0, 0, 9]
    assert FOUND.near_zero().tolist() == [True, True, False, False]
    assert [a.value for a in FOUND.among(np.array([3, 3, 1]))] == [9, 9, -2]


@pytest.mark.parametrize("bound", [None, 0.1 + 0.2])
def test_texts_keep_every_bit(bound: float | None) -> None:
    found = CrosstabAnswers(np.array([2**62, -(2**62)]), np.array([0.1 + 0.2, np.nan]), "exact", "public", bound)
    assert decode_crosstab(encode_crosstab(found)) == found
