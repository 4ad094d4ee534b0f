"""Strings of which none could be shown, by their owner's word: refused, or answered for free, before any charge."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dpsql
import dpsql.mechanism
from dpsql.interface.cli import cli
from tests.support.command_line import runner
from tests.support.entropy import Easy
from tests.support.lessons import learned_briefly

POLICY = """version = 1
[privacy]
epsilon = 1.0
delta = 1e-6
planned_queries = 1000
[mechanism]
{mechanism}
[tables.codes.columns]
code = {{ type = "text"{word} }}
kind = {{ type = "category", values = ["a", "b"], nullable = false }}
"""
TEN = ", max_rows_per_value = 10"
OFTEN = "SELECT code, COUNT(*) AS n\nFROM codes GROUP BY code ORDER BY n DESC LIMIT 20"
REFUSED = (
    OFTEN,
    "SELECT code, COUNT(*) FROM codes GROUP BY code",
    "SELECT DISTINCT code FROM codes",
    "SELECT kind, code, COUNT(*) FROM codes WHERE kind = 'a' GROUP BY ALL",
    "SELECT COUNT(*) FROM codes WHERE code LIKE 'c1%'",
    "SELECT COUNT(*) FROM codes WHERE length(code) = 3",
    "SELECT upper(code) AS u, COUNT(*) FROM codes GROUP BY u",
    "SELECT left(code, 2) AS l, COUNT(*) FROM codes GROUP BY l",
    "SELECT mode(code) FROM codes",
    "SELECT MAX(code) FROM codes",
    "SELECT approx_top_k(code, 3) FROM codes",
    "SELECT COUNT(*) FROM codes WHERE code <> 'c1' GROUP BY code",
    "SELECT COUNT(*) FROM (SELECT code, COUNT(*) AS n FROM codes GROUP BY code) AS g WHERE n > 5",
)


@pytest.fixture(scope="module", autouse=True)
def brief() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        learned_briefly(patch)
        yield


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3,000 strings of ten rows."""
    path = tmp_path_factory.mktemp("by_word") / "codes.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE codes AS SELECT 'c' || (i % 3000) AS code, CASE WHEN i % 4 = 0 THEN 'a' ELSE 'b' END AS kind "
            "FROM range(30000) t(i)"
        )
    return path


def connected(database: Any, word: str = TEN, mechanism: str = "", ledger: Any = ":memory:") -> dpsql.Connection:
    rules = dpsql.load_policy(POLICY.format(word=word, mechanism=mechanism))
    return dpsql.connect(database, policy=rules, ledger=ledger)


@pytest.fixture
def con(database: Path) -> Iterator[dpsql.Connection]:
    with connected(database) as con:
        yield con


def number(con: dpsql.Connection, text: str) -> dpsql.Answer:
    (answer,) = con.execute(text).answers
    return answer


def listed(strings: int) -> str:
    return f"SELECT COUNT(*) FROM codes WHERE code IN ({', '.join(repr(f'c{i}') for i in range(strings))})"


@pytest.mark.parametrize("text", REFUSED)
def test_what_only_released_strings_could_answer_is_refused_at_no_charge(con: dpsql.Connection, text: str) -> None:
    for ask in (con.explain, con.execute):
        with pytest.raises(dpsql.UnsupportedQuery, match="no string of code can be shown") as caught:
            ask(text)
        assert "about 57 rows" in caught.value.message and "no string has more than 10" in caught.value.message
        assert all(word in caught.value.hint for word in ("IN (...)", "prefixes", "category", "epsilon or delta"))
        assert (caught.value.line, caught.value.charged) == (1, 0.0)
        assert caught.value.column is not None and text.lower()[caught.value.column - 1 :].startswith("code")
    assert con.budget.spent_epsilon == 0


def test_without_the_word_an_explanation_says_from_how_many_rows_on_a_string_is_shown(database: Path) -> None:
    with connected(database, word="") as con:
        told = [note.text for note in con.explain(OFTEN).notes]
        assert any("frequent ones, once they are measured (of about 57 rows or more)" in text for text in told)
        told = [note.text for note in con.explain("SELECT COUNT(*) FROM codes WHERE code = 'c1'").notes]
        assert any("the frequent strings of code (of about 57 rows or more)" in text for text in told)
        assert con.budget.spent_epsilon == 0


def test_the_command_line_says_so_too(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    for word, told in (("", "of about 57 rows or more"), (TEN, "no string of code can be shown")):
        policy = tmp_path / "policy.toml"
        policy.write_text(POLICY.format(word=word, mechanism=""))
        shown = runner().invoke(cli, ["explain", str(database), "--policy", str(policy), OFTEN])
        assert told in shown.stdout + shown.stderr
        described = runner().invoke(cli, ["shell", str(database), "--policy", str(policy)], input="\\d codes\n").stdout
        assert ("each in at most 10 rows" in described) == bool(word)


def test_listed_strings_are_answered_for_free_within_the_word(con: dpsql.Connection) -> None:
    for text, high in (
        ("SELECT COUNT(*) FROM codes WHERE code = 'c7'", 10),
        ("SELECT COUNT(*) FROM codes WHERE code = 'c7' AND kind = 'b'", 10),
        ("SELECT COUNT(*) FROM codes WHERE code IN ('c7', 'c8', 'nowhere')", 30),
        (listed(90), 900),
    ):
        assert con.explain(text).worst_charge == 0
        answer = number(con, text)
        assert (answer.source, answer.error_kind, answer.certified, answer.charged) == (
            "public",
            "calibrated",
            False,
            0.0,
        )
        assert answer.interval == (0.0, high)
    groups = con.execute("SELECT code, COUNT(*) FROM codes WHERE code IN ('c7', 'nowhere') GROUP BY code")
    assert groups.fetchall() == [("c7", 5), ("nowhere", 5)]
    kinds = con.execute("SELECT kind, COUNT(*) FROM codes WHERE code = 'c9' GROUP BY kind")
    assert sum(n for _, n in kinds.fetchall()) == 5
    assert con.budget.spent_epsilon == 0
    assert any("no string of code is in more than 10 rows, says the owner" in note.text for note in groups.notes)


def test_what_is_charged_at_most_may_be_nothing(con: dpsql.Connection) -> None:
    cursor = con.cursor()
    cursor.execute("SELECT COUNT(*) FROM codes WHERE code = 'c7'", max_charge=0.0)
    assert cursor.fetchall() == [(5,)] and con.budget.spent_epsilon == 0
    both = "SELECT COUNT(*), COUNT(*) FILTER (WHERE code = 'c9' AND kind = 'b') FROM codes"
    cursor.execute(both, max_charge=0.1)  # the number of rows alone is measured for it
    assert 0 < con.budget.spent_epsilon < 0.1


def test_bars_of_a_sum_over_strings_may_all_be_reached_together(con: dpsql.Connection) -> None:
    inner = f"SELECT code, COUNT(*) AS n {listed(40).removeprefix('SELECT COUNT(*)')} GROUP BY code"
    answer = number(con, f"SELECT SUM(n) FROM ({inner})")
    assert answer.interval is not None and answer.interval[0] == 0.0  # there are 400: ten rows of each
    assert 400 <= answer.interval[1] < 410
    assert con.budget.spent_epsilon == 0


def test_the_shell_says_by_whose_word(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.format(word=TEN, mechanism=""))
    asked = "SELECT COUNT(*) FROM codes WHERE code = 'c7'"
    shown = runner().invoke(cli, ["query", str(database), "--policy", str(policy), "--ledger", ":memory:", asked])
    assert "by the owner's word; not certified" in shown.stdout + shown.stderr


def test_long_lists_are_tested_and_measured_as_one_count(con: dpsql.Connection) -> None:
    plan = con.explain(listed(900))
    assert plan.worst_charge > 0 and "test" in plan.plans[0].source
    answer = number(con, listed(900))  # 9,000 rows, far from what a model without strings expects
    assert (answer.source, answer.error_kind) == ("measurement", "exact") and answer.charged > 0
    assert answer.error is not None and answer.error < 1000 and answer.interval is not None
    assert answer.interval[0] - 500 < 9000 < answer.interval[1] + 500


def test_a_string_that_was_measured_with_more_noise_than_the_word_leaves_keeps_the_word(database: Path) -> None:
    many = POLICY.replace("planned_queries = 1000", "planned_queries = 1_000_000_000")  # measured strings answer sooner
    with dpsql.connect(
        database, policy=dpsql.load_policy(many.format(word=TEN, mechanism="")), ledger=":memory:"
    ) as con:
        assert number(con, listed(900)).source == "measurement"
        text = "SELECT COUNT(*) FROM codes WHERE code IN ('c7', 'c8')"
        assert con.explain(text).plans[0].source.startswith("the owner's word")
        assert number(con, text).interval == (0.0, 20.0)
        wide = con.execute(f"{listed(200)} AND kind IN ('a', 'b')").answers  # of many together the noise is less
        assert wide[0].error is not None and wide[0].error <= 1000


def test_cells_that_are_measured_with_more_noise_than_the_word_leaves_keep_the_word(con: dpsql.Connection) -> None:
    text = listed(400).replace("SELECT", "SELECT kind,") + " GROUP BY kind"
    answers = con.execute(text).answers  # 1,000 and 3,000 rows: a test is hard
    assert sum(a.charged for a in answers) > 0
    assert [a.interval for a in answers] == [(0.0, 4000.0)] * 2
    assert max(a.error or 0.0 for a in answers) <= 3000


def test_a_test_that_certifies_nothing_leaves_the_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bound is more than a twentieth of the rows, and so not shown; and there is no other bar for such a list."""
    path = tmp_path / "few.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE codes AS SELECT 'c' || (i % 100) AS code, 'a' AS kind FROM range(1000) t(i)")
    absent = f"SELECT COUNT(*) FROM codes WHERE code IN ({', '.join(repr(f'x{i}') for i in range(300))})"
    monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", lambda: Easy(1))  # one test in thousands is hard
    with connected(path) as con:
        assert "test" in con.explain(absent).plans[0].source
        answer = number(con, absent)
        assert (answer.source, answer.error) == ("public", 1500.0)
        assert answer.interval is not None  # which ends where the rows of the table do
        assert answer.interval[0] == 0.0 and 1000.0 <= answer.interval[1] < 3000.0


def test_when_nothing_is_left_the_word_still_answers(database: Path) -> None:
    with connected(database, mechanism="hard_rounds = 1") as con:
        spent = number(con, listed(2000)).charged
        later = listed(2500)
        assert spent > 0 and con.explain(later).worst_charge == 0
        answer = number(con, later)
        assert answer.interval == (0.0, 25_000.0) and answer.source == "public"
    with connected(database, mechanism='hard_rounds = 1\nwhen_spent = "refuse"') as con:
        number(con, listed(2000))
        assert number(con, listed(20)).interval == (0.0, 200.0)  # no wider than a test would have certified
        with pytest.raises(dpsql.BudgetExhausted):
            con.execute(later)


def test_what_is_left_of_the_rows_is_all_less_the_word(database: Path) -> None:
    text = "SELECT COUNT(*) FROM codes WHERE code <> 'c7'"
    with connected(database, word=f"{TEN}, nullable = false") as con:
        answer, rows = number(con, text), number(con, "SELECT COUNT(*) FROM codes")
        assert rows.error is not None and answer.error == rows.error + 5
        assert answer.value == (rows.value or 0) - 5 and abs(answer.value - 29_990) <= 3 * answer.error
        assert number(con, "SELECT COUNT(*) FROM codes WHERE code IS NULL").interval == (0.0, 0.0)
    with connected(database) as con:  # rows of NULL are in no word
        answer = number(con, text)
        assert answer.error_kind == "exact" and answer.interval is not None
        assert answer.interval[0] <= 29_990 <= answer.interval[1]


def test_different_strings_are_counted_without_a_selection(con: dpsql.Connection) -> None:
    answer = number(con, "SELECT COUNT(DISTINCT code) FROM codes")
    assert answer.source == "measurement" and answer.error is not None
    assert abs((answer.value or 0) - 3000) <= 3 * answer.error


def test_prefixes_are_answered_as_ever(database: Path) -> None:
    with connected(database, word=f"{TEN}, prefixes = [2]") as con:
        with pytest.raises(dpsql.UnsupportedQuery) as caught:
            con.execute(OFTEN)
        assert "GROUP BY left(code, 2)" in caught.value.hint and con.budget.spent_epsilon == 0
        groups = dict(con.execute("SELECT left(code, 2) AS l, COUNT(*) FROM codes GROUP BY l").fetchall())
        assert {f"c{i}" for i in range(1, 10)} <= set(groups)
        assert abs(groups["c1"] - 11_110) < 500
        like = number(con, "SELECT COUNT(*) FROM codes WHERE code LIKE 'c1%'")
        assert like.value == groups["c1"]
        spent = con.budget.spent_epsilon
        assert number(con, "SELECT COUNT(*) FROM codes WHERE code = 'c7'").interval == (0.0, 10.0)
        assert con.budget.spent_epsilon == spent


def test_columns_beside_it_are_measured_better_than_with_a_selection(database: Path) -> None:
    with connected(database) as con, connected(database, word="") as other:
        now, then = (number(c, "SELECT COUNT(*) FROM codes WHERE kind = 'a'").error for c in (con, other))
    assert now is not None and then is not None and now < 0.5 * then


def test_a_string_that_has_more_rows_makes_bars_wrong_and_nothing_else(tmp_path: Path) -> None:
    """Twins under a word that is false: what is said by it is the same of both, to the last digit."""
    asked = (*REFUSED, "SELECT COUNT(*) FROM codes WHERE code = 'c7'", listed(50), "SELECT COUNT(*) FROM nothing")
    told: list[Any] = []
    for rows in (5000, 5001):
        path = tmp_path / f"{rows}.duckdb"
        with duckdb.connect(str(path)) as con:
            con.execute(f"CREATE TABLE codes AS SELECT 'c7' AS code, 'a' AS kind FROM range({rows})")
        with connected(path) as con:
            told.append([_shown(con, text) for text in asked])
            assert con.budget.spent_epsilon == 0
    assert told[0] == told[1]
    assert "(0.0, 10.0)" in str(told[0])


def _shown(con: dpsql.Connection, text: str) -> Any:
    try:
        cursor = con.execute(text)
        return cursor.fetchall(), cursor.answers, cursor.notes, repr(con.explain(text))
    except dpsql.Error as error:
        return str(error), error.hint, error.charged


def test_the_owner_is_told_of_strings_that_have_more(tmp_path: Path) -> None:
    path = tmp_path / "codes.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE codes AS SELECT 'c' || (i % 9) AS code, 'a' AS kind FROM range(95) t(i)")
    path.with_suffix(".dpsql.toml").write_text(POLICY.format(word=TEN, mechanism=""))
    shown = runner().invoke(cli, ["check", str(path)]).stdout
    assert "rows of strings that have more" in shown and "each in at most 10 rows" in shown
    found = json.loads(runner().invoke(cli, ["check", str(path), "--json"]).stdout)
    assert found["codes"]["outside"] == {"kind": 0, "code": 55}  # five strings of eleven rows
    path.with_suffix(".dpsql.toml").write_text(POLICY.format(word=", max_rows_per_value = 11", mechanism=""))
    assert "every value lies in its declared domain" in runner().invoke(cli, ["check", str(path)]).stdout


@pytest.fixture
def copied(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The database where no ledger is known of it."""
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    return Path(shutil.copy(database, tmp_path / "codes.duckdb"))


def test_a_word_that_is_given_later_is_another_policy(copied: Path) -> None:
    database, ledger = copied, copied.with_name("codes.ledger")
    with connected(database, word="", ledger=ledger) as con:
        con.execute("SELECT COUNT(*) FROM codes")
    with pytest.raises(dpsql.LedgerError, match=r"code = .* is now .*max_rows_per_value = 10"):
        connected(database, ledger=ledger)
    with connected(database, word="", ledger=ledger) as con:
        assert con.budget.spent_epsilon > 0


def test_what_the_word_says_begins_no_ledger(copied: Path) -> None:
    ledger = copied.with_name("codes.ledger")
    with connected(copied, ledger=ledger) as con:
        con.execute("SELECT COUNT(*) FROM codes WHERE code = 'c7'")
    with connected(copied, word="", ledger=ledger) as con:
        assert con.budget.spent_epsilon == 0
        assert number(con, "SELECT COUNT(*) FROM codes WHERE code = 'c7'").source != "public"


def test_a_ledger_that_was_begun_with_the_word_goes_on_with_it(copied: Path) -> None:
    database, ledger = copied, copied.with_name("codes.ledger")
    with connected(database, ledger=ledger) as con:
        first = con.execute("SELECT kind, COUNT(*) FROM codes GROUP BY kind").fetchall()
        spent = con.budget.spent_epsilon
    with connected(database, ledger=ledger) as con:
        assert con.execute("SELECT kind, COUNT(*) FROM codes GROUP BY kind").fetchall() == first
        with pytest.raises(dpsql.UnsupportedQuery, match="about 57 rows"):
            con.execute(OFTEN)
        assert con.budget.spent_epsilon == spent


def test_without_selections_lists_are_within_the_word_too(database: Path) -> None:
    with connected(database, mechanism='strategy = "pmw"') as con:
        with pytest.raises(dpsql.UnsupportedQuery, match="every possible string"):
            con.execute(OFTEN)
        assert number(con, "SELECT COUNT(*) FROM codes WHERE code = 'c7'").interval == (0.0, 10.0)
        assert con.budget.spent_epsilon == 0
