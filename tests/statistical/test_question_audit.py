"""Audits of questions with noise of their own: all of them together keep the claim, broken variants are flagged."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest

from dpsql.accounting import Accountant, calibrate
from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.domain import BooleanDomain, TableDomain
from dpsql.ledger import MemoryLedger
from dpsql.policy import Policy, Privacy
from dpsql.query import Factor, LinearQuery, linear_query
from dpsql.session.asker import Asker
from dpsql.session.own.own_noise import OwnNoise, Part
from tests.statistical.audit import DELTA, EPSILON, Run, audit, missed
from tests.support.asking import ask
from tests.support.counted import Counted
from tests.support.entropy import SeededEntropy

pytestmark = pytest.mark.statistical

QUESTIONS, COLUMNS, ROWS = 4, 30, 100
TABLE = TableDomain("t", tuple(BooleanDomain(f"b{i}", nullable=False) for i in range(COLUMNS)))
PRIVACY = Privacy(Fraction(EPSILON), Fraction(DELTA))
RULES = Policy(PRIVACY, (TABLE,))
ENGINES = {
    more: Counted(RULES, {"t": {c.name: [True] * (ROWS + more) for c in TABLE.columns}}) for more in (True, False)
}


@cache
def query(column: int) -> LinearQuery:
    found = linear_query(TABLE, [Factor((f"b{column}",), np.array([0, 1]))])
    assert found is not None
    return found


WHOLE = 4
"""Rules by which each release is of its question alone; by the newest all of them rest on the row count too."""


def asker(more: bool, seed: int, questions: int = QUESTIONS, models: int = WHOLE) -> Asker:
    plan = calibrate(PRIVACY.epsilon, PRIVACY.delta, hard_rounds=0)
    plan = replace(plan, questions=questions, models=models)
    return Asker(RULES, plan, ENGINES[more], MemoryLedger({"plan": plan.to_json()}), SeededEntropy(seed))


def sigma(questions: int = QUESTIONS) -> float:
    """The noise of one question, in rows."""
    return float(asker(True, 1, questions).states["t"].plan.question.sigma)


def asked(found: Asker, columns: int = QUESTIONS) -> float:
    """What paid answers add up to, each compared with the middle between both tables."""
    answers = [ask(found, query(i)) for i in range(columns)]
    assert {a.source for a in answers} == {"measurement"}
    return sum(float(a.value or 0) - ROWS - 0.5 for a in answers)


def all_questions(more: bool, seed: int) -> float:
    found = asker(more, seed)
    total = asked(found)
    assert found.payments_left() == 0
    return total


def all_halves(more: bool, seed: int) -> float:
    """By the newest rules: half of each answer is the row count's."""
    found = asker(more, seed, models=NEWEST_MODELS)
    total = asked(found)
    assert found.payments_left() == 0
    return total


def with_a_sixth_of_the_noise(more: bool, seed: int) -> float:
    parts = OwnNoise.parts

    def richer(own: OwnNoise, queries: Sequence[LinearQuery], *, spare: bool) -> tuple[Part, ...]:
        return tuple([replace(part, units=36 * part.units) for part in parts(own, queries, spare=spare)])

    with patch.object(OwnNoise, "parts", richer):
        return asked(asker(more, seed))


def without_a_purse(more: bool, seed: int) -> float:
    with patch.object(Accountant, "of", lambda plan: Accountant(10**40, Fraction(EPSILON))):
        found = asker(more, seed, questions=1)
    return asked(found, COLUMNS)


@pytest.mark.parametrize("run", [all_questions, all_halves])
@pytest.mark.parametrize("above", [0.0, 6.0])
def test_all_questions_together_keep_the_claim(run: Run, above: float) -> None:
    assert audit(run, 500, above) <= EPSILON


SIXTH_SD = QUESTIONS**0.5 * sigma() / 6
PURSELESS_SD = COLUMNS**0.5 * sigma(questions=1)


@pytest.mark.parametrize(
    ("run", "runs", "above"),
    [(with_a_sixth_of_the_noise, 90, 0.6 * SIXTH_SD), (without_a_purse, 84, 0.7 * PURSELESS_SD)],
)
def test_a_broken_variant_is_flagged(run: Run, runs: int, above: float) -> None:
    assert audit(run, runs, above) > EPSILON


def test_scores_far_out_say_more_than_those_above_the_middle() -> None:
    """Before a seed is chosen: 120 runs above the middle missed the two with probability 0.005 and 0.06."""
    assert missed(QUESTIONS / SIXTH_SD, 90, 0.6) < missed(QUESTIONS / SIXTH_SD, 120) < 0.006
    assert missed(COLUMNS / PURSELESS_SD, 84, 0.7) < missed(COLUMNS / PURSELESS_SD, 120) < 0.06
