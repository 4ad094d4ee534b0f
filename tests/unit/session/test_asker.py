"""One query's way: cache, measurement, test, hard round; what is durable before what; replay."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.accounting import Plan
from dpsql.domain import CategoryDomain, TableDomain, TextDomain
from dpsql.engine.memory import MemoryEngine
from dpsql.errors import BudgetExhausted, EngineError, InternalError
from dpsql.ledger import MemoryLedger
from dpsql.ledger.event import Totals
from dpsql.planning import make_plan
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.private import Private
from dpsql.query import Counts, Factor, Key, KeyedFactor, LinearQuery, linear_query
from dpsql.session.asker import Asker
from tests.support.asking import ask
from tests.support.counted import Counted
from tests.support.entropy import SeededEntropy
from tests.support.warm import Recorder

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
    return Policy(privacy, (TABLE,), Mechanism(**{"strategy": "pmw", **mechanism}))


def on(column: str, *weights: int) -> LinearQuery:
    query = linear_query(TABLE, [Factor((column,), np.array(weights))])
    assert query is not None
    return query


def word(*keys: str | None) -> LinearQuery:
    keyed = KeyedFactor(("w",), tuple((k,) for k in keys), (), np.ones(len(keys), dtype=np.int64))
    query = linear_query(TABLE, [], keyed)
    assert query is not None
    return query


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
    return Asker(rules, plan, Counted(rules, {"t": ROWS}), ledger, Coins(seed, log)), ledger, log


def test_everything_is_durable_before_the_next_coin() -> None:
    asker, _, log = make(policy())
    answer = ask(asker, on("a", 1, 0))  # far from uniform: hard
    assert answer.source == "measurement"
    assert log == ["reserve", "noise", "release", "reserve", "coin", "hard", "noise", "release"]


def test_a_hard_answer_is_near_the_truth_and_charges_a_hard_round() -> None:
    asker, ledger, _ = make(policy())
    answer = ask(asker, on("a", 1, 0))
    assert answer.value is not None
    assert answer.error is not None
    assert abs(answer.value - 9000) < 5 * answer.error
    assert (answer.error_kind, answer.certified) == ("exact", True)
    plan = asker.plan
    assert ledger.totals() == Totals(plan.release_budget + plan.hard_cost, 0, 1)
    assert answer.charged == pytest.approx(plan.as_epsilon(plan.release_budget + plan.hard_cost))


def test_the_row_count_is_answered_from_its_own_measurement() -> None:
    asker, _, log = make(policy())
    answer = ask(asker, total_of(TABLE))
    assert (answer.source, log) == ("measurement", ["reserve", "noise", "release"])
    assert answer.value is not None
    assert answer.error is not None
    assert abs(answer.value - 10_000) < 3 * answer.error


def test_an_easy_answer_is_free_and_comes_from_the_model() -> None:
    asker, ledger, _ = make(policy())
    ask(asker, on("a", 1, 0))
    spent = ledger.totals().spent
    answer = ask(asker, word("never"))
    assert (answer.value, answer.source, answer.charged) == (0, "hypothesis", 0.0)
    assert answer.error == asker.states["t"].plan.bound
    assert ledger.totals().spent == spent


def test_equal_questions_are_free_and_equal() -> None:
    asker, _, log = make(policy())
    first = ask(asker, on("a", 1, 0))
    before = list(log)
    again = asker.known(on("a", 1, 0))
    assert again is not None
    assert (again.value, again.charged) == (first.value, 0.0)
    assert log == before


def test_what_another_session_told_at_the_same_moment_is_told_here(monkeypatch: pytest.MonkeyPatch) -> None:
    asker, ledger, _ = make(policy())
    ask(asker, on("a", 1, 0))
    remember = ledger.remember

    def first_the_other(answers: Any) -> bool:
        mine = list(answers)
        remember([(key, replace(a, value=3, charged=0.5)) for key, a in mine])
        return remember(mine)

    monkeypatch.setattr(ledger, "remember", first_the_other)
    answer = ask(asker, word("never"))
    assert (answer.value, answer.charged) == (3, 0.0)  # nobody pays what another has paid
    monkeypatch.undo()
    assert ask(asker, word("never")) == answer


def test_the_complement_comes_from_the_measurement_without_a_test() -> None:
    asker, _, log = make(policy())
    first = ask(asker, on("a", 1, 0))
    coins = log.count("coin")
    other = ask(asker, on("a", 0, 1))
    assert (other.source, other.charged, log.count("coin")) == ("measurement", 0.0, coins)
    assert first.value is not None


def test_a_new_process_continues_where_the_first_stopped() -> None:
    rules = policy()
    asker, ledger, _ = make(rules)
    ask(asker, on("a", 1, 0))
    ask(asker, on("b", 1, 0))
    ask(asker, word("often", "twice"))
    plan = Plan.from_json(ledger.header["plan"])
    second = Asker(rules, plan, Counted(rules, {"t": ROWS}), ledger, SeededEntropy(9))
    for query in (on("a", 1, 0), on("b", 0, 1), word("often"), word("twice", None)):
        ours, theirs = asker.states["t"].model, second.states["t"].model
        assert ours is not None
        assert theirs is not None
        assert ours.estimate(query) == theirs.estimate(query)
        assert ours.measured(query) == theirs.measured(query)
    assert second.payments_left() <= asker.payments_left()
    known = second.known(on("a", 1, 0))
    assert known is not None


def test_a_hard_round_on_strings_also_measures_those_asked_for_before() -> None:
    asker, ledger, _ = make(policy())
    assert ask(asker, word("twice")).source == "hypothesis"
    ask(asker, word("often"))
    (payload,) = [e.payload for e in ledger.events() if e.kind == "release" and e.payload["kind"] == "contingency"]
    assert payload["keys"] == [["often"], ["twice"]]
    model = asker.states["t"].model
    assert model is not None
    assert model.sparse(("w",)).knows(("twice",))


def test_after_the_last_hard_round_answers_go_on_unmarked_by_any_certificate() -> None:
    asker, ledger, _ = make(policy(hard_rounds=1))
    assert ask(asker, on("a", 1, 0)).charged > 0
    answer = ask(asker, on("b", 1, 0))
    assert (answer.certified, answer.error, answer.charged) == (False, None, 0.0)
    assert ledger.totals().spent <= asker.plan.total_units
    assert asker.payments_left() == 0


def test_row_counts_keep_their_share_when_hard_rounds_are_many() -> None:
    """Hard rounds on one table cannot use up what the other table's row count will need."""
    other = TableDomain("other", (CategoryDomain("a", ("x", "y"), nullable=False),))
    rules = Policy(policy().privacy, (TABLE, other), Mechanism("pmw", hard_rounds=2))
    plan = make_plan(rules)
    ledger = MemoryLedger({"plan": plan.to_json()})
    engine = Counted(rules, {"t": ROWS, "other": {"a": ["x"] * 500}})
    asker = Asker(rules, plan, engine, ledger, SeededEntropy(3))
    for query in (on("a", 1, 0), on("b", 1, 0), word("often")):
        ask(asker, query)
    assert asker.payments_left() == 0
    asker.check([LinearQuery("other", ())])
    rest = linear_query(other, [Factor(("a",), np.array([1, 0]))])
    assert rest is not None
    assert ask(asker, rest).charged == pytest.approx(plan.as_epsilon(plan.release_budget // 2))
    assert ledger.totals().spent + ledger.totals().reserved <= plan.total_units


def test_a_row_count_that_cannot_be_paid_is_refused_before_data() -> None:
    asker, ledger, _ = make(policy())
    ledger.reserve(asker.plan.total_units, lambda _: None, {"burn": 1})
    with pytest.raises(BudgetExhausted) as caught:
        asker.check([LinearQuery("t", ())])
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
        ask(asker, on("a", 1, 0))
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
    public = replace(OPEN, row_count="public")
    asker, ledger, _ = make(Policy(REPLACE, (public,)))
    answer = ask(asker, total_of(public))
    assert (answer.value, answer.error, answer.charged) == (10_000, 0.0, 0.0)
    assert ledger.totals().spent == 0


@pytest.mark.parametrize(
    "table",
    [
        OPEN,
        TableDomain("t", OPEN.columns, unit="w", max_rows_per_unit=3),
        TableDomain("t", (CategoryDomain("a", ("x", "y"), nullable=False),)),
        TableDomain("t", (CategoryDomain("a", ("x", "y")), TextDomain("w", nullable=False))),
    ],
)
def test_replace_one_measures_a_row_count_that_a_neighbour_can_change(table: TableDomain) -> None:
    """Nobody declared it; another unit may have another number of rows; a row outside a domain is not counted."""
    asker, ledger, log = make(Policy(REPLACE, (table,)))
    assert ask(asker, total_of(table)).charged > 0
    assert ledger.totals().spent > 0
    assert log[:3] == ["reserve", "noise", "release"]


class Interrupted(Coins):
    """The interrupt comes right after the coin that comes out hard, before anything can be written down."""

    interrupts = 2

    def bits(self, n: int) -> int:
        super().bits(n)
        if self.interrupts > 0:
            self.interrupts -= 1
            raise KeyboardInterrupt
        return (1 << n) - 1


def test_an_interrupt_among_the_coins_ends_their_reservation() -> None:
    """A hard outcome may be lost with it; a second one under the same reservation would be charged nowhere."""
    log: list[str] = []
    rules = policy()
    plan = make_plan(rules)
    ledger = Recorder({"plan": plan.to_json()}, log)
    asker = Asker(rules, plan, Counted(rules, {"t": ROWS}), ledger, Interrupted(1, log))
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            ask(asker, on("a", 1, 0))
    assert ask(asker, on("a", 1, 0)).charged > 0
    assert log.count("reserve") == 1 + 3
    asker.close()
    ledger.recover()
    assert ledger.totals() == Totals(plan.release_budget + plan.hard_cost + 2 * plan.test_cost, 0, 3)


def test_sessions_on_one_ledger_have_the_state_of_its_replay() -> None:
    """Each absorbs its own releases and the others' once, in the ledger's order."""

    class Shared(MemoryLedger):
        def changed(self) -> bool:
            return True

    rules = policy(hard_rounds=6)
    plan = make_plan(rules)
    ledger = Shared({"plan": plan.to_json()})
    first, second, third = (
        Asker(rules, plan, Counted(rules, {"t": ROWS}), ledger, SeededEntropy(seed)) for seed in (1, 2, 3)
    )
    assert ask(first, on("a", 1, 0)).charged > 0
    second.catch_up()
    assert ask(second, word("often", "twice")).charged > 0
    assert ask(second, on("b", 1, 0)).charged > 0
    first.catch_up()
    assert ask(first, word("twice", None)).charged > 0
    for asker in (first, second, third):
        asker.catch_up()
    models = [asker.states["t"].model for asker in (first, second, third)]
    for query in (on("a", 1, 0), on("b", 0, 1), word("often"), word("twice"), word(None)):
        assert len({model.estimate(query) for model in models if model is not None}) == 1
    assert len({len(m.hypothesis.measurements) for m in models if m is not None}) == 1


def test_a_row_count_that_two_sessions_measured_at_once_loses_no_measurement() -> None:
    asker, ledger, _ = make(policy())
    ask(asker, on("a", 1, 0))
    (total,) = (e for e in ledger.events() if e.kind == "release" and e.payload["kind"] == "total")
    ledger.release(ledger.reserve(1, lambda _: None, {"burn": 1}), total.payload)
    second = Asker(asker.policy, asker.plan, Counted(asker.policy, {"t": ROWS}), ledger, SeededEntropy(9))
    ours, theirs = asker.states["t"].model, second.states["t"].model
    assert ours is not None
    assert theirs is not None
    assert ours.estimate(on("a", 1, 0)) == theirs.estimate(on("a", 1, 0))


def test_nothing_is_answered_untested_under_refuse() -> None:
    """Between the check of the statement and its questions another session may take the last hard round."""
    asker, ledger, _ = make(policy(hard_rounds=1, when_spent="refuse"))
    ledger.reserve(asker.plan.hard_cost, lambda _: None, {"burn": 1})
    with pytest.raises(BudgetExhausted):
        ask(asker, on("a", 1, 0))


@pytest.mark.parametrize(
    "query",
    [
        LinearQuery("t", (Factor(("a",), np.array([2, 0])),)),
        LinearQuery("t", (Factor(("a",), np.array([-1, 0])),)),
        LinearQuery("t", (Factor(("a",), np.array([3, 0]), 2),)),
        LinearQuery("t", (), KeyedFactor(("w",), (("often",), ("often",)), (), np.array([1, 1]))),
    ],
)
def test_a_query_more_sensitive_than_charged_is_never_tested(query: LinearQuery) -> None:
    asker, _, log = make(policy())
    with pytest.raises(InternalError):
        ask(asker, query)
    assert "coin" not in log
