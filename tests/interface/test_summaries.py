"""Medians, extremes and their like through a connection: values, intervals, notes, and what is made of them."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import duckdb
import pytest

import dpsql
import dpsql.mechanism
from dpsql.interface.render.structured import render_json
from dpsql.interface.render.style import PLAIN
from dpsql.interface.render.table import render_table
from tests.support import city
from tests.support.entropy import SeededEntropy

POLICY = city.policy_text("epsilon = 8.0\ndelta = 1e-6\n")


def opened(database: Path) -> dpsql.Connection:
    """A session whose noise is the same each time: one bar in twenty does not hold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(1))
        return dpsql.connect(database, ledger=":memory:")


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dpsql.Connection]:
    with opened(city.build(tmp_path_factory.mktemp("city"), policy=POLICY)) as connection:
        yield connection


def told(cursor: dpsql.Cursor, kind: str) -> list[str]:
    return [note.text for note in cursor.notes if note.kind == kind]


def test_each_number_has_its_interval(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT stddev(age), median(age), max(age), min(age), COUNT(DISTINCT age) FROM people")
    ((deviation, middle, top, bottom, distinct),) = cursor.fetchall()
    assert [d[0] for d in cursor.description or ()] == [
        *("stddev(age)", "median(age)", "max(age)", "min(age)", "count(DISTINCT age)")
    ]
    assert all(a.interval is not None and a.error is not None for a in cursor.answers)
    for a, truth in zip(cursor.answers, (2.8737, 4.5, 9, 0, 10), strict=True):
        assert a.interval is not None and a.interval[0] - 1e-3 <= truth <= a.interval[1] + 1e-3
    assert (top, bottom, distinct) == (9, 0, 10)
    assert 4 <= middle <= 5 and deviation == pytest.approx(2.87, abs=0.3)


@pytest.mark.parametrize("value", ["0 * age", "age - age", "NULL::INTEGER", "1"])
def test_what_is_the_same_in_every_row_has_no_spread_and_no_correlation(con: dpsql.Connection, value: str) -> None:
    """Nothing is left of a sum whose values are 0 and whose mean is."""
    cursor = con.execute(f"SELECT stddev({value}), corr(age, {value}), regr_slope(age, {value}) FROM people")
    spread, *others = cursor.fetchall()[0]
    assert not spread
    assert others == [None, None]


def test_equal_questions_are_free_and_have_equal_answers(con: dpsql.Connection) -> None:
    text = "SELECT region, quantile_cont(age, 0.75) AS q, mode(age) AS m FROM people GROUP BY region"
    first, spent = con.execute(text).fetchall(), con.budget.spent_epsilon
    assert con.execute(text).fetchall() == first
    assert con.budget.spent_epsilon == spent


def test_an_extreme_may_be_a_date_or_null(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT max(age) FROM people WHERE age < 7 AND name = 'name1'")
    ((value,),) = cursor.fetchall()
    if value is None:
        assert told(cursor, "few") == ["NULL stands where the rows' count is within its error"]
    cursor = con.execute("SELECT region, max(joined) AS last FROM people GROUP BY region")
    found = dict(cursor.fetchall())
    assert all(value is None or isinstance(value, date) for value in found.values())
    assert found["north"] is not None and found["north"] > date(2020, 6, 1)
    (note,) = told(cursor, "beyond")  # bars of dates stand nowhere else
    assert note.startswith(("max(joined) is the last value", "max(joined) is at most"))
    assert all(a.value is None and a.interval is None for a in cursor.answers)
    assert {a.label for a in cursor.answers} == set(found.values())


def test_a_date_or_a_string_is_no_number_but_what_is_made_of_it_is_not_exact(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT max(region) AS r, length(max(region)) AS n, max(region) || '!' AS s FROM people")
    ((region, length, shout),) = cursor.fetchall()
    assert (region, length, shout) == ("west", 4, "west!")
    assert cursor.answers[1].value == 4 and cursor.answers[1].error is None
    assert "s depends on released numbers and can differ where these are off" in told(cursor, "computed")


def test_groups_that_may_have_no_row_are_null_with_a_note(con: dpsql.Connection) -> None:
    text = "SELECT kind, day, AVG(day) AS a, median(day) AS m FROM visits WHERE place = 'nowhere' GROUP BY ALL"
    cursor = con.execute(text)
    rows = cursor.fetchall()
    nulls = sum(day is not None and (a is None or m is None) for _, day, a, m in rows)
    assert all(a is m is None for _, day, a, m in rows if day is None)  # for certain, so that no note counts them
    assert nulls > 0
    (few,) = told(cursor, "few")
    assert few == f"NULL stands in {nulls} of {len(rows)} groups, in which there may be no value"


def test_what_is_computed_of_them_has_bars(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT max(age) - min(age) AS span, DP_INTERVAL_LOW(m) AS low, median(age) AS m FROM people")
    ((span, low, middle),) = cursor.fetchall()
    assert span == 9 and low <= middle
    assert cursor.answers[0].error is not None
    ordered = con.execute("SELECT region FROM people GROUP BY region HAVING median(age) >= 0 ORDER BY max(age), 1")
    assert len(ordered.fetchall()) >= 3


def test_text_sees_released_strings_alone(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT min(name), max(name), mode(name) FROM people")
    names = cursor.fetchall()[0]
    assert all(n is None or n.startswith("name") for n in names)
    assert names[0] is not None
    assert any("frequent strings of name" in text for text in told(cursor, "strings"))


def test_a_histogram_is_the_counts_of_its_groups(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT region, histogram(member) AS h FROM people GROUP BY region ORDER BY region")
    found = dict(cursor.fetchall())
    assert cursor.description is not None and cursor.description[1][1] == "MAP(BOOLEAN, UBIGINT)"
    grouped = con.execute("SELECT region, member, COUNT(*) AS n FROM people GROUP BY ALL")
    counts: dict[str | None, dict[bool, int]] = {}
    for (region, member, n), answer in zip(grouped.fetchall(), grouped.answers, strict=True):
        assert answer.error is not None
        if member is not None and n > 0:
            counts.setdefault(region, {})[member] = n
    assert found == {region: counts.get(region) for region in found}
    (told_error,) = told(cursor, "beyond")
    worst = max(a.error for a in grouped.answers if a.error is not None)
    assert (
        told_error
        == f"each count in histogram(member) is within {worst:,.0f} rows, 0 for a value that is left out (95 %)"
    )
    assert [a.label for a in cursor.answers] == list(found.values()) and all(a.error is None for a in cursor.answers)


def test_the_most_frequent_values_are_listed_by_their_counts(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT approx_top_k(age, 3), approx_top_k(name, 2) FROM people")
    ((ages, names),) = cursor.fetchall()
    counts = dict(con.execute("SELECT age, COUNT(*) FROM people WHERE age IS NOT NULL GROUP BY age").fetchall())
    assert ages == sorted(counts, key=lambda age: (-counts[age], age))[:3]
    assert len(names) == 2 and all(n.startswith("name") for n in names)
    assert any("approx_top_k(age, 3) goes by counts: each is within" in text for text in told(cursor, "beyond"))


def test_lists_of_no_rows_and_of_refused_forms(con: dpsql.Connection) -> None:
    assert con.execute("SELECT histogram(age), approx_top_k(age, 2) FROM people WHERE age < 0").fetchall() == [
        (None, None)
    ]
    spent = con.budget.spent_epsilon
    for text, words in (
        ("histogram(hours)", "floor"),
        ("histogram(DISTINCT age)", "one argument"),
        ("histogram(age, [1, 2])", "one argument"),
        ("histogram(name || 'x')", "the column itself"),
        ("approx_top_k(age, 0)", "approx_top_k(x, 3)"),
        ("approx_top_k(age, 1.5)", "approx_top_k(x, 3)"),
        ("approx_top_k(age)", "two arguments"),
    ):
        with pytest.raises(dpsql.UnsupportedQuery) as caught:
            con.execute(f"SELECT {text} FROM people")
        assert words in f"{caught.value} {caught.value.hint}", text
    assert con.budget.spent_epsilon == spent


def test_lists_are_shown_as_duckdb_shows_them(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT histogram(member) AS h, approx_top_k(age, 2) AS k FROM people")
    ((members, ages),) = cursor.fetchall()
    row = json.loads(render_json(cursor.result))[0]
    assert row["h"]["value"] == {str(k): v for k, v in members.items()} and row["k"]["value"] == ages
    drawn = "\n".join(render_table(cursor.result, PLAIN))
    assert f"{{false={members[False]}, true={members[True]}}}" in drawn and f"[{ages[0]}, {ages[1]}]" in drawn


def test_the_shape_of_a_distribution(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT skewness(age), kurtosis(age), kurtosis_pop(age) FROM people")
    assert all(a.interval is not None and a.error is not None for a in cursor.answers)
    for answer, truth in zip(cursor.answers, (0.0, -1.2242, -1.2242), strict=True):  # ten ages, equally many of each
        assert answer.interval is not None and answer.interval[0] <= truth <= answer.interval[1]


def test_a_refusal_has_charged_nothing(con: dpsql.Connection) -> None:
    spent = con.budget.spent_epsilon
    for text in ("SELECT MEDIAN(name) FROM people", "SELECT MAX(person) FROM visits"):
        with pytest.raises(dpsql.UnsupportedQuery) as caught:
            con.execute(text)
        assert caught.value.charged == 0.0
    assert con.budget.spent_epsilon == spent


def test_an_explanation_asks_nothing(con: dpsql.Connection) -> None:
    spent = con.budget.spent_epsilon
    plan = con.explain("SELECT member, median(age), max(hours), stddev(age) FROM people GROUP BY member")
    assert {p.table for p in plan.plans} == {"people"}
    assert sum(p.queries for p in plan.plans) >= 30
    assert con.budget.spent_epsilon == spent


def test_json_carries_dates_and_intervals(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT max(joined) AS d, max(age) AS a FROM people")
    ((day, age),) = cursor.fetchall()
    written = json.loads(render_json(cursor.result))
    text = json.dumps(written)
    assert day.isoformat() in text and str(age) in text


def test_of_a_handful_of_rows_nothing_is_said(tmp_path: Path) -> None:
    with opened(city.build(tmp_path / "city", rows=5, policy=POLICY)) as con:
        cursor = con.execute("SELECT max(age), median(age), stddev(age), mode(region) FROM people")
        assert cursor.fetchall() == [(None, None, None, None)]


FAR = """version = 1
[privacy]
epsilon = 1
delta = 1e-6
planned_queries = 20
[tables.visits.columns]
ward = { type = "integer", min = 0, max = 9 }
nights = { type = "integer", min = 0, max = 999 }
"""


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 40,000 visits of 0 to 299 nights, of which up to 999 are declared, and a policy of 20 questions."""
    folder = tmp_path_factory.mktemp("far")
    with duckdb.connect(str(folder / "far.duckdb")) as db:
        db.execute("CREATE TABLE visits AS SELECT i % 20 // 2 AS ward, i * 7919 % 300 AS nights FROM range(40000) t(i)")
    (folder / "policy.toml").write_text(FAR)
    return folder


def far_session(far: Path, ledger: Path, seed: int) -> dpsql.Connection:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(seed))
        return dpsql.connect(
            far / "far.duckdb", policy=far / "policy.toml", ledger=ledger, new_budget=not ledger.exists()
        )


MEDIAN = "SELECT median(nights), max(nights) FROM visits WHERE ward < 5"
BELOW = "SELECT nights, COUNT(*) FROM visits WHERE ward < 5 AND nights < 400 GROUP BY nights"
FINER = "SELECT ward, nights, COUNT(*) FROM visits WHERE ward < 5 GROUP BY ward, nights"


@pytest.mark.parametrize("before", [(), (BELOW,)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_median_beside_many_empty_values_is_in_its_interval(
    far: Path, tmp_path: Path, seed: int, before: tuple[str, ...]
) -> None:
    """Cells of one release are moved to what they have in common, empty ones above 0: the median was 160 to 176. It is
    read from the release, or from two of which each tells a part, whatever is released later and in a later session."""
    seen = []
    for asked in ((*before, MEDIAN, FINER, MEDIAN), (f"{MEDIAN} AND ward >= 0",)):
        with far_session(far, tmp_path / "ledger", seed) as con:
            for text in asked:
                cursor = con.execute(text)
                if text.startswith(MEDIAN):
                    seen.append((*cursor.fetchall()[0], cursor.answers[0].interval))
    assert len(seen) == 3 and len(set(seen)) == 1
    median, most, interval = seen[0]
    assert interval is not None and interval[0] <= 154.5 <= interval[1]
    assert abs(median - 154.5) <= 20 and 280 <= most <= 320
