"""What a draft tells the owner about epsilon: from the schema alone, or with the number of rows on the owner's wish."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.domain import TableDomain, TextDomain
from dpsql.planning import make_plan, plan_tables
from dpsql.planning.advice import EPSILONS, advice, few_questions
from dpsql.planning.outlook import forecast, outlook
from dpsql.policy import Policy, Privacy
from dpsql.policy_file import draft_policy, load_policy, with_advice
from tests.support.simulated import table_of

CENSUS = table_of((17, 9, 16, 7, 2, 2), (True,))
PRIVACY = Privacy(Fraction(1), Fraction(1, 10**6))


def cells(lines: list[str], row: str) -> list[str]:
    (found,) = (line for line in lines if line.startswith(f"  {row:<8}"))
    return found[10:].split()


def test_each_epsilon_has_its_error_and_its_share_of_the_rows() -> None:
    lines = advice(Policy(PRIVACY, (CENSUS,)))
    assert lines[1] == "t: contingencies + net"
    assert cells(lines, "epsilon") == ["0.1", "0.5", "1", "2"]
    errors = [int(e.lstrip("±").replace(",", "")) for e in cells(lines, "error")]
    assert errors == sorted(errors, reverse=True)
    rules = Policy(PRIVACY, (CENSUS,))
    plan = plan_tables(make_plan(rules), rules)[CENSUS.name]
    assert errors[EPSILONS.index(Fraction(1))] == outlook(plan, forecast(plan)).error
    shares = next(line for line in lines if line.endswith("of 10,000 rows"))
    assert f"{errors[2] / 100:.2g} %" in shares


def test_a_number_of_rows_is_shown_with_one_digit_and_its_origin() -> None:
    lines = advice(Policy(PRIVACY, (CENSUS,)), {"t": 48_842})
    assert any(line.endswith("of about 50,000 rows (FROM THE DATA)") for line in lines)
    assert "48" not in "".join(lines)
    assert any("all" in line for line in advice(Policy(PRIVACY, (CENSUS,)), {"t": 0}))


def test_tables_share_and_strings_alone_promise_nothing() -> None:
    text = TableDomain("names", (TextDomain("name"),))
    lines = advice(Policy(PRIVACY, (CENSUS, text)))
    assert "names: frequent strings + net" in lines
    assert any(line.startswith("The 2 tables share epsilon evenly") for line in lines)
    assert not any("planned_queries" in line for line in lines)


@pytest.mark.parametrize("table", [CENSUS, table_of((40, 9, 8, 7, 6, 5, 4, 3), (True,))])
def test_few_questions_are_the_crossover_of_the_plan(table: TableDomain) -> None:
    rules = Policy(PRIVACY, (table,))
    few = few_questions(rules)
    assert few > 0

    def own(planned: int) -> bool:
        return make_plan(replace(rules, privacy=replace(PRIVACY, planned_queries=planned))).questions > 0

    assert [own(few), own(few + 1)] == [True, False]
    assert any(f"planned_queries = {few} or less" in line for line in advice(rules))


def test_advice_in_a_draft_changes_nothing_of_the_policy() -> None:
    draft = draft_policy([("people", [("age", "INTEGER"), ("member", "BOOLEAN")]), ("pets", [("x", "BOOLEAN")])])
    rules = load_policy(draft)
    text = with_advice(draft, advice(rules))
    assert load_policy(text) == rules
    assert text.index("# What epsilon buys") < text.index("[tables.people]")
    assert all(len(line) <= 120 for line in text.splitlines())
