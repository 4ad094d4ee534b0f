"""What a statement would cost, how well it would be answered, how many such are left: for every way of answering."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import dpsql
import dpsql.mechanism
from dpsql.accounting import Plan
from tests.support import city, inside
from tests.support.entropy import SeededEntropy

COUNT = "SELECT COUNT(*) FROM people WHERE age < 4 AND member"
GROUPS = "SELECT region, COUNT(*) FROM people GROUP BY region"
TWO = "SELECT COUNT(*) FILTER (WHERE age < 4) AS a, COUNT(*) FILTER (WHERE member) AS b FROM people"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return city.build(tmp_path_factory.mktemp("explaining") / "city", rows=4000)


def opened(database: Path, planned: int, mechanism: str = "") -> dpsql.Connection:
    text = city.policy_text(f"epsilon = 4.0\ndelta = 1e-6\nplanned_queries = {planned}\n", mechanism)
    rules = dpsql.load_policy("\n".join(line for line in text.splitlines() if '"text"' not in line))
    return inside.connect(database, policy=rules, ledger=":memory:")


@pytest.fixture
def few(database: Path) -> Iterator[dpsql.Connection]:
    with opened(database, 3) as con:
        yield con


@pytest.fixture
def many(database: Path) -> Iterator[dpsql.Connection]:
    with opened(database, 1000) as con:
        yield con


def plan_of(con: dpsql.Connection) -> Plan:
    return inside.inside(con).plan


def test_questions_with_noise_of_their_own_are_counted(few: dpsql.Connection) -> None:
    before = few.explain(GROUPS)
    (plan,) = before.plans
    assert (plan.source, plan.queries, before.statements_left) == ("a measurement of its own", 4, 3)
    assert "people is answered by: noise for each question" in map(str, before.notes)
    cursor = few.execute(GROUPS)
    assert cursor.result.charged == pytest.approx(before.worst_charge)
    assert {a.error for a in cursor.answers} == {plan.error}
    assert few.explain(COUNT).statements_left == 2
    assert few.explain(TWO).statements_left == 1
    assert few.budget.questions_left == 2
    free = few.explain("SELECT COUNT(*) FROM people WHERE region = 'north'")
    assert (free.statements_left, free.worst_charge) == (None, 0.0)
    few.execute(TWO)
    spent = few.explain(COUNT)
    assert (spent.worst_charge, spent.plans[0].source) == (0.0, "hypothesis, not certified: no test left")
    assert few.execute(COUNT).result.charged == 0.0


def test_a_statement_that_would_be_refused_says_so(database: Path) -> None:
    with opened(database, 1, 'when_spent = "refuse"\n') as con:
        found = con.explain(TWO)
        assert found.statements_left == 0
        assert any("refused as things are: it may need 2 planned questions, 1 are left" in n.text for n in found.notes)
        with pytest.raises(dpsql.BudgetExhausted):
            con.execute(TWO)
        assert con.explain(COUNT).statements_left == 1


def test_before_the_warm_start_errors_are_foreseen_and_afterwards_known(many: dpsql.Connection) -> None:
    before = many.explain(COUNT)
    assert before.plans[0].foreseen
    assert before.plans[0].error is not None
    share = plan_of(many).as_epsilon(plan_of(many).hard_cost)
    assert before.worst_charge > share
    assert before.statements_left == many.budget.hard_rounds_left
    answer = many.execute(COUNT).answers[0]
    assert answer.charged <= before.worst_charge
    assert answer.error is not None
    assert answer.error / 4 <= before.plans[0].error <= 4 * answer.error
    after = many.explain(COUNT)
    assert (after.plans[0].foreseen, after.plans[0].error) == (False, answer.error)
    assert (after.worst_charge, after.statements_left) == (0.0, None)


@pytest.mark.parametrize("planned", [4, 30])
def test_the_first_question_may_turn_out_to_need_a_release_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planned: int
) -> None:
    monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(1))
    text = city.policy_text(f"epsilon = 8.0\ndelta = 1e-6\nplanned_queries = {planned}\n")
    sql = "SELECT SUM(day) FROM visits WHERE kind = 'walk'"
    with inside.connect(city.build(tmp_path / "city", policy=text), ledger=":memory:") as con:
        plan = plan_of(con)
        before = con.explain(sql)
        charged = con.execute(sql).result.charged
    assert plan.spares > 0
    assert charged > plan.as_epsilon(plan.spare_units)  # the first touch, and a spare release
    assert charged <= before.worst_charge + 1e-9


def test_hard_rounds_are_shared_by_the_shapes_of_a_statement(many: dpsql.Connection) -> None:
    many.execute(COUNT)
    left = many.budget.hard_rounds_left
    found = many.explain(TWO)
    needed = sum(p.worst_charge > 0 for p in found.plans)
    assert found.statements_left == (left // needed if needed else None)
    one = many.explain("SELECT COUNT(*) FROM people WHERE age < 3 AND region = 'west' AND hours > 5")
    assert (one.statements_left, one.worst_charge > 0) == (left, True)


def test_nothing_is_drawn_spent_or_measured_by_looking(many: dpsql.Connection, few: dpsql.Connection) -> None:
    for con in (many, few):
        for sql in (COUNT, GROUPS, TWO):
            con.explain(sql)
        assert con.budget.spent_epsilon == 0.0
        assert con.budget.queries_answered == 0


def test_the_budget_has_an_outlook_for_each_table(many: dpsql.Connection, few: dpsql.Connection) -> None:
    assert [(t.table, t.strategy) for t in few.budget.tables] == [
        ("people", "noise for each question"),
        ("visits", "noise for each question"),
    ]
    assert [t.table for t in many.budget.tables] == ["people", "visits"]
    assert all(t.error is not None and t.error > 0 for t in many.budget.tables)
    assert [purse.name for purse in few.budget.purses] == ["questions", "row counts"]
    assert many.budget.questions_left is None


def test_what_a_condition_cuts_is_foreseen_as_it_is_answered(many: dpsql.Connection) -> None:
    """A weekday of months: a row of any of them may count or not, which no error of a count of cells says."""
    text = "SELECT COUNT(*) FROM people WHERE isodow(joined) = 6"
    many.execute("SELECT COUNT(*) FROM people WHERE age = 1 AND member").fetchall()
    (cut,) = [note.text for note in many.explain(text).notes if "errors are up to" in note.text]
    cursor = many.execute(text)
    (answer,) = cursor.answers
    assert answer.error is not None and answer.error > 2000
    said = float(cut.rpartition(" ")[2].replace(",", ""))
    assert said == pytest.approx(answer.error, rel=0.02)
    plain = many.explain("SELECT COUNT(*) FROM people WHERE joined < '2020-03-01'").notes
    assert not [note for note in plain if "errors are up to" in note.text]


def test_what_is_divided_by_nothing_is_said_to_be(many: dpsql.Connection) -> None:
    quotient = "SELECT n / m AS r FROM (SELECT COUNT(*) AS n, COUNT(*) - COUNT(*) AS m FROM people)"
    (note,) = [n.text for n in many.execute(quotient).notes if "NULLIF" in n.text]
    assert note.startswith("r: nan and inf (1)")
    assert not [n for n in many.execute(quotient.replace("/ m", "/ NULLIF(m, 0)")).notes if "NULLIF" in n.text]
