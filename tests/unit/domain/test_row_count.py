"""Row counts are public only where the owner says so and no neighbour changes them; every condition is a guard."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, TableDomain, TextDomain, row_count_obstacle
from dpsql.errors import InternalError, PolicyError
from dpsql.mechanism import public_row_count
from dpsql.planning import make_plan
from dpsql.planning.sensitivity import row_count_is_public
from dpsql.planning.shares import Shares
from dpsql.policy import Policy, Privacy
from dpsql.policy_file import dump_policy, parse_policy
from dpsql.private import Private

OPEN = TableDomain("t", (BooleanDomain("b"), TextDomain("s")))
DECLARED = replace(OPEN, row_count="public")
ROWS = Private(np.array(5))
PRIVATE: dict[str, tuple[TableDomain, str]] = {
    "nobody declared it": (OPEN, "replace-one"),
    "add-remove": (DECLARED, "add-remove"),
    "another unknown relation": (DECLARED, "replace-two"),
    "units": (replace(DECLARED, unit="u", max_rows_per_unit=3), "replace-one"),
    "a column that drops rows": (
        replace(DECLARED, columns=(CategoryDomain("c", ("x",), nullable=False),)),
        "replace-one",
    ),
    "a text column that drops rows": (replace(DECLARED, columns=(TextDomain("s", nullable=False),)), "replace-one"),
}


def privacy(neighbors: Any = "replace-one") -> Privacy:
    return Privacy(Fraction(1), Fraction(1, 10**6), neighbors)


@pytest.mark.parametrize("case", PRIVATE)
def test_a_private_row_count_stays_private(case: str) -> None:
    table, neighbors = PRIVATE[case]
    assert row_count_obstacle(table, neighbors)
    with pytest.raises(InternalError):
        public_row_count(ROWS, neighbors, table, is_base_table=True)


@pytest.mark.parametrize("case", [case for case, (table, _) in PRIVATE.items() if table.row_count == "public"])
def test_a_policy_cannot_declare_it_public(case: str) -> None:
    table, neighbors = PRIVATE[case]
    with pytest.raises(PolicyError, match="cannot be public") as caught:
        Policy(privacy(neighbors), (OPEN, replace(table, name="other")))
    assert caught.value.path == "tables.other.row_count" and caught.value.hint


def test_the_mechanism_reveals_what_is_declared_of_a_base_table_and_of_no_view() -> None:
    assert public_row_count(ROWS, "replace-one", DECLARED, is_base_table=True) == 5
    with pytest.raises(InternalError):
        public_row_count(ROWS, "replace-one", DECLARED, is_base_table=False)


def test_the_plan_sets_aside_what_measuring_costs() -> None:
    other = replace(OPEN, name="other")
    policy = Policy(privacy(), (DECLARED, other))
    plan = make_plan(policy)
    assert row_count_is_public(policy, DECLARED) and not row_count_is_public(policy, other)
    assert Shares(plan, policy).row_count(DECLARED) == 0 < Shares(plan, policy).row_count(other)


def test_a_ledger_is_bound_to_the_declaration() -> None:
    measured, public = Policy(privacy(), (OPEN,)), Policy(privacy(), (DECLARED,))
    assert measured.digest != public.digest
    assert measured.digest == measured.digest_without_row_counts == public.digest_without_row_counts
    others = [replace(DECLARED, name="u"), replace(OPEN, name="u")]
    assert len({Policy(privacy(), (a, b)).digest for a in (OPEN, DECLARED) for b in others}) == 4


def test_the_file_says_it_and_is_written_back() -> None:
    text = """
version = 1
privacy = { epsilon = 1, delta = 1e-6, neighbors = "replace-one" }
[tables.t]
row_count = "public"
[tables.t.columns]
b = { type = "boolean" }
[tables.u]
row_count = "measured"
[tables.u.columns]
b = { type = "boolean" }
"""
    policy = parse_policy(text)
    assert [t.row_count for t in policy.tables] == ["public", "measured"]
    assert parse_policy(dump_policy(policy)) == policy
    assert dump_policy(policy).count("row_count") == 1  # texts of earlier ledgers stay what they were
    with pytest.raises(PolicyError) as caught:
        parse_policy(text.replace('"measured"', '"secret"'))
    assert caught.value.path == "tables.u.row_count"
    with pytest.raises(PolicyError) as caught:
        parse_policy(text.replace(', neighbors = "replace-one"', ""))
    assert caught.value.path == "tables.t.row_count"
