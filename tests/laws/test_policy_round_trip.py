"""Writing a policy and reading it back changes nothing, whatever the policy."""

from dataclasses import replace
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.domain import (
    Beyond,
    BooleanDomain,
    CategoryDomain,
    ColumnDomain,
    DateDomain,
    DateUnit,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    TextDomain,
)
from dpsql.domain.column import OF_A_DAY
from dpsql.errors import PolicyError
from dpsql.hypothesis import STRATEGIES
from dpsql.policy import Mechanism, Neighbors, Policy, Privacy, WhenSpent
from dpsql.policy_file import dump_policy, parse_policy

names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=6)
strings = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
spans = st.integers(0, 800)  # a domain lists its days
days = st.dates(date(1900, 1, 1), date(2100, 1, 1))
decimals = st.builds(lambda n, p: Fraction(n, 10**p), st.integers(1, 999), st.integers(2, 40))


def date_column(name: str, low: date, span: int, unit: DateUnit, nulls: bool) -> DateDomain:
    """So many days, or, of a column by hours or minutes, so many minutes that begin at an odd time."""
    if unit not in OF_A_DAY:
        return DateDomain(name, low, low + timedelta(span), unit, nulls)
    first = datetime.combine(low, time(22, 59, 58, 500000))
    return DateDomain(name, first, first + timedelta(minutes=span), unit, nulls)


def column(name: str) -> st.SearchStrategy[ColumnDomain]:
    integers = st.builds(lambda a, n, u: IntegerDomain(name, a, a + n, u), whole, st.integers(0, 99), nullable)
    numbers = st.builds(lambda e, u, o: NumberDomain(name, tuple(sorted(e)), u, o), edges, nullable, beyond)
    categories = st.builds(lambda v, u: CategoryDomain(name, tuple(v), u), values, nullable)
    dates = st.builds(lambda a, n, t, u: date_column(name, a, n, t, u), days, spans, units, nullable)
    prefixes, words = st.sets(st.integers(1, 64)), st.none() | st.integers(1, 10**12)
    texts = st.builds(lambda p, u, w: TextDomain(name, tuple(sorted(p)), u, w), prefixes, nullable, words)
    return st.one_of(integers, numbers, categories, dates, texts, st.builds(BooleanDomain, st.just(name), nullable))


nullable = st.booleans()
whole = st.integers(-(2**53) + 1, 2**53 - 200)
edges = st.sets(st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0), min_size=2, max_size=5)
values = st.lists(strings, min_size=1, max_size=4, unique=True)
units = st.sampled_from(get_args(DateUnit))
beyond = st.sampled_from(get_args(Beyond))


def unique(items: st.SearchStrategy[str], most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(items, min_size=1, max_size=most, unique_by=str.lower)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    tables = []
    everything = draw(unique(names, 4))
    private = everything[: draw(st.integers(1, len(everything)))]
    for name in private:
        columns = tuple(draw(column(c)) for c in draw(unique(names, 4)))
        unit = draw(st.none() | names)
        tables.append(TableDomain(name, columns, unit, 1 if unit is None else draw(st.integers(1, 10**6))))
    privacy = Privacy(
        draw(decimals.filter(lambda e: e >= Fraction(1, 10**6))),
        draw(decimals.filter(lambda d: d < Fraction(1, 10))),
        draw(st.sampled_from(get_args(Neighbors))),
        draw(st.integers(1, 10**12)),
    )
    mechanism = Mechanism(
        draw(st.sampled_from(list(STRATEGIES))),
        draw(st.none() | st.integers(1, 1000)),
        draw(st.sampled_from(get_args(WhenSpent))),
        draw(st.integers(10, 99)) * Fraction(1, 100),
        draw(st.integers(1, 1000)) * Fraction(1, 10),
        on_demand=draw(st.integers(0, 90)) * Fraction(1, 100),
    )
    if draw(st.booleans()):
        mechanism = replace(mechanism, calibration="paper", planned_rows=draw(st.integers(1, 10**12)))
    return Policy(privacy, tuple(tables), mechanism, tuple(everything[len(private) :]))


@settings(deadline=None)
@given(policies())
def test_dump_then_parse_is_the_same_policy(policy: Policy) -> None:
    again = parse_policy(dump_policy(policy))
    assert again == policy
    assert again.digest == policy.digest


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(0, 12), st.integers(0, 12))
def test_epsilon_is_written_exactly_or_not_at_all(numerator: int, fives: int, threes: int) -> None:
    epsilon = Fraction(numerator, 5**fives * 3**threes) + Fraction(1, 1000)
    policy = Policy(Privacy(epsilon, Fraction(1, 10**6)), (TableDomain("t", (BooleanDomain("b"),)),))
    remainder = epsilon.denominator
    while remainder % 2 == 0 or remainder % 5 == 0:
        remainder //= 2 if remainder % 2 == 0 else 5
    if remainder == 1:
        assert parse_policy(dump_policy(policy)).privacy.epsilon == epsilon
    else:
        with pytest.raises(PolicyError) as caught:
            dump_policy(policy)
        assert caught.value.path == "privacy.epsilon"


@pytest.mark.parametrize(
    "column",
    [
        NumberDomain("c", (0.0, 1.0, 2.0), reading="cell"),
        DateDomain("c", date(2019, 1, 1), date(2019, 9, 9), "month", reading="cell"),
    ],
)
def test_a_column_that_is_read_by_its_cells_is_not_written_as_one_of_values(column: ColumnDomain) -> None:
    policy = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TableDomain("t", (column,)),))
    with pytest.raises(PolicyError, match="first value of its cell") as caught:
        dump_policy(policy)
    assert caught.value.path == "tables.t.columns.c"


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_policy_or_a_policy_error(text: str) -> None:
    try:
        parse_policy(text)
    except PolicyError as error:
        assert error.hint


@settings(deadline=None)
@given(st.data())
def test_a_damaged_policy_is_a_policy_or_a_policy_error(data: st.DataObject) -> None:
    text = dump_policy(data.draw(policies()))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 9)))
    damaged = (
        text[:start] + data.draw(st.sampled_from(["", "1", "-1", '"', "[", "true", "x = 1\n", "nan"])) + text[end:]
    )
    try:
        parse_policy(damaged)
    except PolicyError as error:
        assert error.hint
