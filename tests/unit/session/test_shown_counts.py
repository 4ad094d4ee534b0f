"""What is shown of released counts: cut at 0 at the last step, computed with as they were; and certified bounds."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import duckdb
import numpy as np
import pytest

import dpsql
import dpsql.mechanism
from dpsql.confidence import deviations_at_once, least_end
from dpsql.domain import IntegerDomain, TableDomain
from dpsql.planning import make_plan, plan_tables
from dpsql.policy import Policy, Privacy
from dpsql.query import Factor, Form, KeyedFactor, LinearQuery, Term
from tests.support.entropy import SeededEntropy
from tests.support.warm import one_of

RULES = """
version = 1
privacy = { epsilon = 0.1, delta = 1e-6 }
[tables.t.columns]
k = { type = "integer", min = 0, max = 39, nullable = false }
"""
GROUPS = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"


@pytest.fixture
def con(monkeypatch: pytest.MonkeyPatch) -> dpsql.Connection:
    """60 rows, all in the first three of 40 groups: most others come out below 0 about every other time."""
    monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(3))
    rows = duckdb.connect()
    rows.execute("CREATE TABLE t AS SELECT i % 3 AS k FROM range(60) t(i)")
    return dpsql.connect(rows, policy=dpsql.load_policy(RULES), ledger=":memory:")


def stored(con: dpsql.Connection) -> list[float]:
    """The counts as they were released: an outer statement computes with them."""
    return [float(n) for (n,) in con.execute(f"SELECT n * 1.0 FROM ({GROUPS}) ORDER BY k").fetchall()]


def test_a_count_is_shown_as_0_where_noise_took_it_below(con: dpsql.Connection) -> None:
    cursor = con.execute(GROUPS)
    shown, released = [n for _, n in cursor.fetchall()], stored(con)
    assert min(released) < -10 and shown == [max(0, n) for n in released]
    for answer, n in zip(cursor.answers, released, strict=True):
        assert answer.error is not None
        least = least_end(answer.error, whole=True) if n < 0 else 0.0
        assert answer.interval == (max(0.0, n - answer.error), max(least, n + answer.error))
        assert answer.value == max(0, n)


@pytest.mark.parametrize(
    "text",
    [
        f"{GROUPS} ORDER BY n DESC, k LIMIT 30",
        f"WITH a AS ({GROUPS}) SELECT k, n FROM a ORDER BY k",
        f"SELECT n, k FROM ({GROUPS}) ORDER BY k",
        f"{GROUPS} HAVING n < 5",
        "SELECT k, SUM((k >= 0)::INT) AS n FROM t GROUP BY k ORDER BY k",
    ],
)
def test_wherever_a_count_is_shown_unchanged_it_is_the_same(con: dpsql.Connection, text: str) -> None:
    shown = dict(con.execute(GROUPS).fetchall())
    cursor = con.execute(text)
    names = [c[0] for c in cursor.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    assert rows and [row["n"] for row in rows] == [shown[row["k"]] for row in rows]
    assert [a.value for a in cursor.answers] == [row["n"] for row in rows]


def test_sums_over_groups_are_made_of_what_was_released(con: dpsql.Connection) -> None:
    ((total,),) = con.execute(f"WITH a AS ({GROUPS}) SELECT SUM(n) FROM a").fetchall()
    released = stored(con)
    assert float(total) == sum(released)
    assert sum(max(0.0, n) for n in released) > sum(released) + 200  # cut before, they would add up to too much


def test_a_count_in_arithmetic_is_what_was_released(con: dpsql.Connection) -> None:
    cut = [n for _, n in con.execute(GROUPS).fetchall()]
    assert any(n < 0 for n in stored(con)) and min(cut) == 0


def test_what_counts_rows_is_told_from_what_may_be_below_0() -> None:
    a = one_of(TableDomain("t", (IntegerDomain("a", 0, 3), IntegerDomain("b", 0, 3))), "a")
    both = LinearQuery("t", (*a.factors, Factor(("b",), np.array([1, 0, 0, 0, 0]))))
    keyed = replace(a, keyed=KeyedFactor(("w",), (("x",),), (), np.ones(1, dtype=np.int64)))
    other = LinearQuery("t", (Factor(("b",), np.array([1, 0, 0, 0, 0])),))
    weighted = LinearQuery("t", (Factor(("b",), np.array([1, 2, 0, 0, 0]), 2),))
    for counts in ([(1, a)], [(1, a), (2, other)], [(1, a), (-1, both)], [(-1, keyed), (1, a)]):
        assert Form(0.0, tuple(Term(c, q) for c, q in counts)).is_count
    for other_sums in (
        [(-1, a)],
        [(1, a), (-1, other)],
        [(1, weighted)],
        [(1, a), (-2, both)],
        [(1, keyed), (-1, both)],
    ):
        assert not Form(0.0, tuple(Term(c, q) for c, q in other_sums)).is_count
    assert not Form(-1.0, (Term(1, a),)).is_count and Form(2.0, (Term(1, a),)).is_count


def test_an_interval_of_a_sum_that_is_never_above_0_ends_there(con: dpsql.Connection) -> None:
    (answer,) = con.execute("SELECT SUM(-k) FROM t").answers
    assert answer.error is not None and answer.value is not None and answer.value <= 0
    assert answer.interval == pytest.approx((answer.value - answer.error, min(0.0, answer.value + answer.error)))


@pytest.mark.parametrize(
    "text",
    ["SELECT SUM(3 - k) FROM t", "SELECT SUM(CASE WHEN k < 2 THEN -1 ELSE 1 END) FROM t", "SELECT SUM(k - 9) FROM t"],
)
def test_an_interval_of_a_sum_that_may_be_below_0_is_not_cut(con: dpsql.Connection, text: str) -> None:
    (answer,) = con.execute(text).answers
    assert answer.error is not None and answer.value is not None
    assert answer.interval == pytest.approx((answer.value - answer.error, answer.value + answer.error))


def test_a_measured_number_is_certified_for_all_planned_questions_at_once() -> None:
    """Its 95 % error is not that: of 400 groups one in twenty is beyond it, which was printed as certified too."""
    rows = duckdb.connect()
    rows.execute("CREATE TABLE t AS SELECT i % 400 AS k FROM range(80_000) t(i)")
    table = TableDomain("t", (IntegerDomain("k", 0, 399, nullable=False),))
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=400), (table,))
    with dpsql.connect(rows, policy=policy, ledger=":memory:") as con:
        answers = con.execute("SELECT k, COUNT(*) AS n FROM t GROUP BY k").answers
    assert {a.source for a in answers} == {"measurement"} and all(a.certified for a in answers)
    off = np.array([abs((a.value or 0) - 200) for a in answers])
    assert (off > [a.error for a in answers]).any()
    assert (
        off <= [a.certified_bound for a in answers]
    ).all()  # fails with 5 % times 2 exp(-z^2 / 2) / P(|N| > z): < .5 %
    (error,), (bound,) = {a.error for a in answers}, {a.certified_bound for a in answers}
    assert bound is not None and error is not None
    assert bound == pytest.approx(error / 1.96 * deviations_at_once(400 * 400), rel=0.1) and bound == ceil(bound)


@pytest.mark.parametrize(("planned", "rules"), [(2, 25), (2, 24), (30, 25)])
def test_a_measured_group_is_certified_for_all_groups_at_once(planned: int, rules: int) -> None:
    """Of 600 cells some were beyond the bound of one number in every few statements."""
    policy = replace(
        dpsql.load_policy(RULES), privacy=Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=planned)
    )
    plan = plan_tables(replace(make_plan(policy), models=rules), policy)["t"]
    assert plan.certain_of(1) == plan.certain == deviations_at_once(planned)
    assert plan.certain_of(600) == (deviations_at_once(600 * planned) if rules == 25 else plan.certain)
    rng = np.random.default_rng(planned)
    beyond = np.abs(rng.normal(size=(20_000, 600))).max(axis=1) > plan.certain_of(600)
    assert (beyond.mean() <= 0.05 / planned) == (rules == 25)


def test_an_earlier_ledger_shows_what_it_showed() -> None:
    """By the first rules counts are shown as released, and a measured number's bound is its own 95 %."""
    policy = dpsql.load_policy(RULES)
    plan = make_plan(policy)
    first = plan_tables(replace(plan, models=1), policy)["t"]
    assert first.certain == 1.96 < plan_tables(plan, policy)["t"].certain
    assert not first.rules.cut_counts and plan_tables(plan, policy)["t"].rules.cut_counts


@pytest.mark.parametrize("computed", ["(n - n) * -1e0", "CAST((n - n) * -1e0 AS FLOAT)"])
def test_no_computed_number_is_a_negative_zero(con: dpsql.Connection, computed: str) -> None:
    cursor = con.execute(f"SELECT {computed} AS z FROM ({GROUPS})")
    assert {str(z) for (z,) in cursor.fetchall()} == {"0.0"}
    assert {str(answer.value) for answer in cursor.answers} == {"0.0"}
    assert "-0.0" not in {str(end) for answer in cursor.answers for end in answer.interval or ()}
