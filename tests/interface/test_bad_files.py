"""What lies on the disk is wrong: databases, policies and ledgers are refused with a hint, and nothing is lost."""

import shutil
import sqlite3
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dpsql
from dpsql.interface.cli import cli
from dpsql.ledger import SqliteLedger
from tests.support import city
from tests.support.command_line import runner
from tests.support.users import ordinary_user

SECONDS = 2.0
QUESTIONS = ("SELECT region, COUNT(*) FROM people GROUP BY region", "SELECT COUNT(*) FROM people WHERE name = 'name3'")
UNASKED = "SELECT age, kind FROM (SELECT 1 AS age), (SELECT kind, COUNT(*) FROM visits GROUP BY kind)"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The place of a database whose ledger has seen a session, and a copy of all that is there."""
    place, kept = tmp_path_factory.mktemp("place"), tmp_path_factory.mktemp("kept") / "copy"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPSQL_STATE_HOME", str(place / "state"))
        with dpsql.connect(city.build(place / "city", rows=2000)) as con:
            for question in QUESTIONS:
                con.execute(question)
    shutil.copytree(place, kept)
    return place, kept


@pytest.fixture
def database(asked: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database whose ledger has seen a session, as that left it: in the same place, which ledgers are known by."""
    place, kept = asked
    shutil.rmtree(place)
    shutil.copytree(kept, place)
    monkeypatch.setenv("DPSQL_STATE_HOME", str(place / "state"))
    return place / "city" / "city.duckdb"


def ledger_of(database: Path) -> Path:
    return database.with_name("city.dpsql.ledger")


def given(database: Path, **arguments: Any) -> tuple[float, list[list[tuple[Any, ...]]]]:
    """What is spent, and the answers that are free by now."""
    with dpsql.connect(database, **arguments) as con:
        answers = [con.execute(question).fetchall() for question in QUESTIONS]
        return con.budget.spent_epsilon, answers


def refused(database: Any, kind: type[dpsql.Error] = dpsql.Error, **arguments: Any) -> dpsql.Error:
    """How a session on these files is refused: soon, with a hint and nothing of DuckDB's or SQLite's attached."""
    started = time.process_time()
    with pytest.raises(kind) as caught:
        dpsql.connect(database, **arguments)
    assert time.process_time() - started < SECONDS
    error: dpsql.Error | BaseException | None = caught.value
    assert caught.value.hint.strip()
    while error is not None:
        assert isinstance(error, dpsql.Error), repr(error)
        assert error.__cause__ is None
        error = error.__context__
    return caught.value


def refused_by_command(database: Path, *options: str) -> None:
    shown = runner().invoke(cli, ["query", str(database), QUESTIONS[0], *options], catch_exceptions=False)
    assert shown.exit_code == 1
    assert "\nhint: " in shown.stderr
    assert shown.stdout == ""


def test_no_database(tmp_path: Path) -> None:
    database = city.build(tmp_path / "city")
    policy = database.with_name("city.dpsql.toml")
    text = tmp_path / "text.duckdb"
    text.write_text("age,member\n1,true\n")
    empty = tmp_path / "empty.duckdb"
    empty.touch()
    other = tmp_path / "other.duckdb"
    duckdb.connect(str(other)).close()
    sqlite = tmp_path / "sqlite.duckdb"
    with sqlite3.connect(sqlite) as connection:
        connection.execute("CREATE TABLE people (age INTEGER)")
    connection.close()
    cut = tmp_path / "cut.duckdb"
    cut.write_bytes(database.read_bytes()[:9000])
    for wrong in (tmp_path / "missing.duckdb", tmp_path, text, empty, other, sqlite, cut, policy):
        refused(wrong, policy=policy)
        assert not wrong.with_suffix(".dpsql.ledger").exists()
    for wrong in (text, other, cut):
        refused_by_command(wrong, "--policy", str(policy))


def test_a_database_that_somebody_writes(database: Path) -> None:
    before = given(database)
    writer = duckdb.connect(str(database))
    refused(database)
    writer.close()
    assert given(database) == before


GOOD = city.policy_text(mechanism='hard_rounds = 20\nstrategy = "auto"\nwhen_spent = "uncertified"\n')
WRONG_KEYS = [
    ("version = 1", ""),
    ("version = 1", "version = 2"),
    ("version = 1", 'version = "1"'),
    ("version = 1", "version = 1\nextra = 1"),
    ("version = 1", "version = "),
    ("[privacy]", "[private]"),
    ("epsilon = 1.0", ""),
    ("epsilon = 1.0", "epsilon = 0"),
    ("epsilon = 1.0", "epsilon = -1"),
    ("epsilon = 1.0", "epsilon = nan"),
    ("epsilon = 1.0", "epsilon = inf"),
    ("epsilon = 1.0", 'epsilon = "1"'),
    ("epsilon = 1.0", "epsilon = true"),
    ("epsilon = 1.0", "epsilon = 1e400"),
    ("epsilon = 1.0", "epsilon = 1.0\nepsilon = 2.0"),
    ("delta = 1e-6", ""),
    ("delta = 1e-6", "delta = 1"),
    ("delta = 1e-6", "delta = -1e-6"),
    ("delta = 1e-6", 'delta = 1e-6\nneighbors = "both"'),
    ("delta = 1e-6", "delta = 1e-6\nplanned_queries = 0"),
    ("delta = 1e-6", "delta = 1e-6\nplanned_queries = 1.5"),
    ("hard_rounds = 20", "hard_rounds = 0"),
    ("hard_rounds = 20", "hard_rounds = 1e9"),
    ("hard_rounds = 20", "hard_round = 20"),
    ('strategy = "auto"', 'strategy = "magic"'),
    ('when_spent = "uncertified"', 'when_spent = "never"'),
    ("[tables.people.columns]", "[tables.peple.columns]"),
    ("[tables.people.columns]", "[tables.people.columns]\nsalery = { type = 'integer', min = 0, max = 9 }"),
    ("[tables.people.columns]", "[tables.people.columns]\nAGE = { type = 'integer', min = 0, max = 9 }"),
    ("[tables.people.columns]", "[tables.people]\nunit = 'nobody'\n[tables.people.columns]"),
    ("[tables.people.columns]", "[tables.people]\nmax_rows_per_unit = 2\n[tables.people.columns]"),
    ("min = 0, max = 9", "min = 9, max = 0"),
    ("min = 0, max = 9", "min = 0"),
    ("min = 0, max = 9", "min = 0, max = 99999999999"),
    ("min = 0, max = 9", "min = 0.5, max = 9"),
    ("min = 0, max = 9", "min = 0, max = 9, step = 2"),
    ('type = "boolean"', 'type = "bool"'),
    ('type = "boolean"', 'type = "boolean", nullable = 1'),
    ('type = "boolean"', 'type = "text"}\n'),
    ('member = { type = "boolean" }', 'member = { type = "date", min = 2020-01-01, max = 2020-01-02 }'),
    ('member = { type = "boolean" }', "member = 3"),
    ('values = ["north", "south", "west"]', "values = []"),
    ('values = ["north", "south", "west"]', 'values = ["north", "north"]'),
    ('values = ["north", "south", "west"]', "values = [1, 2]"),
    ('values = ["north", "south", "west"]', 'values = "north"'),
    ("min = 2020-01-01", "min = 2022-01-01"),
    ("min = 2020-01-01", 'min = "2020-01-01"'),
    ('unit = "month"', 'unit = "moon"'),
    ("bins = [0, 10, 20, 40, 80]", "bins = [0, 20, 10]"),
    ("bins = [0, 10, 20, 40, 80]", "bins = [0]"),
    ("bins = [0, 10, 20, 40, 80]", "bins = 0"),
    ("bins = [0, 10, 20, 40, 80]", "min = 0, max = 0, bins = 4"),
    ('name = { type = "text" }', 'name = { type = "text", prefixes = [0] }'),
    ('unit = "person"', 'unit = ""'),
    ('unit = "person"', "unit = 3"),
    ("max_rows_per_unit = 2", "max_rows_per_unit = 0"),
    ("max_rows_per_unit = 2", "max_rows_per_unit = 10000000"),
    ('tables = ["regions"]', 'tables = ["people"]'),
    ('tables = ["regions"]', 'tables = ["nowhere"]'),
    ('tables = ["regions"]', "tables = 1"),
    ('tables = ["regions"]', 'tabels = ["regions"]'),
]


def test_each_key_of_the_policy(tmp_path: Path) -> None:
    database = city.build(tmp_path / "city", rows=50, policy=GOOD)
    policy = database.with_name("city.dpsql.toml")
    for right, wrong in WRONG_KEYS:
        assert right in GOOD
        policy.write_text(GOOD.replace(right, wrong, 1))
        error = refused(database, dpsql.PolicyError)
        assert len(str(error)) < 1000
        assert not ledger_of(database).exists(), wrong
    policy.write_text(GOOD)
    given(database)


def test_no_policy(tmp_path: Path) -> None:
    database = city.build(tmp_path / "city", rows=50)
    policy = database.with_name("city.dpsql.toml")
    for content in (b"", b"\xff\xfe\x00", b"\0" * 100, b"[" * 10_000, b"a = " + b"9" * 100_000, b"not toml"):
        policy.write_bytes(content)
        refused(database, dpsql.PolicyError)
        refused_by_command(database)
    policy.unlink()
    refused(database, dpsql.PolicyError)
    policy.mkdir()
    refused(database, dpsql.PolicyError)
    policy.rmdir()
    policy.symlink_to(policy)
    refused(database, dpsql.PolicyError)


def altered_text(path: Path) -> None:
    """One digit of a released value."""
    content = path.read_bytes()
    at = content.index(b'"values":[') + len(b'"values":[')
    digit = b"8" if content[at : at + 1] == b"7" else b"7"
    path.write_bytes(content[:at] + digit + content[at + 1 :])


def without_last_event(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f'DROP TRIGGER "{name}"')
        connection.execute("DELETE FROM events WHERE sequence = (SELECT MAX(sequence) FROM events)")
    connection.close()


DAMAGE = {
    "cut in half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "cut to a page": lambda path: path.write_bytes(path.read_bytes()[:4096]),
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("not a ledger"),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "another SQLite file": lambda path: (path.unlink(), sqlite3.connect(path).close(), path.write_bytes(b"")),
    "one digit": altered_text,
    "without the last event": without_last_event,
    "a directory": lambda path: (path.unlink(), path.mkdir()),
    "missing": lambda path: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_ledger(database: Path, damage: str, tmp_path: Path) -> None:
    ledger = ledger_of(database)
    before = given(database)
    safe = shutil.copy(ledger, tmp_path / "safe")
    DAMAGE[damage](ledger)
    damaged = ledger.read_bytes() if ledger.is_file() else None
    refused(database, dpsql.LedgerError)
    if damage != "a directory":  # that is a usage error
        refused_by_command(database)
    assert (ledger.read_bytes() if ledger.is_file() else None) == damaged
    if ledger.is_dir():
        ledger.rmdir()
    shutil.copy(safe, ledger)
    assert given(database) == before


def test_an_older_ledger(database: Path, tmp_path: Path) -> None:
    ledger = ledger_of(database)
    older = shutil.copy(ledger, tmp_path / "older")
    with dpsql.connect(database) as con:
        con.execute("SELECT kind, COUNT(*) FROM visits GROUP BY kind")
        spent = con.budget.spent_epsilon
    latest = shutil.copy(ledger, tmp_path / "latest")
    shutil.copy(older, ledger)
    refused(database, dpsql.LedgerError)
    shutil.copy(latest, ledger)
    assert given(database)[0] == spent


def test_another_policy_or_other_data(database: Path) -> None:
    before = given(database)
    policy = database.with_name("city.dpsql.toml")
    text = policy.read_text()
    for right, wrong in (("epsilon = 1.0", "epsilon = 2.0"), ('values = ["walk", "talk"]', 'values = ["walk"]')):
        policy.write_text(text.replace(right, wrong))
        refused(database, dpsql.LedgerError)
        refused_by_command(database)
    policy.write_text(text + "\n# a remark changes nothing\n")
    assert given(database) == before
    original = database.read_bytes()
    with duckdb.connect(str(database)) as owner:
        owner.execute("INSERT INTO people (age) VALUES (3)")
    refused(database, dpsql.LedgerError)
    refused_by_command(database)
    database.write_bytes(original)
    assert given(database) == before


def test_a_copy_of_the_database_has_no_budget_of_its_own(database: Path, tmp_path: Path) -> None:
    before = given(database)
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("city.duckdb", "city.dpsql.toml"):
        shutil.copy(database.with_name(name), copy / name)
    refused(copy / "city.duckdb", dpsql.LedgerError)
    refused(database, dpsql.LedgerError, ledger=tmp_path / "second.ledger")
    refused_by_command(copy / "city.duckdb")
    link = tmp_path / "link.duckdb"
    link.symlink_to(database)
    refused(link, dpsql.LedgerError, policy=database.with_name("city.dpsql.toml"))
    reordered = copy / "reordered.duckdb"
    with duckdb.connect(str(reordered)) as owner:
        owner.execute(f"ATTACH '{database}' AS old (READ_ONLY)")
        for table in ("people", "visits", "regions"):
            owner.execute(f"CREATE TABLE {table} AS SELECT * FROM old.{table} ORDER BY ALL DESC")
    refused(reordered, dpsql.LedgerError, policy=copy / "city.dpsql.toml")
    assert not [*tmp_path.glob("*.ledger"), *copy.glob("*.ledger")]
    assert given(copy / "city.duckdb", ledger=ledger_of(database)) == before
    with dpsql.connect(copy / "city.duckdb", new_budget=True) as con:  # the owner's word
        assert con.budget.spent_epsilon == 0


def test_a_locked_ledger(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteLedger, "open", partial(SqliteLedger.open, busy_timeout=0.2))
    with dpsql.connect(database) as con:
        budget = con.budget
        other = sqlite3.connect(ledger_of(database))
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with pytest.raises(dpsql.LedgerError) as caught:
            con.execute(UNASKED)
        assert caught.value.hint
        assert caught.value.__context__ is None
        assert time.monotonic() - started < SECONDS
        assert con.budget == budget
        assert [con.execute(question).fetchall() for question in QUESTIONS]
        other.rollback()
        other.close()
        con.execute(UNASKED)
        assert con.budget.spent_epsilon > budget.spent_epsilon


@pytest.fixture
def ordinary_folder(tmp_path: Path) -> Iterator[Path]:
    given(city.build(tmp_path / "city", rows=500))  # loads what Python loads late and may not read as nobody
    with ordinary_user() as folder:
        yield folder


def test_a_ledger_that_cannot_be_written(ordinary_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(ordinary_folder / "state"))
    database = city.build(ordinary_folder / "city", rows=500)
    ledger = ledger_of(database)
    database.parent.chmod(0o500)
    refused(database, dpsql.LedgerError)
    database.parent.chmod(0o700)
    before = given(database)
    for folder_mode, file_mode in ((0o500, 0o400), (0o700, 0o400), (0o700, 0o000), (0o500, 0o600)):
        ledger.chmod(file_mode)
        database.parent.chmod(folder_mode)
        started = time.monotonic()
        with pytest.raises(dpsql.LedgerError) as caught, dpsql.connect(database) as con:
            con.execute(UNASKED)
        assert caught.value.hint
        assert time.monotonic() - started < SECONDS
        database.parent.chmod(0o700)
        ledger.chmod(0o600)
        assert given(database) == before
    database.chmod(0o000)
    refused(database, dpsql.EngineError)
    database.chmod(0o600)
    policy = database.with_name("city.dpsql.toml")
    policy.chmod(0o000)
    refused(database, dpsql.PolicyError)
