"""Errors of sums and averages cover 95 % when their parts do, whatever the dependence (docs/privacy.md)."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpsql.domain import BooleanDomain, TableDomain
from dpsql.postprocess import combine, divide
from dpsql.query import Factor, Form, Term, linear_query
from dpsql.result import Answer, ErrorKind
from tests.support.entropy import SeededEntropy

SIGMA = 30
DRAWS = 4000  # the coverage's standard error is .0035
TABLE = TableDomain("t", (BooleanDomain("a"), BooleanDomain("b")))


def measured(value: float, sd: float) -> Answer:
    error = 1.96 * sd
    return Answer(value, error, (value - error, value + error), "exact", "measurement", True, error)


def draws(seed: int) -> list[int]:
    return SeededEntropy(seed).discrete_gaussian(Fraction(SIGMA), DRAWS)


def averages(
    weight: int, rows: int, top_noise: Sequence[int], bottom_noise: Sequence[int], kind: ErrorKind = "exact"
) -> list[tuple[float, float]]:
    """(deviation, error) of averages whose truth is 38; the sum's noise is ``weight`` times the count's."""
    out = []
    for x, y in zip(top_noise, bottom_noise, strict=True):
        top = replace(measured(38 * rows + weight * x, weight * SIGMA), error_kind=kind)
        answer = divide(top, measured(rows + y, SIGMA))
        assert answer.value is not None
        assert answer.error is not None
        out.append((abs(answer.value - 38), answer.error))
    return out


def coverage(pairs: Sequence[tuple[float, float]], scale: float = 1) -> float:
    return sum(deviation <= scale * error for deviation, error in pairs) / len(pairs)


@pytest.mark.parametrize(("weight", "rows"), [(20, 2000), (20, 400), (60, 20_000)])
def test_the_ratio_bound_covers_when_both_errors_pull_together(weight: int, rows: int) -> None:
    noise = draws(1)
    pairs = averages(weight, rows, noise, [-x for x in noise])
    assert coverage(pairs) >= 0.94
    assert coverage(pairs, 0.7) < 0.92  # a bound 30 % narrower does not cover


def test_the_ratio_bound_covers_independent_errors() -> None:
    assert coverage(averages(20, 2000, draws(2), draws(3))) >= 0.95


def test_the_calibrated_ratio_bound_covers_independent_errors_and_no_more_than_it_has_to() -> None:
    pairs = averages(20, 2000, draws(2), draws(3), "calibrated")
    assert 0.94 <= coverage(pairs) <= 0.965
    assert coverage(pairs, 0.7) < 0.88
    together = draws(5)
    assert coverage(averages(60, 2000, together, together, "calibrated")) >= 0.94  # they err in the same direction


def test_a_sum_covers_when_its_parts_agree() -> None:
    queries = [linear_query(TABLE, [Factor((c,), np.array([1, 0, 0]))]) for c in ("a", "b")]
    form = Form(0.0, (Term(3.0, queries[0]), Term(-2.0, queries[1])))
    pairs = []
    for x in draws(4):
        answers = {queries[0].digest: measured(500 + x, SIGMA), queries[1].digest: measured(900 - x, SIGMA)}
        combined = combine(form, lambda q, found=answers: found[q.digest], integer=False)
        assert combined.value is not None
        assert combined.error is not None
        pairs.append((abs(combined.value + 300), combined.error))
    assert 0.94 <= coverage(pairs) <= 0.965
    assert coverage(pairs, 0.7) < 0.88
