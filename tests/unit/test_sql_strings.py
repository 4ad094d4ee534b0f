"""Comparisons of a string column with literals: their truth without DuckDB is DuckDB's own."""

from itertools import product

import pytest

from dpsql.domain import CategoryDomain, TableDomain, TextDomain
from dpsql.sql import FrontEnd
from dpsql.sql.bind import Binder
from dpsql.sql.grid import Evaluator, Grids
from dpsql.sql.names import table_scope
from dpsql.sql.parse import parse
from tests.support.exact import POLICY, public_sql

STRINGS = ("a", "", "O'x", "ü", "A", "a ")
TABLE = TableDomain("t", (TextDomain("name"), CategoryDomain("kind", STRINGS)))
PREDICATES = (
    "{c} = {s}", "{s} = {c}", "{c} <> {s}", "{c} IN ({s}, 'a')", "{c} NOT IN ({s}, 'a')", "{c} IN ({s}, NULL)",
    "{c} NOT IN ({s}, NULL)", "{c} IN (NULL)", "{c} IS NULL", "{c} IS NOT NULL", "NOT {c} IS NULL",
    "{c} IS NOT DISTINCT FROM {s}", "{c} IS DISTINCT FROM {s}", "{c} IS DISTINCT FROM NULL",
    "{c} IS NOT DISTINCT FROM NULL", "{c} = NULL", "{c} <> NULL", "NOT (({c}) = {s})", "NOT ((({c} IN ({s}))))",
)  # fmt: skip


class NoPublicSql:
    """Stands for a DuckDB that must not be asked."""

    def __getattr__(self, name: str) -> None:
        raise AssertionError(f"{name} was asked")


@pytest.mark.parametrize("column", ["name", "kind"])
@pytest.mark.parametrize("template", PREDICATES)
def test_truth_tables_equal_duckdb(template: str, column: str) -> None:
    duckdb = Evaluator(public_sql())
    alone = Evaluator(NoPublicSql())  # type: ignore[arg-type]
    for string in STRINGS:
        where = template.format(c=column, s="'" + string.replace("'", "''") + "'")
        binder = Binder(where, table_scope(TABLE, "t"), {}, lambda _: [])
        (bound,) = binder.conjuncts(parse(f"SELECT 1 WHERE {where}").args["where"].this)
        grids = Grids(TABLE, {"name": frozenset(STRINGS[:4]) | bound.candidates.get("name", frozenset())})
        (ours,) = alone.truths(grids, [bound])
        (theirs,) = duckdb.truths(grids, [bound._replace(listed=None)])
        assert ours.tolist() == theirs.tolist(), where


def test_the_table_tells_predicates_apart() -> None:
    found = set()
    for template, string in product(PREDICATES, STRINGS):
        where = template.format(c="kind", s="'" + string.replace("'", "''") + "'")
        binder = Binder(where, table_scope(TABLE, "t"), {}, lambda _: [])
        (bound,) = binder.conjuncts(parse(f"SELECT 1 WHERE {where}").args["where"].this)
        (truth,) = Evaluator(NoPublicSql()).truths(Grids(TABLE, {}), [bound])  # type: ignore[arg-type]
        found.add(tuple(truth.tolist()))
    assert len(found) > 20


def test_statements_about_strings_ask_duckdb_nothing() -> None:
    front = FrontEnd(POLICY, NoPublicSql())  # type: ignore[arg-type]
    for where in ("name = 'a'", "name IN ('a', 'b') AND pet <> 'c' AND sex = 'Male'", "NOT (name IS NULL)"):
        front.lower(f"SELECT COUNT(*) FROM people WHERE {where}")


@pytest.mark.parametrize("items", ["'a', 3, 4.5", "'it''s'", "1,", "", "1, -2", "'a' 'b'", "1::INT, 2", "1 /* x */, 2"])
def test_lists_of_literals_read_as_other_lists_do(items: str) -> None:
    quick = parse(f"SELECT a IN ({items}) AND b")
    slow = parse(f"SELECT a IN [{items}] AND b")
    assert quick == slow
