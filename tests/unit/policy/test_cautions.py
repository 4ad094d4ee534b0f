"""What an owner should look at again: epsilon above 10, tables without a unit that seem to need one."""

from fractions import Fraction

import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, IntegerDomain, TableDomain, TextDomain, looks_like_identifier
from dpsql.policy import Mechanism, Policy, Privacy, cautions


def policy(*tables: TableDomain, epsilon: int | Fraction = 1) -> Policy:
    return Policy(Privacy(Fraction(epsilon), Fraction(1, 10**6)), tables)


FLAG = BooleanDomain("first")
CUSTOMER = IntegerDomain("customer_id", 0, 9)


@pytest.mark.parametrize(("epsilon", "expected"), [(Fraction(1, 2), 0), (10, 0), (Fraction(1001, 100), 1), (50, 1)])
def test_a_large_epsilon(epsilon: int | Fraction, expected: int) -> None:
    assert len(cautions(policy(TableDomain("t", (FLAG,)), epsilon=epsilon))) == expected


def test_a_declared_column_that_looks_like_a_unit_is_named() -> None:
    alone = "each row of t is protected by itself: if rows can have the same customer_id"
    text = alone + ', name it in the policy, as unit = "{}"'
    assert cautions(policy(TableDomain("t", (FLAG, CUSTOMER)))) == (text.format("customer_id"),)
    two = cautions(policy(TableDomain("t", (TextDomain("email"), CUSTOMER))))
    assert two == (text.replace("customer_id", "email or customer_id").format("email"),)
    assert cautions(policy(TableDomain("t", (FLAG, CUSTOMER), "customer_id", 3))) == ()
    assert cautions(policy(TableDomain("t", (CategoryDomain("state_id", ("a", "b")),)))) == ()  # its list is public


def test_an_undeclared_one_is_named_to_the_owner_alone() -> None:
    rules = policy(TableDomain("t", (FLAG,)), TableDomain("u", (FLAG,)))
    columns = {"t": ("first", "patient_id", "amount"), "u": ("first", "amount")}
    (said,) = cautions(rules, columns)
    assert "patient" not in said and "each row of t is protected by itself" in said and "dpsql check" in said
    (told,) = cautions(rules, columns, owner=True)
    assert 'if rows can have the same patient_id, name it in the policy, as unit = "patient_id"' in told
    assert cautions(rules) == ()


@pytest.mark.parametrize(
    "name", ["id", "ID", "user_id", "userId", "UserID", "order-id", "uuid", "email", "e-mail", "SSN"]
)
def test_names_that_look_like_identifiers(name: str) -> None:
    assert looks_like_identifier(name)


@pytest.mark.parametrize(
    "name", ["paid", "valid", "idea", "covid", "width", "age", "", "_", "identity_check", "liquid"]
)
def test_names_that_do_not(name: str) -> None:
    assert not looks_like_identifier(name)


def test_keys_that_a_strategy_makes_no_use_of_are_named() -> None:
    def said(**mechanism: object) -> tuple[str, ...]:
        rules = policy(TableDomain("t", (FLAG,)))
        return cautions(Policy(rules.privacy, rules.tables, Mechanism(**mechanism)))  # type: ignore[arg-type]

    assert said(strategy="pmw") == said(error_factor=Fraction(2)) == said(warm_start=Fraction(1, 2)) == ()
    both = said(strategy="pmw", warm_start=Fraction(1, 2), error_factor=Fraction(2))
    assert both == (
        'warm_start and error_factor change nothing: strategy = "pmw" measures nothing before the first question',
    )
    (one,) = said(strategy="textbook-pmw", error_factor=Fraction(2))
    assert one.startswith("error_factor changes nothing")


def test_long_integer_columns_are_named() -> None:
    """Each value is a cell: what is measured of them, and how long a first look takes, grows with their number."""
    amount, age = IntegerDomain("amount", 0, 500_000), IntegerDomain("age", 0, 9_998)
    (said,) = cautions(policy(TableDomain("t", (amount, age))))
    assert said.startswith("t.amount has 500,001 values") and 'type = "number"' in said
