"""init and check, on real DuckDB files."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from click.testing import Result

import dpsql as dpsql_module
from dpsql.domain import CategoryDomain, DateDomain, IntegerDomain
from dpsql.interface.cli import cli
from dpsql.policy_file import load_policy
from tests.support.command_line import runner

CANARY = "Zaphod-48842"
POLICY = """\
version = 1
privacy = { epsilon = 1.0, delta = 1e-6 }
[tables.people.columns]
age = { type = "integer", min = 0, max = 50 }
planet = { type = "category", values = ["Earth"], nullable = false }
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "census.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people (age INTEGER, planet VARCHAR NOT NULL)")
        connection.execute("CREATE TABLE visits (person INTEGER)")
        connection.execute(f"INSERT INTO people VALUES (30, 'Earth'), (77, '{CANARY}'), (78, 'Earth'), (NULL, 'Earth')")
    return path


def dpsql(*arguments: object) -> Result:
    return runner().invoke(cli, [str(a) for a in arguments], catch_exceptions=False)


def test_init_drafts_from_the_schema_alone(database: Path) -> None:
    shown = dpsql("init", database)
    assert shown.exit_code == 0
    path = database.with_name("census.dpsql.toml")
    assert str(path) in shown.stdout
    text = path.read_text()
    assert "78" not in text
    assert CANARY not in text
    assert "# What epsilon buys with these domains" in text
    assert "FROM THE DATA" not in text
    with duckdb.connect(str(database)) as con:
        con.execute("INSERT INTO people SELECT * FROM people")
    assert dpsql("init", database, "--force").exit_code == 0
    assert path.read_text() == text  # how many rows there are is nobody's business
    assert [t.name for t in load_policy(path).tables] == ["people", "visits"]
    assert [c.nullable for c in load_policy(path).tables[0].columns] == [True, False]


def test_init_overwrites_only_when_forced(database: Path) -> None:
    path = database.with_name("census.dpsql.toml")
    path.write_text("precious")
    shown = dpsql("init", database)
    assert (shown.exit_code, path.read_text()) == (1, "precious")
    assert "hint: edit it, or overwrite it with --force" in shown.stderr
    assert dpsql("init", database, "--force").exit_code == 0
    assert "precious" not in path.read_text()


@pytest.mark.parametrize("name", ["census.duckdb", "other.dpsql.toml", "x.dpsql.ledger", "people.csv", "latin.toml"])
def test_init_overwrites_nothing_but_a_policy(database: Path, name: str) -> None:
    path = database.with_name(name)
    with duckdb.connect(str(database.with_name("other.dpsql.toml"))):
        pass
    database.with_name("x.dpsql.ledger").write_bytes(b"SQLite format 3\0 ...")
    database.with_name("people.csv").write_text("age,planet\n30,Earth\n")
    database.with_name("latin.toml").write_bytes(b"\xe9")
    before = path.read_bytes()
    for options in ([], ["--force"]):
        shown = dpsql("init", database, *options, "-o", path)
        assert shown.exit_code == 1 and f"{name} is no policy" in shown.stderr
        assert "hint: name another file" in shown.stderr and path.read_bytes() == before


def test_init_does_not_wait_for_a_pipe(database: Path, tmp_path: Path) -> None:
    """Such as /dev/stdout: a pipe is no policy, and would be read until it ended."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "dpsql", "init", str(database), "-o", str(pipe)]
    shown = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=20, check=False)
    assert shown.returncode == 1 and "is no policy" in shown.stderr


def test_init_overwrites_a_policy_by_any_name(database: Path) -> None:
    path = database.with_name("mine")
    path.write_text(POLICY)
    assert dpsql("init", database, "--force", "-o", path).exit_code == 0
    assert len(load_policy(path).tables) == 2


def test_init_one_table(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.toml"
    assert dpsql("init", database, "--table", "VISITS", "-o", out).exit_code == 0
    assert [t.name for t in load_policy(out).tables] == ["visits"]
    shown = dpsql("init", database, "--table", "nothing", "-o", tmp_path / "other.toml")
    assert shown.exit_code == 1
    assert "hint: tables: people, visits" in shown.stderr


def test_looking_at_the_data_warns(database: Path) -> None:
    shown = dpsql("init", database, "--look-at-data", "--table", "people")
    assert shown.exit_code == 0
    assert "notice: ranges and lists were read from the rows" in shown.stderr
    path = database.with_name("census.dpsql.toml")
    assert "WARNING" in path.read_text()
    assert "rows (FROM THE DATA)" in path.read_text()
    age, planet = load_policy(path).tables[0].columns
    assert isinstance(age, IntegerDomain)
    assert (age.low, age.high) == (30, 78)
    assert isinstance(planet, CategoryDomain)
    assert planet.values == ("Earth", CANARY)


ORDERS = """
    CREATE TABLE orders AS SELECT range AS order_id, range * 7919 % 300 AS customer_id, range % 40 AS store_id,
        uuid() AS uid, range % 2 = 0 AS paid FROM range(2000)
"""


def test_the_customer_is_the_unit_and_not_the_order(tmp_path: Path) -> None:
    database = tmp_path / "shop.duckdb"
    with duckdb.connect(str(database)) as con:
        con.execute(ORDERS)
    path = database.with_name("shop.dpsql.toml")
    assert dpsql("init", database).exit_code == 0
    text = path.read_text()
    assert '# unit = "customer_id"' in text and '# unit = "order_id"' not in text
    assert load_policy(path).tables[0].unit is None  # nobody looked: whether they repeat is not known
    assert dpsql("init", database, "--look-at-data", "--force").exit_code == 0
    text = path.read_text()
    (orders,) = load_policy(path).tables
    assert (orders.unit, orders.max_rows_per_unit) == ("customer_id", 10)
    assert [column.name for column in orders.columns] == ["store_id", "paid"]
    for told in ("# order_id: different in every row", "# uid: different in every row", "# customer_id: the unit"):
        assert told in text
    (line,) = [line for line in text.splitlines() if "seems to tell people apart" in line]
    assert "CHECK" in line and "FROM THE DATA" in line and "300" not in line  # rounded


def test_a_declared_key_is_no_unit(tmp_path: Path) -> None:
    database = tmp_path / "people.duckdb"
    with duckdb.connect(str(database)) as con:
        con.execute("CREATE TABLE people (person_id INTEGER PRIMARY KEY, email VARCHAR UNIQUE, a INTEGER, UNIQUE (a))")
        con.execute("CREATE VIEW grown AS FROM people")
    assert dpsql("init", database).exit_code == 0
    text = database.with_name("people.dpsql.toml").read_text()
    people = text[text.index("[tables.people]") :]
    assert 'one row per person, as "person_id" says?' in people and '# unit = "owner_id"' in people
    assert "# email: different in every row" in people and "\na = " in people
    assert '# unit = "person_id"' in text[: text.index("[tables.people]")]  # a view may repeat them


@pytest.mark.parametrize("suffix", ["csv", "parquet", "csv.gz", "TSV"])
def test_a_file_of_rows_becomes_a_database(tmp_path: Path, suffix: str) -> None:
    rows = tmp_path / f"2024 people's.{suffix}"
    with duckdb.connect() as con:
        form = "parquet" if suffix == "parquet" else "csv"
        name = str(rows).replace("'", "''")
        con.execute(f"COPY (SELECT range AS age, range % 2 = 0 AS member FROM range(90)) TO '{name}' (FORMAT {form})")
    shown = dpsql("init", rows)
    assert shown.exit_code == 0 and "was copied into" in shown.stderr and "as table t_2024_people_s" in shown.stderr
    assert ("a first row of data" in shown.stderr) == (suffix != "parquet")
    database = tmp_path / "2024 people's.duckdb"
    (table,) = load_policy(tmp_path / "2024 people's.dpsql.toml").tables
    assert (table.name, [column.name for column in table.columns]) == ("t_2024_people_s", ["age", "member"])
    with dpsql_module.connect(database, ledger=":memory:") as con:
        assert con.execute("SELECT COUNT(*) FROM t_2024_people_s WHERE member").fetchall()
    again = dpsql("init", rows)
    assert again.exit_code == 1 and "overwrite it with --force" in again.stderr
    forced = dpsql("init", rows, "--force")  # a policy may be overwritten; a database has a ledger
    assert forced.exit_code == 1 and "exists already" in forced.stderr and "dpsql init" in forced.stderr
    asked = dpsql("query", rows, "SELECT 1", "--policy", tmp_path / "2024 people's.dpsql.toml")
    assert "is a file of rows" in asked.stderr and "hint: make a database and a policy from it" in asked.stderr


@pytest.mark.parametrize("name", ["people.csv", "people.parquet", "a*b.csv"])
def test_a_file_that_cannot_be_read_leaves_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"a\n1\n" if name == "a*b.csv" else b"a,b\n1,%s\xff\xfe\n" % CANARY.encode())
    before = sorted(tmp_path.iterdir())
    shown = dpsql("init", tmp_path / name)
    assert shown.exit_code == 1 and "hint: " in shown.stderr and CANARY not in shown.output
    assert sorted(tmp_path.iterdir()) == before


def test_the_file_of_a_policy_is_nobodys_secret_but_the_owners_to_write(database: Path) -> None:
    dpsql("init", database)
    mode = stat.S_IMODE(database.with_name("census.dpsql.toml").stat().st_mode)
    assert mode & 0o133 == 0


def test_check_counts_what_lies_outside(database: Path) -> None:
    database.with_name("census.dpsql.toml").write_text(POLICY)
    shown = dpsql("check", database)
    assert shown.exit_code == 0
    lines = [line.split() for line in shown.stdout.splitlines()[5:]]
    assert [(line[1], line[-2 if line[-1] == "NULL" else -4]) for line in lines] == [("age", "2"), ("planet", "1")]
    assert "row left out" in shown.stdout
    assert CANARY not in shown.output
    assert "for the owner's eyes" in shown.stderr
    (people,) = json.loads(dpsql("check", database, "--json").stdout).values()
    assert people["outside"] == {"age": 2, "planet": 1}
    assert (people["rows"], people["left_out"], people["counted"]) == (4, 1, 3)
    assert shown.stdout.splitlines()[:2] == [
        "people: 3 of 4 rows are counted, 1 (25 %) in no answer",
        "  without a declared value where nullable = false (planet): 1",
    ]


def test_check_of_a_policy_that_covers_everything(database: Path, tmp_path: Path) -> None:
    policy = tmp_path / "wide.toml"
    policy.write_text(POLICY.replace("50", "100").replace('["Earth"]', f'["Earth", "{CANARY}"]'))
    assert dpsql("check", database, "--policy", policy).stdout.splitlines() == [
        "people: all 4 rows are counted",
        "every value lies in its declared domain",
    ]


def test_check_counts_rows_that_the_cap_drops(database: Path, tmp_path: Path) -> None:
    """50,000 visits of 8,000 people, a few of them without a name, at most three of each counted: 26,000 are not."""
    with duckdb.connect(str(database)) as con:
        con.execute(
            "CREATE OR REPLACE TABLE visits AS "
            "SELECT CASE WHEN i >= 10 THEN 'p' || i % 8000 END AS person, i % 2 = 0 AS first FROM range(50000) t(i)"
        )
    policy = tmp_path / "capped.toml"
    policy.write_text(
        "version = 1\nprivacy = { epsilon = 1.0, delta = 1e-6 }\n"
        '[tables.visits]\nunit = "person"\nmax_rows_per_unit = 3\n'
        '[tables.visits.columns]\nfirst = { type = "boolean" }\n'
    )
    shown = dpsql("check", database, "--policy", policy).stdout.splitlines()
    assert shown == [
        "visits: 24,003 of 50,000 rows are counted, 25,997 (52 %) in no answer",
        "  beyond max_rows_per_unit = 3: 25,997 (8,001 of 8,001 values of person have more)",
        "  without a person (NULL): 10, which are one unit together: 3 counted",
        "every value lies in its declared domain",
    ]
    with dpsql_module.connect(database, policy=policy, ledger=":memory:") as con:
        (answer,) = con.execute("SELECT COUNT(*) FROM visits").answers
        assert answer.interval is not None and answer.interval[0] - 300 < 24_003 < answer.interval[1] + 300


def test_check_without_a_policy(database: Path) -> None:
    shown = dpsql("check", database)
    assert shown.exit_code == 1
    assert "hint: " in shown.stderr


def test_not_a_database(tmp_path: Path) -> None:
    path = tmp_path / "census.duckdb"
    path.write_text(CANARY * 1000)
    shown = dpsql("init", path)
    assert shown.exit_code == 1
    assert CANARY not in shown.output


def test_init_proposes_tables_of_codes_as_public(tmp_path: Path) -> None:
    """Where nearly all of a larger table's values are their keys; nobody looked into the other tables of the schema."""
    path = tmp_path / "trips.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE zones AS SELECT i AS zone, 'Z' || i AS label FROM range(6) t(i)")
        con.execute("CREATE TABLE vendors AS SELECT i + 4 AS vendor, 'V' || i AS label FROM range(6) t(i)")
        con.execute("CREATE TABLE trips AS SELECT i % 6 AS zone, i % 6 AS vendor, i % 3 AS hour FROM range(600) t(i)")
    shown = dpsql("init", path, "--look-at-data")
    policy = load_policy(path.with_name("trips.dpsql.toml"))
    assert ([t.name for t in policy.tables], policy.public_tables) == (["trips", "vendors"], ("zones",))
    assert "every row of zones is shown" in shown.stderr
    assert dpsql("init", path, "--force").exit_code == 0
    assert load_policy(path.with_name("trips.dpsql.toml")).public_tables == ()


@pytest.mark.parametrize(
    ("sql", "unit", "cells"),
    [
        ("DATE '2020-01-01' + CAST(i AS INTEGER) FROM range(2000) t(i)", "day", 2000),
        ("DATE '2020-01-01' + CAST(i AS INTEGER) FROM range(2001) t(i)", "month", 66),
        ("DATE '1900-01-01' + CAST(365 * i AS INTEGER) FROM range(120) t(i)", "quarter", 476),
        ("DATE '1500-01-01' + CAST(365 * i AS INTEGER) FROM range(500) t(i)", "year", 499),
    ],
)
def test_dates_are_drafted_by_the_finest_unit_that_is_not_too_fine(
    tmp_path: Path, sql: str, unit: str, cells: int
) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE TABLE t AS SELECT CAST({sql.replace(' FROM', ' AS DATE) AS d FROM')}")
    assert dpsql("init", path, "--look-at-data").exit_code == 0
    ((column,),) = (t.columns for t in load_policy(path.with_name("t.dpsql.toml")).tables)
    assert isinstance(column, DateDomain) and (column.unit, len(column.values)) == (unit, cells)


def test_a_table_whose_name_another_schema_has_is_told(tmp_path: Path) -> None:
    path = tmp_path / "two.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE SCHEMA old; CREATE TABLE old.people (age INTEGER); CREATE SCHEMA "my own"')
        connection.execute('CREATE TABLE people (age INTEGER, sex VARCHAR); CREATE TABLE "my own".jobs (kind VARCHAR)')
    shown = dpsql("init", path)
    assert "notice: old.people is left out, for main.people has its name: create a view of it" in shown.stderr
    assert "jobs is left out" not in shown.stderr
    assert [c.name for c in load_policy(path.with_suffix(".dpsql.toml")).tables[0].columns] == ["age", "sex"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("a,b\n" + "1,2\n" * 50 + "3\n", "its lines have different numbers of fields"),
        ("a,b\n1,2\n3\n4,5,6\n", "its lines have different numbers of fields"),  # DuckDB reads the last line alone
    ],
)
def test_a_file_of_rows_that_would_be_misread_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rows.csv").write_text(text)
    shown = dpsql("init", tmp_path / "rows.csv")
    assert shown.exit_code == 1 and said in shown.stderr and "hint: " in shown.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["rows.csv"]


def test_a_file_of_one_column_is_read(tmp_path: Path) -> None:
    (tmp_path / "order.csv").write_text("age\n1\n2\n")
    assert "as table t_order" in dpsql("init", tmp_path / "order.csv").stderr


@pytest.mark.parametrize(("mode", "wanted"), [(0o600, 0o600), (0o644, 0o644), (0o666, 0o644), (0o400, 0o600)])
def test_a_database_of_a_file_is_readable_by_whoever_may_read_the_file(tmp_path: Path, mode: int, wanted: int) -> None:
    file = tmp_path / "people.csv"
    file.write_text("age,planet\n30,Earth\n")
    file.chmod(mode)
    before = os.umask(0o022)
    try:
        assert dpsql("init", file).exit_code == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.with_name("people.duckdb").stat().st_mode) == wanted
    assert not list(tmp_path.glob(".*"))
