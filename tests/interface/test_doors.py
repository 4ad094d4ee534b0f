"""A second budget for the same people is never had by habit, by a hint, or without its price."""

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import dpsql

POLICY = """version = 1
[privacy]
epsilon = 1.0
delta = 1e-6
[tables.%s.columns]
member = { type = "boolean" }
"""
QUESTION = "SELECT COUNT(*) FROM adult WHERE member"
PRICE = "1 + 1 = 2 in all"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def database(tmp_path: Path, state: Path) -> Path:
    """With a ledger that nobody has opened yet."""
    path = tmp_path / "data" / "census.duckdb"
    path.parent.mkdir()
    changed(
        path,
        "CREATE TABLE adult AS SELECT range % 90 AS age, range % 2 = 0 AS member FROM range(2000)",
        "CREATE VIEW grown AS SELECT * FROM adult WHERE age > 17",
    )
    path.with_suffix(".dpsql.toml").write_text(POLICY % "adult", encoding="utf-8")
    return path


def changed(database: Path, *statements: str) -> None:
    with duckdb.connect(str(database)) as con:
        for statement in statements:
            con.execute(statement)


def spend(database: object, **settings: object) -> float:
    """Ask one question; what is spent then."""
    with dpsql.connect(database, **settings) as con:
        con.execute(QUESTION)
        return con.budget.spent_epsilon


def notices(database: object, **settings: object) -> str:
    with dpsql.connect(database, **settings) as con:
        return "\n".join(con.notices)


def refused(database: Path, *told: str, **settings: object) -> dpsql.LedgerError:
    """The refusal, which tells the spend and the price, and creates nothing."""
    before = {path.name for path in database.parent.iterdir()}
    with pytest.raises(dpsql.LedgerError) as caught:
        dpsql.connect(database, **settings)
    for text in told:
        assert text in caught.value.message
    assert "is spent" in caught.value.message and PRICE in caught.value.hint
    assert {path.name for path in database.parent.iterdir()} == before
    return caught.value


ROW = "INSERT INTO adult VALUES (3, true)"
COLUMN = "ALTER TABLE adult ADD COLUMN more INTEGER"


@pytest.mark.parametrize("change", [ROW, COLUMN, "DELETE FROM adult WHERE age = 1"])
def test_one_row_or_column_more_is_no_way_to_a_second_budget(database: Path, change: str) -> None:
    assert spend(database) > 0
    changed(database, change)
    first = refused(database, "belongs to other data")
    assert "--ledger PATH --new-budget" in first.hint
    again = refused(database, "belongs to other data", new_budget=True)
    assert again.hint.startswith("a second budget needs a ledger of its own: add --ledger PATH")
    second = refused(database, "census.dpsql.ledger", ledger=database.with_name("two.ledger"))
    assert "--new-budget" in second.hint
    told = notices(database, ledger=database.with_name("two.ledger"), new_budget=True)
    assert "census.dpsql.ledger (epsilon" in told and "is spent) is about the same people" in told and PRICE in told
    assert notices(database, ledger=database.with_name("two.ledger")) == ""  # decided once


def test_the_same_people_by_a_view_or_a_part_of_the_columns(database: Path) -> None:
    spend(database)
    changed(database, ROW)
    policy = database.with_name("grown.toml")
    policy.write_text(POLICY % "grown", encoding="utf-8")
    refused(database, policy=policy, ledger=database.with_name("two.ledger"))


def test_another_table_of_the_database_has_a_ledger_of_its_own(database: Path) -> None:
    changed(database, "CREATE TABLE pets AS SELECT true AS member FROM range(10)")
    spend(database)
    policy = database.with_name("pets.toml")
    policy.write_text(POLICY % "pets", encoding="utf-8")
    assert "about" not in notices(database, policy=policy, ledger=database.with_name("pets.ledger"))


def test_a_ledger_that_is_gone_is_known_by_its_path_and_its_spend(database: Path) -> None:
    spend(database)
    changed(database, ROW)
    ledger = database.with_suffix(".dpsql.ledger")
    for path in (ledger, ledger.with_name(ledger.name + ".answers")):
        path.unlink()
    refused(database, "is missing")
    other = database.with_name("other.duckdb")  # of other people, but where that ledger was
    changed(other, "CREATE TABLE someone AS SELECT true AS member FROM range(10)")
    policy = database.with_name("someone.toml")
    policy.write_text(POLICY % "someone", encoding="utf-8")
    refused(other, "is missing", policy=policy, ledger=ledger)


@pytest.mark.parametrize(
    ("statement", "told"),
    [("SELECT 1", "these data already have a ledger"), ("DELETE FROM adult WHERE age = 3", "of other rows or columns")],
    ids=["as it was", "changed"],
)
def test_without_a_registry_it_is_said_whether_the_rows_are_those_of_the_ledger_beside_them(
    database: Path, state: Path, statement: str, told: str
) -> None:
    spend(database)
    shutil.rmtree(state)
    changed(database, statement)
    with pytest.raises(dpsql.LedgerError, match=told) as caught:
        dpsql.connect(database, ledger=database.with_name("two.ledger"))
    assert PRICE in (caught.value.hint or "")


def test_without_a_registry_the_ledger_beside_the_database_is_still_there(database: Path, state: Path) -> None:
    spend(database)
    changed(database, ROW)
    shutil.rmtree(state)
    refused(database, "census.dpsql.ledger", ledger=database.with_name("two.ledger"))
    dpsql.connect(database, ledger=database.with_name("two.ledger"), new_budget=True).close()


def moved(database: Path, folder: Path) -> Path:
    shutil.copy(database.with_suffix(".dpsql.toml"), folder)
    return Path(shutil.move(database, folder / database.name))


def test_a_moved_database_is_known_again(database: Path, tmp_path: Path) -> None:
    spend(database)
    changed(database, ROW)
    refused(moved(database, tmp_path), "census.dpsql.ledger")
    changed(tmp_path / "census.duckdb", "ALTER TABLE adult ADD COLUMN more INTEGER")
    refused(tmp_path / "census.duckdb", "census.dpsql.ledger")


def test_a_copy_elsewhere_that_was_changed_is_told_of_the_first(database: Path, tmp_path: Path) -> None:
    """Two databases may hold tables of one name and be about other people: the owner is told and goes on."""
    spend(database)
    for path in (database, database.with_suffix(".dpsql.toml")):
        shutil.copy(path, tmp_path)
    refused(tmp_path / "census.duckdb", "these data already have a ledger")  # not yet changed
    changed(tmp_path / "census.duckdb", ROW)
    told = notices(tmp_path / "census.duckdb")
    assert "of the same name and columns" in told and "is spent)" in told and PRICE in told
    changed(database.with_name("another.duckdb"), "CREATE TABLE adult AS SELECT true AS member, 'x' AS name")
    policy = database.with_suffix(".dpsql.toml")
    assert "same name" not in notices(database.with_name("another.duckdb"), policy=policy)


def test_an_open_connection_is_known_by_its_file(database: Path) -> None:
    spend(database)
    changed(database, ROW)
    policy = database.with_suffix(".dpsql.toml")
    with duckdb.connect(str(database)) as owner, pytest.raises(dpsql.LedgerError, match="already has a ledger"):
        dpsql.connect(owner, policy=policy, ledger=database.with_name("two.ledger"))


@pytest.mark.parametrize("table", ["elsewhere.main.adult", "elsewhere.adult", "elsewhere.adult AS a"])
def test_a_view_of_an_attached_file_is_known_by_that_file(database: Path, tmp_path: Path, table: str) -> None:
    assert spend(database) > 0
    changed(database, "DELETE FROM adult WHERE age = 3")
    for name in ("adult", "people"):
        policy = dpsql.load_policy(POLICY % name)
        with duckdb.connect() as con:
            con.execute(f"ATTACH '{database}' AS elsewhere (READ_ONLY)")
            con.execute(f"CREATE VIEW {name} AS FROM {table}")
            with pytest.raises(dpsql.LedgerError, match="already has a ledger"):
                dpsql.connect(con, policy=policy, ledger=tmp_path / name)


@pytest.mark.parametrize("first", ["VIEW", "TABLE"])
def test_a_copy_in_memory_and_a_view_of_an_attached_file_are_one_place_in_one_folder(
    database: Path, tmp_path: Path, first: str
) -> None:
    policy = dpsql.load_policy(POLICY % "adult")

    def opened(kind: str) -> duckdb.DuckDBPyConnection:
        con = duckdb.connect()
        con.execute(f"ATTACH '{database}' AS elsewhere (READ_ONLY)")
        con.execute(f"CREATE {kind} adult AS SELECT * FROM elsewhere.main.adult")
        return con

    with opened(first) as con:
        assert spend(con, policy=policy, ledger=tmp_path / "first.ledger") > 0
    changed(database, "DELETE FROM adult WHERE age = 4")
    with (
        opened("TABLE" if first == "VIEW" else "VIEW") as con,
        pytest.raises(dpsql.LedgerError, match="already has a ledger"),
    ):
        dpsql.connect(con, policy=policy, ledger=tmp_path / "second.ledger")


def test_an_attached_file_that_is_gone_was_not_moved_to_any_other(database: Path, tmp_path: Path) -> None:
    policy, other = dpsql.load_policy(POLICY % "adult"), tmp_path / "other" / "o.duckdb"
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{database}' AS elsewhere (READ_ONLY)")
        con.execute("CREATE VIEW adult AS FROM elsewhere.main.adult")
        assert spend(con, policy=policy, ledger=tmp_path / "first.ledger") > 0
    database.unlink()
    other.parent.mkdir()
    changed(other, "CREATE TABLE adult AS SELECT range % 90 AS age, range % 3 = 0 AS member FROM range(1900)")
    assert "of the same name and columns" in notices(other, policy=policy)


def test_a_hard_link_is_the_same_place(database: Path, tmp_path: Path) -> None:
    assert spend(database) > 0
    (tmp_path / "linked.duckdb").hardlink_to(database)
    changed(database, "DELETE FROM adult WHERE age = 3")
    with pytest.raises(dpsql.LedgerError, match="already has a ledger"):
        dpsql.connect(tmp_path / "linked.duckdb", policy=dpsql.load_policy(POLICY % "adult"))


def test_rows_in_memory_are_known_by_the_folder_of_their_ledgers(database: Path, tmp_path: Path) -> None:
    policy = database.with_suffix(".dpsql.toml")
    ledgers = [database.with_name("one.ledger"), database.with_name("two.ledger"), tmp_path / "three.ledger"]
    with duckdb.connect() as owner:
        owner.execute("CREATE TABLE adult AS SELECT 30 AS age, range % 2 = 0 AS member FROM range(1000)")
        spend(owner, policy=policy, ledger=ledgers[0])
        owner.execute(ROW)
        with pytest.raises(dpsql.LedgerError, match="already has a ledger") as caught:
            dpsql.connect(owner, policy=policy, ledger=ledgers[1])
        assert PRICE in caught.value.hint
        assert "of the same name and columns" in notices(owner, policy=policy, ledger=ledgers[2])
    assert "of the same name and columns" in notices(database)  # and a database beside them is another one


@pytest.mark.parametrize("change", [None, ROW])
def test_a_ledger_in_memory_is_a_second_budget_too(database: Path, change: str | None) -> None:
    assert "in memory" in notices(database, ledger=":memory:")
    spend(database)
    if change is not None:
        changed(database, change)
    refused(database, "in memory", ledger=":memory:")
    dpsql.connect(database, ledger=":memory:", new_budget=True).close()


def unspent(database: Path, **settings: object) -> None:
    with dpsql.connect(database, **settings) as con:
        con.explain(QUESTION)


def another_row(database: Path) -> None:
    changed(database, ROW)


def another_epsilon(database: Path) -> None:
    policy = database.with_suffix(".dpsql.toml")
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text.replace("1.5", "2.0").replace("1.0", "1.5"), encoding="utf-8")


def another_column(database: Path) -> None:
    policy = database.with_suffix(".dpsql.toml")
    policy.write_text(policy.read_text(encoding="utf-8") + "age = { type = 'integer', min = 0, max = 99 }\n")


@pytest.mark.parametrize("change", [another_row, another_epsilon, another_column])
def test_an_unspent_ledger_begins_anew(database: Path, change: Callable[[Path], None]) -> None:
    unspent(database)
    change(database)
    told = notices(database)
    assert "nothing was spent under the ledger" in told and "same people" not in told
    with dpsql.connect(database) as con:
        assert con.notices == ()
        con.execute(QUESTION)
        spent = con.budget.spent_epsilon
    assert spent > 0 and spend(database) >= spent
    (another_row if change is another_column else change)(database)
    with pytest.raises(dpsql.LedgerError, match="is spent"):
        dpsql.connect(database)


def test_an_unspent_ledger_may_be_removed(database: Path) -> None:
    unspent(database)
    with pytest.raises(dpsql.LedgerError, match="nothing is spent") as caught:
        dpsql.connect(database, ledger=database.with_name("two.ledger"))
    assert "or remove it: nothing is lost" in caught.value.hint
    kept = database.with_name("kept")
    ledger = database.with_suffix(".dpsql.ledger")
    ledger.rename(kept)
    unspent(database)
    assert ledger.exists()
    ledger.unlink()
    spend(database, ledger=database.with_name("two.ledger"))
    refused(database, "not the one known for these data", ledger=kept)  # it came back, and would be a second one


def test_an_unspent_ledger_is_no_way_round_a_spent_one(database: Path) -> None:
    """Bound to other people first, it must not become a second budget for those who have one."""
    other = database.with_name("other.duckdb")
    changed(other, "CREATE TABLE adult AS SELECT true AS member FROM range(10)")
    policy, two = database.with_suffix(".dpsql.toml"), database.with_name("two.ledger")
    unspent(other, policy=policy, ledger=two)
    spend(database)
    with pytest.raises(dpsql.LedgerError, match="already have a ledger") as caught:
        dpsql.connect(database, ledger=two)
    assert PRICE in caught.value.hint
    changed(database, ROW)
    with pytest.raises(dpsql.LedgerError, match="already has a ledger"):
        dpsql.connect(database, ledger=two)
    assert PRICE in notices(database, ledger=two, new_budget=True)


def test_who_had_an_unspent_ledger_open_spends_nothing_once_it_begins_anew(database: Path) -> None:
    with dpsql.connect(database) as first:
        first.explain(QUESTION)
        another_epsilon(database)
        with dpsql.connect(database) as second:
            second.execute(QUESTION)
            with pytest.raises(dpsql.LedgerError, match="begun anew"):
                first.execute(QUESTION)
            assert 0 < second.budget.spent_epsilon < 2
    spend(database)


@pytest.mark.parametrize("comes_back", [True, False])
def test_who_had_a_removed_ledger_open_spends_nothing_once_another_took_its_place(
    database: Path, comes_back: bool
) -> None:
    with dpsql.connect(database) as first:
        ledger, aside = database.with_suffix(".dpsql.ledger"), database.with_name("aside")
        ledger.rename(aside)
        for suffix in ("-wal", "-shm"):
            ledger.with_name(ledger.name + suffix).rename(aside.with_name(aside.name + suffix))
        with dpsql.connect(database, ledger=database.with_name("two.ledger")) as second:
            second.execute(QUESTION)
            if comes_back:
                aside.rename(ledger)
            with pytest.raises(dpsql.LedgerError, match="took the place" if comes_back else "was moved, removed"):
                first.execute(QUESTION)


def test_a_ledger_set_back_beside_newer_answers_is_found_out_without_a_registry(database: Path, state: Path) -> None:
    ledger = database.with_suffix(".dpsql.ledger")
    unspent(database)
    shutil.copy(ledger, database.with_name("early"))
    spend(database)
    shutil.copy(database.with_name("early"), ledger)
    shutil.rmtree(state)
    with pytest.raises(dpsql.LedgerError, match="older than its state on record"):
        dpsql.connect(database)


def test_a_ledger_made_where_the_registry_does_not_reach_is_refused_beside_a_known_one(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend(database)
    changed(database, ROW)
    two = tmp_path / "two.ledger"
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("DPSQL_STATE_HOME", str(tmp_path / "another"))
        spend(database, ledger=two, new_budget=True)
    refused(database, "already has a ledger", ledger=two)
    assert PRICE in notices(database, ledger=two, new_budget=True)
    assert notices(database, ledger=two) == ""
