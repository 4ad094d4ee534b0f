"""What owners say of tables and strings that matter more: less noise there, more elsewhere, and bound to the ledger."""

from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.policy_file import parse_policy

POLICY = """
version = 1
privacy = {{ epsilon = 1.0, delta = 1e-6, planned_queries = 2000 }}
[tables.visits]
{visits}
[tables.visits.columns]
ward = {{ type = "integer", min = 0, max = 7 }}
day = {{ type = "integer", min = 1, max = 7 }}
code = {{ type = "text"{code} }}
[tables.staff.columns]
ward = {{ type = "integer", min = 0, max = 7 }}
grade = {{ type = "category", values = ["a", "b", "c"] }}
"""
OF_VISITS = "SELECT COUNT(*) FROM visits WHERE ward = 3 AND day < 4"
OF_STAFF = "SELECT COUNT(*) FROM staff WHERE ward = 3 AND grade = 'b'"
OF_CODES = "SELECT COUNT(*) FROM visits WHERE code IN ('c1', 'c2', 'c3')"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "ward.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE visits AS SELECT i * 7919 % 8 AS ward, 1 + i % 7 AS day, 'c' || i % 20 AS code"
            " FROM range(9000) t(i)"
        )
        con.execute(
            "CREATE TABLE staff AS SELECT i % 8 AS ward, ['a', 'b', 'c'][1 + i % 3] AS grade FROM range(900) t(i)"
        )
    return path


def connected(database: Path, *, visits: str = "", code: str = "", ledger: Path | None = None) -> dpsql.Connection:
    policy = parse_policy(POLICY.format(visits=visits, code=code))
    return dpsql.connect(database, policy=policy, ledger=ledger or ":memory:")


def errors(database: Path, *, visits: str = "", code: str = "") -> list[float]:
    """95 % errors (counts) of a number of each table and of a list of strings."""
    with connected(database, visits=visits, code=code) as con:
        found = [con.execute(sql).answers[0].error for sql in (OF_VISITS, OF_STAFF, OF_CODES)]
    return [float(error) for error in found if error is not None]


def test_what_weighs_more_has_less_noise_and_the_rest_more(database: Path) -> None:
    plain, table, strings = (
        errors(database),
        errors(database, visits="weight = 9"),
        errors(database, code=", weight = 9"),
    )
    assert table[0] < 0.9 * plain[0] and table[2] < 0.9 * plain[2] and table[1] > 1.5 * plain[1]
    assert strings[2] < 0.8 * plain[2] and strings[0] > 1.1 * plain[0]


def test_another_weight_is_another_policy(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    ledger = tmp_path / "ward.ledger"
    with connected(database, visits="weight = 3", ledger=ledger) as con:
        spent = con.execute(OF_VISITS).connection.budget.spent_epsilon
    with pytest.raises(dpsql.LedgerError, match="weight"):
        connected(database, visits="weight = 2", ledger=ledger)
    with connected(database, visits="weight = 3", ledger=ledger) as con:
        assert con.budget.spent_epsilon == spent > 0
