"""Sessions on a server's database: the same answers and the same ledger as on a copy of its rows."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result

import dpsql as dpsql_module
from dpsql.errors import EngineError, InterfaceError, LedgerError, PolicyError
from dpsql.interface.cli import cli
from tests.support.command_line import runner
from tests.support.postgres import server

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="pip install 'dpsql[postgresql]'")
POLICY = """\
version = 1
privacy = { epsilon = 1.0, delta = 1e-6 }
[tables.people.columns]
age = { type = "integer", min = 0, max = 9 }
name = { type = "text" }
[public]
tables = ["towns"]
"""


def dpsql(*arguments: object) -> Result:
    return runner().invoke(cli, [str(a) for a in arguments], catch_exceptions=False)


def run(uri: str, *statements: str) -> None:
    with dbapi.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with server() as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "postgres.dpsql.toml").write_text(POLICY)
    return tmp_path


@pytest.fixture
def uri(folder: Path, address: str) -> str:
    run(
        address,
        "DROP TABLE IF EXISTS people, towns",
        "CREATE TABLE people AS SELECT (i % 10)::int2 AS age, 'n' || i % 3 AS name FROM generate_series(1, 3000) i",
        "CREATE TABLE towns AS SELECT 1 AS id, 'Brno' AS name, 2.50::numeric(4, 2) AS price",
    )
    return address


def test_one_ledger_for_a_server_and_for_a_copy_of_its_rows(uri: str, tmp_path: Path) -> None:
    asked = "SELECT name, count(*) AS n FROM people WHERE age < 5 GROUP BY name ORDER BY name"
    shown = dpsql("query", uri, asked, "--format", "csv")
    assert shown.exit_code == 0, shown.stderr
    assert (tmp_path / "postgres.dpsql.ledger").exists()
    with dpsql_module.connect(uri) as con:
        found, spent = con.execute(asked).fetchall(), con.budget.spent_epsilon
        assert [row[0] for row in found[:3]] == ["n0", "n1", "n2"] and all(abs(n - 500) < 150 for _, n in found[:3])
        assert con.execute("SELECT price FROM towns").fetchall()[0][0] == 2.5
    dpsql_module.extract(uri, "postgres.dpsql.toml", "copy.duckdb")
    with dpsql_module.connect("copy.duckdb", "postgres.dpsql.toml", "postgres.dpsql.ledger") as con:
        assert con.execute(asked).fetchall() == found
        assert con.budget.spent_epsilon == spent
    with pytest.raises(LedgerError, match="already ha"):
        dpsql_module.connect("copy.duckdb", "postgres.dpsql.toml")
    checked = dpsql("check", uri)
    assert checked.exit_code == 0 and "3,000" in checked.stdout


def test_a_session_speaks_of_one_moment(uri: str) -> None:
    with dpsql_module.connect(uri) as con:
        run(uri, "DELETE FROM people WHERE age > 2")
        (count,) = con.execute("SELECT count(*) FROM people").fetchall()[0]
        assert abs(count - 3000) < 300
    with pytest.raises(LedgerError, match="other data"):
        dpsql_module.connect(uri)


def test_a_policy_that_names_its_server(uri: str, folder: Path) -> None:
    (folder / "clinic.dpsql.toml").write_text(f'{POLICY}[source]\nuri = "{uri}"\n')
    asked = "SELECT count(*) AS n FROM people WHERE age < 5"
    shown = dpsql("query", "clinic.dpsql.toml", asked, "--format", "csv")
    assert shown.exit_code == 0, shown.stderr
    assert (folder / "clinic.dpsql.ledger").exists()
    checked = dpsql("check", "clinic.dpsql.toml")
    assert checked.exit_code == 0 and "3,000" in checked.stdout
    copied = dpsql("extract", "--policy", "clinic.dpsql.toml", "-o", "copy.duckdb")
    assert copied.exit_code == 0, copied.stderr
    again = dpsql("query", "copy.duckdb", asked, "--policy", "clinic.dpsql.toml", "--ledger", "clinic.dpsql.ledger",
                  "--format", "csv")  # fmt: skip
    assert again.stdout == shown.stdout
    with pytest.raises(LedgerError, match="already ha"):
        dpsql_module.connect(uri)


def test_names_are_compared_in_any_case(uri: str) -> None:
    """Whatever the locale of the server, whose own lower() may know ASCII only."""
    policy = POLICY.replace("tables.people", 'tables."Élèves"').replace("age", '"ÂGE"').replace('"towns"', '"VILÁG"')
    run(
        uri,
        'CREATE TABLE "ÉLÈVES" AS SELECT age AS "âge", name FROM people',
        'CREATE TABLE "világ" AS SELECT 7 AS id',
    )
    with dpsql_module.connect(uri, dpsql_module.load_policy(policy), ":memory:") as con:
        (count,) = con.execute('SELECT count(*) FROM élèves WHERE "âge" < 5').fetchone()
        assert abs(count - 1500) < 300
        assert con.execute("SELECT id FROM vilÁg").fetchall() == [(7,)]
    run(uri, 'DROP TABLE "ÉLÈVES", "világ"')


def test_addresses_that_lead_nowhere(folder: Path) -> None:
    with pytest.raises(InterfaceError, match="no engine for mysql://") as caught:
        dpsql_module.connect("mysql://ann:secret@db/clinic", "postgres.dpsql.toml")
    assert "secret" not in str(caught.value)
    with pytest.raises(EngineError, match="no connection") as failed:
        dpsql_module.connect("postgresql://ann:secret@127.0.0.1:9/clinic", "postgres.dpsql.toml")
    assert "secret" not in str(failed.value) and "secret" not in repr(failed.value.__context__)
    shown = dpsql("query", "postgresql://ann:secret@127.0.0.1:9/none", "SELECT 1", "--policy", "postgres.dpsql.toml")
    assert shown.exit_code == 1 and "secret" not in shown.stderr
    with pytest.raises(PolicyError, match="no such policy file") as unnamed:
        dpsql_module.connect("postgresql://ann:secret@127.0.0.1")
    assert "secret" not in str(unnamed.value)
    for command in (("init",), ("check",), ("query", "SELECT 1")):
        shown = dpsql(command[0], "postgresql://ann:se/secret@db/x", *command[1:])
        assert shown.exit_code in (1, 2) and "secret" not in shown.stderr
    assert dpsql("check", "mysql://db/x").stderr.startswith("error: there is no engine for mysql://")
