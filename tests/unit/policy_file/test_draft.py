from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import get_args

import pytest

from dpsql.domain import (
    BooleanDomain,
    CategoryDomain,
    ColumnDomain,
    DateDomain,
    IntegerDomain,
    NumberDomain,
    TextDomain,
)
from dpsql.errors import PolicyError
from dpsql.policy_file import ColumnSchema, TableSchema, draft_policy, parse_policy
from dpsql.policy_file.columns import draft_column

Y2K, Y30 = date(2000, 1, 1), date(2030, 12, 31)
TWENTY = tuple(5.0 * i for i in range(21))
WHOLE = NumberDomain("c", tuple(5e7 * i for i in range(21)), step=Fraction(1))
CENTS = NumberDomain("c", TWENTY, step=Fraction(1, 100))


def drafted(column: ColumnSchema) -> tuple[ColumnDomain, str]:
    """The column as the draft declares it, and its line."""
    text = draft_policy([TableSchema("t", (column,))])
    (domain,) = parse_policy(text).tables[0].columns
    (line,) = [line for line in text.splitlines() if line.startswith(("c = ", '"')) and "type" in line]
    return domain, line


@pytest.mark.parametrize(
    ("sql_type", "domain", "check"),
    [
        ("INTEGER", IntegerDomain("c", 0, 100), True),
        ("BIGINT", IntegerDomain("c", 0, 100), True),
        ("UHUGEINT", IntegerDomain("c", 0, 100), True),
        ("TINYINT", IntegerDomain("c", -128, 127), False),
        ("UTINYINT", IntegerDomain("c", 0, 255), False),
        ("DOUBLE", NumberDomain("c", TWENTY), True),
        ("DECIMAL(18,3)", NumberDomain("c", TWENTY), True),
        ("DATE", DateDomain("c", Y2K, Y30, "month"), True),
        ("TIMESTAMP", DateDomain("c", Y2K, Y30, "month"), True),
        ("TIMESTAMP WITH TIME ZONE", DateDomain("c", Y2K, Y30, "month"), True),
        ("VARCHAR", TextDomain("c"), True),
        ("UUID", TextDomain("c"), True),
        ("boolean", BooleanDomain("c"), False),
    ],
)
def test_a_draft_loads_and_marks_every_guess(sql_type: str, domain: ColumnDomain, check: bool) -> None:
    got, line = drafted(ColumnSchema("c", sql_type))
    assert got == domain
    assert ("CHECK" in line) == check


def test_an_enum_s_values_may_be_data() -> None:
    """``CREATE TYPE .. AS ENUM (SELECT DISTINCT ..)`` is how DuckDB's users make one."""
    got, line = drafted(ColumnSchema("c", "ENUM('a', 'it''s \"b\"')", True, ("a", 'it\'s "b"')))
    assert got == CategoryDomain("c", ("a", 'it\'s "b"'), nullable=False)
    assert "CHECK" in line


@pytest.mark.parametrize(("sql_type", "complete"), [("BOOLEAN", True), ("VARCHAR", True), ("INTEGER", False)])
def test_not_null_is_declared_only_where_the_domain_is_complete(sql_type: str, complete: bool) -> None:
    """Elsewhere a value outside the guessed range must still have a cell: NULL."""
    got, _ = drafted(ColumnSchema("c", sql_type, True))
    assert got.nullable != complete


@pytest.mark.parametrize("sql_type", ["BLOB", "INTEGER[]", "VARCHAR[3]", "STRUCT(a INTEGER)", "MAP(INTEGER, INTEGER)"])
def test_other_types_are_named_and_left_out(sql_type: str) -> None:
    text = draft_policy([("t", [("c", sql_type), ("ok", "BOOLEAN")])])
    assert [c.name for c in parse_policy(text).tables[0].columns] == ["ok"]
    assert f"# c: {sql_type} columns cannot be declared" in text


def test_names_are_quoted_and_comments_cannot_be_broken_out_of() -> None:
    text = draft_policy(
        [
            ('my "table"', [("my col", "BOOLEAN"), ("evil\n[privacy]", "BOOLEAN"), ("e2\nx = 1", "BLOB")]),
            ("nested", [("c", "INTEGER[]")]),
        ]
    )
    policy = parse_policy(text)
    assert [t.name for t in policy.tables] == ['my "table"']
    assert [c.name for c in policy.tables[0].columns] == ["my col"]


def test_every_kind_is_drafted() -> None:
    """A category only for an ENUM: other strings are text until the owner lists them."""
    defaults = [{f.name: f.default for f in fields(kind)} for kind in get_args(ColumnDomain)]
    kinds = {found["kind"] for found in defaults} - {"category"}
    assert len(kinds) == len(defaults) - 1
    assert {drafted(ColumnSchema("c", str(found["sql_type"])))[0].kind for found in defaults} == kinds


def test_a_draft_asks_for_the_unit_and_suggests_one() -> None:
    text = draft_policy([("pets", [("name", "VARCHAR"), ("owner_id", "BIGINT")])])
    assert '# unit = "owner_id"' in text and "one row per person" in text
    assert text.count("CHECK") >= 4
    assert parse_policy(text).tables[0].unit is None


@pytest.mark.parametrize(
    ("column", "domain"),
    [
        (ColumnSchema("c", "INTEGER", low=17, high=90), IntegerDomain("c", 17, 90)),
        (ColumnSchema("c", "TINYINT", low=1, high=9), IntegerDomain("c", 1, 9)),
        (ColumnSchema("c", "INTEGER", low=0, high=10**9), WHOLE),
        (ColumnSchema("c", "HUGEINT", low=0, high=10**30), IntegerDomain("c", 0, 100)),
        (ColumnSchema("c", "DOUBLE", low=0.5, high=99.2), NumberDomain("c", TWENTY)),
        (ColumnSchema("c", "DOUBLE", low=float("nan"), high=1.0), NumberDomain("c", TWENTY)),
        (ColumnSchema("c", "DOUBLE", low=0.0, high=float("inf")), NumberDomain("c", TWENTY)),
        (ColumnSchema("c", "DECIMAL(9,2)", low=Decimal("0.01"), high=Decimal("99.99")), CENTS),
        (ColumnSchema("c", "DECIMAL(9,3)", low=Decimal("0.01"), high=Decimal("99.9")), NumberDomain("c", TWENTY)),
        (ColumnSchema("c", "DATE", low=Y2K, high=Y30), DateDomain("c", Y2K, Y30, "month")),
        (ColumnSchema("c", "TIMESTAMP", low=datetime(2000, 1, 1), high=Y30), DateDomain("c", Y2K, Y30, "month")),  # noqa: DTZ001
        (ColumnSchema("c", "VARCHAR", values=("b", "a", "b")), CategoryDomain("c", ("b", "a"))),
        (ColumnSchema("c", "VARCHAR", values=tuple(map(str, range(5000)))), TextDomain("c")),
    ],
)
def test_looking_at_the_data_is_warned_of(column: ColumnSchema, domain: ColumnDomain) -> None:
    text = draft_policy([TableSchema("t", (column,))])
    assert parse_policy(text).tables[0].columns == (domain,)
    assert "WARNING: this draft was made by looking at the data" in text


def test_no_warning_without_looking() -> None:
    assert "DATA" not in draft_policy([("t", [("c", "INTEGER", True)])])


@pytest.mark.parametrize("tables", [[], [("t", [])], [("t", [("c", "BLOB")])]])
def test_nothing_to_declare(tables: list[tuple[str, list[tuple[str, str]]]]) -> None:
    with pytest.raises(PolicyError) as caught:
        draft_policy(tables)
    assert caught.value.hint


def test_an_amount_that_nobody_looked_at_is_a_number() -> None:
    """Cents beyond 100 would be NULL, and each value a cell."""
    cents, age = (draft_column(ColumnSchema(name, "INTEGER")).keys for name in ("amount_cents", "age"))
    assert cents == 'type = "number", min = 0, max = 10000, step = 1, bins = { count = 50, scale = "log" }'
    assert age == 'type = "integer", min = 0, max = 100'
