"""Text columns of which no string could be shown, by their owner's word: known from the policy, and nothing is kept
for them."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.accounting import Plan, Unshown
from dpsql.domain import BooleanDomain, TableDomain, TextDomain
from dpsql.planning import Basis, Shares, Way, make_plan, plan_tables
from dpsql.planning.strings import HARDLY, text_starts
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.query import KeyedFactor, LinearQuery
from tests.support.simulated import table_of

B = BooleanDomain("b")


def worded(rows: int | None, name: str = "w", **more: Any) -> TextDomain:
    return TextDomain(name, max_rows_per_value=rows, **more)


def policy_of(*columns: Any, more: tuple[TableDomain, ...] = (), **mechanism: Any) -> Policy:
    tables = (TableDomain("t", columns), *more)
    return Policy(Privacy(Fraction(1), Fraction(1, 10**6)), tables, Mechanism(**mechanism))


def plan_of(policy: Policy) -> Plan:
    return make_plan(policy)


def units(policy: Policy) -> dict[str, int]:
    """What the start of each table's text columns and prefixes has of the plan."""
    shares = Shares(plan_of(policy), policy)
    return {name: s.units for t in policy.tables for name, s in text_starts(shares, t).items()}


def test_ten_rows_a_string_can_never_be_shown_at_epsilon_one() -> None:
    plan = plan_of(policy_of(worded(10), B))
    assert plan.unshown == (Unshown("t", "w", 57),)
    assert plan_of(policy_of(worded(None), B)).unshown == ()
    found = plan_tables(plan, policy_of(worded(10), B))["t"]
    assert (found.texts, found.unshown, found.most_rows) == ({}, {"w": 57}, {"w": 10})


def test_the_last_word_without_a_selection_is_the_last_of_one_chance_in_a_thousand() -> None:
    policy = policy_of(worded(None), B)
    (start,) = text_starts(Shares(plan_of(policy), policy), policy.tables[0]).values()
    last = int(start.shown_from - HARDLY * float(start.select_sigma))
    assert 10 < last < start.shown_from
    assert plan_of(policy_of(worded(last), B)).unshown == (Unshown("t", "w", start.shown_from),)
    assert plan_of(policy_of(worded(last + 1), B)) == plan_of(policy)


def test_what_a_column_does_not_take_goes_to_the_others_and_no_delta_is_kept() -> None:
    with_word, without = policy_of(worded(10), B), policy_of(worded(None), B)
    plan, other = plan_of(with_word), plan_of(without)
    assert plan.delta_purse == 0 < other.delta_purse
    table, bare = with_word.tables[0], policy_of(B, TextDomain("w")).tables[0]
    now, then = Shares(plan, with_word).precision(table), Shares(other, without).precision(without.tables[0])
    assert now > 10 * then and bare.varied == table.varied
    assert units(with_word) == {} and set(units(without)) == {"w"}


def test_prefixes_keep_what_they_had() -> None:
    columns = table_of((2, 10)).columns
    before, after = (units(policy_of(worded(rows, prefixes=(1, 2)), *columns)) for rows in (None, 10))
    assert set(before) == {"w", "w[:1]", "w[:2]"} and set(after) == {"w[:1]", "w[:2]"}
    assert all(abs(after[name] - before[name]) <= before[name] / 100 for name in after)
    policy = policy_of(worded(10, prefixes=(1, 2)), *columns)
    assert plan_of(policy).delta_purse == plan_of(policy_of(worded(None, prefixes=(1, 2)), *columns)).delta_purse
    starts = text_starts(Shares(plan_of(policy), policy), policy.tables[0]).values()
    assert sum(s.delta for s in starts) == plan_of(policy).delta_purse


def test_lists_of_it_rest_on_the_net_beside_prefixes_that_are_selected() -> None:
    policy = policy_of(worded(10, prefixes=(1,)), worded(None, "v"), B)
    found = plan_tables(plan_of(policy), policy)["t"]

    def basis(*columns: str) -> Basis:
        keyed = KeyedFactor(columns, (("x",) * len(columns),), (), np.ones(1, dtype=np.int64))
        return found.basis(LinearQuery("t", (), keyed))

    assert (basis("w"), basis("w[:1]"), basis("v"), basis("w", "v")) == (Basis.NET, *[Basis.START] * 3)


def test_another_text_column_keeps_its_selection() -> None:
    policy = policy_of(worded(10), worded(None, "v"), B)
    assert [found.column for found in plan_of(policy).unshown] == ["w"]
    assert set(units(policy)) == {"v"}
    two = policy_of(B, more=(TableDomain("s", (worded(10), B)),))
    assert [(found.table, found.column) for found in plan_of(two).unshown] == [("s", "w")]
    assert plan_of(two).delta_purse == 0


@pytest.mark.parametrize(
    ("columns", "way"),
    [
        ((worded(10),), Way.NET),
        ((worded(10, prefixes=(1,)),), Way.KEYS),
        ((worded(10), *table_of((10_000,)).columns), Way.NET),
        ((worded(None), *table_of((10_000,)).columns), Way.CONTINGENCIES),
        ((worded(10), B), Way.CONTINGENCIES),
    ],
)
def test_a_table_is_answered_as_if_it_had_no_such_column(columns: tuple[Any, ...], way: Way) -> None:
    policy = policy_of(*columns)
    plan = plan_of(policy)
    shares = Shares(plan, policy)
    assert shares.way(policy.tables[0]) is way
    parts = [f(t) for t in policy.tables for f in (shares.contingencies, shares.row_count, shares.texts)]
    assert min(parts) >= 0 and sum(parts) <= plan.release_budget


@pytest.mark.parametrize("strategy", ["pmw", "sparse-pmw"])
def test_strategies_without_selections_plan_as_ever(strategy: str) -> None:
    with_word, without = (policy_of(worded(rows), B, strategy=strategy) for rows in (10, None))
    assert plan_of(with_word) == plan_of(without)
    most = plan_tables(plan_of(with_word), with_word)["t"].most_rows
    assert most == ({"w": 10} if strategy == "pmw" else {})  # constructions are as in their source


def test_an_older_plan_goes_on_selecting() -> None:
    """A plan says itself what is not selected: whoever reads it later decides nothing anew."""
    policy = policy_of(worded(10), B)
    kept = plan_of(policy_of(worded(None), B))
    assert set(plan_tables(kept, policy)["t"].texts) == {"w"}
    assert plan_tables(replace(plan_of(policy), unshown=()), policy)["t"].texts == {}  # no delta for it
