"""Every key of the policy file: what it means, and how a wrong one is refused at its path."""

from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dpsql.domain import (
    BooleanDomain,
    CategoryDomain,
    DateDomain,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    TextDomain,
)
from dpsql.errors import PolicyError
from dpsql.hypothesis import STRATEGIES
from dpsql.policy import RETIRED_STRATEGIES, Mechanism, Privacy
from dpsql.policy_file import dump_policy, load_policy, parse_policy

FULL = """\
version = 1
[privacy]
epsilon = 0.3
delta = 1e-6
neighbors = "replace-one"
planned_queries = 5_000

[mechanism]
strategy = "pmw"
hard_rounds = 20
when_spent = "refuse"

[tables.adult]
[tables.adult.columns]
age       = { type = "integer", min = 17, max = 90 }
hours     = { type = "number", min = 0, max = 1, bins = 3 }
pay       = { type = "number", bins = [0, 10, 20.5] }
sex       = { type = "category", values = ["Female", "Male"], nullable = false }
joined    = { type = "date", min = 2019-01-01, max = 2020-12-31, unit = "month" }
left      = { type = "date", min = 2019-01-01, max = 2019-01-03 }
"a member" = { type = "boolean", nullable = true }

[tables.pets]
unit = "owner_id"
max_rows_per_unit = 3
[tables.pets.columns]
animal_name = { type = "text", prefixes = [1, 2] }
note = { type = "text" }

[public]
tables = ["zip_codes", "species"]
"""


def test_every_key() -> None:
    policy = parse_policy(FULL)
    assert policy.privacy == Privacy(Fraction(3, 10), Fraction(1, 10**6), "replace-one", 5000)
    assert policy.mechanism == Mechanism("pmw", 20, "refuse")
    assert policy.public_tables == ("zip_codes", "species")
    assert policy.tables == (
        TableDomain(
            "adult",
            (
                IntegerDomain("age", 17, 90),
                NumberDomain("hours", (0.0, 1 / 3, 2 / 3, 1.0)),
                NumberDomain("pay", (0.0, 10.0, 20.5)),
                CategoryDomain("sex", ("Female", "Male"), nullable=False),
                DateDomain("joined", date(2019, 1, 1), date(2020, 12, 31), "month"),
                DateDomain("left", date(2019, 1, 1), date(2019, 1, 3), "day"),
                BooleanDomain("a member"),
            ),
        ),
        TableDomain("pets", (TextDomain("animal_name", (1, 2)), TextDomain("note")), "owner_id", 3),
    )


def minimal(
    privacy: str = "epsilon = 1\ndelta = 1e-6", columns: str = 'b = { type = "boolean" }', rest: str = ""
) -> str:
    return f"version = 1\n[privacy]\n{privacy}\n[tables.t.columns]\n{columns}\n{rest}\n"


def test_defaults() -> None:
    policy = parse_policy(minimal())
    assert policy.privacy == Privacy(Fraction(1), Fraction(1, 10**6), "add-remove", 100_000)
    assert policy.mechanism == Mechanism("auto", None, "uncertified")
    assert policy.public_tables == ()
    assert policy.tables == (TableDomain("t", (BooleanDomain("b"),), None, 1),)


def test_a_unit_keeps_one_row_unless_told() -> None:
    table = parse_policy(minimal().replace("[tables.t.columns]", '[tables.t]\nunit = "u"\n[tables.t.columns]')).tables[
        0
    ]
    assert (table.unit, table.max_rows_per_unit) == ("u", 1)


@pytest.mark.parametrize(("written", "exact"), [("0.1", Fraction(1, 10)), ("1_0.5e-1", Fraction(21, 20)), ("2", 2)])
def test_epsilon_is_read_exactly(written: str, exact: Fraction) -> None:
    assert parse_policy(minimal(f"epsilon = {written}\ndelta = 0.000_01")).privacy.epsilon == exact


def test_bins_are_cut_exactly_before_they_are_rounded() -> None:
    (column,) = parse_policy(minimal(columns='x = { type = "number", min = 0, max = 0.3, bins = 3 }')).tables[0].columns
    assert column == NumberDomain("x", (0.0, 0.1, 0.2, 0.3))


def test_steps_are_exact_and_part_of_the_policy() -> None:
    plain, cents, same = (
        parse_policy(column(f'type = "number", min = 0, max = 4, bins = 2{step}'))
        for step in ("", ", step = 0.01", ", step = 1e-2")
    )
    assert cents.tables[0].columns == (NumberDomain("c", (0.0, 2.0, 4.0), step=Fraction(1, 100)),)
    assert cents.digest == same.digest != plain.digest
    assert parse_policy(dump_policy(cents)) == cents


def test_bins_that_grow_with_the_number() -> None:
    said = (
        'type = "number", min = 0, max = 808, bins = { count = 50, scale = "log" }',
        'type = "number", min = 0, max = 808',
    )
    (one,), (other,) = (parse_policy(column(text)).tables[0].columns for text in said)
    assert one == other and isinstance(one, NumberDomain) and one.outside == "clip"
    widths = [b - a for a, b in pairwise(one.edges)]
    assert len(widths) == 50 and (one.edges[0], one.edges[-1]) == (0.0, 808.0) and widths == sorted(widths)
    equal = parse_policy(column('type = "number", min = 0, max = 4, bins = { count = 2 }, outside = "null"'))
    assert equal.tables[0].columns == (NumberDomain("c", (0.0, 2.0, 4.0), outside="null"),)
    assert equal.digest != parse_policy(column('type = "number", min = 0, max = 4, bins = 2')).digest
    assert parse_policy(column('type = "number", edges = [0, 2, 4]')) == parse_policy(
        column('type = "number", bins = [0, 2, 4]')
    )


def column(keys: str) -> str:
    return minimal(columns=f"c = {{ {keys} }}")


def table(keys: str) -> str:
    return minimal().replace("[tables.t.columns]", f"[tables.t]\n{keys}\n[tables.t.columns]")


P = "tables.t.columns.c"
REFUSED = [
    # the root
    ("version", "", "missing"),
    ("version", "version = 2", "must be 1"),
    ("version", "version = 1.0", "must be 1"),
    ("version", "version = true", "must be 1"),
    ("version", 'version = "1"', "must be 1"),
    ("privacy", "version = 1", "missing"),
    ("privacy", "version = 1\nprivacy = 3", "must be a table, not a whole number"),
    ("tables", "version = 1\nprivacy = { epsilon = 1, delta = 1e-6 }", "missing"),
    ("tables", "version = 1\nprivacy = { epsilon = 1, delta = 1e-6 }\n[tables]", "no table"),
    ("privcy", minimal(rest="[privcy]"), "unknown key"),
    # privacy
    ("privacy.epsilon", minimal("delta = 1e-6"), "missing"),
    ("privacy.delta", minimal("epsilon = 1"), "missing"),
    ("privacy.epsilon", minimal("epsilon = 0\ndelta = 1e-6"), "above 0"),
    ("privacy.epsilon", minimal("epsilon = -0.5\ndelta = 1e-6"), "above 0"),
    ("privacy.epsilon", minimal("epsilon = 1e-7\ndelta = 1e-6"), "from 1e-6 to 100"),
    ("privacy.epsilon", minimal("epsilon = 100.1\ndelta = 1e-6"), "from 1e-6 to 100"),
    ("privacy.epsilon", minimal('epsilon = "1"\ndelta = 1e-6'), "a number, not a string"),
    ("privacy.epsilon", minimal("epsilon = true\ndelta = 1e-6"), "a number, not a boolean"),
    ("privacy.epsilon", minimal("epsilon = inf\ndelta = 1e-6"), "finite"),
    ("privacy.epsilon", minimal("epsilon = nan\ndelta = 1e-6"), "finite"),
    ("privacy.epsilon", minimal("epsilon = 1e-99999999\ndelta = 1e-6"), "finite"),
    ("privacy.epsilon", minimal("epsilon = 1e999999999999999999999\ndelta = 1e-6"), "finite"),
    ("privacy.delta", minimal("epsilon = 1\ndelta = 0.0"), "above 1e-100 and below 0.1"),
    ("privacy.delta", minimal("epsilon = 1\ndelta = 0.1"), "above 1e-100 and below 0.1"),
    ("privacy.delta", minimal("epsilon = 1\ndelta = -1e-6"), "above 1e-100 and below 0.1"),
    ("privacy.delta", minimal("epsilon = 1\ndelta = 1"), "above 1e-100 and below 0.1"),
    ("privacy.delta", minimal("epsilon = 1\ndelta = 1e-100"), "above 1e-100 and below 0.1"),
    ("privacy.neighbors", minimal('epsilon = 1\ndelta = 1e-6\nneighbors = "swap"'), "not known"),
    ("privacy.neighbors", minimal("epsilon = 1\ndelta = 1e-6\nneighbors = 1"), "must be a string"),
    ("privacy.planned_queries", minimal("epsilon = 1\ndelta = 1e-6\nplanned_queries = 0"), "from 1 to"),
    ("privacy.planned_queries", minimal("epsilon = 1\ndelta = 1e-6\nplanned_queries = 1e5"), "whole number"),
    ("privacy.planned_queries", minimal("epsilon = 1\ndelta = 1e-6\nplanned_queries = true"), "whole number"),
    ("privacy.epsilom", minimal("epsilon = 1\ndelta = 1e-6\nepsilom = 1"), "unknown key"),
    # mechanism
    ("mechanism", "mechanism = 1\n" + minimal(), "must be a table"),
    ("mechanism.strategy", minimal(rest='[mechanism]\nstrategy = "magic"'), "not known"),
    ("mechanism.hard_rounds", minimal(rest="[mechanism]\nhard_rounds = 0"), "from 1 to 1,000"),
    ("mechanism.hard_rounds", minimal(rest="[mechanism]\nhard_rounds = 1001"), "from 1 to 1,000"),
    ("mechanism.hard_rounds", minimal(rest='[mechanism]\nhard_rounds = "auto"'), "whole number"),
    ("mechanism.when_spent", minimal(rest='[mechanism]\nwhen_spent = "stop"'), "not known"),
    ("mechanism.rounds", minimal(rest="[mechanism]\nrounds = 3"), "unknown key"),
    # tables
    ("tables.t.columns", "version = 1\nprivacy = { epsilon = 1, delta = 1e-6 }\n[tables.t]", "missing"),
    ("tables.t.columns", minimal(columns=""), "no column"),
    ("tables.t.column", table("column = 3"), "unknown key"),
    ("tables.t", "version = 1\nprivacy = { epsilon = 1, delta = 1e-6 }\ntables.t = 3", "must be a table"),
    ("tables.T", minimal(rest='[tables.T.columns]\nb = { type = "boolean" }'), "differs from t only in case"),
    ('tables.""', minimal(rest='[tables."".columns]\nb = { type = "boolean" }'), "name"),
    ("tables.t.unit", table("unit = 3"), "must be a string"),
    ("tables.t.unit", table('unit = ""'), "name"),
    ("tables.t.unit", table('unit = "a\\nb"'), "name"),
    ("tables.t.max_rows_per_unit", table("max_rows_per_unit = 3"), "needs a unit"),
    ("tables.t.max_rows_per_unit", table('unit = "u"\nmax_rows_per_unit = 0'), "from 1 to"),
    ("tables.t.max_rows_per_unit", table('unit = "u"\nmax_rows_per_unit = 1.5'), "whole number"),
    # columns
    ("tables.t.columns.B", minimal(columns='b = { type = "boolean" }\nB = { type = "text" }'), "differs from b only"),
    ('tables.t.columns."my col"', minimal(columns='"my col" = 3'), "must be a table"),
    (f"{P}", minimal(columns='c = "integer"'), "must be a table, not a string"),
    (f"{P}.type", column(""), "missing"),
    (f"{P}.type", column('type = "int"'), "not known"),
    (f"{P}.type", column("type = 3"), "must be a string"),
    (f"{P}.nullable", column('type = "boolean", nullable = "no"'), "true or false"),
    (f"{P}.nullable", column('type = "boolean", nullable = 0'), "true or false"),
    (f"{P}.min", column('type = "boolean", min = 0'), "unknown key"),
    (f"{P}.min", column('type = "integer", max = 3'), "missing"),
    (f"{P}.max", column('type = "integer", min = 3'), "missing"),
    (f"{P}.min", column('type = "integer", min = 0.5, max = 3'), "whole number"),
    (f"{P}.max", column('type = "integer", min = 0, max = true'), "whole number"),
    (f"{P}.bins", column('type = "integer", min = 0, max = 3, bins = 2'), "unknown key"),
    (f"{P}", column('type = "integer", min = 3, max = 0'), "min is above max"),
    (f"{P}", column('type = "integer", min = 0, max = 9_000_000'), "more than"),
    (f"{P}", column('type = "integer", min = 0, max = 99999999999999999999'), "2^53"),
    (f"{P}.min", column('type = "number", max = 3'), "missing"),
    (f"{P}.bins", column('type = "number", edges = [0, 1], bins = 2'), "edges says already"),
    (f"{P}.bins.scale", column('type = "number", min = 0, max = 3, bins = { count = 3, scale = "ln" }'), "not known"),
    (f"{P}.bins.counts", column('type = "number", min = 0, max = 3, bins = { counts = 3 }'), "unknown key"),
    (f"{P}.outside", column('type = "number", min = 0, max = 3, outside = "drop"'), "not known"),
    (f"{P}.step", column('type = "number", min = 0, max = 3, step = 0'), "above 0"),
    (f"{P}.step", column('type = "number", min = 0, max = 3, step = "1"'), "must be a number"),
    (P, column('type = "number", min = 0, max = 3, step = 4'), "in the range"),
    (f"{P}.step", column('type = "integer", min = 0, max = 3, step = 1'), "unknown key"),
    (f"{P}.edges[1]", column('type = "number", edges = [0, "a"]'), "a number, not a string"),
    (f"{P}.bins", column('type = "number", min = 0, max = 3, bins = 0'), "from 1 to"),
    (f"{P}.bins", column('type = "number", min = 0, max = 3, bins = 1_000_000_000_000'), "from 1 to"),
    (f"{P}.bins", column('type = "number", min = 0, max = 3, bins = 2.5'), "a whole number, a table or a list"),
    (f"{P}.bins", column('type = "number", min = 0, max = 3, bins = "20"'), "a whole number, a table or a list"),
    (f"{P}.bins[1]", column('type = "number", bins = [0, "a"]'), "a number, not a string"),
    (f"{P}.bins[1]", column('type = "number", bins = [0, inf]'), "finite"),
    (f"{P}.bins", column('type = "number", bins = [0, 1e399]'), "finite"),
    (f"{P}", column('type = "number", bins = [0]'), "at least one bin"),
    (f"{P}", column('type = "number", bins = []'), "at least one bin"),
    (f"{P}", column('type = "number", bins = [0, 20, 10]'), "bins overlap"),
    (f"{P}", column('type = "number", bins = [0, 10, 10]'), "bins overlap"),
    (f"{P}.min", column('type = "number", min = 1, bins = [0, 10]'), "disagrees"),
    (f"{P}.max", column('type = "number", max = 11, bins = [0, 10]'), "disagrees"),
    (f"{P}.min", column('type = "number", max = 3, bins = 3'), "missing"),
    (f"{P}.min", column('type = "number", min = 3, max = 3, bins = 3'), "below max"),
    (f"{P}.max", column('type = "number", min = 0, max = "3", bins = 3'), "a number, not a string"),
    (f"{P}.max", column('type = "number", min = 0, max = 5e-324'), "too near to min"),
    (f"{P}.max", column('type = "number", min = 1, max = 1.0000000000000002, bins = 5'), "too near to min for so many"),
    (f"{P}.values", column('type = "category"'), "missing"),
    (f"{P}.values", column('type = "category", values = "a"'), "must be a list"),
    (f"{P}.values[1]", column('type = "category", values = ["a", 1]'), "must be a string"),
    (f"{P}.values[0]", column('type = "category", values = ["a\\u0000"]'), "NUL"),
    (f"{P}", column('type = "category", values = []'), "empty"),
    (f"{P}", column('type = "category", values = ["a", "b", "a"]'), "twice"),
    (f"{P}.min", column('type = "date", max = 2020-01-01'), "missing"),
    (f"{P}.min", column('type = "date", min = "2020-01-01", max = 2020-01-01'), "must be a date"),
    (f"{P}.max", column('type = "date", min = 2020-01-01, max = 2020-01-01T00:00:00'), "must be a date"),
    (f"{P}.unit", column('type = "date", min = 2020-01-01, max = 2020-01-01, unit = "second"'), "not known"),
    (f"{P}", column('type = "date", min = 2020-01-02, max = 2020-01-01'), "min is after max"),
    (f"{P}", column('type = "date", min = 0001-01-01, max = 9999-12-31'), "more than"),
    (f"{P}.prefixes", column('type = "text", prefixes = 2'), "must be a list"),
    (f"{P}.prefixes[0]", column('type = "text", prefixes = [0]'), "from 1 to 64"),
    (f"{P}.prefixes[1]", column('type = "text", prefixes = [1, true]'), "from 1 to 64"),
    (f"{P}.prefixes", column('type = "text", prefixes = [2, 1]'), "increase"),
    (f"{P}.prefixes", column('type = "text", prefixes = [2, 2]'), "increase"),
    (f"{P}.max_rows_per_value", column('type = "text", max_rows_per_value = 0'), "from 1 to"),
    (f"{P}.max_rows_per_value", column('type = "text", max_rows_per_value = 10.0'), "must be a whole number"),
    (f"{P}.max_rows_per_value", column('type = "text", max_rows_per_value = true'), "must be a whole number"),
    (f"{P}.max_rows_per_value", column('type = "boolean", max_rows_per_value = 10'), "unknown key"),
    (f"{P}.max_rows_per_value", column('type = "category", values = ["a"], max_rows_per_value = 10'), "unknown key"),
    (f"{P}.weight", column('type = "text", weight = 0'), "from 0.01 to 100"),
    (f"{P}.weight", column('type = "text", weight = 100.5'), "from 0.01 to 100"),
    (f"{P}.weight", column('type = "text", weight = "2"'), "must be a number"),
    (f"{P}.weight", column('type = "boolean", weight = 2'), "unknown key"),
    (f"{P}.weight", column('type = "text", weight = 2'), "no other column"),
    ("tables.t.weight", table("weight = 2"), "no other table"),
    ("tables.t.weight", table("weight = 0.009"), "from 0.01 to 100"),
    # public
    ("public.table", minimal(rest='[public]\ntable = ["z"]'), "unknown key"),
    ("public.tables", minimal(rest="[public]"), "missing"),
    ("public.tables", minimal(rest='[public]\ntables = "z"'), "must be a list"),
    ("public.tables[0]", minimal(rest="[public]\ntables = [1]"), "must be a string"),
    ("public.tables[0]", minimal(rest='[public]\ntables = [""]'), "name"),
    ("public.tables[1]", minimal(rest='[public]\ntables = ["z", "T"]'), "also a private table"),
    ("public.tables[1]", minimal(rest='[public]\ntables = ["z", "Z"]'), "twice"),
]


@pytest.mark.parametrize(("path", "text", "message"), REFUSED)
def test_refused_with_the_keys_path(path: str, text: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value)
    assert caught.value.hint and caught.value.hint != PolicyError.default_hint
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (minimal(columns='c = ["f", "m"]'), 'c = { type = "category", values = [...] }'),
        (minimal(columns='c = "text"'), 'c = { type = "text" }'),
        (minimal(rest="[privcy]"), "did you mean privacy?"),
        (minimal("Epsilon = 1\ndelta = 1e-6"), "did you mean epsilon?"),
        (table('units = "a"'), "did you mean unit?"),
        (column('type = "integer", mim = 0, max = 1'), "did you mean min?"),
        (column('type = "integr"'), 'did you mean "integer"?'),
        (minimal(rest='[mechanism]\nstrategy = "autp"'), 'did you mean "auto"?'),
    ],
)
def test_did_you_mean(text: str, hint: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert hint in caught.value.hint


def test_an_owners_word_on_strings_is_read_written_and_bound_to_the_ledger() -> None:
    without, ten, eleven = (
        parse_policy(minimal(columns=f'x = {{ type = "text", prefixes = [2]{word} }}'))
        for word in ("", ", max_rows_per_value = 10", ", max_rows_per_value = 11")
    )
    assert ten.tables[0].columns == (TextDomain("x", (2,), max_rows_per_value=10),)
    assert "prefixes = [2], max_rows_per_value = 10 }" in dump_policy(ten)
    assert len({policy.digest for policy in (without, ten, eleven)}) == 3
    assert without.digest == without.digest_without_row_counts == ten.digest_without_row_counts


def test_weights_are_read_written_and_bound_to_the_ledger() -> None:
    other = '[tables.u]\n{of_u}[tables.u.columns]\ny = {{ type = "boolean" }}\nz = {{ type = "text"{of_z} }}\n'
    plain, table, strings, all_one = (
        parse_policy(minimal(rest=other.format(of_u=of_u, of_z=of_z)))
        for of_u, of_z in (
            ("", ""),
            ("weight = 2.5\n", ""),
            ("", ", weight = 0.25"),
            ("weight = 1.0\n", ", weight = 1"),
        )
    )
    assert (table.tables[1].weight, strings.tables[1].text[0].weight) == (Fraction(5, 2), Fraction(1, 4))
    assert "weight = 2.5\n" in dump_policy(table) and 'z = { type = "text", weight = 0.25 }' in dump_policy(strings)
    assert all(parse_policy(dump_policy(policy)) == policy for policy in (plain, table, strings))
    assert len({policy.digest for policy in (plain, table, strings)}) == 3
    assert plain.digest == all_one.digest and dump_policy(plain) == dump_policy(all_one)


@pytest.mark.parametrize("weight", [2.5, "2", None, True, Fraction(1, 1000)])
def test_weights_of_domains_are_exact_and_in_range(weight: Any) -> None:
    with pytest.raises(PolicyError, match="weight must be"):
        TextDomain("x", weight=weight)


def test_a_weight_that_no_decimal_is_cannot_be_written() -> None:
    policy = parse_policy(minimal(rest='[tables.u.columns]\ny = { type = "boolean" }\nz = { type = "text" }\n'))
    third = replace(policy.tables[1], columns=(policy.tables[1].columns[0], TextDomain("z", weight=Fraction(1, 3))))
    with pytest.raises(PolicyError) as caught:
        dump_policy(replace(policy, tables=(policy.tables[0], third)))
    assert caught.value.path == "tables.u.columns.z.weight"


@pytest.mark.parametrize("word", sorted(set(RETIRED_STRATEGIES) - set(STRATEGIES)))
def test_a_strategy_that_was_only_a_word_is_refused_with_what_it_ran(word: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(minimal(rest=f'[mechanism]\nstrategy = "{word}"'))
    assert caught.value.path == "mechanism.strategy"
    assert all(f'"{name}"' in caught.value.message for name in STRATEGIES)
    assert 'strategy = "pmw"' in caught.value.hint and "ledger" in caught.value.hint


def test_rules_in_words_of_today_know_the_digests_of_former_ones() -> None:
    pmw, auto = (parse_policy(minimal(rest=f'[mechanism]\nstrategy = "{word}"')) for word in ("pmw", "auto"))
    others = [replace(pmw, mechanism=replace(pmw.mechanism, strategy=word)) for word in RETIRED_STRATEGIES]
    former = {other.retired_digest for other in others}
    assert pmw.former_digests == former and pmw.digest not in former
    assert auto.former_digests == set() and auto.retired_digest is None
    assert former.isdisjoint(other.digest for other in others)  # the words mean something else now


def test_the_papers_constants_are_another_policy_and_know_no_former_one() -> None:
    rules = [
        parse_policy(minimal(rest=f'[mechanism]\nstrategy = "{word}"\n{more}'))
        for word in ("pmw", "median")
        for more in ("", 'calibration = "tight"', 'calibration = "paper"', 'calibration = "paper"\nplanned_rows = 7')
    ]
    assert [parse_policy(dump_policy(r)) for r in rules] == rules
    digests = [r.digest for r in rules]
    assert digests[0] == digests[1] and digests[4] == digests[5]
    assert len(set(digests)) == 6
    assert all(r.former_digests == set() and r.retired_digest is None for r in (*rules[2:4], *rules[6:]))


def test_planned_rows_are_for_the_papers_constants() -> None:
    with pytest.raises(PolicyError, match="planned_rows") as caught:
        parse_policy(minimal(rest="[mechanism]\nplanned_rows = 5"))
    assert 'calibration = "paper"' in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version = 1\nthis is not toml", "line 2"),
        ("version = 1\nversion = 1\n", "line 2"),
        ("x = " + "[" * 100_000, "not TOML"),
        ("x = " + "9" * 10_000, "not TOML"),
        ("version = 1\r\n\0", "line 2"),
    ],
)
def test_not_toml(text: str, message: str) -> None:
    with pytest.raises(PolicyError, match="not TOML") as caught:
        parse_policy(text)
    assert message in str(caught.value) and caught.value.hint


@pytest.mark.parametrize("text", ["version = 1\nversion = 1\n", "[tables.a]\n[tables.a]\n", "a = {b = 1}\n[a.c]\n"])
def test_what_stands_twice_is_called_so(text: str) -> None:
    with pytest.raises(PolicyError, match="not TOML") as caught:
        parse_policy(text)
    assert "stands twice" in caught.value.hint


def test_load_from_a_path_a_string_of_one_and_text(tmp_path: Path) -> None:
    path = tmp_path / "p.dpsql.toml"
    path.write_text(FULL, encoding="utf-8")
    assert load_policy(path) == load_policy(str(path)) == load_policy(FULL) == parse_policy(FULL)


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode())
    assert load_policy(path) == parse_policy(FULL)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'x = "\xff"')
    for name, message in [
        ("missing.toml", "no such policy file"),
        (".", "is a directory"),
        ("latin.toml", "not UTF-8"),
        ("x" * 5000, "cannot be read"),
        ("a\0b", "cannot be read"),
    ]:
        with pytest.raises(PolicyError, match=message) as caught:
            load_policy(tmp_path / name)
        assert caught.value.path == str(tmp_path / name) and caught.value.hint
        assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_equal_weights_have_equal_digests() -> None:
    policy = parse_policy(minimal(rest='[tables.u]\nweight = 3\n[tables.u.columns]\ny = { type = "boolean" }\n'))
    whole = replace(policy, tables=(policy.tables[0], replace(policy.tables[1], weight=3)))  # type: ignore[arg-type]
    assert whole == policy and whole.digest == policy.digest
