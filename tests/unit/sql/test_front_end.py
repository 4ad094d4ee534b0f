"""The shape of lowered statements: blocks, groups, direct columns, outer SQL, places of refusals, caches."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from dpsql.domain import IntegerDomain, TableDomain
from dpsql.errors import DataError, Error, ProgrammingError, UnknownName, UnsupportedQuery
from dpsql.sql import DirectColumn, FrontEnd, GridColumn, Statement, lower
from dpsql.sql.public_sql import Truth
from tests.support.exact import POLICY, front_end, public_sql


class Counting:
    """A PublicSql that counts what it is asked."""

    def __init__(self) -> None:
        self._inner = public_sql()
        self.truths: list[list[str]] = []
        self.runs: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def truth(self, columns: Sequence[GridColumn], predicates: Sequence[str]) -> list[Truth]:
        self.truths.append(list(predicates))
        return self._inner.truth(columns, predicates)

    def run(
        self, sql: str, tables: Mapping[str, pa.Table], public_tables: Sequence[str] = (), *, trial: bool = False
    ) -> pa.Table:
        self.runs.append(sql)
        return self._inner.run(sql, tables, public_tables, trial=trial)


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_end()


def keys(statement: Statement) -> list[list[str]]:
    (block,) = statement.blocks
    return [[t.query.digest for t in f.terms] for f in block.aggregates[0].numerator]


def test_a_plain_count(front: FrontEnd) -> None:
    text = "SELECT COUNT(*) FROM people WHERE age BETWEEN 20 AND 22 AND sex = 'Male'"
    statement = front.lower(text)
    assert statement.text == text
    assert statement.direct == (DirectColumn("count_star()", "a0"),)
    assert statement.outer_sql is None
    (block,) = statement.blocks
    assert (block.name, block.table, block.groups, block.group_columns) == ("_released_1", "people", ((),), ())
    (aggregate,) = block.aggregates
    assert (aggregate.column, aggregate.sql_type) == ("a0", "BIGINT")
    ((term,),) = [f.terms for f in aggregate.numerator]
    assert term.coefficient == 1
    assert [f.columns for f in term.query.factors] == [("age",), ("sex",)]
    assert [f.weights.tolist() for f in term.query.factors] == [[0, 0, 0, 1, 1, 1, 0, 0, 0, 0], [0, 1, 0]]


def test_conditions_on_separate_columns_stay_separate(front: FrontEnd) -> None:
    (block,) = front.lower(
        "SELECT COUNT(*) FROM people WHERE age + kids > 20 AND sex = 'Male' AND NOT (member OR hours > 5)"
    ).blocks
    (term,) = block.aggregates[0].numerator[0].terms
    assert [f.columns for f in term.query.factors] == [("age", "kids"), ("sex",), ("hours",), ("member",)]


def test_groups_in_domain_order_null_last(front: FrontEnd) -> None:
    (block,) = front.lower(
        "SELECT member, sex, COUNT(*) FROM people WHERE sex = 'Male' OR sex IS NULL GROUP BY 1, 2"
    ).blocks
    assert block.groups == ((False, "Male"), (False, None), (True, "Male"), (True, None), (None, "Male"), (None, None))
    assert block.group_types == ("BOOLEAN", "VARCHAR")
    (block,) = front.lower("SELECT joined, COUNT(*) FROM people WHERE joined < '2020-01-01' GROUP BY joined").blocks
    assert block.groups == ((date(2019, 11, 1),), (date(2019, 12, 1),))
    (block,) = front.lower("SELECT nullif(kids, 0) k, COUNT(*) FROM people GROUP BY k").blocks
    assert block.groups == ((1,), (2,), (None,))


def test_a_group_is_the_count_of_its_value(front: FrontEnd) -> None:
    grouped = keys(front.lower("SELECT age // 4, COUNT(*) FROM people WHERE age < 24 AND member GROUP BY 1"))
    single = [
        keys(front.lower(f"SELECT COUNT(*) FROM people WHERE age < 24 AND member AND age // 4 = {v}"))[0]
        for v in (4, 5)
    ]
    assert grouped == single


def test_publicly_impossible(front: FrontEnd) -> None:
    (block,) = front.lower("SELECT COUNT(*) FROM people WHERE age > 100").blocks
    assert block.aggregates[0].numerator[0].is_public
    assert block.groups == ((),)
    (block,) = front.lower("SELECT sex, COUNT(*) FROM people WHERE age > 100 GROUP BY sex").blocks
    assert block.groups == ()
    (block,) = front.lower("SELECT sex, COUNT(*) FILTER (WHERE age > 100) FROM people GROUP BY sex").blocks
    assert len(block.groups) == 3
    assert all(f.is_public for f in block.aggregates[0].numerator)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "SELECT * FROM people LIMIT 0",
        "SELECT sex, COUNT(*) FROM people GROUP BY sex LIMIT 0",
        "SELECT * FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) WHERE 1 = 0",
        "SELECT age FROM people WHERE FALSE",
        "SELECT country FROM cities",
        "SELECT DISTINCT sex FROM people",
    ],
)
def test_free_statements(front: FrontEnd, text: str) -> None:
    statement = front.lower(text)
    assert [f for b in statement.blocks for a in b.aggregates for f in a.numerator if not f.is_public] == []


def test_schema_probes_keep_names_and_types(front: FrontEnd) -> None:
    outer = front.lower("SELECT p.*, age + 1 AS next FROM main.people AS p LIMIT 0").outer_sql
    table = public_sql().run(outer or "", {})
    assert table.num_rows == 0
    assert table.column_names == [c.name for c in POLICY.tables[0].columns] + ["next"]
    assert table.schema.field("age").type == pa.int64()
    assert table.schema.field("joined").type == pa.date32()


def test_sums_are_split_by_sign(front: FrontEnd) -> None:
    (block,) = front.lower("SELECT SUM(age - 20) FROM people").blocks
    plus, minus = block.aggregates[0].numerator[0].terms
    assert (plus.coefficient, minus.coefficient) == (5, -3)
    assert plus.query.factors[0].weights.tolist() == [0, 0, 0, 0, 1, 2, 3, 4, 5, 0]
    assert (plus.query.unit, minus.query.unit) == (5, 3)
    assert block.aggregates[0].sql_type == "BIGINT"


def test_averages_have_a_denominator(front: FrontEnd) -> None:
    (block,) = front.lower("SELECT AVG(age), AVG(hours), SUM(hours) FROM people").blocks
    whole, fraction, total = block.aggregates
    assert whole.denominator is not None
    assert [t.query.scope for t in whole.denominator[0].terms] == [("age",)]
    assert [a.sql_type for a in (whole, fraction, total)] == ["DOUBLE"] * 3
    assert total.denominator is None


def test_the_complement_of_strings_is_total_minus_listed(front: FrontEnd) -> None:
    (block,) = front.lower("SELECT COUNT(*) FROM people WHERE name NOT IN ('b', 'a')").blocks
    total, listed = block.aggregates[0].numerator[0].terms
    assert (total.coefficient, listed.coefficient) == (1, -1)
    assert total.query.factors == ()
    assert listed.query.keyed is not None
    assert listed.query.keyed.strings == (("a",), ("b",), (None,))


def test_two_text_columns(front: FrontEnd) -> None:
    (block,) = front.lower("SELECT COUNT(*) FROM people WHERE pet = 'x' AND name IN ('b', 'a')").blocks
    (term,) = block.aggregates[0].numerator[0].terms
    assert term.query.keyed is not None
    assert term.query.keyed.text_columns == ("name", "pet")
    assert term.query.keyed.strings == (("a", "x"), ("b", "x"))


def test_outer_statements(front: FrontEnd) -> None:
    statement = front.lower("SELECT sex, COUNT(*) AS n, 2 * COUNT(*) FROM people GROUP BY sex ORDER BY 2 DESC LIMIT 1")
    assert statement.row_column == "_row"
    assert statement.outer_columns == (None, "a0", None)
    assert statement.outer_sql is not None
    assert statement.outer_sql.endswith("ORDER BY 3 DESC LIMIT 1")  # one column was put in front
    both = front.lower("SELECT COUNT(*) FROM people UNION ALL SELECT COUNT(*) FROM pets WHERE animal_name = 'Rex'")
    assert [b.table for b in both.blocks] == ["people", "pets"]
    assert (both.row_column, both.outer_columns) == ("_row", ())  # told apart, not lined up


def test_intervals(front: FrontEnd) -> None:
    statement = front.lower(
        "SELECT sex, COUNT(*) AS n, DP_INTERVAL_LOW(n), dp_interval_high(N) AS h FROM people GROUP BY sex"
    )
    assert statement.blocks[0].needs_intervals
    assert statement.outer_sql is not None
    assert "a0_low" in statement.outer_sql
    assert "a0_high" in statement.outer_sql
    assert statement.outer_columns == (None, "a0", None, None)


def test_a_row_number_that_is_taken(front: FrontEnd) -> None:
    statement = front.lower("SELECT COUNT(*) AS _row FROM people ORDER BY _row")
    assert statement.row_column == "_row_"
    with pytest.raises(UnsupportedQuery, match="are taken"):
        front.lower("WITH _released_1 AS (SELECT 1) SELECT COUNT(*) + 1 FROM people")


def test_public_tables(front: FrontEnd) -> None:
    assert front.lower("SELECT COUNT(*) FROM CITIES").public_tables == ("cities",)
    joined = front.lower(
        "SELECT r.n, country FROM (SELECT city, COUNT(*) AS n FROM people GROUP BY city) r JOIN cities USING (city)"
    )
    assert joined.public_tables == ("cities",)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT COUNT(*)\nFROM people\nWHERE age > 3 AND\n  frob(age) = 1", (4, 3)),
        ("SELECT COUNT(*)\nFROM people WHERE\n\tagge > 3", (3, 2)),
        ("SELECT\n LIST(age) FROM people", (2, 2)),
        ("SELECT COUNT(*) FROM people WHERE joined < current_date", (1, 35)),
        ("SELECT COUNT(*) FROM people\nWHERE name LIKE 'a%'", (2, 7)),
        ("SELECT COUNT(*) FROM\n\n peple", (3, 2)),
    ],
)
def test_refusals_have_a_place(front: FrontEnd, text: str, place: tuple[int, int]) -> None:
    with pytest.raises((UnsupportedQuery, UnknownName)) as caught:
        front.lower(text)
    assert (caught.value.line, caught.value.column) == place


def test_suggestions(front: FrontEnd) -> None:
    with pytest.raises(UnknownName) as caught:
        front.lower("SELECT COUNT(*) FROM people WHERE hour > 3")
    assert (caught.value.name, caught.value.suggestions) == ("hour", ("hours",))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT COUNT(*) FROM people WHERE age > 'abc'", DataError),
        ("SELECT COUNT(*) FROM people WHERE city::INT > 1", DataError),
        ("SELECT n FROM (SELECT COUNT(*) AS n FROM people) WHERE m > 1", ProgrammingError),
        ("SELECT upper(COUNT(*), 3) FROM people", Error),
    ],
)
def test_what_duckdb_refuses_is_refused_before_anything_is_asked(
    front: FrontEnd, text: str, error: type[Error]
) -> None:
    with pytest.raises(error):
        front.lower(text)


def test_repeated_work_is_not_repeated() -> None:
    public = Counting()
    front = FrontEnd(POLICY, public)
    text = "SELECT COUNT(*) FROM people WHERE age % 7 > 2 AND age % 7 < 4 AND sex LIKE 'M%' AND member"
    first = front.lower(text)
    assert sorted(map(sorted, public.truths)) == [
        ['"age" % 7 < 4', '"age" % 7 > 2'],
        ['"member"'],
        ["\"sex\" LIKE 'M%'"],
    ]
    assert front.lower(text) is first
    front.lower("SELECT COUNT(*) FROM people WHERE sex LIKE 'M%' AND member AND age % 7 > 2")
    assert len(public.truths) == 3
    assert public.runs == []  # a direct statement with a simple name needs no outer SQL


def test_without_caches() -> None:
    text = "SELECT COUNT(*) FROM people WHERE age > ?"
    assert keys(lower(text, [20], POLICY, public_sql())) == keys(front_end().lower(text, [20]))


def test_statements_do_not_depend_on_what_came_before() -> None:
    texts = [
        "SELECT COUNT(*) FROM people WHERE name = 'a'",
        "SELECT COUNT(*) FROM people WHERE name <> 'a' AND age > 20",
    ]
    one, other = front_end(), front_end()
    forward = [keys(one.lower(t)) for t in texts]
    backward = [keys(other.lower(t)) for t in reversed(texts)]
    assert forward == backward[::-1]


def test_an_aggregate_of_an_alias_is_one_of_its_expression(front: FrontEnd) -> None:
    """DuckDB 2.0 answers it; the alias must not be read after the select list was rewritten over the released table."""
    named = front.lower("SELECT 1 - age AS k, SUM(k) FROM people GROUP BY age")
    assert keys(named) == keys(front.lower("SELECT 1 - age AS k, SUM(1 - age) FROM people GROUP BY age"))


def test_an_empty_list_of_a_subquery_is_no_other_columns_empty_list() -> None:
    front = front_end()
    nobody = "IN (SELECT age FROM cities WHERE age > 99)"
    for column in ("age", "kids", "joined", "age"):
        empty = f"{column} {nobody} OR member"
        front.lower(f"SELECT COUNT(*) FROM people WHERE ({empty}) AND {column} IS NOT NULL")
        front.lower(f"SELECT {column}, COUNT(*) FROM people WHERE NOT ({empty}) GROUP BY {column}")


def test_groups_share_their_factors_so_that_a_thousand_of_them_are_kept() -> None:
    small, large = IntegerDomain("a", 0, 9), IntegerDomain("b", 0, 999)
    policy = replace(POLICY, tables=(TableDomain("t", (small, large)),))
    end = FrontEnd(policy, public_sql())
    text = "SELECT b, COUNT(*), SUM(a) FROM t GROUP BY b"
    assert len(end.lower(text).blocks[0].groups) == 1001 and end.lower(text) is end.lower(text)


def test_having_means_the_same_under_group_by_all(front: FrontEnd) -> None:
    """A grouped column comes before an output of its name, as in DuckDB from 2.0.1 on; other names are outputs'."""
    items = "SELECT kids AS age, age AS kids, sex IS NULL AS sex, COUNT(*) AS n FROM people"
    having = "HAVING age > 18 AND sex ORDER BY 1"
    one, other = (front.lower(f"{items} GROUP BY {groups} {having}") for groups in ("ALL", "1, 2, 3"))
    assert one.outer_sql == other.outer_sql and one.outer_sql is not None
    assert "g1 > 18" in one.outer_sql.replace('"', "")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT COUNT(*) FROM my_visit", 'did you mean "my visits"?'),
        ('SELECT COUNT(*) FROM hr."my visits"', 'write the table\'s name alone: "my visits"'),
        ('SELECT COUNT(*) FROM "my visits" WHERE age_year > 3', 'did you mean "age years"?'),
    ],
)
def test_suggestions_can_be_written_as_they_stand(text: str, hint: str) -> None:
    odd = replace(POLICY, tables=(TableDomain("my visits", (IntegerDomain("age years", 0, 9),)),))
    with pytest.raises(UnknownName) as caught:
        FrontEnd(odd, public_sql()).lower(text)
    assert caught.value.hint == hint
