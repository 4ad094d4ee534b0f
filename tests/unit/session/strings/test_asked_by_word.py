"""Lists that the owner's word answers are answered without a row, a coin, a reservation, or a number of rows."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.domain import CategoryDomain, TableDomain, TextDomain
from dpsql.engine import MemoryEngine
from dpsql.errors import BudgetExhausted
from dpsql.first.payload import ROW_COUNT, encode_measurement
from dpsql.hypothesis import Measurement
from dpsql.planning import make_plan
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import KeyedFactor, LinearQuery
from dpsql.session.asker import Asker
from tests.support.asking import ask, how
from tests.support.entropy import SeededEntropy
from tests.support.waiting import impatient
from tests.support.warm import Recorder

COLUMNS = (CategoryDomain("a", ("x", "y"), nullable=False), TextDomain("w", max_rows_per_value=10))
TABLES = TableDomain("one", COLUMNS), TableDomain("two", COLUMNS)
ROWS = {"a": ["x"] * 900 + ["y"] * 100, "w": [f"s{i % 100}" for i in range(1000)]}


class Untouched(MemoryEngine):
    """Rows that nobody may ask."""

    def contingency(self, *asked: Any) -> Any:
        pytest.fail("a row was asked")

    part_counts = keyed_counts = key_counts = distinct_counts = contingency


def rules_of(strategy: str) -> Policy:
    privacy = Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=1000)
    return Policy(privacy, TABLES, Mechanism(strategy, hard_rounds=2))


def listed(number: int, table: str = "two") -> LinearQuery:
    strings = tuple((f"s{i}",) for i in range(number))
    return LinearQuery(table, (), KeyedFactor(("w",), strings, (), np.ones(number, dtype=np.int64)))


@pytest.mark.parametrize("strategy", ["auto", "pmw"])
def test_nothing_is_asked_drawn_or_reserved(strategy: str) -> None:
    rules = rules_of(strategy)
    plan = make_plan(rules)
    ledger = Recorder({"plan": plan.to_json()}, [])
    asker = Asker(rules, plan, Untouched(rules, {"one": ROWS, "two": ROWS}), ledger, SeededEntropy(1))
    assert how(asker, listed(1)) == ("the owner's word on the rows of a string", 5.0)
    answer = ask(asker, listed(1))
    assert (answer.value, answer.error, answer.charged) == (5, 5.0, 0.0)
    assert not [*ledger.events()] and ledger.log == [] and ledger.totals().spent == 0
    assert asker.known(listed(1)) == answer


def test_it_is_answered_where_not_even_the_rows_can_be_counted_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient(monkeypatch, 5.0)
    rules = rules_of("pmw")
    plan = make_plan(rules)
    ledger, units = Recorder({"plan": plan.to_json()}, []), plan.release_budget // 2
    asker = Asker(rules, plan, Untouched(rules, {"one": ROWS, "two": ROWS}), ledger, SeededEntropy(1))
    while asker.purses.noise_left(ledger.totals()) >= units:
        begun = {"purpose": "row count", "table": "one", "burn": units}
        reservation = ledger.reserve(units, lambda _: None, begun)
        ledger.release(reservation, encode_measurement(ROW_COUNT, Measurement("one", (), np.array(1000), 9.0)))
    asker.catch_up()
    assert ask(asker, listed(3)).interval == (0.0, 30.0)
    with pytest.raises(BudgetExhausted, match="row count of two"):
        ask(asker, listed(1000))
