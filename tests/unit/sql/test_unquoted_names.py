"""Syntax errors at a declared name that stands without the double quotes that it needs say how it is written."""

from datetime import date
from fractions import Fraction

import pytest

from dpsql.domain import BooleanDomain, CategoryDomain, DateDomain, TableDomain
from dpsql.errors import SqlSyntaxError
from dpsql.policy import Policy, Privacy
from dpsql.sql import FrontEnd
from tests.support.exact import public_sql

TILL = TableDomain(
    "till",
    (
        BooleanDomain("paid"),
        CategoryDomain("order", ("small", "LARGE")),
        DateDomain("when", date(2020, 1, 1), date(2020, 12, 31)),
        BooleanDomain("is paid?"),
        CategoryDomain("Name des Ladens", ("a", "b")),
    ),
)
OTHER = TableDomain("group", (BooleanDomain("open"),))
FRONT = FrontEnd(Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TILL, OTHER)), public_sql())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SELECT order, COUNT(*) FROM till GROUP BY 1", "order"),
        ("SELECT COUNT(*), Order\nFROM till GROUP BY 2", "order"),
        ("SELECT COUNT(*) FROM till GROUP BY order", "order"),
        ("SELECT COUNT(*)\nFROM till\r\nWHERE paid AND order = 'small'", "order"),
        ("SELECT COUNT(*) FROM till WHERE when > '2020-02-01'", "when"),
        ("SELECT year(when), COUNT(*) FROM till GROUP BY 1", "when"),
        ("SELECT COUNT(*) FROM till WHERE is paid?", "is paid?"),
        ("SELECT COUNT(*) FROM till WHERE Name des Ladens = 'a'", "Name des Ladens"),
        ("SELECT COUNT(*) FROM group", "group"),
    ],
)
def test_a_name_without_its_quotes(text: str, name: str) -> None:
    with pytest.raises(SqlSyntaxError) as refused:
        FRONT.lower(text)
    assert refused.value.hint == f'if {name} is meant as a name, write it between double quotes: "{name}"'
    assert refused.value.message.count("line ") == 1


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT COUNT(*) FROM till WHERE paid paid paid", "send one SELECT"),
        ("SELECT COUNT(*) FROM till GROUP BY paid ORDER BY paid )", "send one SELECT"),
        ("SELECT COUNT(*) -- by order\n) FROM till", "send one SELECT"),
        ('SELECT COUNT(*), "order" 5 FROM till GROUP BY 2', "send one SELECT"),
        ("SELECT COUNT(*) FROM till WHERE order = 'small", ""),
    ],
)
def test_other_syntax_errors_say_what_they_said(text: str, hint: str) -> None:
    with pytest.raises(SqlSyntaxError) as refused:
        FRONT.lower(text)
    assert refused.value.hint.startswith(hint) and "is meant as a name" not in refused.value.hint
