"""One query's way: cache, measurement, test, hard round; what is durable before what; replay."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.accounting import Plan
from dpsql.domain import CategoryDomain, TableDomain, TextDomain
from dpsql.engine.memory_engine import MemoryEngine
from dpsql.errors import BudgetExhausted, EngineError, InternalError
from dpsql.ledger import MemoryLedger
from dpsql.ledger.event import Totals
from dpsql.mechanism import public_total
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.private import Private
from dpsql.query import Counts, Factor, Key, KeyedFactor, LinearQuery, linear_query
from dpsql.session.asking import Asker
from dpsql.session.planning import make_plan
from tests.support.entropy import SeededEntropy

TABLE = TableDomain(
    "t",
    (CategoryDomain("a", ("x", "y"), nullable=False), CategoryDomain("b", ("u", "v"), nullable=False), TextDomain("w")),
)
ROWS = {
    "a": ["x"] * 9000 + ["y"] * 1000,
    "b": (["u"] * 3 + ["v"]) * 2500,
    "w": ["often"] * 4000 + ["twice"] * 2 + [None] * 5998,
}


def policy(**mechanism: Any) -> Policy:
    privacy = Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=1000)
    return Policy(privacy, (TABLE,), Mechanism(**mechanism))


def on(column: str, *weights: int) -> LinearQuery:
    query = linear_query(TABLE, [Factor((column,), np.array(weights))])
    assert query is not None
    return query


def word(*keys: str | None) -> LinearQuery:
    keyed = KeyedFactor(("w",), tuple((k,) for k in keys), (), np.ones(len(keys), dtype=np.int64))
    query = linear_query(TABLE, [], keyed)
    assert query is not None
    return query


class Recorder(MemoryLedger):
    """A ledger that keeps the order of what happens to it."""

    def __init__(self, header: dict[str, str], log: list[str]) -> None:
        super().__init__(header)
        self.log = log

    def reserve(self, cost: int, check: Callable[[Totals], None], payload: Any) -> int:
        number = super().reserve(cost, check, payload)
        self.log.append("reserve")
        return number

    def hard(self, reservation: int, payload: Any) -> None:
        super().hard(reservation, payload)
        self.log.append("hard")

    def release(self, reservation: int, payload: Any, answers: Any = ()) -> None:
        super().release(reservation, payload, answers)
        self.log.append("release")

    @contextmanager
    def drawing(self, reservation: int) -> Iterator[None]:
        with super().drawing(reservation):
            yield


class Coins(SeededEntropy):
    """Entropy that writes down when it is used."""

    def __init__(self, seed: int, log: list[str]) -> None:
        super().__init__(seed)
        self.log = log

    def bits(self, n: int) -> int:
        self.log.append("coin")
        return super().bits(n)

    def discrete_gaussian(self, sigma: Fraction, size: int) -> list[int]:
        self.log.append("noise")
        return super().discrete_gaussian(sigma, size)


def make(rules: Policy, seed: int = 1) -> tuple[Asker, Recorder, list[str]]:
    log: list[str] = []
    plan = make_plan(rules)
    ledger = Recorder({"plan": plan.to_json()}, log)
    return Asker(rules, plan, MemoryEngine(rules, {"t": ROWS}), ledger, Coins(seed, log)), ledger, log


def test_everything_is_durable_before_the_next_coin() -> None:
    asker, _, log = make(policy())
    answer = asker.ask(on("a", 1, 0))  # far from uniform: hard
    assert answer.source == "measurement"
    assert log == ["reserve", "noise", "release", "reserve", "coin", "hard", "noise", "release"]


def test_a_hard_answer_is_near_the_truth_and_charges_a_hard_round() -> None:
    asker, ledger, _ = make(policy())
    answer = asker.ask(on("a", 1, 0))
    assert answer.value is not None
    assert answer.error is not None
    assert abs(answer.value - 9000) < 5 * answer.error
    assert (answer.error_kind, answer.certified) == ("exact", True)
    plan = asker.plan
    assert ledger.totals() == Totals(plan.release_budget + plan.hard_cost, 0)
    assert answer.charged == pytest.approx(plan.epsilon_share(plan.release_budget + plan.hard_cost))


def test_the_row_count_is_answered_from_its_own_measurement() -> None:
    asker, _, log = make(policy())
    answer = asker.ask(total_of(TABLE))
    assert (answer.source, log) == ("measurement", ["reserve", "noise", "release"])
    assert answer.value is not None
    assert answer.error is not None
    assert abs(answer.value - 10_000) < 3 * answer.error


def test_an_easy_answer_is_free_and_comes_from_the_model() -> None:
    asker, ledger, _ = make(policy())
    asker.ask(on("a", 1, 0))
    spent = ledger.totals().spent
    answer = asker.ask(word("never"))
    assert (answer.value, answer.source, answer.charged) == (0, "hypothesis", 0.0)
    assert answer.error == asker.states["t"].bound
    assert ledger.totals().spent == spent


def test_equal_questions_are_free_and_equal() -> None:
    asker, _, log = make(policy())
    first = asker.ask(on("a", 1, 0))
    before = list(log)
    again = asker.known(on("a", 1, 0))
    assert again is not None
    assert (again.value, again.charged) == (first.value, 0.0)
    assert log == before


def test_the_complement_comes_from_the_measurement_without_a_test() -> None:
    asker, _, log = make(policy())
    first = asker.ask(on("a", 1, 0))
    coins = log.count("coin")
    other = asker.ask(on("a", 0, 1))
    assert (other.source, other.charged, log.count("coin")) == ("measurement", 0.0, coins)
    assert first.value is not None


def test_a_new_process_continues_where_the_first_stopped() -> None:
    rules = policy()
    asker, ledger, _ = make(rules)
    asker.ask(on("a", 1, 0))
    asker.ask(on("b", 1, 0))
    asker.ask(word("often", "twice"))
    plan = Plan.from_json(ledger.header["plan"])
    second = Asker(rules, plan, MemoryEngine(rules, {"t": ROWS}), ledger, SeededEntropy(9))
    for query in (on("a", 1, 0), on("b", 0, 1), word("often"), word("twice", None)):
        ours, theirs = asker.states["t"].model, second.states["t"].model
        assert ours is not None
        assert theirs is not None
        assert ours.estimate(query) == theirs.estimate(query)
        assert ours.measured(query) == theirs.measured(query)
    assert second.hard_rounds_left() <= asker.hard_rounds_left()
    known = second.known(on("a", 1, 0))
    assert known is not None


def test_after_the_last_hard_round_answers_go_on_unmarked_by_any_certificate() -> None:
    asker, ledger, _ = make(policy(hard_rounds=1))
    assert asker.ask(on("a", 1, 0)).charged > 0
    answer = asker.ask(on("b", 1, 0))
    assert (answer.certified, answer.error, answer.charged) == (False, None, 0.0)
    assert ledger.totals().spent <= asker.plan.total_units
    assert asker.hard_rounds_left() == 0


def test_row_counts_keep_their_share_when_hard_rounds_are_many() -> None:
    """Hard rounds on one table cannot use up what the other table's row count will need."""
    other = TableDomain("other", (CategoryDomain("a", ("x", "y"), nullable=False),))
    rules = Policy(policy().privacy, (TABLE, other), Mechanism(hard_rounds=2))
    plan = make_plan(rules)
    ledger = MemoryLedger({"plan": plan.to_json()})
    engine = MemoryEngine(rules, {"t": ROWS, "other": {"a": ["x"] * 500}})
    asker = Asker(rules, plan, engine, ledger, SeededEntropy(3))
    for query in (on("a", 1, 0), on("b", 1, 0), word("often")):
        asker.ask(query)
    assert asker.hard_rounds_left() == 0
    asker.check_total("other")
    rest = linear_query(other, [Factor(("a",), np.array([1, 0]))])
    assert rest is not None
    assert asker.ask(rest).charged == pytest.approx(plan.epsilon_share(plan.release_budget // 2))
    assert ledger.totals().spent + ledger.totals().reserved <= plan.total_units


def test_a_row_count_that_cannot_be_paid_is_refused_before_data() -> None:
    asker, ledger, _ = make(policy())
    ledger.reserve(asker.plan.total_units, lambda _: None, {"burn": 1})
    with pytest.raises(BudgetExhausted) as caught:
        asker.check_total("t")
    assert caught.value.requested > caught.value.remaining


def test_an_engine_failure_after_a_hard_outcome_keeps_the_charge() -> None:
    class Failing(MemoryEngine):
        calls = 0

        def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
            Failing.calls += 1
            if Failing.calls == 3:  # total, test, then the measurement
                raise EngineError("gone")
            return super().contingency(table, columns)

        def keyed_counts(
            self, table: str, text_columns: tuple[str, ...], keys: tuple[Key, ...], columns: tuple[str, ...]
        ) -> Private[Counts]:
            raise EngineError("gone")

    rules = policy()
    plan = make_plan(rules)
    ledger = MemoryLedger({"plan": plan.to_json()})
    asker = Asker(rules, plan, Failing(rules, {"t": ROWS}), ledger, SeededEntropy(1))
    with pytest.raises(EngineError):
        asker.ask(on("a", 1, 0))
    totals = ledger.totals()
    assert totals.spent + totals.reserved == plan.release_budget + plan.hard_cost
    asker.close()
    assert ledger.totals().spent + ledger.totals().reserved == plan.release_budget + plan.hard_cost


REPLACE = Privacy(Fraction(1), Fraction(1, 10**6), "replace-one")
OPEN = TableDomain("t", (CategoryDomain("a", ("x", "y")), TextDomain("w")))


def total_of(table: TableDomain) -> LinearQuery:
    total = linear_query(table, [])
    assert total is not None
    return total


def test_replace_one_starts_from_the_exact_row_count_for_free() -> None:
    asker, ledger, _ = make(Policy(REPLACE, (OPEN,)))
    answer = asker.ask(total_of(OPEN))
    assert (answer.value, answer.error, answer.charged) == (10_000, 0.0, 0.0)
    assert ledger.totals().spent == 0


@pytest.mark.parametrize(
    "table",
    [
        TableDomain("t", OPEN.columns, unit="w", max_rows_per_unit=3),
        TableDomain("t", (CategoryDomain("a", ("x", "y"), nullable=False),)),
        TableDomain("t", (CategoryDomain("a", ("x", "y")), TextDomain("w", nullable=False))),
    ],
)
def test_replace_one_measures_a_row_count_that_a_neighbour_can_change(table: TableDomain) -> None:
    """Another unit may have another number of rows; a row outside a non-nullable domain is not counted."""
    asker, ledger, log = make(Policy(REPLACE, (table,)))
    assert asker.ask(total_of(table)).charged > 0
    assert ledger.totals().spent > 0
    assert log[:3] == ["reserve", "noise", "release"]
    with pytest.raises(InternalError):
        public_total(Private(np.array(5)), "replace-one", table)


def test_the_exact_row_count_never_leaves_under_add_remove() -> None:
    with pytest.raises(InternalError):
        public_total(Private(np.array(5)), "add-remove", OPEN)
