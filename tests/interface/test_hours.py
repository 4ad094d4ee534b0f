"""Columns by hour in a session: what is shown of many hours stays on the hour."""

from datetime import datetime
from pathlib import Path

import duckdb
import pytest

import dpsql

POLICY = """version = 1
privacy = { epsilon = 50, delta = 1e-6 }
[tables.visits.columns]
arrived = { type = "date", min = 2021-01-01T00:00:00, max = 2024-06-03T23:00:00, unit = "hour" }
"""


@pytest.fixture
def con(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dpsql.Connection:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute(
            "CREATE TABLE visits AS SELECT TIMESTAMP '2021-01-01' + INTERVAL (i * 37 % 1800000) MINUTE AS arrived "
            "FROM range(50000) r(i)"
        )
    (tmp_path / "visits.dpsql.toml").write_text(POLICY)
    return dpsql.connect(path, policy=tmp_path / "visits.dpsql.toml", ledger=tmp_path / "visits.ledger")


def test_values_that_rows_hold_are_on_the_hour(con: dpsql.Connection) -> None:
    """With 30,000 hours several are counted together; one of them is shown."""
    with con:
        row = con.execute("SELECT MIN(arrived), quantile_disc(arrived, 0.3), MAX(arrived) FROM visits").fetchone()
        assert row is not None
        for found in row:
            assert isinstance(found, datetime)
            assert (found.minute, found.second, found.microsecond) == (0, 0, 0)
        assert datetime(2021, 11, 1) < row[1] < datetime(2022, 3, 1)  # noqa: DTZ001 - TIMESTAMP has no zone


def test_finer_questions_name_the_hour(con: dpsql.Connection) -> None:
    with con:
        with pytest.raises(dpsql.NotSupportedError, match="declared by hour"):
            con.execute("SELECT minute(arrived), COUNT(*) FROM visits GROUP BY 1")
        assert con.budget.spent_epsilon == 0
        assert len(con.execute("SELECT hour(arrived), COUNT(*) FROM visits GROUP BY 1").fetchall()) == 25


def test_single_moments_are_shown_as_they_are(con: dpsql.Connection) -> None:
    """Constants of a statement are no values of the column."""
    with con:
        row = con.execute(
            "SELECT MAX(CASE WHEN hour(arrived) < 9 THEN TIMESTAMP '2020-01-01 00:00:30' END) FROM visits"
        ).fetchone()
        assert row == (datetime(2020, 1, 1, 0, 0, 30),)  # noqa: DTZ001 - TIMESTAMP has no zone
