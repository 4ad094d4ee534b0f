"""Counts of units and of strings through a connection: values, bars, charges, restarts, refusals."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import dpsql
import dpsql.mechanism
from tests.support import city
from tests.support.entropy import SeededEntropy

POLICY = city.policy_text("epsilon = 8.0\ndelta = 1e-6\n", "hard_rounds = 40\n")
FEW = city.policy_text("epsilon = 8.0\ndelta = 1e-6\n", "hard_rounds = 1\n")
UNITS = "SELECT COUNT(DISTINCT person) FROM visits"
MANY = [f"{UNITS} WHERE day % 7 IN ({a}, {b}) OR kind = 'walk'" for a in range(7) for b in range(a)]
"""More than the few pay for."""


def opened(database: Path, seed: int = 1, ledger: str = ":memory:") -> dpsql.Connection:
    """A session whose noise is the same each time: one bar in twenty does not hold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(seed))
        return dpsql.connect(database, ledger=ledger)


@pytest.fixture
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dpsql.Connection]:
    folder = tmp_path_factory.mktemp("city")
    with pytest.MonkeyPatch.context() as patch:  # no other test's ledgers are heard of
        patch.setenv("DPSQL_STATE_HOME", str(folder / "state"))
        connection = opened(city.build(folder / "stored", policy=POLICY))
    with connection:
        yield connection


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other test hears of these ledgers."""
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))


def asked(con: dpsql.Connection, sql: str) -> list[tuple[float, float, float]]:
    """Value, error and charge of each number."""
    cursor = con.execute(sql)
    assert cursor.fetchall()
    return [(float(a.value or 0), a.error or 0.0, a.charged) for a in cursor.answers]


def test_units_are_counted_once(con: dpsql.Connection) -> None:
    ((value, error, charged),) = asked(con, UNITS)
    assert abs(value - 600) <= error  # every person has a row that is kept
    assert 0 < charged < 0.5
    assert asked(con, UNITS) == [(value, error, 0.0)]
    cursor = con.execute(UNITS)
    assert any("at most 2 rows of each person" in str(note) for note in cursor.notes)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_five_rows_make_a_unit_no_less_exact_than_its_rows(tmp_path: Path, neighbors: str) -> None:
    text = city.policy_text(f'epsilon = 1.0\ndelta = 1e-6\nneighbors = "{neighbors}"\n').replace("= 2\n", "= 5\n")
    with opened(city.build(tmp_path / "city", policy=text)) as con:
        (rows, units) = (asked(con, sql)[0] for sql in ("SELECT COUNT(*) FROM visits", UNITS))
    assert units[1] <= rows[1] and units[2] < rows[2]


@pytest.mark.parametrize(
    ("sql", "true"),
    [
        (f"{UNITS} WHERE day = 3", None),
        ("SELECT COUNT(DISTINCT v.person) FILTER (WHERE kind = 'walk') FROM visits AS v", None),
        ("SELECT COUNT(DISTINCT CASE WHEN day > 3 THEN person END) FROM visits", None),
        ("SELECT approx_count_distinct(p) FROM (SELECT person AS p, kind FROM visits WHERE kind = 'talk')", None),
        ("SELECT COUNT(DISTINCT person) FROM (SELECT * FROM visits WHERE day < 4)", None),
        ("SELECT COUNT(DISTINCT person) FROM visits WHERE place IN ('place1', 'place2')", None),
        ("SELECT COUNT(DISTINCT place) FROM visits", 20),
        ("SELECT COUNT(DISTINCT name) FROM people WHERE member", None),
    ],
)
def test_conditions_and_strings(con: dpsql.Connection, sql: str, true: int | None) -> None:
    ((value, error, charged),) = asked(con, sql)
    assert error > 0 and charged > 0
    assert true is None or abs(value - true) <= error


def test_groups_are_one_release(con: dpsql.Connection) -> None:
    spent = con.budget.spent_epsilon
    found = asked(con, "SELECT kind, COUNT(DISTINCT person) FROM visits GROUP BY kind")
    assert len(found) == 3 and len({error for _, error, _ in found}) == 1
    assert sum(charged for *_, charged in found) == pytest.approx(con.budget.spent_epsilon - spent)
    assert asked(con, f"{UNITS} WHERE kind = 'walk'") == [(*found[0][:2], 0.0)]
    again = asked(con, "SELECT kind, COUNT(DISTINCT person) FROM visits GROUP BY kind")
    assert [a[:2] for a in again] == [a[:2] for a in found] and not any(charged for *_, charged in again)


def test_an_explanation_says_what_it_charges(con: dpsql.Connection) -> None:
    spent, sql = con.budget.spent_epsilon, f"{UNITS} WHERE day BETWEEN 2 AND 5"
    (plan,) = con.explain(sql).plans
    assert con.budget.spent_epsilon == spent
    ((_, error, charged),) = asked(con, sql)
    assert (plan.error, plan.worst_charge) == (error, pytest.approx(charged))
    assert con.explain(sql).worst_charge == 0.0


def test_terms_are_kept(con: dpsql.Connection) -> None:
    sql, spent = f"{UNITS} WHERE day IN (2, 6)", con.budget.spent_epsilon
    with pytest.raises(dpsql.BudgetExhausted, match="max_charge"):
        con.execute(sql, max_charge=0.0)
    with pytest.raises(dpsql.UnsupportedQuery, match="different values"):
        con.execute(sql, within=50)
    assert con.budget.spent_epsilon == spent
    (charge,) = (p.worst_charge for p in con.explain(sql).plans)
    con.execute(sql, max_charge=charge)
    con.execute(sql, max_charge=0.0)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(DISTINCT person) FROM visits WHERE person = 7",
        "SELECT person, COUNT(DISTINCT place) FROM visits GROUP BY person",
        "SELECT MAX(person) FROM visits",
        "SELECT p FROM (SELECT person AS p, day FROM visits) WHERE p > 3",
        "SELECT COUNT(*) FROM (SELECT person FROM visits UNION ALL SELECT day FROM visits)",
    ],
)
def test_units_are_not_compared_or_shown(con: dpsql.Connection, sql: str) -> None:
    spent = con.budget.spent_epsilon
    with pytest.raises(dpsql.UnsupportedQuery, match=r"units|lists each person") as caught:
        con.execute(sql)
    assert caught.value.hint and caught.value.charged == 0.0
    assert con.budget.spent_epsilon == spent


def test_a_condition_inside_a_bin_is_refused_as_such(con: dpsql.Connection) -> None:
    with pytest.raises(dpsql.UnsupportedQuery, match="part of a bin") as caught:
        con.execute("SELECT COUNT(DISTINCT name) FROM people WHERE hours > 33")
    assert "edge" in caught.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT kind, COUNT(DISTINCT person) AS n FROM visits GROUP BY kind LIMIT 0",
        "SELECT kind, n FROM (SELECT kind, COUNT(DISTINCT v.person) AS n FROM visits AS v GROUP BY kind) WHERE 1 = 0",
    ],
)
def test_tools_ask_for_the_columns_first(con: dpsql.Connection, sql: str) -> None:
    spent, cursor = con.budget.spent_epsilon, con.execute(sql)
    assert [d[:2] for d in cursor.description or ()] == [("kind", "VARCHAR"), ("n", "BIGINT")]
    assert (cursor.fetchall(), con.budget.spent_epsilon) == ([], spent)


@pytest.mark.parametrize("sql", ["SELECT person FROM visits LIMIT 0", "SELECT DISTINCT person FROM visits LIMIT 0"])
def test_the_unit_is_no_column_even_where_no_row_is_wanted(con: dpsql.Connection, sql: str) -> None:
    with pytest.raises(dpsql.ProgrammingError, match="person"):
        con.execute(sql)
    assert "person" not in [d[0] for d in con.execute("SELECT * FROM visits LIMIT 0").description or ()]


def test_a_restart_knows_what_was_released(tmp_path: Path) -> None:
    database, ledger = city.build(tmp_path / "city", policy=POLICY), str(tmp_path / "kept.ledger")
    texts = (UNITS, "SELECT COUNT(DISTINCT place) FROM visits", f"{UNITS} WHERE day = 1")
    with opened(database, 1, ledger) as one:
        found = [asked(one, sql)[0] for sql in texts]
        spent = one.budget.spent_epsilon
    with opened(database, 2, ledger) as other:
        assert [asked(other, sql)[0] for sql in texts] == [(value, error, 0.0) for value, error, _ in found]
        assert other.budget.spent_epsilon == spent


def test_an_empty_purse_refuses_before_it_charges(tmp_path: Path) -> None:
    with opened(city.build(tmp_path / "city", policy=FEW)) as con:
        spent, found = 0.0, []
        with pytest.raises(dpsql.BudgetExhausted) as caught:
            for sql in MANY:
                spent = con.budget.spent_epsilon
                found.append(asked(con, sql)[0])
        assert found and caught.value.charged == 0.0 and caught.value.hint
        assert con.budget.spent_epsilon == spent
        assert asked(con, MANY[0]) == [(*found[0][:2], 0.0)]
        con.execute("SELECT COUNT(*) FROM visits WHERE day = 2")  # what the model says goes on


def test_an_explanation_refuses_what_is_paid_for_one_by_one_only(tmp_path: Path) -> None:
    conditions = [sql.partition(" WHERE ")[2] for sql in MANY]
    together = ", ".join(f"COUNT(DISTINCT person) FILTER (WHERE {c})" for c in conditions)
    with opened(city.build(tmp_path / "city", policy=FEW)) as con:
        con.execute("SELECT COUNT(*) FROM visits")
        assert con.explain(MANY[0]).plans
        for ask in (con.explain, con.execute):
            with pytest.raises(dpsql.BudgetExhausted, match="does not pay for counts of different values"):
                ask(f"SELECT {together} FROM visits")


@pytest.mark.parametrize("seed", range(4))
def test_no_more_strings_are_told_than_are_listed(tmp_path: Path, seed: int) -> None:
    """17 of two were."""
    two = "SELECT COUNT(DISTINCT place) FROM visits WHERE place IN ('place1', 'place2')"
    with opened(city.build(tmp_path / "city", policy=POLICY), seed) as con:
        for sql, most in ((two, 2.0), (f"{two} AND day < 5", 2.0), (f"{two[:-10]})", 1.0)):
            cursor = con.execute(sql)
            (answer,) = cursor.answers
            low, high = answer.interval or (0.0, 99.0)
            assert cursor.fetchall() == [(answer.value,)]
            assert 0 <= low <= (answer.value or 0) <= high <= most
            assert answer.error is not None and answer.error <= most
        for sql in ("SELECT COUNT(DISTINCT place) FROM visits WHERE day < 5", f"{two} OR day < 5"):
            (answer,) = con.execute(sql).answers
            assert answer.error is not None and answer.error > 2.0  # nothing is listed
