import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpsql
from dpsql import Connection
from tests.support.fake_session import BUDGET, EXPLANATION, TABLES, FakeSession

ROOT = Path(__file__).parents[2]
NAMES = [
    "Warning",
    "Error",
    "InterfaceError",
    "DatabaseError",
    "DataError",
    "OperationalError",
    "IntegrityError",
    "InternalError",
    "ProgrammingError",
    "NotSupportedError",
]


@pytest.mark.parametrize("name", NAMES)
def test_exceptions_are_on_the_module_and_the_connection(name: str) -> None:
    assert getattr(Connection(FakeSession()), name) is getattr(dpsql, name) is getattr(dpsql.errors, name)


def test_what_a_connection_tells() -> None:
    session = FakeSession()
    con = Connection(session)
    assert con.budget == BUDGET and con.tables() == TABLES and con.notices == ("a notice",)
    assert con.explain("SELECT 1", {"a": 1}) == EXPLANATION
    assert session.explained == [("SELECT 1", {"a": 1})] and session.executed == []


def test_execute_gives_a_new_cursor_each_time() -> None:
    con = Connection(FakeSession())
    first, second = con.execute("SELECT 1"), con.execute("SELECT 2", [1])
    assert first is not second
    assert first.fetchone() == second.fetchone() == ("g0", 10)


@pytest.mark.parametrize(
    "use",
    [
        lambda c: c.commit(),
        lambda c: c.rollback(),
        lambda c: c.cursor(),
        lambda c: c.execute("SELECT 1"),
        lambda c: c.explain("SELECT 1"),
        lambda c: c.budget,
        lambda c: c.tables(),
        lambda c: c.notices,
        lambda c: c.__enter__(),
    ],
)
def test_closed_is_closed(use: object) -> None:
    con = Connection(FakeSession())
    con.commit(), con.rollback()
    con.close()
    assert con.closed
    with pytest.raises(dpsql.InterfaceError):
        use(con)


def test_the_session_is_closed_once_however_the_connection_ends() -> None:
    by_close, by_with, by_collection = FakeSession(), FakeSession(), FakeSession()
    con = Connection(by_close)
    con.close(), con.close()
    with Connection(by_with) as con:
        con.close()
    with pytest.raises(RuntimeError, match="mine"), Connection(by_with):
        raise RuntimeError("mine")
    Connection(by_collection).execute("SELECT 1")
    del con
    gc.collect()
    assert (by_close.closed, by_with.closed, by_collection.closed) == (1, 2, 1)


def test_a_cursor_keeps_its_connection_open() -> None:
    session = FakeSession()
    cur = Connection(session).execute("SELECT 1")
    gc.collect()
    assert session.closed == 0 and cur.fetchone() == ("g0", 10)


SCRIPT = """
import os
from dpsql import Connection
from tests.support.fake_session import FakeSession
class Loud(FakeSession):
    def close(self):
        os.write(1, f"closed by {'parent' if os.getpid() == parent else 'child'};".encode())
parent = os.getpid()
con = Connection(Loud())
if os.fork() == 0:
    raise SystemExit(0)
os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_end_of_the_program_closes_the_session_in_its_own_process_only() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout == "closed by parent;"


FORKED = """
import gc, os, sys
import dpsql, duckdb
with duckdb.connect("a.duckdb") as made:
    made.execute("CREATE TABLE t AS SELECT range % 2 = 0 AS even FROM range(1000)")
with open("a.dpsql.toml", "w") as policy:
    policy.write("version = 1\\nprivacy = { epsilon = 1, delta = 1e-6 }\\n"
                 "[tables.t.columns]\\neven = { type = 'boolean' }")
con = dpsql.connect("a.duckdb")
asked = con.execute("SELECT COUNT(*) FROM t").fetchall()
if os.fork() == 0:
    try:
        con.execute("SELECT COUNT(*) FROM t WHERE even")
    except dpsql.LedgerError:
        exec(sys.argv[1])
        sys.exit(0)
    sys.exit(1)
print(os.waitstatus_to_exitcode(os.wait()[1]), con.execute("SELECT COUNT(*) FROM t").fetchall() == asked)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("leaving", ["pass", "con.close()", "del con; gc.collect()"])
def test_a_forked_child_ends_as_any_process(tmp_path: Path, leaving: str) -> None:
    """DuckDB crashes where a child closes its parent's database: the child leaves it alone."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED, leaving],
        cwd=tmp_path,
        env=os.environ | {"DPSQL_STATE_HOME": str(tmp_path / "state"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "0 True\n"
