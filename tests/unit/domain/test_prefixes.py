"""Derived text columns of a table, and strings that no key can name."""

import pytest

from dpsql.domain import BooleanDomain, Prefix, TableDomain, TextDomain
from dpsql.errors import PolicyError


def test_derived_columns_follow_the_declared_ones() -> None:
    table = TableDomain("t", (TextDomain("b", (1, 3)), BooleanDomain("m"), TextDomain("a", (2,)), TextDomain("c")))
    assert table.prefixes == {"b[:1]": Prefix("b", 1), "b[:3]": Prefix("b", 3), "a[:2]": Prefix("a", 2)}
    assert table.text_names == ("b", "a", "c", "b[:1]", "b[:3]", "a[:2]")
    assert list(table.order) == ["b", "m", "a", "c", "b[:1]", "b[:3]", "a[:2]"]
    assert [c.name for c in table.text] == ["b", "a", "c"] and "b[:1]" not in table.by_name


def test_a_declared_column_cannot_have_the_name_of_a_prefix() -> None:
    with pytest.raises(PolicyError, match="stands for a prefix of a") as caught:
        TableDomain("t", (TextDomain("a", (1,)), BooleanDomain("A[:1]")))
    assert caught.value.path == "tables.t.columns.a[:1]" and caught.value.hint
    TableDomain("t", (TextDomain("a", (1,)), BooleanDomain("a[:2]")))
