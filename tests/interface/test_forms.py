"""Forms that are rewritten, through a connection: bars stay, steps are paid once, notes say what was not counted."""

from collections.abc import Iterator

import pytest

import dpsql
import dpsql.mechanism
from tests.support import city
from tests.support.entropy import SeededEntropy

POLICY = city.policy_text("epsilon = 8.0\ndelta = 1e-6\n")
COUNTED = "(SELECT region, member, COUNT(*) AS n FROM people GROUP BY ALL)"


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dpsql.Connection]:
    folder = tmp_path_factory.mktemp("forms")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPSQL_STATE_HOME", str(folder / "state"))
        patch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(57))
        database = city.build(folder / "city", policy=POLICY)
        with dpsql.connect(database, ledger=":memory:", new_budget=True) as connection:
            yield connection


def bars(cursor: dpsql.Cursor) -> list[tuple[float, float] | None]:
    return [a.interval for column in cursor.result.column_answers.values() for a in column]


def notes(cursor: dpsql.Cursor) -> list[str]:
    return [note.text for note in cursor.notes]


def test_a_pivot_has_a_bar_for_each_number(con: dpsql.Connection) -> None:
    cursor = con.execute("PIVOT people ON region USING COUNT(*), SUM(age) AS m GROUP BY member ORDER BY member")
    names = [d[0] for d in cursor.description or ()]
    assert names == ["member", *(f"{r}_{a}" for r in ("north", "south", "west") for a in ("count_star()", "m"))]
    assert len(bars(cursor)) == 3 * 6
    assert None not in bars(cursor)


def test_a_pivot_of_released_numbers_is_answered_in_steps_and_paid_once(con: dpsql.Connection) -> None:
    first = con.execute(f"PIVOT {COUNTED} ON region USING SUM(n) GROUP BY member")
    spent = con.budget.spent_epsilon
    assert [d[0] for d in first.description or ()] == ["member", "north", "south", "west"]
    assert any("answered first" in note for note in notes(first))
    again = con.execute(f"PIVOT {COUNTED} ON region USING SUM(n) GROUP BY member")
    assert again.fetchall() == first.fetchall()
    assert con.budget.spent_epsilon == spent


def test_values_without_a_count_are_said_to_be_possible_ones(con: dpsql.Connection) -> None:
    spent = con.budget.spent_epsilon
    for text in (
        "SELECT region FROM regions EXCEPT SELECT region FROM people WHERE age > 3",
        "SELECT region FROM people INTERSECT SELECT region FROM regions",
        "SELECT COUNT(*) FROM (SELECT DISTINCT age FROM people)",
    ):
        assert any("no row was counted" in note for note in notes(con.execute(text))), text
    assert con.budget.spent_epsilon == spent
    assert not any("no row" in n for n in notes(con.execute("SELECT region, COUNT(*) FROM people GROUP BY region")))


def test_a_name_of_a_query_keeps_its_bars_and_is_paid_once(con: dpsql.Connection) -> None:
    spent = con.budget.spent_epsilon
    created = con.execute(
        "CREATE TEMP TABLE t AS SELECT region, AVG(hours) AS h FROM people WHERE age < 7 GROUP BY region"
    )
    assert created.fetchall() == []
    assert any("where it is read" in note for note in notes(created))
    assert con.budget.spent_epsilon == spent
    read = con.execute("SELECT * FROM t WHERE h > 0 ORDER BY region")
    assert bars(read)
    assert None not in bars(read)
    paid = con.budget.spent_epsilon
    assert con.execute("SELECT max(h) FROM t").fetchone() == (max(h for _, h in read.fetchall()),)
    assert con.budget.spent_epsilon == paid
    assert con.explain("CREATE OR REPLACE VIEW t AS SELECT 1 AS x").worst_charge == 0.0
    assert con.execute("SELECT COUNT(*) FROM t").fetchone() != (1,)  # explaining gives no name


def test_lists_of_numbers_say_that_they_have_no_bar(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT [COUNT(*), COUNT_IF(member)] AS both FROM people")
    ((both,),) = cursor.fetchall()
    assert len(both) == 2
    assert any("both depends on released numbers" in note for note in notes(cursor))


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("SELECT region, COUNT(*) FROM people GROUP BY region", {None}),
        ("SELECT region, AVG(age) AS m FROM people GROUP BY region ORDER BY m DESC", {None}),
        ("SELECT region, MAX(age) FROM people GROUP BY region", {None}),
        ("SELECT region, COUNT(*) AS n, COUNT(*) FILTER (WHERE 1 = 0) FROM people GROUP BY region", {None}),
        ("SELECT region, SUM(age) FROM people GROUP BY region", set()),
        ("SELECT region, AVG(age - 5) FROM people WHERE age IN (4, 6) GROUP BY region", {None, "south"}),
        ("SELECT COUNT(*) FROM people WHERE age IS NULL", set()),
    ],
)
def test_groups_that_may_be_empty_are_hidden_where_that_is_wanted(
    con: dpsql.Connection, text: str, hidden: set[str | None]
) -> None:
    """No region is NULL, and no age of the south is even; averages and sums near 0 are no sign of an empty group."""
    whole = con.execute(text).result
    shown = whole.without_empty()
    gone = set(whole.table.column(0).to_pylist()) - set(shown.table.column(0).to_pylist())
    assert gone == hidden
    assert shown.table.num_rows == whole.table.num_rows - len(hidden)
    assert all(len(found) == shown.table.num_rows for found in shown.column_answers.values())
    assert any("hidden" in note.text for note in shown.notes) is bool(hidden)
    assert shown.without_empty() is shown


def test_hidden_groups_stay_in_sums(con: dpsql.Connection) -> None:
    inner = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
    every = con.execute(inner).result
    assert any(every.within)
    ((total,),) = con.execute(f"SELECT SUM(n) FROM ({inner})").fetchall()
    assert total == sum(int(n) for n in every.table.column(1).to_pylist())
