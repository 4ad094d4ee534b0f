"""Two private tables joined by their unit are the owner's view of both: the same numbers, and paid once."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.errors import PolicyError
from dpsql.policy import Policy
from dpsql.policy_file import dump_policy, parse_policy

COLUMNS = {
    "patients": 'sex = { type = "category", values = ["f", "m"] }\nage = { type = "integer", min = 0, max = 99 }\n',
    "visits": 'month = { type = "integer", min = 1, max = 12 }\ncost = { type = "integer", min = 0, max = 50 }\n',
}
POLICY = f"""\
version = 1
privacy = {{ epsilon = 8, delta = 1e-6 }}
[tables.patients]
unit = "patient_id"
[tables.patients.columns]
{COLUMNS["patients"]}
[tables.visits]
unit = "PATIENT_ID"
max_rows_per_unit = 3
[tables.visits.columns]
{COLUMNS["visits"]}age = {{ type = "integer", min = 0, max = 99 }}
[tables."both of them"]
unit = "patient_id"
max_rows_per_unit = 3
joins = ["patients", "visits"]
[tables."both of them".columns]
{COLUMNS["patients"]}{COLUMNS["visits"]}
[public]
tables = ["seasons"]
"""
ROWS = """
CREATE TABLE patients AS SELECT i AS patient_id, ['f', 'm'][1 + i % 2] AS sex, i % 90 AS age FROM range(2000) t(i);
CREATE TABLE visits AS SELECT i % 2000 AS patient_id, i % 12 + 1 AS month, (i * 7) % 50 AS cost, i % 70 AS age
  FROM range(5000) t(i);
CREATE TABLE seasons AS SELECT i AS month, ['cold', 'warm'][1 + i // 4 % 2] AS season FROM range(1, 13) t(i);
CREATE VIEW "both of them" AS
  SELECT patient_id, sex, p.age, month, cost FROM patients p JOIN visits USING (patient_id);
"""


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dpsql.Connection]:
    database = duckdb.connect()
    database.execute(ROWS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPSQL_STATE_HOME", str(tmp_path_factory.mktemp("views")))
        with dpsql.connect(database, policy=parse_policy(POLICY), ledger=":memory:") as connection:
            yield connection


@pytest.mark.parametrize(
    ("joined", "of_the_view"),
    [
        (
            "SELECT p.sex, COUNT(*) FROM patients p JOIN visits v USING (patient_id) WHERE v.month < 6 GROUP BY p.sex",
            "SELECT sex, COUNT(*) FROM v WHERE month < 6 GROUP BY sex",
        ),
        (
            "SELECT COUNT(*) FROM visits, patients WHERE visits.patient_id = patients.patient_id AND sex = 'f'",
            "SELECT COUNT(*) FROM v WHERE sex = 'f'",
        ),
        (
            "SELECT AVG(v.cost) FROM main.patients p INNER JOIN visits v ON (v.Patient_ID = p.patient_id AND month = 3)"
            " WHERE sex = 'm' OR cost < 9",
            "SELECT AVG(cost) FROM v WHERE (sex = 'm' OR cost < 9) AND month = 3",
        ),
        (
            "SELECT COUNT(DISTINCT p.patient_id) FROM patients p JOIN visits v ON p.patient_id = v.patient_id",
            "SELECT COUNT(DISTINCT patient_id) FROM v",
        ),
        (
            "SELECT season, COUNT(*) FROM seasons s JOIN visits v ON s.month = v.month JOIN patients p "
            "ON p.patient_id = v.patient_id GROUP BY season",
            "SELECT season, COUNT(*) FROM seasons s JOIN v ON s.month = v.month GROUP BY season",
        ),
        (
            "WITH f AS (SELECT sex, month FROM patients JOIN visits USING (patient_id)) SELECT COUNT(*) FROM f",
            "SELECT COUNT(*) FROM v",
        ),
    ],
)
def test_a_join_by_the_unit_is_the_view_and_is_paid_once(con: dpsql.Connection, joined: str, of_the_view: str) -> None:
    said = con.execute(joined).fetchall()
    spent = con.budget
    again = con.execute(of_the_view.replace(" v ", ' "both of them" v ').replace("FROM v", 'FROM "both of them" v'))
    assert sorted(again.fetchall(), key=str) == sorted(said, key=str)
    assert con.budget == spent
    assert said


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT COUNT(*) FROM patients p LEFT JOIN visits v USING (patient_id)", "LEFT JOIN of patients and visits"),
        ("SELECT COUNT(*) FROM patients p NATURAL JOIN visits v", "NATURAL JOIN of patients and visits"),
        ("SELECT COUNT(*) FROM patients p SEMI JOIN visits v USING (patient_id)", "SEMI JOIN of patients and visits"),
        ("SELECT COUNT(*) FROM patients p JOIN visits v USING (age)", "are joined by age"),
        ("SELECT COUNT(*) FROM patients p JOIN visits v USING (patient_id, age)", "are joined by patient_id, age"),
        ("SELECT COUNT(*) FROM patients p JOIN visits v ON p.age = v.cost", "are not joined by patient_id"),
        ("SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id < v.patient_id", "are not joined by"),
        ("SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = p.patient_id", "are not joined by"),
        ("SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = v.patient_id OR TRUE", "are not joined by"),
        ("SELECT COUNT(*) FROM patients p, visits v", "are not joined by patient_id"),
        (
            "SELECT COUNT(*) FROM patients p JOIN visits v USING (patient_id) WHERE p.month = 3",
            "no column 'month' in pat",
        ),
        (
            "SELECT COUNT(*) FROM patients p JOIN visits v USING (patient_id) WHERE p.age = 3",
            "age is a column of patients",
        ),
        (
            "SELECT COUNT(*) FROM patients p JOIN visits v USING (patient_id) WHERE age = 3",
            "age is a column of patients",
        ),
        ("SELECT p.* FROM patients p JOIN visits v USING (patient_id)", "no column"),
        (
            "SELECT COUNT(*) FROM patients p JOIN visits v USING (patient_id) GROUP BY p.patient_id",
            "lists each patient_id",
        ),
        (
            "SELECT COUNT(*) FROM patients p JOIN visits v USING (patient_id) JOIN visits w USING (patient_id)",
            "a join of",
        ),
        ("SELECT COUNT(*) FROM patients p JOIN patients q USING (patient_id)", "a join of private tables"),
        ("SELECT COUNT(*) FROM (SELECT * FROM patients) p JOIN visits USING (patient_id)", "a join of private tables"),
    ],
)
def test_other_joins_are_refused_at_no_charge(con: dpsql.Connection, statement: str, words: str) -> None:
    spent = con.budget
    with pytest.raises(dpsql.Error, match=words) as caught:
        con.execute(statement)
    assert getattr(caught.value, "hint", None)
    assert con.budget == spent


def test_a_name_of_the_statement_hides_the_table(con: dpsql.Connection) -> None:
    sql = "WITH visits AS (SELECT 1 AS patient_id) SELECT COUNT(*) FROM patients p JOIN visits USING (patient_id)"
    with pytest.raises(dpsql.Error):
        con.execute(sql)


def test_the_policy_keeps_the_word_and_its_ledgers() -> None:
    """Which statements are read as the view's changes nothing that is paid for."""
    policy = parse_policy(POLICY)
    assert policy.tables[2].joins == ("patients", "visits")
    assert parse_policy(dump_policy(policy)) == policy
    without = Policy(policy.privacy, tuple(replace(t, joins=()) for t in policy.tables), policy.mechanism, ("seasons",))
    assert without.digest == policy.digest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('["patients", "visits"]', '["patients", "nobody"]'),
        ('["patients", "visits"]', '["patients", "Patients"]'),
        ('["patients", "visits"]', '["patients"]'),
        ('["patients", "visits"]', '["patients", "both of them"]'),
        ('["patients", "visits"]', '["patients", "visits", "both of them"]'),
        ('unit = "PATIENT_ID"', 'unit = "visit_id"'),
        ('unit = "PATIENT_ID"\nmax_rows_per_unit = 3', ""),
    ],
)
def test_what_is_no_join_of_two_tables_is_refused(before: str, after: str) -> None:
    assert before in POLICY
    with pytest.raises(PolicyError) as caught:
        parse_policy(POLICY.replace(before, after))
    assert caught.value.path == "tables.both of them.joins" and caught.value.hint


def test_a_draft_says_how_to_make_a_join_answerable(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from dpsql.interface.cli import cli

    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute(ROWS.split("CREATE VIEW")[0])
    assert CliRunner().invoke(cli, ["init", str(path), "--look-at-data"]).exit_code == 0
    text = path.with_name("clinic.dpsql.toml").read_text()
    assert '# joins = ["patients", "visits"]' in text and text.count("CREATE VIEW") == 1
    (view,) = [line.removeprefix("# ") for line in text.splitlines() if "CREATE VIEW" in line]
    with duckdb.connect(str(path)) as database:
        database.execute(view)
        assert database.sql("SELECT COUNT(*) FROM patients_visits").fetchall() == [(5000,)]
