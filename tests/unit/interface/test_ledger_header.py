"""What a ledger's header must say: by its own rules where it is there, by the newest where it is not."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpsql.accounting import calibrate
from dpsql.domain import BooleanDomain, TableDomain
from dpsql.engine import MemoryEngine, Rules
from dpsql.errors import LedgerError
from dpsql.interface.dbapi.ledger_header import ledger_header
from dpsql.policy import RETIRED_STRATEGIES, Mechanism, Policy, Privacy

PLAN = calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=3)
ROWS = TableDomain("rows", (BooleanDomain("b"),))
UNITS = TableDomain("units", (BooleanDomain("b"),), unit="u")
DROPPING = TableDomain("dropping", (BooleanDomain("b", nullable=False),))


def policy(*tables: TableDomain, neighbors: Any = "replace-one", strategy: str = "auto") -> Policy:
    return Policy(Privacy(Fraction(1), Fraction(1, 10**6), neighbors), tables, Mechanism(strategy))  # type: ignore[arg-type]


def header(rules: Policy, stored: dict[str, str]) -> dict[str, str]:
    engine = MemoryEngine(rules, {t.name: {"b": [True], "u": [1]} for t in rules.tables}, rules=Rules(unit_rows=1))
    return ledger_header(rules, engine, PLAN, stored)


def public(table: TableDomain) -> TableDomain:
    return replace(table, row_count="public")


def test_a_new_ledger_says_by_which_rules_it_is_kept() -> None:
    found = header(policy(ROWS), {})
    assert found["policy"] == policy(ROWS).digest
    assert (found["row_counts"], found["engine"], found["fingerprint"], found["unit_rows"]) == (
        "declared",
        "memory",
        "2",
        "1",
    )


def test_an_earlier_ledger_goes_on_where_all_that_it_published_is_declared() -> None:
    stored = {"policy": policy(ROWS, UNITS).digest}
    assert header(policy(public(ROWS), UNITS), stored)["policy"] == stored["policy"]
    with pytest.raises(LedgerError, match="exact number of rows of rows, ") as caught:
        header(policy(ROWS, UNITS), stored)
    assert "[tables.rows]" in caught.value.hint
    two = policy(ROWS, replace(ROWS, name="more"))
    with pytest.raises(LedgerError, match="exact number of rows of more, "):
        header(policy(public(ROWS), replace(ROWS, name="more")), {"policy": two.digest})


@pytest.mark.parametrize("tables", [(UNITS,), (DROPPING,), (UNITS, DROPPING)])
def test_one_that_published_nothing_goes_on_as_it_is(tables: tuple[TableDomain, ...]) -> None:
    rules = policy(*tables)
    assert header(rules, {"policy": rules.digest})["policy"] == rules.digest


def test_under_add_remove_nothing_was_published() -> None:
    rules = policy(ROWS, neighbors="add-remove")
    assert header(rules, {"policy": rules.digest})["policy"] == rules.digest


def test_a_ledger_with_a_strategy_that_is_gone_is_told_the_same() -> None:
    word, ran = next((word, ran) for word, ran in RETIRED_STRATEGIES.items())
    then = policy(ROWS, strategy=word).retired_digest
    assert then is not None
    stored = {"policy": then}
    assert header(policy(public(ROWS), strategy=ran), stored)["policy"] == stored["policy"]
    with pytest.raises(LedgerError, match="exact number of rows"):
        header(policy(ROWS, strategy=ran), stored)


@pytest.mark.parametrize("word", RETIRED_STRATEGIES)
def test_a_ledger_whose_word_meant_something_else_is_refused_with_what_it_ran(word: str) -> None:
    then = policy(UNITS, strategy=word).retired_digest
    assert then is not None
    with pytest.raises(LedgerError, match='ran "pmw"') as caught:
        header(policy(UNITS, strategy=word), {"policy": then})
    assert 'strategy = "pmw"' in caught.value.hint and "--new-budget" in caught.value.hint
    now = policy(UNITS, strategy=word).digest
    assert header(policy(UNITS, strategy=word), {"policy": now})["policy"] == now


def test_a_later_ledger_is_bound_to_the_declaration_itself() -> None:
    stored = {"policy": policy(ROWS).digest, "row_counts": "declared"}
    assert header(policy(ROWS), stored)["policy"] == stored["policy"]
    assert header(policy(public(ROWS)), stored)["policy"] != stored["policy"]


def test_another_policy_is_for_the_ledger_to_refuse() -> None:
    other = policy(replace(ROWS, name="other"))
    assert header(policy(ROWS), {"policy": other.digest})["policy"] == policy(ROWS).digest
