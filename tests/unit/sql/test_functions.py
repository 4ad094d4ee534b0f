"""The lists of functions against the installed DuckDB, and what sqlglot makes of them."""

import duckdb
import pytest
from sqlglot import exp

from dpsql.errors import UnsupportedQuery
from dpsql.sql.aggregates import aggregates
from dpsql.sql.expressions.functions import AGGREGATE, LOWERED, RELEASED_AGGREGATE, SCALAR, WINDOW, function_refusal
from dpsql.sql.text.parse import parse, to_sql
from tests.support.exact import front_end, public_sql

REWRITTEN = {"coalesce", "fdiv", "fmod", "if", "ifnull", "nullif", "split_part"}
FRONT = front_end()
NEVER = (
    "current_", "getvariable", "setseed", "random", "uuid", "now", "today", "nextval", "error", "stats", "version",
    "pg_", "duckdb_", "read_", "hash", "__internal", "list_", "array_", "map_", "struct_", "json", "icu_",
    "write_log", "sleep", "in_search_path", "txid", "getenv", "query", "age",
)  # fmt: skip


def installed(kind: str) -> dict[str, set[str | None]]:
    """How stable each function is. Moments with a time zone are left out: theirs is that of the session, which the
    locked DuckDB fixes (DuckDB 2.0.1 says so of them)."""
    rows = duckdb.execute(
        "SELECT function_name, stability, parameter_types FROM duckdb_functions() WHERE function_type = ?", [kind]
    ).fetchall()
    out: dict[str, set[str | None]] = {}
    for name, stability, types in rows:
        zoned = any("WITH TIME ZONE" in t or "TIMESTAMPTZ" in t for t in types if t is not None)
        out.setdefault(name, set()).update(() if zoned else (stability,))
    return out


def test_the_locked_duckdb_has_one_time_zone() -> None:
    assert public_sql().run("SELECT current_setting('TimeZone') AS zone", {}).to_pylist() == [{"zone": "UTC"}]


def test_scalar_functions_are_consistent_in_this_duckdb() -> None:
    known = installed("scalar")
    assert len(SCALAR) > 150
    wrong = [n for n in SCALAR - REWRITTEN if known.get(n) != {"CONSISTENT"}]
    assert wrong == []


@pytest.mark.parametrize(
    "call",
    ["coalesce(NULL, 1)", "fdiv(3, 1)", "fmod(3, 2)", "if(TRUE, 1, 2)", "ifnull(NULL, 1)", "nullif(1, 2)"],
)
def test_rewritten_functions_exist(call: str) -> None:
    assert duckdb.execute(f"SELECT {call}").fetchall()[0][0] is not None


def test_nothing_that_sees_more_than_its_arguments() -> None:
    """But for ``age``, whose one argument becomes two before anything else is read."""
    assert [n for n in SCALAR if n.startswith(NEVER)] == ["age"]
    (call,) = parse("SELECT age(x) FROM t").expressions
    assert len(call.expressions) == 2 and call.expressions[0].find(exp.CurrentDate)


def test_aggregates_exist() -> None:
    known = set(installed("aggregate"))
    assert LOWERED.keys() - {"count_star"} <= known
    assert RELEASED_AGGREGATE - {"count_star"} <= known
    unnamed = known - AGGREGATE - WINDOW
    assert len(unnamed) < 30  # the rest is refused as unknown functions, just with another reason


@pytest.mark.parametrize("name", sorted(SCALAR | RELEASED_AGGREGATE | WINDOW))
def test_functions_keep_their_names_and_arguments(name: str) -> None:
    """sqlglot must not print another function for the one that was written."""
    tree = parse(f"SELECT {name}(a, 1, 'x') FROM t")
    (call,) = tree.expressions
    assert type(call) is exp.Anonymous
    assert to_sql(tree).lower() == f"select {name}(a, 1, 'x') from t"


@pytest.mark.parametrize(
    "expression",
    [
        "-2 ** 2", "2 ** 3 ** 2", "2 ^ 3", "-7 // 2", "-7 % 3", "7 / 2", "1 - 2 - 3", "2 - 3 * 4 // 5",
        "1 | 2 & 3 << 1",
        "~ 5 + 1", "- - 1", "1 - -1", "'a' || 1 + 2", "'ab' ^@ 'a'", "'ab' ~ 'a'", "'ab' !~ 'a'",
        "'ab' SIMILAR TO 'a.'",
        "'a' LIKE 'A'", "'a' ILIKE 'A'", "'a%' LIKE 'a!%' ESCAPE '!'", "'abc' GLOB 'a*'", "'ab' ~~ 'a%'",
        "'ab' !~~ 'a%'",
        "1 BETWEEN 0 AND 2", "1 NOT BETWEEN 0 AND 2", "NULL IS DISTINCT FROM 1", "1 IS NOT DISTINCT FROM 1", "1 == 1",
        "NOT 1 = 2", "NOT NULL IS NULL", "1 != 2", "NULL IS NOT NULL", "TRUE IS NOT TRUE", "1 NOTNULL", "1 ISNULL",
        "-1::INT", "- '1'::INT", "'1'::INT + 1", "CAST('1' AS BIGINT)", "TRY_CAST('x' AS INT)", "1.5::DECIMAL(3, 1)",
        "DATE '2020-01-31' + INTERVAL 1 MONTH", "DATE '2020-01-31' - INTERVAL '2' DAY", "INTERVAL '1 day 2 hours'",
        "EXTRACT(year FROM DATE '2020-01-31')", "TIMESTAMP '2020-01-01 10:00:00'", "CASE 1 WHEN 1 THEN 'x' END",
        "CASE WHEN 1 > 2 THEN 1 ELSE 2 END", "if(1 > 2, 1, 2)", "1e3", ".5 + 1.", "1_000", "'it''s'", "'\\n'", "NULL",
        "1 IN (1, 2)", "1 NOT IN (2, NULL)", "COALESCE(NULL, 1)", "mod(-7, 3)", "log(100)", "left('abc', 2)",
        "date_trunc('month', DATE '2020-01-31')", "date_part('dow', DATE '2020-01-31')",
        "strftime(DATE '2020-01-31', '%j')",
        "substring('abc', 2, 1)", "trim(' a ')", "round(2.5)", "date_diff('day', DATE '2020-01-01', DATE '2020-02-01')",
        "TRUE AND FALSE OR TRUE", "TRUE OR TRUE AND FALSE", "1 < 2 AND 2 < 3", "starts_with('ab', 'a')", "pi()",
    ],
)  # fmt: skip
def test_expressions_mean_the_same_after_printing(expression: str) -> None:
    """What the binder and the printer send to DuckDB has the value of what was written."""
    (expected,) = duckdb.execute(f"SELECT {expression}").fetchall()
    outer = FRONT.lower(f"SELECT {expression} AS x").outer_sql
    assert duckdb.execute(outer or "").fetchall() == [expected], outer
    bound = FRONT.lower(f"SELECT COUNT(*) FROM people WHERE ({expression}) IS NULL").blocks[0]
    assert bool(bound.aggregates[0].numerator[0].terms) is (expected[0] is None)


def test_hints_for_refused_functions() -> None:
    assert function_refusal("lowr", private=True)[1] == "did you mean lower?"
    assert function_refusal("countt", private=True)[1] == "did you mean count?"
    assert function_refusal("medain", private=True)[1] == "did you mean median?"
    assert function_refusal("average", private=True)[1] == "write avg(x)"
    assert "avg" not in function_refusal("array_ag", private=True)[1]  # no aggregate that would be refused, too
    assert "clock" in function_refusal("now", private=True)[0]
    assert "random" in function_refusal("uuid", private=False)[0]
    assert "docs/sql.md" in function_refusal("zzz", private=False)[1]


def test_an_aggregate_without_a_meaning_of_its_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is only added to the list is no average."""
    monkeypatch.setattr(aggregates, "LOWERED", {**LOWERED, "entropy": "entropy"})
    with pytest.raises(UnsupportedQuery, match="entropy"):
        FRONT.lower("SELECT ENTROPY(age) FROM people")


def test_functions_of_an_integer_take_columns_of_whole_numbers() -> None:
    """DuckDB has none of them for a BIGINT, which such a column is here."""
    (block,) = FRONT.lower(
        "SELECT chr(64 + kids) AS letter, COUNT(*) FROM people WHERE factorial(kids) < 7 GROUP BY 1"
    ).blocks
    assert ("A",) in block.groups and all(isinstance(g[0], str | None) for g in block.groups)
