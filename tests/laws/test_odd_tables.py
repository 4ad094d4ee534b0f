"""Real sessions on a table that nothing was built with, at so much epsilon that noise is little, beside DuckDB.

The same rows in a PostgreSQL server are answered as in DuckDB, whatever the server would say of a condition itself.

``DPSQL_FUZZ=2000 pytest tests/laws/test_odd_tables.py`` asks so many of each part; ``DPSQL_FUZZ_SEED`` makes others.
"""

import os
import warnings
from collections.abc import Iterator
from unittest.mock import patch

import duckdb
import pytest

import dpsql
from tests.support.entropy import SeededEntropy
from tests.support.odd import PARTS, Checked, odd_table, odd_table_in_postgresql, statement
from tests.support.postgres import server

STATEMENTS = int(os.environ.get("DPSQL_FUZZ", "60"))
SEED = int(os.environ.get("DPSQL_FUZZ_SEED", "1"))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pytest.importorskip("adbc_driver_postgresql.dbapi", reason="pip install 'dpsql[postgresql]'")
    with server() as uri:
        odd_table_in_postgresql(uri)
        yield uri


@pytest.mark.parametrize("name", PARTS)
def test_what_is_shown_is_near_what_duckdb_counts(name: str) -> None:
    private, truth = odd_table(PARTS[name])
    with private:
        check(name, private, truth, STATEMENTS)


@pytest.mark.parametrize("name", PARTS)
def test_the_same_in_postgresql(name: str, address: str) -> None:
    private, truth = odd_table(PARTS[name])
    private.close()
    check(name, address, truth, STATEMENTS // 3)


def check(
    name: str, private: duckdb.DuckDBPyConnection | str, truth: duckdb.DuckDBPyConnection, statements: int
) -> None:
    part, found = PARTS[name], []
    with (
        warnings.catch_warnings(),
        patch("dpsql.mechanism.SystemEntropy", lambda: SeededEntropy(SEED)),
        truth,
    ):
        warnings.simplefilter("ignore", dpsql.PolicyWarning)
        with dpsql.connect(private, policy=dpsql.load_policy(part.policy), ledger=":memory:") as con:
            checked = Checked(con, truth)
            for number in range(statements):
                made = statement(part, SEED, number)
                found += [(SEED, number, made.text, said) for said in checked.wrong(made)]
    assert found == []
    assert checked.seen["numbers"] > statements
    assert checked.seen["outside"] <= 0.02 * checked.seen["numbers"] + 5
    assert checked.seen["refused"] <= 0.1 * statements
