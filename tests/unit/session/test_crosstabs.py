"""Groups asked as one crosstab are answered as they are one by one, and known one by one afterwards."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import duckdb
import pytest

import dpsql
from dpsql.first.warm_start import WarmStart
from dpsql.session import given
from dpsql.session.asker import Asker

POLICY = """version = 1
[privacy]
epsilon = 2.0
delta = 1e-6
planned_queries = 2_000
[mechanism]
on_demand = 0.4
[tables.t.columns]
a = { type = "integer", min = 0, max = 9 }
b = { type = "integer", min = 0, max = 19 }
c = { type = "integer", min = 0, max = 99 }
d = { type = "integer", min = 0, max = 299 }
"""
GROUPS = "SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b"
STATEMENTS = [
    GROUPS,
    "SELECT b, a, COUNT(*) AS n, COUNT(*) AS again FROM t WHERE a > 1 GROUP BY a, b",
    f"{GROUPS} ORDER BY n DESC LIMIT 7",
    f"{GROUPS} HAVING n > 30 ORDER BY a, b",
    f"SELECT a, SUM(n) AS s, MAX(n) AS most FROM ({GROUPS}) GROUP BY a",
    "SELECT a, b, COUNT(*) AS n, n + 1 AS m, rank() OVER (ORDER BY n) AS r FROM t GROUP BY a, b ORDER BY n DESC, a, b",
    "SELECT a, b, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) AS high FROM t GROUP BY a, b",
    "SELECT a + 1 AS g, d AS a, COUNT(*) AS n FROM t WHERE d BETWEEN 20 AND 150 GROUP BY 1, 2",
    "SELECT a, d, COUNT(*) AS n FROM t GROUP BY a, d ORDER BY n DESC LIMIT 9",
    f"WITH w AS ({GROUPS}) SELECT * FROM w UNION ALL SELECT a, NULL, COUNT(*) FROM t GROUP BY a",
]


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database whose first look is made."""
    folder = tmp_path_factory.mktemp("crosstabs")
    with duckdb.connect(str(folder / "t.duckdb")) as con:
        values = "(hash(i) % 10)::INT AS a, (hash(i + 7) % (10 + i % 11))::INT AS b"
        values += ", (hash(i + 9) % 100)::INT AS c, (hash(i + 8) % 300)::INT AS d"
        con.execute(f"CREATE TABLE t AS SELECT {values} FROM range(6000) r(i)")
    (folder / "t.dpsql.toml").write_text(POLICY)
    with dpsql.connect(folder / "t.duckdb", ledger=folder / "ledger", new_budget=True) as con:
        con.execute("SELECT COUNT(*) FROM t WHERE a = 1 AND b = 2 AND c = 3").fetchall()
    return folder


@pytest.fixture
def database(looked_at: Path, tmp_path: Path) -> Path:
    for file in looked_at.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path / file.name)
    return tmp_path / "t.duckdb"


@pytest.fixture
def con(database: Path) -> Iterator[dpsql.Connection]:
    with connected(database) as con:
        yield con


def connected(database: Path) -> dpsql.Connection:
    """A session on a copy of database and ledger, which nothing has on record but the copy's own folder."""
    with patch.dict("os.environ", {"DPSQL_STATE_HOME": str(database.with_name("state"))}):
        return dpsql.connect(database, ledger=database.with_name("ledger"), new_budget=True)


def together(answers: object) -> bool:
    return isinstance(answers, dpsql.result.CrosstabAnswers)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_answers_are_those_of_each_group_by_itself(database: Path, tmp_path: Path, statement: str) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for file in tmp_path.iterdir():
        if file.is_file():
            shutil.copy(file, other / file.name)
    with connected(database) as con:
        one = con.execute(statement).result
    with patch.object(given, "FEWEST", 1 << 30), connected(other / "t.duckdb") as con:
        each = con.execute(statement).result
    assert one.table.equals(each.table) and one.types == each.types
    assert one.answers == each.answers and one.within == each.within
    assert one.without_empty().table.equals(each.without_empty().table)
    assert one.notes == each.notes and one.charged == each.charged


def test_groups_alone_are_one_crosstab_and_sums_are_not(con: dpsql.Connection) -> None:
    """What the test above compares: it would say nothing if both ways were the same."""
    assert together(con.execute(GROUPS).result.column_answers[2])
    assert together(con.execute(STATEMENTS[2]).result.column_answers[2])
    assert not together(con.execute("SELECT a, COUNT(*) FROM t GROUP BY a").result.column_answers[1])
    assert not together(con.execute("SELECT a, b, COUNT(*) FROM t WHERE c < 9 GROUP BY a, b").result.column_answers[2])


def test_a_group_is_known_by_itself(database: Path) -> None:
    """In the session, in another that is open, and after a restart; at no charge."""
    single = "SELECT COUNT(*) FROM t WHERE a = 3 AND b = 4"
    with connected(database) as con, connected(database) as other:
        rows = {(a, b): n for a, b, n in con.execute(GROUPS).fetchall()}
        cell = con.execute(GROUPS).answers[list(rows).index((3, 4))]
        for session in (con, other):
            assert session.explain(single).worst_charge == 0.0
            assert session.execute(single).answers == (cell,) and cell.value == rows[3, 4]
        assert other.execute(GROUPS).fetchall() == con.execute(GROUPS).fetchall()
        spent, free = con.budget.spent_epsilon, con.budget.queries_free
    with connected(database) as con:
        assert con.execute(single).answers == (cell,)
        assert {(a, b): n for a, b, n in con.execute(GROUPS).fetchall()} == rows
        assert (con.budget.spent_epsilon, con.budget.queries_free) == (spent, free)


def test_what_was_known_of_a_group_before_stays(database: Path) -> None:
    """A group that was asked alone, and one whose number was paid for on demand: before the crosstab and after it."""
    one, two = (f"SELECT COUNT(*) FROM t WHERE a = 3 AND b = {b}" for b in (4, 5))
    with connected(database) as con:
        before = con.execute(one).answers
        cells = con.execute(GROUPS).result.column_answers[2]
        assert not together(cells) and cells[3 * 21 + 4] == before[0]
        paid = con.execute(two, within=13).answers
        assert paid[0].charged > 0
        cells = con.execute(GROUPS).result.column_answers[2]
        assert cells[3 * 21 + 5].value == paid[0].value
    with connected(database) as con:
        cells = con.execute(GROUPS).result.column_answers[2]
        assert (cells[3 * 21 + 4].value, cells[3 * 21 + 5].value) == (before[0].value, paid[0].value)


def test_a_crosstab_comes_before_what_is_paid_for_later(database: Path) -> None:
    with connected(database) as con:
        rows = con.execute(GROUPS).fetchall()
        paid = con.execute("SELECT COUNT(*) FROM t WHERE a = 3 AND b = 4", within=13)
        again = con.execute(GROUPS).fetchall()
        assert [r for r in rows if r[:2] != (3, 4)] == [r for r in again if r[:2] != (3, 4)]
        assert {(a, b): n for a, b, n in again}[3, 4] == paid.fetchone()[0]
    with connected(database) as con:
        assert con.execute(GROUPS).fetchall() == again


def test_another_session_may_have_been_faster(database: Path) -> None:
    """Its answers are taken where they were written first, and this session goes on with its own."""
    with connected(database) as con, connected(database) as other:
        first = other.execute(GROUPS)
        with patch.object(given.Given, "crosstab", lambda *_: None):
            second = con.execute(GROUPS)
        assert second.answers == first.answers and not together(second.result.column_answers[2])


@pytest.mark.parametrize("outer", ["{}", "{} ORDER BY n DESC", "SELECT SUM(n) AS s FROM ({}) AS g"])
def test_what_first_touches_charge_is_shown_once(database: Path, outer: str) -> None:
    """By the first statement of a ledger, whose groups are one record all the same."""
    statement = outer.format("SELECT a, d, COUNT(*) AS n, COUNT(*) AS again FROM t GROUP BY a, d")
    for file in database.parent.glob("ledger*"):
        file.unlink()
    with connected(database) as con:
        first = con.execute(statement)
        assert first.result.charged == pytest.approx(con.budget.spent_epsilon) and con.budget.spent_epsilon > 0
        assert [a.charged > 0 for a in first.answers].count(True) == 1
        assert sum(a.charged for a in first.answers) == pytest.approx(con.budget.spent_epsilon)
        again = con.execute(statement)
        assert again.fetchall() == first.fetchall() and again.result.charged == 0.0
        cells = con.execute("SELECT a, d, COUNT(*) AS n, COUNT(*) AS again FROM t GROUP BY a, d").result.column_answers
        assert together(cells[2]) and together(cells[3])


def test_groups_that_are_known_one_by_one_pay_for_nothing(database: Path) -> None:
    """Their table has measurements to come, which another question would pay for."""
    with patch.object(given, "FEWEST", 1 << 30), connected(database) as con:
        rows = con.execute(GROUPS).fetchall()
    with connected(database) as con:
        spent = con.budget.spent_epsilon
        with patch.object(WarmStart, "is_ready", lambda *_: False), patch.object(Asker, "first_touches", None):
            assert con.execute(GROUPS).fetchall() == rows
        assert con.budget.spent_epsilon == spent
