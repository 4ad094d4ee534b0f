"""Public work runs in a process that can be stopped: by its limits, by Ctrl-C; the next work gets another."""

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic, sleep

import pyarrow as pa
import pytest

from dpsql.errors import DataError, Error, SqlSyntaxError, UnsupportedQuery
from dpsql.public import DuckDbPublicSql
from dpsql.public.process import IDLE
from dpsql.sql.public_sql import GridColumn

AGE = GridColumn("age", "BIGINT", tuple(range(40)))
ONE_CALL = "levenshtein(lpad(age::VARCHAR, 10000, 'a'), lpad((age + 7)::VARCHAR, 10000, 'b')) > 3"
"""A single call of a function that takes minutes: DuckDB looks at no clock before it has ended."""
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
ROOT = Path(__file__).parents[3]
NAMES = pa.table({"b": [1], "name": ["one"]})


@pytest.fixture
def sql() -> Iterator[DuckDbPublicSql]:
    with closing(DuckDbPublicSql({"names": NAMES}.__getitem__, seconds=0.4)) as public:
        public.truth([AGE], ["age > 3"])
        yield public


def works(sql: DuckDbPublicSql) -> bool:
    joined = sql.run("SELECT name FROM t JOIN names USING (b)", {"t": pa.table({"b": [1]})}, ["names"])
    return joined.to_pydict() == {"name": ["one"]} and int(sql.truth([AGE], ["age > 30"])[0].sum()) == 9


def test_one_long_call_is_refused_in_time(sql: DuckDbPublicSql) -> None:
    assert works(sql)
    began = monotonic()
    with pytest.raises(UnsupportedQuery, match=r"longer than 0\.4 s"):
        sql.truth([AGE], [ONE_CALL])
    assert monotonic() - began < 8  # of a busy machine's time: the limit is processor time
    assert works(sql)


def test_pieces_of_a_statement_share_its_time(sql: DuckDbPublicSql) -> None:
    many = GridColumn("m", "BIGINT", tuple(range(2000)))
    slow = [f"md5(md5(m || 'x{i}' || age)) = 'x'" for i in range(60)]
    with pytest.raises(UnsupportedQuery, match="longer"), sql.statement():
        for predicate in slow:
            sql.truth([many, AGE], [predicate])
    for predicate in slow[:4]:  # what is asked outside has the time for itself
        assert sql.truth([many, AGE], [predicate])[0].sum() == 0


def test_a_trial_leaves_time_for_the_work_itself(sql: DuckDbPublicSql) -> None:
    table = {"t": pa.table({"n": range(700)})}
    work = "SELECT count(*) AS c FROM t a, t b, t c WHERE md5((a.n + b.n + c.n)::VARCHAR) = 'x' AND a.n * b.n < 9000"
    with pytest.raises(UnsupportedQuery, match="longer"):
        sql.run(work, table, trial=True)
    assert works(sql)


@pytest.mark.parametrize("after", [0.05, 0.4])
def test_ctrl_c_stops_public_work_within_a_second(after: float) -> None:
    with closing(DuckDbPublicSql({"names": NAMES}.__getitem__, seconds=60.0)) as sql:
        sql.truth([AGE], ["age > 3"])
        pressed: list[float] = []

        def press() -> None:
            sleep(after)
            pressed.append(monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=press).start()
        with pytest.raises(KeyboardInterrupt):
            sql.truth([AGE], [ONE_CALL])
        assert monotonic() - pressed[0] < 1
        assert works(sql)


def test_memory_is_bounded() -> None:
    longer = "x || x || x || x || x || x || x || x"
    text = "SELECT 'abcdefgh' || n AS x FROM t"
    for _ in range(9):
        text = f"SELECT {longer} AS x FROM ({text})"
    with closing(DuckDbPublicSql({"names": NAMES}.__getitem__, seconds=60.0)) as sql:  # so that memory ends first
        with pytest.raises(UnsupportedQuery, match="memory"):
            sql.run(f"SELECT length(x) FROM ({text})", {"t": pa.table({"n": [1, 2, 3]})})
        with pytest.raises(UnsupportedQuery, match="memory"):
            sql.run("SELECT a.n, b.n FROM t a, t b", {"t": pa.table({"n": range(9000)})})
        assert works(sql)


@LINUX
def test_a_process_that_ends_by_itself_is_replaced() -> None:
    others = begin()
    with closing(DuckDbPublicSql({"names": NAMES}.__getitem__)) as sql:
        assert works(sql)
        assert kill_but(others)
        with pytest.raises(Error):
            sql.truth([AGE], ["age > 4"])
        assert works(sql)


@LINUX
def test_processes_that_ended_while_they_waited_are_replaced() -> None:
    others = begin()
    for _ in range(2):
        with closing(DuckDbPublicSql({"names": NAMES}.__getitem__)) as sql:
            assert works(sql)
        assert kill_but(others)


def begin() -> set[int]:
    """The processes that are at work for other tests; none waits, and none is given back when garbage is collected."""
    gc.collect()
    IDLE.end()
    return set(children())


def kill_but(others: set[int]) -> int:
    """Ends all processes but these from outside; how many that were."""
    ours = set(children()) - others
    for process in ours:
        os.kill(process, signal.SIGKILL)
    return len(ours)


def children() -> list[int]:
    """The processes of public work that this one has started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"worker.py" in (status.parent / "cmdline").read_bytes():
                found.append(int(status.parent.name))
    return found


def test_a_process_that_is_used_again_knows_nothing_of_before() -> None:
    for _ in range(2):
        with closing(DuckDbPublicSql({"names": NAMES}.__getitem__)) as first:
            assert works(first)
        with closing(DuckDbPublicSql({}.__getitem__)) as second:
            tables = second.run("SELECT count(*) AS n FROM duckdb_tables()", {}).to_pydict()
            assert tables == {"n": [0]}


@LINUX
def test_the_memory_of_this_process_is_not_the_other_ones() -> None:
    """A child's ``ru_maxrss`` begins at its parent's: processes of large sessions would never be used again."""
    program = (
        "import numpy as np\nfrom contextlib import closing\nfrom dpsql.public import DuckDbPublicSql\n"
        "from tests.unit.public.test_process import children\nlarge = np.ones(60_000_000)\n"
        "for _ in range(2):\n"
        "    with closing(DuckDbPublicSql({}.__getitem__)) as sql:\n"
        "        sql.read('SELECT 1')\n        print(*children())\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    first, second = found.stdout.split()
    assert first == second


@LINUX
def test_nothing_of_this_process_is_within_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_TEST_SECRET", "4711")
    with closing(DuckDbPublicSql({}.__getitem__, memory=1 << 29)) as sql:
        sql.read("SELECT 1")
        for process in children():
            assert b"4711" not in Path(f"/proc/{process}/environ").read_bytes()


@LINUX
def test_the_end_of_this_process_ends_its_workers() -> None:
    program = (
        "import os, signal\nfrom dpsql.public import DuckDbPublicSql\n"
        "from tests.unit.public.test_process import children\n"
        "DuckDbPublicSql({}.__getitem__).read('SELECT 1')\nprint(*children(), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    worker = Path(f"/proc/{int(found.stdout)}")
    until = monotonic() + 20
    while monotonic() < until and worker.exists():
        sleep(0.05)
    assert not worker.exists()


def test_after_a_fork_each_process_has_its_own(sql: DuckDbPublicSql) -> None:
    assert works(sql)
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if works(sql) else 1)
        finally:
            os._exit(2)
    assert works(sql)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert works(sql)


@pytest.mark.parametrize(
    ("text", "line", "columns"),
    [
        ("SELECT a BETWEEN 1 3", 1, {20}),
        ("SELECT 1\nFROM t\nWHERE a NOT IN", 3, {13, 15}),  # the last word or the end, as versions of DuckDB have it
        ("SELECT , a", 1, {8}),
        ("SELECT a FROM t GROUP BY", 1, {23, 25}),
    ],
)
def test_what_duckdb_does_not_read_is_a_syntax_error(
    sql: DuckDbPublicSql, text: str, line: int, columns: set[int]
) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        sql.read(text)
    assert caught.value.line == line and caught.value.column in columns, str(caught.value)


@pytest.mark.parametrize(
    "expression",
    [
        "make_date(20000 + age, 1, 1)",
        "CASE WHEN age > 3 THEN 'infinity'::DATE ELSE '2020-01-01'::DATE END",
        "CASE WHEN age > 3 THEN '-infinity'::TIMESTAMP END",
        "'9223372036854775800'::HUGEINT + age",
        "age::DECIMAL(38, 0) + 1000000000000000000000",
    ],
)
def test_values_without_a_python_form(sql: DuckDbPublicSql, expression: str) -> None:
    with pytest.raises(DataError, match="cannot be shown"):
        sql.codes([AGE], expression)


def test_zeros_of_either_sign_are_one_group(sql: DuckDbPublicSql) -> None:
    assert sql.codes([AGE], "-0.0::DOUBLE * age").values == (0.0,)
