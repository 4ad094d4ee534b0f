"""Statements in steps through a connection: what is asked first, what it is taken as, nothing is paid twice."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import dpsql
import dpsql.mechanism
from dpsql.result import Answer
from dpsql.session.asker import Asker
from dpsql.session.own.pace import Pace
from tests.support import city
from tests.support.entropy import SeededEntropy

POLICY = city.policy_text("epsilon = 8.0\ndelta = 1e-6\n")
TEXT = "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)"
LISTED = (
    "SELECT region, COUNT(*) AS n FROM people WHERE region IN"
    " (SELECT region FROM people GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2) GROUP BY region"
)
JOINED = (
    "SELECT p.region, COUNT(*) AS n FROM people p JOIN (SELECT region AS r, COUNT(*) AS c FROM people GROUP BY region"
    " ORDER BY c DESC LIMIT 2) AS top ON p.region = top.r GROUP BY p.region"
)
WITH = "WITH a AS (SELECT AVG(age) AS m FROM people) SELECT COUNT(*) FROM people, a WHERE age > a.m"


@pytest.fixture(scope="module", autouse=True)
def registry_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPSQL_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def opened(database: Path, ledger: Path | str = ":memory:") -> dpsql.Connection:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(1))
        return dpsql.connect(database, ledger=ledger, new_budget=True)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return city.build(tmp_path_factory.mktemp("city"), policy=POLICY)


@pytest.fixture(scope="module")
def con(database: Path) -> Iterator[dpsql.Connection]:
    with opened(database) as connection:
        yield connection


def steps(cursor: dpsql.Cursor) -> list[str]:
    return [note.text for note in cursor.notes if note.kind == "step"]


def test_all_steps_pay_for_a_question_as_many_times(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is answered by the model meanwhile makes no later step dearer than it was explained."""
    numbers, paid = count(1), list[int]()
    monkeypatch.setattr(Pace, "_times", lambda _: next(numbers))
    ask = Asker.ask

    def told(asker: Asker, *of: Any) -> dict[str, Answer]:
        paid.append(asker.fold.pace.times())
        return ask(asker, *of)

    monkeypatch.setattr(Asker, "ask", told)
    with opened(database) as connection:
        connection.execute(TEXT)
        assert len(paid) > 1 and len(set(paid)) == 1
        connection.execute("SELECT COUNT(*) FROM people WHERE age > 30")
        assert paid[-1] > paid[0]


def test_the_outer_question_is_asked_with_the_released_value(con: dpsql.Connection) -> None:
    cursor = con.execute(TEXT)
    rows = cursor.fetchall()
    (note,) = steps(cursor)
    ((mean,),) = con.execute("SELECT AVG(age) FROM people").fetchall()
    assert note.startswith(f"SELECT AVG(age) FROM people was answered first and is taken as {mean:,.6g}: bars")
    assert con.execute("SELECT COUNT(*) FROM people WHERE age > ?", [mean]).fetchall() == rows


@pytest.mark.parametrize("text", [TEXT, LISTED, JOINED, WITH])
def test_asked_again_it_is_free_and_the_same(con: dpsql.Connection, text: str) -> None:
    rows, spent = con.execute(text).fetchall(), con.budget.spent_epsilon
    cursor = con.execute(text)
    assert cursor.fetchall() == rows
    assert con.budget.spent_epsilon == spent
    assert sum(a.charged for a in cursor.answers) == 0
    assert len(steps(cursor)) == 1


def test_the_first_groups_are_those_that_were_released(con: dpsql.Connection) -> None:
    top = con.execute("SELECT region FROM people GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2").fetchall()
    assert {r for r, _ in con.execute(LISTED).fetchall()} == {r for (r,) in top}
    assert sorted(con.execute(JOINED).fetchall()) == sorted(con.execute(LISTED).fetchall())
    assert con.execute(WITH).fetchall() == con.execute(TEXT).fetchall()


def test_steps_replay_from_the_ledger(database: Path, tmp_path: Path) -> None:
    with opened(database, tmp_path / "a.ledger") as connection:
        rows, spent = connection.execute(TEXT).fetchall(), connection.budget.spent_epsilon
    with dpsql.connect(database, ledger=tmp_path / "a.ledger") as connection:
        assert connection.execute(TEXT).fetchall() == rows
        assert connection.budget.spent_epsilon == spent


def test_explain_asks_nothing_and_says_what_comes_first(database: Path) -> None:
    with opened(database) as connection:
        plan = connection.explain(TEXT)
        assert connection.budget.spent_epsilon == 0
        assert connection.budget.queries_answered == 0
    said = [n.text for n in plan.notes]
    assert said[0] == "asked first: SELECT AVG(age) FROM people"
    assert "depends on that answer" in said[1]


@pytest.mark.parametrize("terms", [{"within": 25}, {"max_charge": 0.0}])
def test_bounds_and_charges_are_for_one_question(database: Path, terms: dict[str, float]) -> None:
    with opened(database) as connection:
        with pytest.raises(dpsql.UnsupportedQuery, match="several in turn") as caught:
            connection.execute(TEXT, **terms)
        assert "ask the inner statement first" in str(caught.value.hint)
        assert connection.budget.spent_epsilon == 0


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people) AND nobody = 1",
        "SELECT age FROM people WHERE age > (SELECT AVG(age) FROM people)",
        "SELECT COUNT(*) FROM people p WHERE age > (SELECT AVG(age) FROM people q WHERE q.region = p.region)",
        "SELECT COUNT(*) FROM people WHERE age IN (SELECT age FROM people)",
        "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age), COUNT(*) FROM people)",
        "SELECT COUNT(*) FROM people p, (SELECT region, age FROM people) q WHERE p.age = q.age",
    ],
)
def test_what_is_wrong_around_or_inside_is_found_before_anything_is_charged(database: Path, text: str) -> None:
    with opened(database) as connection:
        with pytest.raises(dpsql.Error) as caught:
            connection.execute(text)
        assert caught.value.charged == 0
        assert connection.budget.queries_answered == 0


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT region, COUNT(*) AS n FROM people GROUP BY region HAVING COUNT(*) > 100000",
        "SELECT kind, COUNT(DISTINCT person) AS n FROM visits GROUP BY kind HAVING n > 100000",
        "SELECT COUNT(*) FROM people WHERE region = (SELECT region FROM people GROUP BY region HAVING COUNT(*) > 9999)",
    ],
)
def test_what_is_paid_for_and_not_shown_is_charged_all_the_same(database: Path, sql: str) -> None:
    with opened(database) as con:
        found = con.execute(sql).result
        assert found.charged == pytest.approx(con.budget.spent_epsilon)
        assert found.charged > sum(answer.charged for answer in found.answers) == 0.0
        assert con.execute(sql).result.charged == 0.0
