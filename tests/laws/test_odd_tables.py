"""Real sessions on a table that nothing was built with, at so much epsilon that noise is little, beside DuckDB.

``DPSQL_FUZZ=2000 pytest tests/laws/test_odd_tables.py`` asks so many of each part; ``DPSQL_FUZZ_SEED`` makes others.
"""

import os
import warnings
from unittest.mock import patch

import pytest

import dpsql
from tests.support.entropy import SeededEntropy
from tests.support.odd import PARTS, Checked, odd_table, statement

STATEMENTS = int(os.environ.get("DPSQL_FUZZ", "60"))
SEED = int(os.environ.get("DPSQL_FUZZ_SEED", "1"))


@pytest.mark.parametrize("name", PARTS)
def test_what_is_shown_is_near_what_duckdb_counts(name: str) -> None:
    part, found = PARTS[name], []
    private, truth = odd_table(part)
    with (
        warnings.catch_warnings(),
        patch("dpsql.mechanism.SystemEntropy", lambda: SeededEntropy(SEED)),
        private,
        truth,
    ):
        warnings.simplefilter("ignore", dpsql.PolicyWarning)
        with dpsql.connect(private, policy=dpsql.load_policy(part.policy), ledger=":memory:") as con:
            checked = Checked(con, truth)
            for number in range(STATEMENTS):
                made = statement(part, SEED, number)
                found += [(SEED, number, made.text, said) for said in checked.wrong(made)]
    assert found == []
    assert checked.seen["numbers"] > STATEMENTS
    assert checked.seen["outside"] <= 0.02 * checked.seen["numbers"] + 5
    assert checked.seen["refused"] <= 0.1 * STATEMENTS
