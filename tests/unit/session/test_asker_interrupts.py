"""Ctrl-C between two statements' steps: the next statement finds a state as if it were replayed."""

import signal
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpsql.domain import TableDomain
from dpsql.ledger import MemoryLedger, SqliteLedger
from dpsql.mechanism import threshold_test
from dpsql.planning import make_plan
from dpsql.planning.sensitivity import row_count_is_public
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.session.asker import Asker
from tests.support.asking import ask
from tests.support.counted import Counted
from tests.support.entropy import Easy, SeededEntropy
from tests.support.warm import DATA, NARROW, one_of, policy

PUBLIC = TableDomain("t", tuple(replace(c, nullable=True) for c in NARROW.columns), row_count="public")  # type: ignore[type-var]


def interrupted(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("place", ["first.warm_start.WarmStart.know_row_count", "session.table_state.ErrorBars"])
def test_a_public_row_count_that_was_half_known_is_known_anew(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    rules = policy(PUBLIC, neighbors="replace-one")
    assert row_count_is_public(rules, PUBLIC)
    plan = make_plan(rules)
    asker, undisturbed = (
        Asker(
            rules,
            plan,
            Counted(rules, {"t": DATA[NARROW]}),
            MemoryLedger({"plan": plan.to_json()}),
            SeededEntropy(5),
        )
        for _ in range(2)
    )
    question = one_of(PUBLIC, "a", "b")
    with monkeypatch.context() as patch:
        patch.setattr(f"dpsql.{place}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ask(asker, question)
    asker.catch_up()
    assert ask(asker, question) == ask(undisturbed, question)
    assert asker.purses.shares() == undisturbed.purses.shares()


def test_a_session_whose_hard_round_has_an_unknown_outcome_closes(tmp_path: Path) -> None:
    rules = Policy(
        Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=1000), (NARROW,), Mechanism("pmw", hard_rounds=2)
    )
    plan = make_plan(rules)

    def on_step(step: str) -> None:
        if armed and step == "reserve:appended":
            armed.clear()
            raise KeyboardInterrupt

    armed: set[str] = set()
    ledger = SqliteLedger.open(
        tmp_path / "a.ledger", {"policy": "p", "data": "d", "plan": plan.to_json()}, on_step=on_step
    )
    asker = Asker(rules, plan, Counted(rules, {"t": DATA[NARROW]}), ledger, Easy(5))
    assert ask(asker, one_of(NARROW, "a")).certified
    spent = ledger.totals().spent
    assert ledger.totals().reserved == plan.hard_cost
    armed.add("next")
    with pytest.raises(KeyboardInterrupt):
        ledger.reserve(1, lambda _: None, {})
    asker.close()
    assert ledger.totals().reserved == 0
    assert ledger.totals().spent == spent + plan.test_cost
    ledger.close()


def test_an_interrupt_ends_the_making_of_the_test_s_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a small epsilon it takes a minute: nothing is drawn yet, and nothing is lost."""

    class Coins(SeededEntropy):
        tossed = 0

        def bits(self, number: int) -> int:
            self.tossed += 1
            return super().bits(number)

    def pressed(step: Fraction) -> threshold_test.Table:
        signal.raise_signal(signal.SIGINT)
        return made(step)

    rules = Policy(Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=1000), (NARROW,), Mechanism("pmw"))
    plan, made, coins = make_plan(rules), threshold_test.build_table, Coins(5)
    ledger = MemoryLedger({"plan": plan.to_json()})
    asker = Asker(rules, plan, Counted(rules, {"t": DATA[NARROW]}), ledger, coins)
    with monkeypatch.context() as patch:
        patch.setattr(threshold_test, "build_table", pressed)
        with pytest.raises(KeyboardInterrupt):
            ask(asker, one_of(NARROW, "a"))
    assert coins.tossed == 0
    spent = ledger.totals().spent
    asker.catch_up()
    assert ask(asker, one_of(NARROW, "a")).certified and coins.tossed > 0
    assert ledger.totals().spent in (spent, spent + plan.hard_cost)
