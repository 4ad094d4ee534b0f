"""Aggregates of values that conditions choose are those of each value where it is chosen, whatever the bins are."""

from typing import Any

import duckdb
import pytest

from dpsql.domain import CategoryDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.errors import DataError
from dpsql.sql import FrontEnd
from dpsql.sql.statement import Aggregate
from tests.support.contingency import Counted, seeded
from tests.support.exact import front_of

LOGARITHMS = pytest.mark.skipif(
    duckdb.__version__ < "2", reason="an error of DuckDB 1 at 0, even where it is not asked"
)
TABLE = TableDomain(
    "t",
    (
        NumberDomain("x", (0.0, 2.5, 10.0, 40.0)),
        NumberDomain("y", (0.0, 1.0, 5.0)),
        CategoryDomain("g", ("a", "b", "c")),
        IntegerDomain("n", 1990, 2025),
        TextDomain("name", (1,)),
    ),
)
PAIRS = [
    ("AVG(CASE WHEN g = 'a' THEN x END)", "AVG(x) FILTER (WHERE g = 'a')"),
    ("AVG(CASE WHEN x > 3 AND g = 'a' THEN x ELSE NULL END)", "AVG(x) FILTER (WHERE x > 3 AND g = 'a')"),
    ("AVG(CASE WHEN x > 3 THEN NULL ELSE y END)", "AVG(y) FILTER (WHERE (x > 3) IS NOT TRUE)"),
    ("AVG(nullif(x, 0))", "AVG(x) FILTER (WHERE x <> 0)"),
    ("SUM(CASE WHEN g = 'a' THEN x ELSE 0 END)", "SUM(x) FILTER (WHERE g = 'a')"),
    ("SUM(if(g = 'a', 2 * x, 0))", "SUM(2 * x) FILTER (WHERE g = 'a')"),
    ("SUM(coalesce(x, 0))", "SUM(x) FILTER (WHERE x IS NOT NULL)"),
    ("COUNT(CASE WHEN x > 3 THEN x END)", "COUNT(x) FILTER (WHERE x > 3)"),
    ("stddev(CASE WHEN x > 3 THEN x END)", "stddev(x) FILTER (WHERE x > 3)"),
    ("median(CASE WHEN x > 3 THEN x END)", "median(x) FILTER (WHERE x > 3)"),
    ("MAX(CASE g WHEN 'a' THEN x END)", "MAX(x) FILTER (WHERE g = 'a')"),
    ("quantile_cont(nullif(x, 0), 0.9)", "quantile_cont(x, 0.9) FILTER (WHERE x <> 0)"),
    (
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY CASE WHEN x > 3 THEN x END)",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FILTER (WHERE x > 3)",
    ),
    ("AVG(CASE WHEN x > 3 THEN x END) FILTER (WHERE g = 'b')", "AVG(x) FILTER (WHERE g = 'b' AND x > 3)"),
    ("SUM(CASE WHEN name LIKE 'a%' THEN x ELSE 0 END)", "SUM(x) FILTER (WHERE name LIKE 'a%')"),
    ("SUM(CASE WHEN g = 'a' THEN x END * n)", "SUM(x * n) FILTER (WHERE g = 'a')"),
    ("AVG(2 * (n - CASE WHEN g = 'a' THEN x END))", "AVG(2 * (n - x)) FILTER (WHERE g = 'a')"),
    ("SUM(y * nullif(x, 0))", "SUM(y * x) FILTER (WHERE x <> 0)"),
    ("SUM(n / nullif(y + 1, 2))", "SUM(n / (y + 1)) FILTER (WHERE y + 1 <> 2)"),
    ("COUNT(if(g = 'a', y, NULL) * n)", "COUNT(y * n) FILTER (WHERE g = 'a')"),
    ("AVG(x / nullif(n, 2024))", "AVG(x / n) FILTER (WHERE n <> 2024)"),
    ("SUM(x / nullif(n - 2000, 0))", "SUM(x / (n - 2000)) FILTER (WHERE n <> 2000)"),
    ("COUNT(x / nullif(nullif(n, 2024), 1990))", "COUNT(x * n) FILTER (WHERE n <> 2024 AND n <> 1990)"),
    ("COUNT(x % nullif(n, 2024))", "COUNT(x * n) FILTER (WHERE n <> 2024)"),
    ("COUNT(x % n)", "COUNT(x * n)"),
    ("COUNT(sqrt(x) / nullif(n, 2024) > 1)", "COUNT(x * n) FILTER (WHERE n <> 2024)"),
]
VALUES = [
    "CASE WHEN x >= 10 THEN n WHEN g = 'a' THEN x ELSE n - 1 END",
    "CASE WHEN x >= 10 THEN n END",
    "CASE WHEN x > 3 THEN x WHEN g = 'a' THEN y ELSE 7 END",
    "CASE WHEN x > 3 THEN x WHEN x < 1 THEN NULL WHEN y IS NULL THEN -2 ELSE 2 * y END",
    "CASE g WHEN 'a' THEN x WHEN 'b' THEN -x END",
    "coalesce(x, y, 1)",
    "ifnull(nullif(x, 3), 2)",
    "if(g = 'a', NULL, x)",
    "CASE WHEN x > 3 THEN x END / 100.0",
    "-(2 * CASE WHEN x > 3 THEN x ELSE 5 END - 1)::DOUBLE",
    "7 - coalesce(x, 2)",
    "CASE WHEN g = 'a' THEN x ELSE y END * n",
    "n - (2 + coalesce(x, 1)) / 5",
    "CASE WHEN g = 'a' THEN x END * CASE WHEN n > 2000 THEN n END",
]


class Names:
    """Released ones."""

    def keys(self, table: str, text_column: str) -> tuple[str, ...]:
        return "a", "ab"

    def shown_from(self, table: str, text_column: str) -> None:
        return None


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    return front_of(TABLE)


@pytest.fixture(scope="module")
def counted() -> Counted:
    rng = seeded(5)
    values = [0.0, 1.0, 2.5, 3.0, 3.25, 10.0, 12.5, 40.0, None]
    rows = [
        (
            rng.choice(values),
            rng.choice([0.0, 0.5, 1.0, 4.0, None]),
            rng.choice(["a", "b", "c", None]),
            rng.choice([1990, 2024, None]),
            "a",
        )
        for _ in range(900)
    ]
    return Counted(TABLE, rows)


def asked(front: FrontEnd, aggregates: str, source: str = "t") -> tuple[Aggregate, ...]:
    (block,) = front.lower(f"SELECT {aggregates} FROM {source}").blocks
    return block.aggregates


def terms(aggregate: Aggregate) -> list[Any]:
    return [[(t.coefficient, t.doubt, t.query.digest) for t in form.terms] for form in aggregate.forms(0)]


@pytest.mark.parametrize(("chosen", "filtered"), PAIRS)
def test_they_ask_what_filter_asks(front: FrontEnd, chosen: str, filtered: str) -> None:
    (one,), (other,) = asked(front, chosen), asked(front, filtered)
    assert terms(one) == terms(other)
    assert (one.low, one.high, one.centers) == (other.low, other.high, other.centers)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "source",
    [
        "t",
        "(SELECT {} AS v FROM t)",
        "(SELECT u AS v FROM (SELECT {} AS u FROM t))",
        "(SELECT 3 - u AS v FROM (SELECT {} AS u FROM t))",
    ],
)
def test_sums_and_averages_are_those_of_duckdb(front: FrontEnd, counted: Counted, value: str, source: str) -> None:
    value, source = ("v", source.format(value)) if "{" in source else (value, source)
    summed, averaged, number = asked(front, f"SUM({value}), AVG({value}), COUNT({value})", source)
    total, average, rows = counted.connection.execute(
        f"SELECT SUM({value}), AVG({value}), COUNT({value}) FROM {source}"
    ).fetchall()[0]
    assert counted.exact(summed.numerator[0]) == pytest.approx(total, abs=0.1, rel=1e-5)
    assert averaged.denominator is not None
    for counts in (averaged.denominator[0], number.numerator[0]):
        assert counted.exact(counts) == pytest.approx(rows, abs=1e-6)
    center = averaged.centers[0] if averaged.centers else 0.0
    assert counted.exact(averaged.numerator[0]) == pytest.approx((average - center) * rows, abs=0.1, rel=1e-5)
    assert counted.doubt(summed.numerator[0]) + counted.doubt(averaged.numerator[0]) < 0.1 + 1e-4 * abs(total)


def test_what_a_condition_on_strings_leaves_is_the_rest(front: FrontEnd, counted: Counted) -> None:
    value = "CASE WHEN name LIKE 'a%' THEN x ELSE 1 END"
    (averaged,) = asked(front, f"AVG({value})")
    assert averaged.denominator is not None
    (rows,) = counted.connection.execute(f"SELECT COUNT({value}) FROM t").fetchall()[0]
    assert counted.exact(averaged.denominator[0]) == rows


@pytest.mark.parametrize(
    "value",
    [
        "CASE WHEN x > 3 THEN x END",
        "if(x > 3, x, NULL)",
        "nullif(x, 3)",
        "(1 / (x + 1))",
        "(x / (y * y))",
        "round(n / (x - 3), 1)",
        "(x / nullif(n, 2024))",
        "(x % nullif(n, 2024))",
        "(x * x / nullif(n - 1990, 34))",
        "(CASE WHEN g = 'a' THEN x * x ELSE y / nullif(n, 1990) END)",
        "(CASE WHEN x > 3 THEN sqrt(y) END)",
        "(x / nullif(n, 2024) < 1)",
        "coalesce(x * x / nullif(n, 2024), y)",
    ],
)
@pytest.mark.parametrize("test", ["IS NULL", "IS NOT NULL"])
def test_whether_they_are_null_is_known(front: FrontEnd, counted: Counted, value: str, test: str) -> None:
    (number,) = asked(front, "COUNT(*)", f"t WHERE {value} {test}")
    (rows,) = counted.connection.execute(f"SELECT COUNT(*) FROM t WHERE {value} {test}").fetchall()[0]
    assert counted.exact(number.numerator[0]) == rows
    assert counted.doubt(number.numerator[0]) == 0


@pytest.mark.parametrize(
    "average",
    [
        "AVG(CASE WHEN x >= 2.5 THEN 1 / (x * x) END)",
        "AVG(1 / (x * x)) FILTER (WHERE x >= 2.5)",
        pytest.param("AVG(ln(x)) FILTER (WHERE x >= 2.5)", marks=LOGARITHMS),
        pytest.param("AVG(if(x > 9, -ln(x), 3 * x))", marks=LOGARITHMS),
    ],
)
def test_values_are_looked_at_where_they_are_chosen(front: FrontEnd, counted: Counted, average: str) -> None:
    """There is no such number at 0."""
    (averaged,) = asked(front, average)
    (truth,) = counted.connection.execute(f"SELECT {average} FROM t").fetchall()[0]
    assert averaged.denominator is not None
    rows = counted.exact(averaged.denominator[0])
    center = averaged.centers[0] if averaged.centers else 0.0
    off = abs(counted.exact(averaged.numerator[0]) - (truth - center) * rows)
    assert off <= counted.doubt(averaged.numerator[0]) + 0.1 < 3 * rows


INFINITE = [
    ("1 / (n - 1990)", "n > 1990"),
    ("1 / (n - 1990)", "n - 1990 BETWEEN 1 AND 40 AND g = 'a'"),
    ("1 / (x * x)", "x > 1"),
    ("x / (n - 1990)", "n > 1990"),
    ("n / (y * y)", "y >= 0.25"),
    pytest.param("sqrt(n - 2000)", "n >= 2000 AND x > 3", marks=LOGARITHMS),
    ("n / nullif(n - 2000, 0) / (n - 1990)", "n <> 1990"),
    ("x * (1 / (n - 1990))", "n <> 1990 AND x < 20"),
    ("1 / (length(name) - 2)", "length(name) <> 2"),
    ("n / (length(name) - 2)", "name <> 'ab' AND n > 1990"),
    pytest.param("ln(n - 1990)", "n > 1990", marks=LOGARITHMS),
]


@pytest.mark.parametrize(("value", "where"), INFINITE)
@pytest.mark.parametrize("form", ["{} FILTER (WHERE {})", "{} FROM t WHERE {}", "{} FROM (SELECT * FROM t WHERE {})"])
def test_values_are_looked_at_where_rows_are(
    front: FrontEnd, counted: Counted, value: str, where: str, form: str
) -> None:
    """Of the others there is no number: a row that a condition takes out is in no sum."""
    for name in ("SUM", "AVG"):
        sql = f"SELECT {form.format(f'{name}({value})', where)}"
        sql = sql if "FROM" in form else f"{sql} FROM t"
        (block,) = front.lower(sql, keys=Names()).blocks
        (found,) = block.aggregates
        ((truth, rows),) = counted.connection.execute(
            f"SELECT SUM(v), COUNT(v) FROM (SELECT {value} AS v FROM t WHERE {where})"
        ).fetchall()
        center = found.centers[0] if found.centers else 0.0
        off = abs(counted.exact(found.numerator[0]) - (truth - center * rows))
        assert off <= counted.doubt(found.numerator[0]) + 0.1
        assert found.denominator is None or counted.exact(found.denominator[0]) == rows


def test_what_is_infinite_for_some_values_is_refused_with_what_to_write(front: FrontEnd) -> None:
    for aggregates, source in (
        ("AVG(1 / (x * x))", "t"),
        ("AVG(1 / (x * x))", "t WHERE x > -1"),
        ("AVG(1 / (n - 1990))", "t WHERE x > 3"),
        ("AVG(1 / (n - 1990)) FILTER (WHERE n < 2000)", "t"),
    ):
        with pytest.raises(DataError) as refused:
            asked(front, aggregates, source)
        assert refused.value.hint is not None and "FILTER" in refused.value.hint


def test_a_bound_that_settles_it_is_named(front: FrontEnd) -> None:
    """Rows above 0 may be as near to it as numbers are; what is infinite by another column alone needs none."""
    for aggregates, source, bound in (
        ("AVG(1 / (x * x))", "t WHERE x > 0", "x >= 1, say"),
        ("AVG(y / x)", "t WHERE x > 0", "x >= 1, say"),
        ("AVG(x / nullif(y, 0))", "t", "y >= 1, say"),
        ("AVG(1 / (x - y))", "t", None),
        ("AVG(1 / (n - 1990))", "t", None),
    ):
        with pytest.raises(DataError) as refused:
            asked(front, aggregates, source)
        hint = refused.value.hint or ""
        assert bound in hint if bound else ">=" not in hint
        if bound:
            asked(front, f"{aggregates} FILTER (WHERE {bound.removesuffix(', say')})", "t")


@pytest.mark.parametrize("value", ["CASE WHEN x > 3 THEN 1.0 ELSE 0 END", "if(x > 3, 1, 0)"])
def test_of_constants_all_rows_are_counted_at_once(front: FrontEnd, value: str) -> None:
    (averaged,) = asked(front, f"AVG({value})")
    assert averaged.denominator is not None and not averaged.denominator[0].terms[0].query.factors


def test_values_of_listed_columns_are_asked_as_before(front: FrontEnd) -> None:
    (one,) = asked(front, "COUNT(CASE WHEN g = 'a' THEN g END)")
    assert len(one.numerator[0].terms) == 1
