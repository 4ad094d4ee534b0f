"""What medians, extremes and variances ask: counts of values, or sums, group by group."""

import re
from datetime import date
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from dpsql.domain import CategoryDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain
from dpsql.errors import UnsupportedQuery
from dpsql.policy import Policy, Privacy
from dpsql.query.summary import Cells, Moments
from dpsql.sql import FrontEnd
from tests.support.contingency import Counted, seeded
from tests.support.exact import answer, front_of, public_sql

TABLE = TableDomain(
    "t",
    (
        NumberDomain("x", (-5.0, -1.0, 0.0, 2.5, 10.0, 40.0)),
        DateDomain("d", date(2019, 11, 1), date(2020, 3, 1), "month"),
        DateDomain("day", date(2001, 1, 1), date(2009, 3, 1)),
        IntegerDomain("wide", -500, 2_000),
        IntegerDomain("small", -2, 3),
        CategoryDomain("g", ("a", "b")),
        TextDomain("name"),
    ),
)
FRONT = FrontEnd(Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (TABLE,)), public_sql())


def rows(seed: int, number: int) -> list[tuple[Any, ...]]:
    rng = seeded(seed)
    return [
        (
            rng.choice([-5.0, -1.0, 0.0, 2.5, 9.999, 10.0, 40.0, rng.uniform(-5, 40), None]),
            rng.choice([date(2019, 11, 1), date(2019, 11, 30), date(2020, 3, 31), date(2020, 1, 17), None]),
            rng.choice([date(2001, 1, 1), date(2005, 6, 7), date(2009, 3, 1)]),
            rng.choice([-500, 2_000, rng.randint(-500, 2_000), None]),
            rng.choice([-2, 0, 1, 3, None]),
            rng.choice(["a", "b", None]),
            "n",
        )
        for _ in range(number)
    ]


@pytest.fixture(scope="module")
def counted() -> Counted:
    return Counted(TABLE, rows(3, 400))


def cells(text: str) -> Cells:
    (block,) = FRONT.lower(text).blocks
    summary = block.aggregates[0].summary
    assert isinstance(summary, Cells)
    return summary


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("SELECT {}(x) FROM t", 40.0),
        ("SELECT {}(wide) FROM t", 3.0),
        ("SELECT {}(d) FROM t", 31.0),
        ("SELECT {}(day) FROM t", 3.0),
    ],
)
def test_values_that_are_counted_together_are_each_in_their_cell(counted: Counted, text: str, most: float) -> None:
    """Edges, ends and negative values among them: the extreme is in its cell, and the counts add up to all rows."""
    column = text[text.index("(") + 1 : text.index(")")]
    for name in ("max", "min"):
        (group,) = cells(text.format(name)).cells
        held = [c for c in group if counted.exact(c.rows) > 0]
        end = held[-1] if name == "max" else held[0]
        ((truth, number),) = counted.connection.execute(f"SELECT {name}({column}), count({column}) FROM t").fetchall()
        assert end.low <= truth <= end.high  # type: ignore[operator]
        assert sum(counted.exact(c.rows) for c in group) == number
        assert all(a.high <= b.low for a, b in pairwise(group))  # type: ignore[operator]
        widths = [c.high - c.low for c in group]  # type: ignore[operator]
        assert max(w.days if hasattr(w, "days") else w for w in widths) <= most


def test_few_values_are_counted_one_by_one(counted: Counted) -> None:
    (group,) = cells("SELECT median(small) FROM t").cells
    assert [(c.low, c.high) for c in group] == [(i, i) for i in range(-2, 4)]


def test_with_many_groups_more_neighbours_are_counted_together() -> None:
    (alone,) = cells("SELECT max(wide) FROM t").cells
    grouped = cells("SELECT max(wide) FROM t GROUP BY small, g").cells
    assert len(alone) == 834
    assert {len(g) for g in grouped} == {193} and len(grouped) == 21


@pytest.mark.parametrize("text", ["SELECT COUNT(DISTINCT d) FROM t", "SELECT histogram(d) FROM t"])
def test_a_hint_names_steps_of_dates_for_dates(text: str) -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        FRONT.lower(text)
    assert caught.value.hint is not None
    _, _, hinted = caught.value.hint.partition("as in ")
    assert FRONT.lower(f"SELECT {hinted.replace('x', 'd')} FROM t").blocks


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(DISTINCT x) FROM t", "x has more values than can be counted one by one"),
        ("SELECT COUNT(DISTINCT d) FROM t", "d has more values than can be counted one by one"),
        ("SELECT COUNT(DISTINCT wide) FROM t GROUP BY small", "more than 10,000 values"),
        ("SELECT COUNT(DISTINCT 2 * wide) FROM t GROUP BY small", "more than 10,000"),
        ("SELECT max(x * 2) FROM t", "x has more values than can be groups"),
        ("SELECT max(small) FROM t GROUP BY day", "groups"),
        ("SELECT max(name) FROM t", "every possible string"),
        ("SELECT max(CASE WHEN name = 'n' THEN small END) FROM t", "expression of text"),
        ("SELECT entropy(small) FROM t", "entropy"),
        ("SELECT max(DISTINCT *) FROM t", "one argument"),
        ("SELECT mode(small, 2) FROM t", "one argument"),
        ("SELECT corr(DISTINCT small, wide) FROM t", "two arguments"),
        ("SELECT quantile_cont(small, wide) FROM t", "one number from 0 to 1"),
        ("SELECT quantile_cont(small, -0.5) FROM t", "one number from 0 to 1"),
    ],
)
def test_what_cannot_be_summarised_is_refused_at_its_place(text: str, words: str) -> None:
    with pytest.raises(UnsupportedQuery, match=words) as caught:
        FRONT.lower(text)
    assert caught.value.line == 1
    assert caught.value.hint


def test_a_text_value_is_settled_by_the_strings_that_the_condition_lists() -> None:
    (group,) = cells("SELECT max(name) FROM t WHERE name IN ('b', 'a', 'é', 'Z')").cells
    assert [c.low for c in group] == ["Z", "a", "b", "é"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT g, max(small), min(small) FROM t GROUP BY g",
        "SELECT g, median(small), COUNT(DISTINCT small) FROM t WHERE wide > 0 GROUP BY g",
        "SELECT g, small = 0 AS zero, max(g), stddev_pop(wide) FROM t GROUP BY ALL",
        "SELECT max(small) FILTER (WHERE g = 'a') - min(small) FILTER (WHERE g = 'b') FROM t",
        "SELECT corr(small, wide), regr_slope(wide, small) FROM t WHERE g = 'a'",
        "SELECT max(day), min(day) FROM t WHERE day > DATE '2004-01-01' AND day < DATE '2007-01-01'",
        "SELECT max(-small), min(small * small), median(abs(small)) FROM t",
        "SELECT bool_or(small = 3), bool_and(small > -3), mode(g) FILTER (WHERE g <> 'a') FROM t",
        "SELECT g, COUNT(DISTINCT small) AS n FROM t GROUP BY g HAVING max(small) > 2 ORDER BY n, g NULLS LAST",
        "SELECT max(s) FROM (SELECT small + 1 AS s, wide FROM t WHERE g = 'a') AS q WHERE q.wide > 5",
        "SELECT max(small) FROM t WHERE small < -2",
        "SELECT COUNT(DISTINCT small) FROM t WHERE g = 'a' AND small IN (0, 1)",
    ],
)
def test_exact_counts_give_what_duckdb_gives(counted: Counted, text: str) -> None:
    names, found = answer(FRONT.lower(text), {"t": counted})
    relation = counted.connection.execute(text)
    assert names == [d[0] for d in relation.description]
    key = repr
    for ours, theirs in zip(sorted(found, key=key), sorted(relation.fetchall(), key=key), strict=True):
        assert [float(v) if isinstance(v, int) else v for v in ours] == pytest.approx(
            [float(v) if isinstance(v, int) else v for v in theirs]
        )


def test_a_median_of_bins_lies_in_the_bin_of_the_median(counted: Counted) -> None:
    _, ((low, middle, high),) = answer(
        FRONT.lower("SELECT quantile_cont(x, 0.1), median(x), quantile_cont(x, 0.9) FROM t"), {"t": counted}
    )
    ((truth,),) = counted.connection.execute("SELECT median(x) FROM t").fetchall()
    edges = (-5.0, -1.0, 0.0, 2.5, 10.0, 40.0)
    assert any(a <= truth <= b and a <= middle <= b for a, b in pairwise(edges))
    assert low <= middle <= high


def test_sums_are_asked_of_distances_from_the_middle_of_a_range() -> None:
    """So that the noise of squares is that of half the range."""
    (block,) = FRONT.lower("SELECT var_samp(wide), corr(small, wide) FROM t").blocks
    one, two = (a.summary for a in block.aggregates)
    assert isinstance(one, Moments) and isinstance(two, Moments)
    assert one.centers == (750.0,) and two.centers == (0.0, 750.0)
    assert len(one.sums[0]) == 3 and len(two.sums[0]) == 6
    assert max(abs(t.coefficient) for t in one.sums[0][2].terms) == 1_250.0**2


@pytest.mark.parametrize(
    ("asked", "powers", "divided"),
    [
        ("STDDEV(big)", "the square of big goes beyond 1e+15", "STDDEV(big / 10000000)"),
        ("skewness(big)", "the fourth power of big goes beyond 1e+15", "skewness(big / 100000000000)"),
        ("corr(small, big)", "the square of big goes beyond 1e+15", "corr(small, big / 10000000)"),
        (
            "covar_pop(-big, big * 10)",
            "the squares of -big and big * 10 go beyond 1e+15",
            "covar_pop((-big) / 10000000, (big * 10) / 100000000)",
        ),
        (
            "var_pop(big) FILTER (WHERE small > 0)",
            "the square of big goes beyond 1e+15",
            "var_pop(big / 10000000) FILTER(WHERE small > 0)",
        ),
    ],
)
def test_powers_that_are_too_large_are_refused_with_what_to_divide_by(asked: str, powers: str, divided: str) -> None:
    columns = (NumberDomain("big", (0.0, 4e13, 1e14)), IntegerDomain("small", -2, 3))
    front = front_of(TableDomain("t", columns))
    with pytest.raises(UnsupportedQuery, match=re.escape(powers)) as refused:
        front.lower(f"SELECT {asked} FROM t")
    assert refused.value.hint == f"divide what is too large: {divided}"
    assert front.lower(f"SELECT {divided} FROM t").blocks
