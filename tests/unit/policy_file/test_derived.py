"""Derived columns in the policy file: read, written back, told apart by the digest, refused at their path."""

import pytest

from dpsql.errors import PolicyError
from dpsql.policy import Policy
from dpsql.policy_file import dump_policy, parse_policy


def policy(column: str, unit: str = "") -> Policy:
    return parse_policy(
        f"""version = 1
privacy = {{ epsilon = 1.0, delta = 1e-6 }}
[tables.pets]
{unit}
[tables.pets.columns]
age = {{ type = "integer", min = 0, max = 9 }}
{column}
"""
    )


MIX = """is_mix = { type = "boolean", sql = "species LIKE '%Mix%'" }"""


def test_it_is_read_and_written_back() -> None:
    found = policy(MIX)
    (derived,) = found.tables[0].derived
    assert derived.name == "is_mix" and list(derived.expression.columns) == ["species"]
    assert MIX in dump_policy(found) and parse_policy(dump_policy(found)) == found


def test_another_expression_is_another_policy() -> None:
    plain, mix = policy('is_mix = { type = "boolean" }'), policy(MIX)
    other = policy(MIX.replace("Mix", "mix"))
    assert len({plain.digest, mix.digest, other.digest}) == 3


@pytest.mark.parametrize(
    ("column", "unit", "path", "words"),
    [
        ('x = { type = "text", sql = "lower(a)" }', "", "x.sql", "type text is not derived"),
        ('x = { type = "boolean", sql = "random() > a" }', "", "x.sql", "random"),
        ('x = { type = "boolean", sql = 3 }', "", "x.sql", "must be a string"),
        (MIX + '\nx = { type = "boolean", sql = "IS_MIX" }', "", "x.sql", "IS_MIX is derived itself"),
        ('x = { type = "boolean", sql = "x" }', "", "x.sql", "x is derived itself"),
        ('x = { type = "integer", min = 0, max = 3, sql = "age" }', 'unit = "X"', "x.sql", "unit"),
    ],
)
def test_it_is_refused_at_its_key(column: str, unit: str, path: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words) as refused:
        policy(column, unit)
    assert refused.value.path == f"tables.pets.columns.{path}" and refused.value.hint
