"""What has one test: the groups of a statement together, by the newest rules; all else one by one."""

from dataclasses import replace

import numpy as np
import pytest

from dpsql.accounting import Plan
from dpsql.planning import make_plan
from dpsql.policy import Policy
from dpsql.query import Factor, LinearQuery, linear_query
from dpsql.result import Answer
from dpsql.session.asker import Asker
from tests.support.counted import Counted
from tests.support.warm import Recorder
from tests.unit.session.test_asker import ROWS, TABLE, Coins, on, policy, word

GROUPS = [on("a", 1, 0), on("a", 0, 1)]


def opened(rules: Policy, models: int | None = None, *, hard: bool = False) -> tuple[Asker, Recorder, list[str]]:
    log: list[str] = []
    plan: Plan = make_plan(rules)
    plan = plan if models is None else replace(plan, models=models)
    coins = Hard(1, log) if hard else Easy(1, log)
    ledger = Recorder({"plan": plan.to_json()}, log)
    return Asker(rules, plan, Counted(rules, {"t": ROWS}), ledger, coins), ledger, log


class Easy(Coins):
    def bits(self, n: int) -> int:
        super().bits(n)
        return 0


class Hard(Coins):
    def bits(self, n: int) -> int:
        super().bits(n)
        return (1 << n) - 1


def asked(asker: Asker, log: list[str], queries: list[LinearQuery]) -> tuple[list[Answer], int]:
    asker.first_touches("t")
    log.clear()
    found = asker.ask(queries)
    return [found[q.digest] for q in queries], log.count("coin")


@pytest.mark.parametrize(("models", "coins"), [(None, 2), (14, 4)])
def test_groups_draw_the_coins_of_one(models: int | None, coins: int) -> None:
    asker, _, log = opened(policy(), models)
    answers, drawn = asked(asker, log, GROUPS)
    assert drawn == coins
    assert [(a.source, a.certified, a.certified_bound) for a in answers] == [
        ("hypothesis", True, asker.states["t"].plan.bound)
    ] * 2


def test_a_hard_outcome_measures_all_groups_and_names_their_number() -> None:
    asker, ledger, log = opened(policy(), hard=True)
    answers, drawn = asked(asker, log, GROUPS)
    assert (drawn, log) == (1, ["reserve", "coin", "hard", "noise", "release"])
    assert [a.source for a in answers] == ["measurement"] * 2
    for answer, true in zip(answers, (9000, 1000), strict=True):
        assert abs((answer.value or 0) - true) <= (answer.certified_bound or 0)
    (event,) = [e for e in ledger.events() if e.kind == "hard"]
    assert {k: event.payload[k] for k in ("query", "groups", "table", "side")} == {
        "query": GROUPS[0].digest, "groups": 2, "table": "t", "side": "above",
    }  # fmt: skip


def test_one_query_is_tested_as_before() -> None:
    asker, ledger, log = opened(policy(), hard=True)
    asked(asker, log, GROUPS[:1])
    (event,) = [e for e in ledger.events() if e.kind == "hard"]
    assert {"query", "estimate"} <= event.payload.keys() and "groups" not in event.payload


def test_listed_strings_are_tested_one_by_one() -> None:
    asker, _, log = opened(policy())
    assert asked(asker, log, [word("often"), word("twice"), word("never")])[1] == 6


def test_a_construction_of_the_papers_is_updated_with_one_answer() -> None:
    columns = replace(TABLE, columns=TABLE.columns[:2])
    asker, _, log = opened(replace(policy(strategy="median"), tables=(columns,)))
    assert asked(asker, log, GROUPS)[1] == 4


def test_weighted_counts_have_one_test_too() -> None:
    half = [linear_query(TABLE, [Factor(("a",), np.array(w), 2)]) for w in ([1, 0], [0, 1], [2, 1])]
    asker, _, log = opened(policy())
    assert asked(asker, log, [q for q in half if q is not None])[1] == 2
