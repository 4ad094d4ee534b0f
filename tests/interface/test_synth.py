"""``dpsql synth`` on a real database: rows, report, what is charged and said, what is refused; the comparison."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from click.testing import Result

import dpsql as package
from dpsql.interface.cli import cli
from tests.support import walk
from tests.support.command_line import runner
from tests.support.lessons import learned_briefly

ROOT = Path(__file__).parents[2]
COLUMNS = """\
[tables.flights.columns]
src = { type = "category", values = ["A", "B", "C", "D"], nullable = false }
dst = { type = "category", values = ["A", "B", "C", "D"], nullable = false }
delay = { type = "number", min = 0, max = 100, bins = 5 }
day = { type = "date", min = 2024-01-01, max = 2024-03-31, unit = "month" }
tail = { type = "text" }
"""
PRIVACY = "version = 1\n[privacy]\nepsilon = 4.0\ndelta = 1e-6\nplanned_queries = 100000\n"
FLIGHTS = (
    "SELECT chr((65 + i % 4)::INTEGER) AS src, chr((65 + i * 7 % 3)::INTEGER) AS dst, (i * 13 % 100)::DOUBLE AS delay,"
    " DATE '2024-01-01' + (i % 90)::INTEGER AS day, 'N' || (i % 5) AS tail FROM range(6000) t(i)"
)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    learned_briefly(monkeypatch)
    # the oldest sampler takes minutes for the draws of dual-query, which has tests of its own
    quick = {word: entry for word, entry in walk.methods().items() if word != "dual-query"}
    monkeypatch.setattr("dpsql.synthesis.methods.METHODS", quick)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "flights.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE flights AS {FLIGHTS}")
    path.with_name("flights.dpsql.toml").write_text(PRIVACY + COLUMNS)
    return path


def synth(database: Path, *arguments: str) -> Result:
    return runner().invoke(cli, ["synth", str(database), *arguments], catch_exceptions=False)


def test_rows_of_the_session_are_free_after_a_first_look(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    first = synth(database, "-o", str(out))
    assert first.exit_code == 0, first.stderr
    assert "has not been looked at" in first.stderr and "charged epsilon" in first.stderr
    assert "tail: text" in first.stderr and "no private row was asked" in first.stdout
    assert "held out" in first.stdout and first.stdout.count("%") > 20
    count, months = duckdb.sql(f"SELECT COUNT(*), COUNT(DISTINCT date_trunc('month', day)) FROM '{out}'").fetchall()[0]
    assert abs(count - 6000) < 100 and months == 3
    again = synth(database, "-o", str(tmp_path / "again.parquet"))
    assert "free; epsilon" in again.stderr and "looked at" not in again.stderr
    assert duckdb.sql(f"FROM '{out}' EXCEPT ALL FROM '{tmp_path / 'again.parquet'}'").fetchall() == []


def test_values_are_of_the_databases_type_and_the_owners_step(database: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            "CREATE OR REPLACE TABLE flights AS SELECT (i * 7919 % 5000 * 10)::BIGINT AS income,"
            " (CASE WHEN i % 3 = 0 THEN 40 ELSE hash(i) % 80 END)::INTEGER AS hours,"
            " (hash(i + 1) % 10000)::DOUBLE / 100 AS fare FROM range(6000) t(i)"
        )
    columns = (
        "[tables.flights.columns]\n"
        'income = { type = "number", min = 0, max = 49990, bins = 20, step = 10, nullable = false }\n'
        'hours = { type = "number", min = 0, max = 80, bins = 16, nullable = false }\n'
        'fare = { type = "number", min = 0, max = 100, bins = 10, step = 0.01, nullable = false }\n'
    )
    database.with_name("flights.dpsql.toml").write_text(PRIVACY + columns)
    out = tmp_path / "out.parquet"
    assert synth(database, "-o", str(out)).exit_code == 0
    types = dict(duckdb.sql(f"SELECT column_name, column_type FROM (DESCRIBE FROM '{out}')").fetchall())
    assert types == {"income": "BIGINT", "hours": "BIGINT", "fare": "DOUBLE"}
    ((off, crowd, finer),) = duckdb.sql(
        "SELECT COUNT(*) FILTER (income % 10 <> 0), COUNT(*) FILTER (hours = 40),"
        " COUNT(*) FILTER (round(fare, 2) <> fare)"
        f" FROM '{out}'"
    ).fetchall()
    assert off == finer == 0
    assert 1800 < crowd < 2300  # 2,050 rows: as the session says of them


def test_the_help_says_that_a_first_look_is_paid() -> None:
    shown = runner().invoke(cli, ["synth", "--help"], catch_exceptions=False).output
    assert " ".join(shown.split()).count("free after a first look") == 2


def test_a_paid_method_says_what_is_left_and_goes_on_for_nothing(database: Path, tmp_path: Path) -> None:
    out = ("-o", str(tmp_path / "out.csv"))
    refused = synth(database, "--method", walk.NAME, *out)
    assert (
        refused.exit_code == 1
        and "say what it may spend" in refused.stderr
        and "--instead-of-first-look" in refused.stderr
    )
    much = synth(database, "--method", walk.NAME, "--epsilon", "2", *out)
    assert much.exit_code == 3 and "--instead-of-first-look" in much.stderr
    paid = ("--method", walk.NAME, "--epsilon", "1.5", "--instead-of-first-look", *out)
    shown = json.loads(synth(database, *paid, "--json").stdout)
    assert shown["method"] == walk.NAME and 1.5 < shown["charged"] < 1.8 and shown["run_epsilon"] == "1.5"
    again = synth(database, *paid)
    assert "4 steps of this run were recorded before" in again.stderr and "free; epsilon" in again.stderr
    more = synth(database, *paid, "--option", "steps=2")
    assert "earlier runs on this table have charged epsilon 1.5 (walk)" in more.stderr
    purses = json.loads(runner().invoke(cli, ["budget", str(database), "--json"]).stdout)["purses"]
    assert purses["synthetic tables"]["spent"] == pytest.approx(3, rel=1e-6)


def test_a_workload_of_statements_and_words(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "w.sql"
    file.write_text("-- counts\nSELECT src, COUNT(*) FROM flights GROUP BY src;\nSELECT SUM(delay) FROM flights;\n")
    out = ("-o", str(tmp_path / "out.csv"), "--json")
    shown = synth(
        database, "--workload", str(file), "--workload", "cuts:random:20", "--workload", "prefixes:delay", *out
    )
    assert shown.exit_code == 1 and "w.sql:3" in shown.stderr
    file.write_text("SELECT src, COUNT(*) FROM flights WHERE delay >= 20 GROUP BY src")
    words = ("--workload", str(file), "--workload", "cuts:random:20", "--workload", "prefixes:delay")
    found = json.loads(synth(database, *words, *out).stdout)
    assert sum(part["queries"] + part["unknown"] for part in found["errors"]) in range(24, 29)


def test_a_mistyped_word_for_a_workload_is_told(database: Path, tmp_path: Path) -> None:
    shown = synth(database, "--workload", "marginal:2", "-o", str(tmp_path / "o.csv"))
    assert shown.exit_code == 1 and "there is no workload 'marginal:2'" in shown.stderr


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT COUNT(*) FROM flights WHERE tail = 'N1'", "text columns"),
        ("SELECT SUM(delay) FROM flights", "sums or averages"),
        ("SELECT COUNT(*) FROM flights WHERE delay > 25", "begin and end at edges of its bins"),
        ("SELECT COUNT(*) FROM boats", "boats"),
        ("SELECT 1", "counts its rows"),
        ("SELEC", "w.sql:1"),
    ],
)
def test_statements_that_are_no_workload_are_refused_with_their_line(
    database: Path, tmp_path: Path, statement: str, said: str
) -> None:
    file = tmp_path / "w.sql"
    file.write_text(statement)
    shown = synth(database, "--workload", str(file), "-o", str(tmp_path / "o.csv"))
    assert shown.exit_code == 1 and said in shown.stderr and "w.sql:1" in shown.stderr
    assert json.loads(runner().invoke(cli, ["budget", str(database), "--json"]).stdout)["spent_epsilon"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "add -o"),
        (("-o", "out.txt"), "neither .parquet nor .csv"),
        (("-o", "nowhere/out.csv"), "no folder"),
        (("-o", "out.csv", "--option", "x"), "NAME=VALUE"),
        (("-o", "out.csv", "--compare"), "needs --public"),
        (("-o", "out.csv", "--public"), "needs --public"),
    ],
)
def test_what_is_written_wrongly_is_told_before_anything_is_opened(
    database: Path, arguments: tuple[str, ...], said: str
) -> None:
    shown = synth(database, *arguments)
    assert shown.exit_code == 2 and said in shown.stderr
    assert not database.with_name("flights.dpsql.ledger").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": "much"},
        {"epsilon": "1e999999999"},
        {"epsilon": "1e-999999999"},
        {"rows": 1.5},
        {"seed": None},
        {"workload": [7]},
        {"method": 3},
    ],
)
def test_python_is_told_what_does_not_fit(database: Path, wrong: dict[str, object]) -> None:
    with package.connect(database) as con, pytest.raises(package.DataError):
        con.synthesize("flights", **{"method": "session", **wrong})  # type: ignore[arg-type]


def test_help_lists_the_methods() -> None:
    shown = runner().invoke(cli, ["synth", "--help"], catch_exceptions=False).stdout
    assert "Methods:" in shown and all(word in shown for word in walk.methods() if word != "dual-query")


def test_python_makes_the_same_table(database: Path) -> None:
    with package.connect(database) as con:
        made = con.synthesize("FLIGHTS", workload="SELECT COUNT(*) FROM flights WHERE src = 'A'", rows=500)
        assert made.rows == 500 and made.to_arrow().num_rows == 500
        assert made.charged == con.budget.spent_epsilon
        assert con.synthesize("flights", rows=500).charged == 0.0


def test_a_name_that_ends_in_a_blank_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "odd.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            'CREATE TABLE "Two ""words"" " AS SELECT i % 2 = 0 AS a, i % 3 = 0 AS b FROM range(5000) t(i)'
        )
    columns = 'columns = { a = { type = "boolean" }, b = { type = "boolean" } }'
    path.with_name("odd.dpsql.toml").write_text(
        f"""version = 1\n[privacy]\nepsilon = 1\ndelta = 1e-6\n[tables.'Two "words" ']\n{columns}\n"""
    )
    made = synth(path, "-o", str(tmp_path / "out.csv"))
    assert made.exit_code == 0, made.stderr


# --- the comparison ------------------------------------------------------------------------------------------------


def test_methods_are_compared_with_the_true_rows(database: Path) -> None:
    told = ("--option", "steps=2")  # one method has it; the others are not told
    shown = synth(database, "--compare", "--public", "--epsilon", "6", "--workload", "marginals:2", *told, "--json")
    assert shown.exit_code == 0, shown.stderr
    found = {one["method"]: one for one in json.loads(shown.stdout)}
    assert set(found) >= {"session", walk.NAME}
    assert not found["session"]["failed"] and found["session"]["parts"][0]["mean"] < 60
    assert found[walk.NAME]["parts"][0]["mean"] > 2 * found["session"]["parts"][0]["mean"]  # it draws evenly
    assert all(4 < one["charged"] <= 6 for one in found.values() if not one["failed"])
    assert not database.with_name("flights.dpsql.ledger").exists()


def test_a_file_of_rows_is_compared_by_a_policy_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    file = tmp_path / "flights.parquet"
    duckdb.sql(f"COPY ({FLIGHTS}) TO '{file}'")
    shown = synth(file, "--compare", "--public", "--workload", "marginals:1")
    assert shown.exit_code == 0, shown.stderr
    assert "mean error on the workload" in shown.stdout and walk.NAME in shown.stdout
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "state") == ["flights.parquet"]


def test_an_option_that_no_method_has_is_refused_with_those_that_there_are(database: Path) -> None:
    shown = synth(database, "--compare", "--public", "--option", "nonsense=1")
    assert shown.exit_code == 1 and "no" in shown.stderr and "mwem: iterate" in shown.stderr
    alone = synth(database, "--method", "session", "--option", "nonsense=1", "-o", "out.csv")
    assert alone.exit_code == 1 and "session has no options" in alone.stderr and "leave --option out" in alone.stderr
    assert json.loads(runner().invoke(cli, ["budget", str(database), "--json"]).stdout)["spent_epsilon"] == 0


def test_what_is_no_database_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "notes.duckdb").write_text("no database")
    shown = synth(tmp_path / "notes.duckdb", "--compare", "--public")
    assert shown.exit_code == 1 and "is not a DuckDB database" in shown.stderr


@pytest.mark.parametrize("epsilon", ["0", "1e9"])
def test_no_methods_are_compared_at_an_epsilon_that_no_policy_has(database: Path, epsilon: str) -> None:
    shown = synth(database, "--compare", "--public", "--epsilon", epsilon)
    assert shown.exit_code == 1 and "1e-6 to 100" in shown.stderr


def test_a_picture_is_refused_before_anything_is_compared(database: Path) -> None:
    shown = synth(database, "--compare", "--public", "-o", "out.pdf")
    assert shown.exit_code == 1 and ".png" in shown.stderr


def test_true_rows_are_the_cells_that_answers_count(database: Path) -> None:
    from dpsql.interface.compare import public_rows
    from dpsql.synthesis.quality import contingency

    policy = package.load_policy(database.with_name("flights.dpsql.toml"))
    with duckdb.connect(str(database), read_only=True) as connection:
        truth = public_rows(connection, policy.tables[0])
        counted = connection.sql("SELECT count(*) FROM flights WHERE delay >= 80 AND dst = 'B'").fetchall()[0][0]
    assert contingency(truth, ("dst", "delay"))[1, 4] == counted


# --- as a process ----------------------------------------------------------------------------------------------------

SLOWLY = """\
import sys, time
from tests.support import walk
import dpsql.synthesis.methods as methods
methods.METHODS = walk.methods(lambda number: (print("step", number, flush=True), time.sleep(0.4)))
from dpsql.interface.cli import main
sys.argv = ["dpsql", *sys.argv[1:]]
main()
"""


def test_an_interrupted_command_goes_on(database: Path, tmp_path: Path) -> None:
    arguments = ["synth", str(database), "--method", walk.NAME, "--epsilon", "1", "--instead-of-first-look"]
    command = [sys.executable, "-c", SLOWLY, *arguments, "-o", str(tmp_path / "out.csv")]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ.copy()
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "step 0\n" and process.stdout.readline() == "step 1\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    assert not (tmp_path / "out.csv").exists()
    again = synth(database, *arguments[2:], "-o", str(tmp_path / "out.csv"))
    assert "2 steps of this run were recorded before, for epsilon 0.5: they are free" in again.stderr
    assert "charged epsilon 0.5;" in again.stderr and (tmp_path / "out.csv").exists()
