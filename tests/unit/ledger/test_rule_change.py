"""What changed between two policies, as an owner reads it."""

from pathlib import Path

import pytest

import dpsql
from dpsql.ledger.rule_change import rule_changes
from dpsql.policy_file import dump_policy, parse_policy

TEXT = """
version = 1
privacy = { epsilon = 1, delta = 1e-6 }
[tables.one.columns]
a = { type = "boolean" }
b = { type = "category", values = ["x", "y"] }
[tables.two.columns]
a = { type = "boolean" }
"""


def changes(old: str, new: str) -> tuple[str, ...]:
    before, after = TEXT, TEXT.replace(old, new)
    assert before != after
    return rule_changes(dump_policy(parse_policy(before)), dump_policy(parse_policy(after)))


def test_equal_rules_have_no_changes() -> None:
    text = dump_policy(parse_policy(TEXT))
    assert rule_changes(text, text) == ()


def test_a_value_that_changed() -> None:
    assert changes("epsilon = 1", "epsilon = 2") == ("[privacy] epsilon = 1 is now 2",)


def test_a_key_that_came_or_went() -> None:
    line = "[mechanism] hard_rounds = 4"
    assert changes("[tables.one", "mechanism = { hard_rounds = 4 }\n[tables.one") == (f"{line} is new",)
    text = dump_policy(parse_policy(TEXT + "[mechanism]\nhard_rounds = 4\n"))
    assert rule_changes(text, dump_policy(parse_policy(TEXT))) == (f"{line} is gone",)


def test_the_same_column_of_another_table_is_not_meant() -> None:
    found = changes('two.columns]\na = { type = "boolean" }', 'two.columns]\na = { type = "text" }')
    assert found == ('[tables.two.columns] a = { type = "boolean" } is now { type = "text" }',)


def test_many_changes_and_long_values_are_cut() -> None:
    names = ", ".join(f'"value {i}"' for i in range(50))
    (found,) = changes('["x", "y"]', f"[{names}]")
    assert found.endswith("...") and len(found) < 200
    several = changes("[tables.one", '[tables.more.columns]\nc = { type = "text" }\nd = { type = "text" }\n[tables.one')
    assert len(several) <= 4


def test_another_order_of_columns_is_told() -> None:
    """It is no change of a key, but the ledger is refused for it."""
    a, b = 'a = { type = "boolean" }\n', 'b = { type = "category", values = ["x", "y"] }\n'
    assert changes(a + b, b + a) == ("[tables.one.columns] a is now in another place",)


def test_long_values_that_begin_alike() -> None:
    names = ", ".join(f'"value {i}"' for i in range(50))
    before, after = (TEXT.replace('"x", "y"', names + more) for more in ("", ', "one more"'))
    (found,) = rule_changes(dump_policy(parse_policy(before)), dump_policy(parse_policy(after)))
    assert found == '[tables.one.columns] b = ...48", "value 49"] } is now ...48", "value 49", "one more"] }'


def test_a_key_at_the_end_of_a_long_line() -> None:
    """What was and what is now are told, wherever in the line."""
    was = '[tables.one.columns]\nb = { type = "date", min = 2024-01-01, max = 2024-12-28, unit = "month" }\n'
    assert rule_changes(was, was.replace("month", "week")) == (
        '[tables.one.columns] b = ...2024-12-28, unit = "month" } is now ...2024-12-28, unit = "week" }',
    )
    long = f"[a]\nb = {'x' * 100}"
    assert rule_changes(long, long + "y") == (f"[a] b = ...{'x' * 24} is now ...{'x' * 24}y",)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import duckdb

    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE one AS SELECT true AS a, 'x' AS b FROM range(100)")
        con.execute("CREATE TABLE two AS SELECT true AS a FROM range(100)")
    return path


def spend(database: Path) -> None:
    with dpsql.connect(database) as con:
        con.execute("SELECT COUNT(*) FROM one WHERE a")


def test_a_connection_says_what_changed(database: Path) -> None:
    policy = database.with_suffix(".dpsql.toml")
    policy.write_text(TEXT)
    spend(database)
    policy.write_text(TEXT.replace("epsilon = 1", "epsilon = 1.5"))
    with pytest.raises(dpsql.LedgerError, match=r"epsilon = 1 is now 1\.5"):
        dpsql.connect(database)


def test_rules_too_long_for_a_ledger_leave_the_digest(database: Path) -> None:
    policy = database.with_suffix(".dpsql.toml")
    long = ", ".join(f'"value {i}"' for i in range(20_000))
    policy.write_text(TEXT.replace('"x", "y"', long))
    spend(database)
    policy.write_text(TEXT.replace('"x", "y"', long).replace("epsilon = 1", "epsilon = 2"))
    with pytest.raises(dpsql.LedgerError, match="another policy") as caught:
        dpsql.connect(database)
    assert len(caught.value.message) < 1000
