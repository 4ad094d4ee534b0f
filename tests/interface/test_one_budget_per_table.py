"""Whatever the owner declares of a table, its people have one budget unless another one is decided on."""

from pathlib import Path

import duckdb
import pytest

import dpsql

PRIVACY = "version = 1\n[privacy]\nepsilon = 1.0\ndelta = 1e-6\n[tables.%s.columns]\n%s\n"
AGE = "age = { type = 'integer', min = 0, max = 99 }"
SEX = "sex = { type = 'category', values = ['f', 'm'] }"


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "census.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE adult AS SELECT range % 99 AS age, ['f', 'm'][range % 2 + 1] AS sex FROM range(500)")
        con.execute("CREATE TABLE copied AS SELECT sex, age::SMALLINT AS age FROM adult")
        con.execute("CREATE VIEW grown AS SELECT * FROM adult WHERE age > 17")
    return path


def opened(database: Path, ledger: str, table: str, columns: str, *, new_budget: bool = False) -> None:
    policy = database.with_name(f"{ledger}.toml")
    policy.write_text(PRIVACY % (table, columns), encoding="utf-8")
    dpsql.connect(database, policy, database.with_name(ledger), new_budget=new_budget).close()


@pytest.mark.parametrize(
    ("table", "columns"), [("adult", SEX), ("adult", f"{SEX}\n{AGE}"), ("copied", AGE), ("grown", AGE)]
)
def test_another_policy_is_refused_another_ledger(database: Path, table: str, columns: str) -> None:
    opened(database, "a.ledger", "adult", AGE)
    with pytest.raises(dpsql.errors.LedgerError, match=r"a\.ledger") as raised:
        opened(database, "b.ledger", table, columns)
    assert "--new-budget" in raised.value.hint
    opened(database, "b.ledger", table, columns, new_budget=True)
    opened(database, "a.ledger", "adult", AGE)
