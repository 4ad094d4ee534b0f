"""Names in hints stand between quotes where SQL wants them there, so that what a hint writes can be sent."""

from datetime import date
from fractions import Fraction

import pyarrow as pa
import pytest

from dpsql.domain import CategoryDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.errors import UnsupportedQuery
from dpsql.policy import Policy, Privacy
from dpsql.public import DuckDbPublicSql
from dpsql.sql import FrontEnd
from dpsql.sql.expressions.string_predicates import unshown_refusal

GROUP = CategoryDomain("group", ("a", "b"))
BOUGHT = TableDomain(
    "order",
    (
        DateDomain("when", date(2020, 1, 1), date(2020, 12, 31), "month"),
        NumberDomain("to", (0.0, 5.0, 10.0)),
        GROUP,
        TextDomain("a shop", prefixes=(2,), max_rows_per_value=3),
    ),
    unit="end",
    max_rows_per_unit=2,
)
BUYERS = TableDomain("user", (GROUP, IntegerDomain("age", 0, 99)), unit="end")
JOINED = TableDomain("all of it", BOUGHT.columns, unit="end", max_rows_per_unit=2, joins=("order", "user"))
POLICY = Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (BOUGHT, BUYERS, JOINED), public_tables=("groups",))


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    tables = {"groups": pa.table({"group": ["a", "b"], "shop": ["x", "y"]})}
    return FrontEnd(POLICY, DuckDbPublicSql(tables.__getitem__, seconds=20.0))


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ('SELECT hour("when") FROM "order"', "date_trunc('day', \"when\")"),
        ('SELECT COUNT(*) FROM "order" AS o LEFT JOIN groups AS g ON o."a shop" = g.shop', 'WHERE "a shop" IN (SELECT'),
        (
            'SELECT COUNT(*) FROM "order" AS o WHERE (SELECT MAX(shop) FROM groups WHERE shop < o."a shop") = \'x\'',
            'WHERE "a shop" IN (SELECT',
        ),
        ('SELECT COUNT(*) FROM groups LEFT JOIN "order" USING ("group")', 'COUNT("order".column)'),
        ('SELECT COUNT(*) FROM groups LEFT JOIN "order" AS o USING ("group")', "COUNT(o.column)"),
        (
            'SELECT "end", COUNT(*) FROM "order" GROUP BY "end"',
            '(SELECT "end", COUNT(*) AS n FROM "order" GROUP BY "end")',
        ),
        ('SELECT COUNT(*) FROM "order" CROSS JOIN "user"', 'USING ("end")'),
        ('SELECT COUNT("order"."group") FROM "order" JOIN "user" USING ("end")', 'ask "all of it", '),
        (
            'SELECT "group", COUNT(DISTINCT "end") FROM '
            '(SELECT "end", "group", COUNT(*) AS n FROM "order" GROUP BY ALL) GROUP BY 1',
            'FROM "order"',
        ),
    ],
)
def test_a_name_stands_between_quotes_in_a_hint(front: FrontEnd, asked: str, written: str) -> None:
    with pytest.raises(UnsupportedQuery) as refused:
        front.lower(asked)
    assert refused.value.hint is not None and written in refused.value.hint


def test_a_text_column_too() -> None:
    assert 'GROUP BY left("a shop", 2)' in unshown_refusal("", "a shop", BOUGHT, 65).hint
