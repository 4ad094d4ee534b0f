"""Statements made by a grammar of all that is answered: right numbers, refusals that are free, bounded work, twins.

``DPSQL_FUZZ=50000 pytest tests/laws/test_grammar_fuzz.py`` asks so many; ``DPSQL_FUZZ_SEED`` makes others. A failure
names the seed and the number that make its statement again (``tests.support.grammar.statements.statement``).
"""

import os
import subprocess
import sys
import time

import pytest

import dpsql
from dpsql.sql.expressions.functions import RELEASED
from tests.support.coupled import Script, compared, coupled, told
from tests.support.grammar import statement, statements
from tests.support.grammar.cost import Meter
from tests.support.grammar.functions import named
from tests.support.grammar.oracle import exact_session, outside, wrong
from tests.support.grammar.statements import Statement
from tests.support.grammar.world import NEIGHBOURS, POLICY, SCHEMA
from tests.support.lessons import learned_briefly

STATEMENTS = int(os.environ.get("DPSQL_FUZZ", "200"))
SEED = int(os.environ.get("DPSQL_FUZZ_SEED", "1"))
BATCH = 100
"""Statements of one session, and of one test: few enough that a failure is asked again in seconds."""
CPU, MEMORY = 2.0, 1 << 30
"""Seconds and bytes that one statement may cost."""
BATCHES = range(0, STATEMENTS, BATCH)


def test_the_grammar_calls_every_function() -> None:
    assert RELEASED - named() == frozenset()


def test_a_statement_is_the_same_for_the_same_number() -> None:
    assert list(statements(SEED, 5, 9)) == [statement(SEED, number) for number in range(5, 9)]
    assert len({s.text for s in statements(SEED, 0, 400)}) > 350


@pytest.mark.parametrize("begin", BATCHES)
def test_numbers_are_those_of_duckdb(begin: int) -> None:
    found = []
    with exact_session() as (con, rows):
        for made in statements(SEED, begin, min(begin + BATCH, STATEMENTS)):
            difference = wrong(con, rows, made)
            if difference is not None:
                found.append((SEED, made.number, made.text, made.parameters, difference))
    assert found == []


@pytest.mark.parametrize(
    "aggregate",
    ["SUM(-age)", "SUM(age - 1)", "SUM(-1)", "SUM(CASE WHEN member THEN -1 ELSE 0 END)", "SUM(age)", "COUNT(*)"],
)
def test_an_interval_holds_its_number_below_0_too(aggregate: str) -> None:
    with exact_session() as (con, _):
        cursor = con.execute(f"SELECT sex, {aggregate} FROM people GROUP BY sex")
        assert outside(cursor) is None
        assert any(answer.value != 0 for answer in cursor.answers)


@pytest.mark.parametrize(
    "computed",
    [
        "regr_sxy(m, m), stddev_samp(n), regr_intercept(n + m, n)",
        "SUM(n * m), SUM(n) / (1 + SUM(m))",
    ],
)
def test_doubts_that_all_are_off_together_are_in_the_interval(computed: str) -> None:
    block = "SELECT kids, COUNT(*) AS n, SUM(kids) AS m FROM people WHERE hours / 3 < 4 GROUP BY kids"
    text = f"WITH g AS ({block}) SELECT {computed} FROM g"
    with exact_session() as (con, rows):
        assert wrong(con, rows, Statement(text, text)) is None


@pytest.mark.parametrize("total", ["SUM(hours * kids)", "SUM(hours * (age + 1) / 4) FILTER (WHERE hours > 5)"])
def test_rows_that_count_by_value_and_by_weight_are_added_up_exactly(total: str) -> None:
    with exact_session() as (con, rows):
        assert wrong(con, rows, Statement(f"SELECT {total} FROM people", f"SELECT {total} FROM people")) is None


def test_the_memory_of_a_child_that_is_killed_is_seen() -> None:
    meter, code = Meter(), "import os, time; kept = bytearray(os.urandom(1)) * (200 << 20); time.sleep(60)"
    with meter.around("a child"):
        child = subprocess.Popen([sys.executable, "-c", code])
        time.sleep(1.5)
        child.kill()
        child.wait()
    assert meter.above(60.0, 100 << 20) == meter.costs


def test_wrong_numbers_would_be_seen() -> None:
    """Answers that are off by one row differ from DuckDB's in most statements that ask."""
    found = 0
    with exact_session(off_by=1) as (con, rows):
        for made in statements(SEED, 0, 60):
            found += wrong(con, rows, made) is not None
    assert found > 20


@pytest.mark.parametrize("begin", BATCHES)
def test_refusals_are_free_work_is_bounded_and_twins_look_the_same(begin: int, monkeypatch: pytest.MonkeyPatch) -> None:
    learned_briefly(monkeypatch)
    made = list(statements(SEED, begin, min(begin + BATCH, STATEMENTS)))
    script, meter = Script(POLICY, SCHEMA, tuple((s.text, s.parameters) for s in made), seed=begin), Meter()
    one = told(script, around=meter.around)
    where = f"seed {SEED}, numbers from {begin}"
    assert [r for r in one.refused if isinstance(r.error, dpsql.InternalError)] == [], where
    assert [r for r in one.refused if abs(r.charged - r.spent) > 1e-9] == [], where
    # what is refused is free; what fails on a released number has been paid for
    assert [r for r in one.refused if r.charged and not isinstance(r.error, dpsql.DataError)] == [], where
    assert all(r.error.hint for r in one.refused), where
    assert meter.above(CPU, MEMORY) == [], where
    neighbour = list(NEIGHBOURS)[begin // BATCH % len(NEIGHBOURS)]
    assert compared(one, coupled(script, NEIGHBOURS[neighbour], one)) == [], where
