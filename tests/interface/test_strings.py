"""Questions about strings, through the public interface: groups of released strings, prefixes, what is said of them."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.engine.duckdb import text_index

POLICY = """version = 1
[privacy]
epsilon = 4.0
delta = 1e-6
planned_queries = 1000
[mechanism]
strategy = "{strategy}"
[tables.files]
[tables.files.columns]
ext = {{ type = "text", prefixes = [1] }}
kind = {{ type = "category", values = ["a", "b"], nullable = false }}
"""
GROUPS = "SELECT ext, COUNT(*) AS n FROM files GROUP BY ext ORDER BY n DESC"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten frequent strings, a NULL, and 100 strings of one row each."""
    path = tmp_path_factory.mktemp("strings") / "files.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE files AS SELECT CASE WHEN i < 20000 THEN 'py' || (i % 10) WHEN i < 21000 THEN NULL "
            "ELSE 'rare' || i END AS ext, CASE WHEN i % 4 = 0 THEN 'a' ELSE 'b' END AS kind FROM range(21100) t(i)"
        )
    return path


def connected(database: Path, strategy: str = "auto") -> dpsql.Connection:
    rules = dpsql.load_policy(POLICY.format(strategy=strategy))
    return dpsql.connect(database, policy=rules, ledger=":memory:")


@pytest.fixture
def con(database: Path) -> Iterator[dpsql.Connection]:
    with connected(database) as con:
        yield con


def test_strings_that_stay_in_duckdb_are_released_and_counted_alike(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_index, "FEW", -1)
    with connected(database) as con:
        groups = dict(con.execute(GROUPS).fetchall())
        assert {f"py{i}" for i in range(10)} <= set(groups)
        assert not any(str(ext).startswith("rare") for ext in groups)
        assert all(abs(groups[f"py{i}"] - 2000) < 200 for i in range(10))
        both = "SELECT COUNT(*) FROM files WHERE ext IN ('py1', 'absent') AND kind = 'b'"
        assert abs(con.execute(both).fetchall()[0][0] - 2000) < 200


def test_groups_are_the_released_strings(con: dpsql.Connection) -> None:
    cursor = con.execute(GROUPS)
    rows = cursor.fetchall()
    assert {r[0] for r in rows} == {None, *(f"py{i}" for i in range(10))}
    for (ext, n), answer in zip(rows, cursor.answers, strict=True):
        assert (answer.source, answer.error_kind) == ("measurement", "exact")
        assert answer.error is not None
        assert abs(n - (1000 if ext is None else 2000)) <= 3 * answer.error
    assert sum(a.charged for a in cursor.answers) > 0
    again = con.execute(GROUPS)
    assert again.fetchall() == rows
    assert sum(a.charged for a in again.answers) == 0


def test_one_group_and_the_same_string_asked_for_are_equal(con: dpsql.Connection) -> None:
    groups = dict(con.execute(GROUPS).fetchall())
    assert con.execute("SELECT COUNT(*) FROM files WHERE ext = 'py3'").fetchone() == (groups["py3"],)
    assert con.execute("SELECT COUNT(*) FROM files WHERE ext IS NULL").fetchone() == (groups[None],)


def test_an_explanation_names_the_first_touch_and_charges_nothing(con: dpsql.Connection) -> None:
    found = con.explain(GROUPS)
    assert found.worst_charge > 0
    assert any("frequent strings of ext" in note.text for note in found.notes)
    assert con.budget.spent_epsilon == 0
    before = con.budget.remaining_epsilon
    con.execute(GROUPS)
    assert before - con.budget.remaining_epsilon == pytest.approx(found.worst_charge)


def test_groups_by_a_declared_prefix(con: dpsql.Connection) -> None:
    rows = dict(con.execute("SELECT left(ext, 1) AS l, COUNT(*) AS n FROM files GROUP BY l").fetchall())
    assert {"p", None} <= set(rows) <= {"p", "r", None}
    assert rows["p"] == pytest.approx(20_000, abs=200)
    (like,) = con.execute("SELECT COUNT(*) FROM files WHERE ext LIKE 'p%'").fetchone() or (None,)
    assert like == rows["p"]


def test_what_is_wrong_with_a_statement_is_said_before_anything_is_charged(con: dpsql.Connection) -> None:
    for text in (
        "SELECT ext, COUNT(*) FROM files GROUP BY ext HAVING nonsense(COUNT(*)) > 1",
        "SELECT ext, LIST(kind) FROM files GROUP BY ext",
        "SELECT kind, COUNT(*) FROM files WHERE ext + 1 > 2 AND nonsense(ext) GROUP BY kind",
        "SELECT AVG(ext) FROM files WHERE ext LIKE 'py%'",
    ):
        with pytest.raises(dpsql.Error):
            con.execute(text)
    assert con.budget.spent_epsilon == 0


def test_without_selections_groups_of_strings_are_refused(database: Path) -> None:
    with connected(database, "pmw") as con:
        with pytest.raises(dpsql.UnsupportedQuery):
            con.execute(GROUPS)
        assert con.budget.spent_epsilon == 0


def test_strings_that_were_not_shown_are_estimated_near_nothing(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT COUNT(*) FROM files WHERE ext = 'rare21000'")
    (value,) = cursor.fetchone() or (None,)
    (answer,) = cursor.answers
    assert answer.error is not None
    assert abs(value - 1) <= 2.5 * answer.error  # 95 % of the time it is within one
    assert not any(r[0] is not None and r[0].startswith("rare") for r in con.execute(GROUPS).fetchall())


def test_the_shell_says_which_strings_are_groups(con: dpsql.Connection) -> None:
    cursor = con.execute(GROUPS)
    result = cursor.result
    assert result is not None
    (text,) = [note.text for note in result.notes if "only the frequent strings of ext" in note.text]
    found = re.fullmatch(r".*; rows with other strings, about ([0-9,]+), are in no group", text)
    assert found is not None
    rows = con.execute("SELECT COUNT(*) FROM files").fetchone()
    assert rows is not None
    left = rows[0] - sum(n for _, n in cursor.fetchall())
    assert abs(int(found[1].replace(",", "")) - left) <= 0.02 * rows[0]


def test_patterns_count_the_released_strings_and_say_so(con: dpsql.Connection) -> None:
    text = "SELECT COUNT(*) AS n FROM files WHERE ext LIKE '%3' OR ext LIKE '%4%'"
    explained = con.explain(text)
    assert explained.worst_charge > 0
    assert any("frequent ones, once they are measured" in note.text for note in explained.notes)
    before = con.budget.remaining_epsilon
    cursor = con.execute(text)
    (n,) = cursor.fetchone() or (None,)
    (answer,) = cursor.answers
    assert answer.error is not None
    assert abs(n - 4000) <= 3 * answer.error
    assert 0 < before - con.budget.remaining_epsilon <= explained.worst_charge + 1e-9
    assert cursor.result is not None
    (note,) = [n.text for n in cursor.result.notes if n.kind == "strings"]
    assert note.startswith("an expression of ext is evaluated on its frequent strings that were released (10 of them)")
    others = int(note.split("about ")[1].split(",")[0])
    assert others == pytest.approx(100, abs=60)
    groups = dict(con.execute("SELECT substr(ext, 3) AS digit, COUNT(*) FROM files GROUP BY 1").fetchall())
    assert set(groups) == {None, *(str(i) for i in range(10))}
    shown = dict(con.execute(GROUPS).fetchall())
    assert groups["3"] == shown["py3"]


def test_patterns_are_refused_without_selections(database: Path) -> None:
    with connected(database, "pmw") as con:
        with pytest.raises(dpsql.UnsupportedQuery, match="every possible string"):
            con.execute("SELECT COUNT(*) FROM files WHERE ext LIKE '%3'")
        assert con.budget.spent_epsilon == 0


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ext, COUNT(*) FROM files WHERE kind = 'a' GROUP BY ext",
        "SELECT ext, kind, COUNT(*), COUNT(*) FILTER (WHERE kind = 'b') FROM files GROUP BY ext, kind",
        "SELECT COUNT(*) FROM (SELECT ext, COUNT(*) AS n FROM files WHERE kind <> 'a' GROUP BY ext) WHERE n > 10",
        "SELECT ext, COUNT(DISTINCT kind), MAX(kind), mode(kind) FROM files GROUP BY ext",
        "SELECT ext, histogram(kind) FROM files GROUP BY ext",
        "SELECT ext, SUM(DISTINCT (kind = 'a')::INT) FROM files GROUP BY ext",
        "SELECT COUNT(DISTINCT kind) FROM files WHERE ext LIKE '%3'",
        "SELECT MAX(ext) FROM files WHERE kind = 'a'",
        "SELECT COUNT(*) FROM files WHERE ext LIKE '%3' OR kind = 'a'",
        "SELECT COUNT(*) FROM files WHERE ext LIKE '%3'",
        "SELECT MAX(kind), COUNT(*) FILTER (WHERE ext LIKE '%3') FROM files",
        "SELECT COUNT(DISTINCT kind), SUM(length(ext)) FROM files",
        GROUPS,
    ],
)
def test_a_first_statement_by_strings_charges_no_more_than_was_foreseen(con: dpsql.Connection, text: str) -> None:
    foreseen = con.explain(text)
    con.execute(text)
    assert 0.0 < con.budget.spent_epsilon <= foreseen.worst_charge + 1e-9  # the same charges, added in another order


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ext, COUNT(DISTINCT unit) FROM files GROUP BY ext",
        "SELECT COUNT(DISTINCT unit) FROM files WHERE ext LIKE '%3'",
        "SELECT ext, COUNT(DISTINCT unit), COUNT(*), SUM(k) FROM files WHERE k > 1 GROUP BY ext",
    ],
)
def test_different_units_by_strings_charge_no_more_than_was_foreseen(text: str) -> None:
    rows = "SELECT i // 2 AS unit, 'py' || (i % 10) AS ext, i % 5 AS k FROM range(20000) t(i)"
    policy = POLICY.format(strategy="auto").replace("[tables.files]\n", '[tables.files]\nunit = "unit"\n')
    policy = policy.replace(
        'kind = { type = "category", values = ["a", "b"]', 'k = { type = "integer", min = 0, max = 4'
    )
    with duckdb.connect() as data:
        data.execute(f"CREATE TABLE files AS {rows}")
        with dpsql.connect(data, policy=dpsql.load_policy(policy), ledger=":memory:") as con:
            foreseen = con.explain(text)
            con.execute(text)
            assert 0.0 < con.budget.spent_epsilon <= foreseen.worst_charge + 1e-9


def test_what_no_released_string_matches_is_not_said_to_be_exact(con: dpsql.Connection) -> None:
    """``rare20500`` is in the table and is none of the released strings: 0 is what these say, and no bound is known."""
    for text in (
        "SELECT COUNT(*) FROM files WHERE length(ext) = 9",
        "SELECT COUNT(DISTINCT ext) FROM files WHERE ext LIKE '%rare%'",
    ):
        cursor = con.execute(text)
        (answer,) = cursor.answers
        assert cursor.fetchall() == [(0,)]
        assert (answer.error, answer.interval, answer.certified) == (None, None, False)
        assert answer.source != "public"
    (share,) = con.execute("SELECT 100.0 * COUNT(*) FILTER (WHERE length(ext) = 9) / COUNT(*) AS p FROM files").answers
    assert share.error is None
    (some,) = con.execute("SELECT COUNT(*) FROM files WHERE length(ext) = 3").answers
    assert some.error is not None and not some.certified and some.certified_bound is None
    few, every = con.execute(
        "SELECT COUNT(*) FILTER (WHERE ext LIKE '%3') AS few, COUNT(*) AS every FROM files"
    ).answers
    assert not few.certified and every.certified  # all rows are counted, whatever their strings
    (none,) = con.execute("SELECT COUNT(*) FROM files WHERE ext = 'py3' AND 1 > 2").answers
    assert none.source == "public" and none.certified
