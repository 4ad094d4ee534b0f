"""Queries that rows count in more than once: what one release for them measures, draws, is paid as and keeps."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.first.payload import CONTINGENCY, RESIDUAL, decode_release
from dpsql.hypothesis.rules import MODEL_RULES
from dpsql.planning.measured_axes import own_sds
from dpsql.planning.plans import SPARE_QUESTIONS
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import Factor, LinearQuery
from dpsql.session.asker import Asker
from dpsql.session.own.families import MOST_FAMILIES, families
from dpsql.session.table_state import TableState
from tests.support.asking import ask, ask_all
from tests.support.simulated import table_of
from tests.support.warm import DATA, WIDE, Recorder, asker_of, ledger_of, policy, query, unit

QUESTIONS = 6
A, B = 40, 9
NUMBERS = np.arange(A)


def values_of_a(b: int | None = None) -> list[LinearQuery]:
    """What an average of a asks, its value 0 standing for NULL: how many values there are, and their sum."""
    beside = () if b is None else (Factor(("b",), np.array(unit(B, b))),)
    there = Factor(("a",), (NUMBERS > 0).astype(np.int64))
    return [LinearQuery("t", (f, *beside)) for f in (there, Factor(("a",), NUMBERS, A - 1))]


def of_both_signs() -> list[LinearQuery]:
    """The two halves of a sum of a - 20."""
    halves = np.maximum(NUMBERS - 20, 0), np.maximum(20 - NUMBERS, 0)
    return [LinearQuery("t", (Factor(("a",), half, int(half.max())),)) for half in halves]


def nested(number: int) -> list[LinearQuery]:
    return [query(WIDE, a=[int(i <= 4 * k) for i in range(A)]) for k in range(number)]


def truth(q: LinearQuery) -> float:
    out = np.ones(len(DATA[WIDE]["a"]))
    for f in q.factors:
        values = WIDE.finite_domain(f.columns[0]).values
        out *= f.weights[[values.index(v) for v in DATA[WIDE][f.columns[0]]]] / f.unit
    return float(out.sum())


def few(neighbors: Any = "add-remove") -> Policy:
    privacy = Privacy(Fraction(1), Fraction(1, 10**6), neighbors, planned_queries=QUESTIONS)
    return Policy(privacy, (WIDE,), Mechanism())


def opened(rules: Policy, seed: int = 1, models: int = NEWEST_MODELS) -> tuple[Asker, Recorder]:
    """A session with noise for each question, whose row count is known."""
    ledger = ledger_of(rules, models=models)
    asker, _ = asker_of(rules, ledger, seed)
    ask(asker, LinearQuery("t", ()))
    assert asker.plan.questions == QUESTIONS
    return asker, ledger


def released(ledger: Recorder) -> list[str]:
    return [kind for kind, _ in decode_release([e for e in ledger.events() if e.kind == "release"][-1].payload)]


# --- which queries are together ---------------------------------------------------------------------------------


def test_counts_and_sums_are_apart_and_so_are_numbers_of_both_signs() -> None:
    for asked in (values_of_a(), values_of_a(2), of_both_signs()):
        assert families(asked) == [(asked[0],), (asked[1],)]


def test_the_cells_of_a_group_by_stay_together() -> None:
    asked = [q for b in range(B) for q in values_of_a(b)]
    assert families(asked) == [tuple(asked[::2]), tuple(asked[1::2])]
    assert families(asked[::2]) == [tuple(asked[::2])]


def test_queries_that_rows_are_in_twice_are_each_alone_unless_they_are_many() -> None:
    few_of_them = nested(3)
    assert families(few_of_them) == [(q,) for q in few_of_them]
    many = nested(MOST_FAMILIES + 1)
    assert families(many) == [tuple(many)]


# --- the release ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("asked", [values_of_a(), values_of_a(2), of_both_signs()])
def test_each_is_one_number_and_together_they_cost_one_question(
    drawn: list[tuple[Fraction, int]], neighbors: str, asked: list[LinearQuery]
) -> None:
    asker, ledger = opened(few(neighbors))
    parts, before = asker.states["t"].own.parts(asked, spare=False), ledger.totals().spent
    del drawn[:], ledger.log[:]
    answers = ask_all(asker, asked)
    assert ledger.log == ["reserve", "noise", "noise", "release"]
    assert [size for _, size in drawn] == [1, 1]
    charged, plan = ledger.totals().spent - before, asker.states["t"].plan
    assert charged == plan.question.units
    changes = [plan.weighted_l2_squared(p.residual.low, p.residual.high) for p in parts if p.residual is not None]
    costs = [asker.plan.release_cost(sigma, change) for (sigma, _), change in zip(drawn, changes, strict=True)]
    assert sum(costs) <= charged
    assert all(0.9 * charged / 2 < cost for cost in costs)
    assert [a.charged for a in answers] == pytest.approx([asker.plan.as_epsilon(charged), 0.0])
    assert released(ledger) == [RESIDUAL, RESIDUAL]
    assert ask_all(asker, asked) == [replace(a, charged=0.0) for a in answers]


def test_no_number_has_the_noise_of_all_values() -> None:
    """An average of a column of 40 values, a count and a sum: the noise of 40 parts would be in both."""
    asker, _ = opened(few())
    state, asked = asker.states["t"], values_of_a()
    whole = own_sds(asked, float(state.plan.question.sigma))
    found = state.own.own_sds(asked)
    assert found[0] < whole[0] / 5 and found[1] < whole[1] / 3
    half = np.hypot(float(state.plan.question.sigma) / np.sqrt(2), float(state.plan.row_count.sigma) / 2)
    assert found == pytest.approx([half] * 2, rel=0.02)


def test_sums_by_groups_are_a_number_for_each_group(drawn: list[tuple[Fraction, int]]) -> None:
    """Of nine groups' counts and sums; as a whole each of 360 cells would have noise."""
    asker, ledger = opened(few())
    asked = [q for b in range(B) for q in values_of_a(b)]
    counts, sums = asker.states["t"].own.parts(asked, spare=False)
    assert (counts.queries, sums.queries) == (tuple(asked[::2]), tuple(asked[1::2]))
    assert counts.residual is None and sums.residual is not None  # of a group's count nothing is known
    del drawn[:]
    answers = ask_all(asker, asked)
    assert [size for _, size in drawn] == [2 * B, B]  # the counts' parts: each group, NULL or not
    assert released(ledger) == [CONTINGENCY, RESIDUAL]
    sds = asker.states["t"].own.own_sds(asked)
    assert all(abs((a.value or 0) - truth(q)) <= 5 * sd for a, q, sd in zip(answers, asked, sds, strict=True))


def some_of(chosen: int) -> LinearQuery:
    """Of the first values of a those whose bit is set."""
    return query(WIDE, a=[chosen >> i & 1 for i in range(A)])


@pytest.mark.parametrize(("sets", "models"), [(3, 27), (4, NEWEST_MODELS)])
def test_what_has_less_noise_together_is_measured_together(sets: int, models: int) -> None:
    """Sets of rows and all unions of two of them, and of three sets that of all: as many parts as sets, and seven or
    ten numbers."""
    asker, ledger = opened(few(), models=models)
    unions = [some_of(chosen) for chosen in range(1, 1 << sets) if sets == 3 or chosen.bit_count() < 3]
    assert len(families(unions, broad_apart=models > 27)) in (7, 1 + 6)
    (part,) = asker.states["t"].own.parts(unions, spare=False)
    assert part.residual is None
    ask_all(asker, unions)
    assert released(ledger) == [CONTINGENCY]


def median_beside_average() -> list[LinearQuery]:
    """What both ask: the cells of a, how many values there are, and their sum."""
    return [*(some_of(1 << i) for i in range(1, A)), *values_of_a()]


def test_a_count_of_all_values_is_a_family_beside_the_counts_of_each() -> None:
    asked = median_beside_average()
    assert families(asked) == [tuple(asked)]
    assert families(asked, broad_apart=True) == [(asked[-2],), tuple(asked[:-2]), (asked[-1],)]
    nobody = [some_of(0b1011), some_of(0b1101), some_of(0b0110)]
    assert families(nobody, broad_apart=True) == [(q,) for q in nobody]
    rings = [query(WIDE, a=[int(i in (k, (k + 1) % A)) for i in range(A)]) for k in range(A)]
    assert families(rings, broad_apart=True) == [tuple(rings)]


def test_an_average_beside_a_median_is_worth_as_much_as_its_cells(drawn: list[tuple[Fraction, int]]) -> None:
    """Cells have half of the question's precision, and the average all but twice the noise that it has alone."""
    asker, ledger = opened(few())
    own, asked = asker.states["t"].own, median_beside_average()
    sigma = float(asker.states["t"].plan.question.sigma)
    alone, found = own.own_sds(values_of_a()), own.own_sds(asked)
    assert found[: A - 1] == pytest.approx([sigma * np.sqrt(2.0)] * (A - 1), rel=0.02)
    assert all(alone[i] < found[A - 1 + i] < 1.5 * alone[i] for i in (0, 1))
    before = ledger.totals().spent
    del drawn[:]
    answers = ask_all(asker, asked)
    assert sorted(size for _, size in drawn) == [1, 1, A]
    assert ledger.totals().spent - before <= asker.states["t"].plan.question.units
    assert all(abs((a.value or 0) - truth(q)) <= 5 * sd for a, q, sd in zip(answers, asked, found, strict=True))
    older, _ = opened(few(), models=27)
    whole = older.states["t"].own.own_sds(asked)
    assert whole[A - 2] < found[A - 2] and whole[A - 1] > 4 * found[A - 1] and whole[A] > 2 * found[A]
    assert [rules.families_alike for rules in MODEL_RULES.values()] == [False] * 27 + [True] * (len(MODEL_RULES) - 27)


@pytest.mark.parametrize(("told", "seen"), [(1.0, False), (0.5, True), (2.0, True)])
def test_answers_err_as_much_as_is_said_and_another_sd_would_be_seen(told: float, seen: bool) -> None:
    """Both numbers of 80 sessions; the row count's error is in each of them."""
    off = []
    for seed in range(80):
        asker, _ = opened(few(), seed)
        asked = values_of_a(seed % B)
        sds = asker.states["t"].own.own_sds(asked)
        off += [((a.value or 0) - truth(q)) / sd for a, q, sd in zip(ask_all(asker, asked), asked, sds, strict=True)]
    squares = float(np.square(off).mean()) / told**2
    assert (not 0.7 < squares < 1.35) == seen


def test_ledgers_of_the_ninth_rules_measure_them_together() -> None:
    asker, ledger = opened(few(), models=9)
    ask_all(asker, values_of_a())
    assert released(ledger) == [CONTINGENCY]
    assert [rules.families for rules in MODEL_RULES.values()] == [False] * 9 + [True] * (len(MODEL_RULES) - 9)


GROUPS, VALUES, FULL = 120, 21, 10
SPARSE = table_of((GROUPS, VALUES), (True,))


def test_sums_of_many_empty_groups_are_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model is beside them that they could be drawn to: ten sums of 50 among 120 groups, and their errors."""
    a, b = SPARSE.finite
    rows = [(a.values[g], b.values[VALUES - 1]) for g in range(FULL) for _ in range(50)]
    monkeypatch.setitem(DATA, SPARSE, {a.name: [x for x, _ in rows], b.name: [y for _, y in rows]})
    privacy = Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=QUESTIONS)
    rules = Policy(privacy, (SPARSE,), Mechanism())
    values = np.arange(b.size)
    asked = [
        LinearQuery("t", (Factor((a.name,), np.array(unit(a.size, g))), factor))
        for g in range(GROUPS)
        for factor in (
            Factor((b.name,), (values > 0).astype(np.int64)),
            Factor((b.name,), np.where(values < VALUES, values, 0), VALUES - 1),
        )
    ]
    off, covered = [], []
    for seed in range(12):
        asker, _ = asker_of(rules, ledger_of(rules), seed)
        ask(asker, LinearQuery("t", ()))
        sums = ask_all(asker, asked)[1 : 2 * FULL : 2]
        off += [(s.value or 0) - 50 for s in sums]
        covered += [abs((s.value or 0) - 50) <= (s.error or 0) for s in sums]
    spread = float(np.std(off)) / np.sqrt(len(off))
    assert abs(float(np.mean(off))) < 4 * spread  # drawn towards 0 they were 27 on average
    assert np.mean(covered) > 0.88  # and 61 % within their errors


# --- spare releases ---------------------------------------------------------------------------------------------


def test_a_spare_release_says_of_each_what_one_alone_would_and_no_lessons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        TableState, "error_bars", lambda state, queries: [20 if len(q.scope) < 3 else 10**6 for q in queries]
    )
    made = policy(WIDE, 1)
    rules = replace(made, privacy=replace(made.privacy, planned_queries=24))
    ledger = ledger_of(rules, spares=True)
    asker, _ = asker_of(rules, ledger, 1)
    ask(asker, query(WIDE, a=unit(A, 0)))
    assert asker.plan.spares == int(SPARE_QUESTIONS * 24)
    asked = [replace(q, factors=(*q.factors, Factor(("c",), np.array(unit(8, 1))))) for q in values_of_a(2)]
    own = asker.states["t"].own
    alone = [own.spare_sds([q])[0] for q in asked]
    assert own.spare_sds(asked) == pytest.approx(alone, rel=1e-4)
    assert own.spares_for(asked) == sum(own.spares_for([q]) for q in asked) == 2
    ask_all(asker, asked)
    assert released(ledger) == [RESIDUAL, RESIDUAL]
    payload = [e for e in ledger.events() if e.kind == "release"][-1].payload
    assert all("lessons" not in part for part in payload["measurements"])
    again, _ = asker_of(rules, ledger, 2)
    assert [a.value for a in ask_all(again, asked)] == [a.value for a in ask_all(asker, asked)]
