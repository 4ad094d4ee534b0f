"""From answers to results: what is shown once."""

from pathlib import Path

import pytest

import dpsql
from tests.support import city


def test_a_charge_is_shown_once_however_many_blocks_show_its_number(tmp_path: Path) -> None:
    """Two blocks of one statement ask the same question, which is paid once."""
    policy = city.policy_text("epsilon = 4.0\ndelta = 1e-6\n", 'strategy = "pmw"\n')
    database = city.build(tmp_path / "city", policy=policy)
    with dpsql.connect(database, ledger=":memory:") as con:
        count = "SELECT COUNT(*) AS n FROM people"
        cursor = con.execute(f"{count} UNION ALL {count}")
        assert [a.charged > 0 for a in cursor.answers] == [True, False]
        assert sum(a.charged for a in cursor.answers) == con.budget.spent_epsilon


@pytest.mark.parametrize("outer", ["{}", "SELECT * FROM ({}) AS counted ORDER BY 1"])
def test_a_charge_is_shown_once_however_many_columns_show_its_number(tmp_path: Path, outer: str) -> None:
    policy = city.policy_text("epsilon = 4.0\ndelta = 1e-6\n", 'strategy = "pmw"\n')
    database = city.build(tmp_path / "city", policy=policy)
    with dpsql.connect(database, ledger=":memory:") as con:
        cursor = con.execute(outer.format("SELECT COUNT(*) AS n, COUNT(*) AS again FROM people"))
        assert cursor.result.charged == con.budget.spent_epsilon > 0


def test_numbers_computed_from_no_group_at_all_are_answered(tmp_path: Path) -> None:
    policy = city.policy_text("epsilon = 4.0\ndelta = 1e-6\n", 'strategy = "pmw"\n')
    database = city.build(tmp_path / "city", policy=policy)
    none = "(SELECT region, COUNT(*) AS n FROM people WHERE age < 0 GROUP BY region)"
    with dpsql.connect(database, ledger=":memory:") as con:
        assert con.execute(f"SELECT SUM(n) AS s, COUNT(n) AS c FROM {none}").fetchall() == [(None, 0)]
        assert con.execute(f"SELECT region, 100.0 * n / SUM(n) OVER () AS p FROM {none}").fetchall() == []
        assert con.budget.spent_epsilon == 0.0
