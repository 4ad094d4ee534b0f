"""The list of strategies: what each word makes, and that a line is all that another hypothesis needs."""

import duckdb
import pytest

import dpsql
from dpsql.hypothesis import (
    STRATEGIES,
    TENSOR_CELLS,
    DenseHypothesis,
    Measurement,
    ScopedHypothesis,
    Strategy,
    WideHypothesis,
    strategy_named,
)
from tests.support.exact_hypothesis import ExactHypothesis
from tests.support.simulated import table_of

RULES = """
version = 1
privacy = { epsilon = 2.0, delta = 1e-6 }
mechanism = { strategy = "exact" }
[tables.t.columns]
a = { type = "integer", min = 0, max = 4, nullable = false }
b = { type = "boolean", nullable = false }
"""


def test_a_universe_is_one_tensor_while_it_fits() -> None:
    fits, exceeds = table_of((4096, 4096)), table_of((4096, 4097))
    assert fits.cells == TENSOR_CELLS < exceeds.cells
    for strategy in (STRATEGIES["auto"], STRATEGIES["pmw"]):
        assert type(strategy.narrow(fits, 9.0)) is DenseHypothesis
        assert type(strategy.narrow(exceeds, 9.0)) is ScopedHypothesis


def test_only_a_warm_start_makes_local_models() -> None:
    table = table_of((4, 3))
    assert type(strategy_named("auto").hypothesis(wide=True)(table, 9.0)) is WideHypothesis
    assert type(strategy_named("auto").hypothesis(wide=False)(table, 9.0)) is DenseHypothesis
    assert type(strategy_named("pmw").hypothesis(wide=True)(table, 9.0)) is DenseHypothesis
    assert strategy_named("auto").starts and strategy_named("auto").own_noise
    assert not strategy_named("pmw").starts and not strategy_named("pmw").own_noise


def test_what_is_not_in_the_list_is_refused_with_it() -> None:
    with pytest.raises(dpsql.PolicyError, match=r"mechanism\.strategy: .*mean") as caught:
        strategy_named("mean")
    assert all(f'"{word}"' in caught.value.hint for word in STRATEGIES)


def test_a_line_in_the_list_is_all_that_another_hypothesis_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    class Noted(ExactHypothesis):
        def absorb(self, measurement: Measurement) -> None:
            super().absorb(measurement)
            used.append(measurement)

    listed = {**STRATEGIES, "exact": Strategy(narrow=Noted, wide=Noted)}
    monkeypatch.setattr("dpsql.hypothesis.registry.STRATEGIES", listed)
    monkeypatch.setattr("dpsql.policy_file.load.STRATEGIES", listed)
    rows = duckdb.connect()
    rows.execute("CREATE TABLE t AS SELECT i % 5 AS a, i % 3 = 0 AS b FROM range(3000) t(i)")
    with dpsql.connect(rows, policy=dpsql.load_policy(RULES), ledger=":memory:") as con:
        answers = con.execute("SELECT COUNT(*) FROM t WHERE a < 2 AND b").answers
    assert used and abs(answers[0].value - 400) < 100
    assert answers[0].error is not None  # learned from the same hypothesis
