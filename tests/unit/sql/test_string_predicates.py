"""Comparisons of a string column with literals: their truth without DuckDB is DuckDB's own."""

from itertools import product

import pytest

from dpsql.domain import CategoryDomain, TableDomain, TextDomain
from dpsql.sql import FrontEnd
from dpsql.sql.counting.evaluate import Evaluator, Grids
from dpsql.sql.expressions.bind import Binder
from dpsql.sql.expressions.bound import Outside
from dpsql.sql.expressions.names import table_scope
from dpsql.sql.expressions.text_classes import Candidate, Start
from dpsql.sql.text.parse import parse
from tests.support.exact import POLICY, front_end, public_sql

STRINGS = ("a", "", "O'x", "ü", "A", "a ")
TABLE = TableDomain("t", (TextDomain("name", (1, 2)), CategoryDomain("kind", STRINGS)))
PREDICATES = (
    "{c} = {s}", "{s} = {c}", "{c} <> {s}", "{c} IN ({s}, 'a')", "{c} NOT IN ({s}, 'a')", "{c} IN ({s}, NULL)",
    "{c} NOT IN ({s}, NULL)", "{c} IN (NULL)", "{c} IS NULL", "{c} IS NOT NULL", "NOT {c} IS NULL",
    "{c} IS NOT DISTINCT FROM {s}", "{c} IS DISTINCT FROM {s}", "{c} IS DISTINCT FROM NULL",
    "{c} IS NOT DISTINCT FROM NULL", "{c} = NULL", "{c} <> NULL", "NOT (({c}) = {s})", "NOT ((({c} IN ({s}))))",
)  # fmt: skip
PREFIXED = (
    "name LIKE {p}", "name NOT LIKE {p}", "starts_with(name, {s})", "prefix(name, {s})", "name ^@ {s}",
    "left(name, 1) = {s}", "left(name, 2) <> {s}", "substr(name, 1, 2) IN ({s}, 'za', NULL)", "left(name, 2) IS NULL",
    "{s} = substring(name, 1, 1)", "left(name, 1) NOT IN ({s}, 'ü')", "left(name, 2) IS DISTINCT FROM {s}",
    "left(left(name, 2), 1) = {s}", "NOT (name LIKE {p} ESCAPE '#')", "name NOT LIKE {p} ESCAPE '#'", "name LIKE '%%'",
)  # fmt: skip


class NoPublicSql:
    """Stands for a DuckDB that must not be asked what a predicate means."""

    def read(self, text: str) -> None:
        """Every text is SQL."""

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


@pytest.mark.parametrize("template", PREFIXED)
def test_prefixes_are_decided_as_duckdb_does(template: str) -> None:
    duckdb = Evaluator(public_sql())
    alone = Evaluator(NoPublicSql())  # type: ignore[arg-type]
    more: frozenset[Candidate] = frozenset({Start(1, "O"), Start(2, "a"), Start(2, None), Start(2, "üb"), "aa"})
    for string, end in product(("a", "O'", "ü", "", "a "), ("%", "")):
        where = template.format(s="'" + string.replace("'", "''") + "'", p="'" + string.replace("'", "''") + end + "'")
        binder = Binder(where, table_scope(TABLE, "t"), {}, lambda _: [])
        (bound,) = binder.conjuncts(parse(f"SELECT 1 WHERE {where}").args["where"].this)
        assert bound.listed is not None, where
        grids = Grids(TABLE, {"name": more | frozenset(STRINGS[:4]) | bound.candidates["name"]})
        (ours,) = alone.truths(grids, [bound])
        (theirs,) = duckdb.truths(grids, [bound._replace(listed=None)])
        assert ours.tolist() == theirs.tolist(), where


@pytest.mark.parametrize(
    "where",
    [
        "name LIKE 'abc%'", "name LIKE 'a_%'", "name LIKE '%a%'", "name ILIKE 'a%'", "name LIKE 'a!%' ESCAPE '!'",
        "'ab' LIKE name", "left(name, 3) = 'abc'", "left(name, 0) = ''", "left(name, -1) = 'a'",
        "substr(name, 2, 1) = 'a'", "substr(name, 1) = 'a'", "left(name, 1) = left(name, 2)", "left(name, 1) LIKE 'a%'",
        "right(name, 1) = 'a'", "left(upper(name), 1) = 'A'", "name LIKE kind", "starts_with('ab', name)",
        "left(name, length(kind)) = 'a'", "name LIKE 'a%' ESCAPE ''",
    ],
)  # fmt: skip
def test_what_no_prefix_decides(where: str) -> None:
    binder = Binder(where, table_scope(TABLE, "t"), {}, lambda _: [])
    (bound,) = binder.conjuncts(parse(f"SELECT 1 WHERE {where}").args["where"].this)
    assert bound.listed is None and bound.outside["name"] is bound.inside("name") is Outside.UNKNOWN


def test_parameters_are_prefixes_as_literals_are() -> None:
    front = front_end()
    sql = "SELECT COUNT(*) FROM pets WHERE animal_name "
    for template, value in (("LIKE ?", "Re%"), ("^@ ?", "Re"), ("IS NOT NULL AND left(animal_name, 2) IN ?", ["Re"])):
        (block,) = front.lower(sql + template, [value]).blocks
        (term,) = block.aggregates[0].numerator[0].terms
        assert term.query.keyed is not None and term.query.keyed.strings == (("Re",),)
        assert term.query.keyed.text_columns == ("animal_name[:2]",)


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
