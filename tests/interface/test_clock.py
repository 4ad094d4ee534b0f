"""Clock functions stand for one moment of the statement, which a note names: the question is one about literal days."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import dpsql
import dpsql.mechanism
from tests.support import city
from tests.support.entropy import SeededEntropy

POLICY = city.policy_text("epsilon = 8.0\ndelta = 1e-6\n")
MORNING, EVENING = datetime(2020, 5, 17, 8, 30, 5, 777, UTC), datetime(2020, 5, 17, 23, 59, 59, 0, UTC)
NEXT_DAY = datetime(2020, 5, 18, 0, 0, 1, 0, UTC)


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dpsql.Connection]:
    folder = tmp_path_factory.mktemp("clock")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPSQL_STATE_HOME", str(folder / "state"))
        patch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(57))
        database = city.build(folder / "city", policy=POLICY)
        with dpsql.connect(database, ledger=":memory:", new_budget=True) as connection:
            yield connection


@pytest.fixture(autouse=True)
def morning(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, MORNING)


def at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    monkeypatch.setattr("dpsql.session.session.utc_now", lambda: moment)


@pytest.mark.parametrize(
    ("clock", "literal"),
    [
        ("joined >= current_date - 30", "joined >= DATE '2020-05-17' - 30"),
        ("joined >= today() - INTERVAL 2 MONTH", "joined >= DATE '2020-05-17' - INTERVAL 2 MONTH"),
        ("joined < date_trunc('month', now())", "joined < date_trunc('month', TIMESTAMP '2020-05-17 08:30:05')"),
        ("year(joined) = year(CURRENT_TIMESTAMP)", "year(joined) = 2020"),
        ("age(joined) > INTERVAL 2 MONTH", "age(TIMESTAMP '2020-05-17', joined) > INTERVAL 2 MONTH"),
        ("date_diff('day', joined, get_current_timestamp()) > 40", "date_diff('day', joined, DATE '2020-05-17') > 40"),
        ("joined > localtimestamp", "joined > TIMESTAMP '2020-05-17 08:30:05'"),
    ],
)
def test_it_is_the_question_about_the_literal(con: dpsql.Connection, clock: str, literal: str) -> None:
    written = con.execute(f"SELECT COUNT(*) FROM people WHERE {literal}").fetchall()
    cursor = con.execute(f"SELECT COUNT(*) FROM people WHERE {clock}")
    assert cursor.fetchall() == written and cursor.result.paid == 0
    assert any(" is 2020-05-17" in n.text and n.text.endswith("(UTC)") for n in cursor.notes)


def test_a_day_later_it_is_another_question(con: dpsql.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT current_date, today() AS d, COUNT(*) FROM people WHERE joined >= current_date"
    first = con.execute(text)
    rows = first.fetchall()
    assert [c[0] for c in first.description or ()] == ["current_date", "d", "count_star()"]
    assert rows[0][:2] == (MORNING.date(), MORNING.date())
    at(monkeypatch, EVENING)
    assert con.execute(text).fetchall() == rows
    at(monkeypatch, NEXT_DAY)
    later = con.execute(text).fetchall()
    assert later[0][0] == NEXT_DAY.date()
    assert later[0][2:] == con.execute("SELECT COUNT(*) FROM people WHERE joined >= '2020-05-18'").fetchone()


def test_steps_and_names_of_a_statement_see_one_moment(con: dpsql.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement in steps is lowered again after each of them; a name stands for its query when it is read."""
    moments = iter([MORNING])
    monkeypatch.setattr("dpsql.session.session.utc_now", lambda: next(moments))
    steps = (
        "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people WHERE joined < now()) AND joined < now()"
    )
    assert con.execute(steps).fetchall()
    at(monkeypatch, MORNING)
    con.execute("CREATE VIEW recent AS SELECT * FROM people WHERE joined >= current_date - 30")
    named = con.execute("SELECT COUNT(*) FROM recent").fetchall()
    assert named == con.execute("SELECT COUNT(*) FROM people WHERE joined >= DATE '2020-04-17'").fetchall()
    at(monkeypatch, datetime(2020, 6, 17, 8, 0, 0, 0, UTC))
    later = con.execute("SELECT COUNT(*) FROM recent").fetchall()
    assert later == con.execute("SELECT COUNT(*) FROM people WHERE joined >= DATE '2020-05-18'").fetchall()


def test_shapes_that_were_read_before_do_not_keep_a_day(con: dpsql.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT COUNT(*) FILTER (WHERE joined >= current_date) FROM people WHERE age = {}"
    for age in range(4):
        con.execute(text.format(age)).fetchall()
    at(monkeypatch, NEXT_DAY)
    for age in range(4):
        literal = text.replace("current_date", "DATE '2020-05-18'").format(age)
        assert con.execute(text.format(age)).fetchall() == con.execute(literal).fetchall()


def test_it_is_explained_with_its_moment(con: dpsql.Connection) -> None:
    found = con.explain("SELECT COUNT(*) FROM people WHERE joined >= now() - INTERVAL 1 MONTH")
    assert "now() is 2020-05-17 08:30:05 (UTC)" in [n.text for n in found.notes]


@pytest.mark.parametrize("clock", ["current_time", "localtime", "now(1)", "current_date('UTC')"])
def test_other_clocks_are_refused(con: dpsql.Connection, clock: str) -> None:
    with pytest.raises(dpsql.Error) as caught:
        con.execute(f"SELECT COUNT(*) FROM people WHERE joined < {clock}")
    assert getattr(caught.value, "hint", None)
