"""Numbers that SQL computes from released ones have value, error, interval and source, wherever they are shown."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

import dpsql
from dpsql.interface.render.result import render_result
from dpsql.interface.render.style import PLAIN
from tests.support import city

SHARE = "SELECT region, 100.0 * COUNT(*) FILTER (WHERE member) / COUNT(*) AS p FROM people GROUP BY region"
G = "(SELECT region, COUNT(*) AS n FROM people WHERE region IS NOT NULL GROUP BY region)"


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dpsql.Connection]:
    with dpsql.connect(city.build(tmp_path_factory.mktemp("city"), rows=4000), ledger=":memory:") as opened:
        yield opened


@pytest.mark.parametrize(
    "text",
    [
        SHARE,
        f"SELECT region, 100.0 * n / SUM(n) OVER () AS p FROM {G}",
        f"SELECT SUM(n) AS p FROM {G}",
        f"WITH g AS {G} SELECT MAX(n) - MIN(n) AS p FROM g",
        f"SELECT a.region, a.n - b.n AS p FROM {G} a JOIN {G} b USING (region)",
        f"SELECT 'all' AS region, SUM(n) AS p FROM {G} UNION ALL SELECT region, n FROM {G} ORDER BY 2",
        "SELECT 100.0 * (SELECT COUNT(*) FROM people WHERE member) / (SELECT COUNT(*) FROM people) AS p",
        "SELECT region, AVG(age) - 1 AS p FROM people WHERE region IS NOT NULL GROUP BY region ORDER BY p LIMIT 2",
        f"SELECT country, SUM(n) AS p FROM {G} JOIN regions USING (region) GROUP BY country",
        f"SELECT region, n * 0.5::DECIMAL(3,1) AS p FROM {G}",
    ],
)
def test_every_way_out_carries_the_bar(con: dpsql.Connection, text: str) -> None:
    cur = con.execute(text)
    result, column = cur.result, len(cur.result.names) - 1
    rows = cur.fetchall()
    lines = list(csv.DictReader(io.StringIO(str(render_result(result, "csv", PLAIN)))))
    objects = json.loads(render_result(result, "json", PLAIN))
    shown = str(render_result(result, "table", PLAIN)).splitlines()[2:]
    for row, answer, line, told, text_line in zip(
        rows, result.column_answers[column], lines, objects, shown, strict=False
    ):
        if row[0] is None:
            continue
        assert answer.error_kind == "computed"
        assert answer.value == float(row[column])
        assert answer.error is not None
        assert answer.interval is not None
        assert answer.interval[0] <= answer.value <= answer.interval[1]
        assert answer.error > 0
        assert answer.source in ("hypothesis", "measurement")
        assert (float(line["p_error"]), line["p_source"]) == (answer.error, answer.source)
        assert (float(line["p_low"]), float(line["p_high"])) == answer.interval
        assert (told["p"]["low"], told["p"]["high"]) == answer.interval
        assert (told["p"]["error"], told["p"]["source"]) == (answer.error, answer.source)
        assert "±" in text_line or " to " in text_line
    assert len(cur.answers) == sum(len(a) for a in result.column_answers.values())


OTHERS = "COUNT(*) FILTER (WHERE NOT member)"


@pytest.mark.parametrize(("below", "alone"), [(OTHERS, False), ("COUNT(*)", True)])
def test_a_quotient_has_fiellers_interval(con: dpsql.Connection, below: str, alone: bool) -> None:
    """The sum of the parts' errors for any two counts, the root sum of squares for a part and its whole."""
    counts = f"COUNT(*) FILTER (WHERE member) AS top, {below} AS bottom"
    top, bottom = con.execute(f"SELECT {counts} FROM people WHERE region = 'north'").answers
    text = f"SELECT top * 1.0 / bottom AS p FROM (SELECT {counts} FROM people WHERE region = 'north')"
    (answer,) = con.execute(text).answers
    assert top.value is not None and bottom.value is not None
    assert top.error is not None and bottom.error is not None
    q = top.value / bottom.value
    assert answer.value == pytest.approx(q)
    together = (top.error + q * bottom.error) / (bottom.value - bottom.error)
    apart = (top.error**2 + (q * bottom.error) ** 2) ** 0.5 / bottom.value
    assert answer.error == pytest.approx(apart, rel=0.1) if alone else answer.error == pytest.approx(together)


def test_arithmetic_of_one_number_is_exact_about_its_bar(con: dpsql.Connection) -> None:
    (plain,) = con.execute("SELECT COUNT(*) AS n FROM people WHERE member").answers
    (scaled,) = con.execute("SELECT COUNT(*) / 4 - 1 AS x FROM people WHERE member").answers
    assert plain.value is not None and plain.error is not None
    assert (scaled.value, scaled.error) == (plain.value / 4 - 1, plain.error / 4)


@pytest.mark.parametrize("text", [SHARE, f"SELECT region, n / SUM(n) OVER () AS p FROM {G}"])
def test_equal_questions_have_equal_bars(con: dpsql.Connection, text: str) -> None:
    once, again = con.execute(text).answers, con.execute(text).answers
    assert [replace(answer, charged=0.0) for answer in once] == list(again)  # the first may have been paid for


def test_intervals_of_computed_numbers_as_columns(con: dpsql.Connection) -> None:
    text = SHARE.replace("AS p", "AS p, DP_INTERVAL_LOW(p) AS low, DP_INTERVAL_HIGH(p)")
    cur = con.execute(f"{text} ORDER BY p DESC LIMIT 3")
    assert [d[0] for d in cur.description or ()] == ["region", "p", "low", "dp_interval_high(p)"]
    for row, answer in zip(cur.fetchall(), cur.result.column_answers[1], strict=True):
        assert row[2:] == (answer.interval or (None, None))
    assert cur.result.types[2:] == ("DOUBLE", "DOUBLE")


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT region, 100.0 * n / SUM(n) OVER () AS p, DP_INTERVAL_HIGH(p) AS high FROM {G}",
        f"SELECT SUM(n) AS p, DP_INTERVAL_HIGH(p) AS high FROM {G}",
        f"WITH g AS {G} SELECT MAX(n) AS p, DP_INTERVAL_HIGH(p) FROM g WHERE n > 10",
        f"SELECT n AS p, DP_INTERVAL_HIGH(p) AS high FROM {G}",
        "SELECT region, COUNT(*) / 2 AS p, DP_INTERVAL_HIGH(p) AS high FROM people GROUP BY ALL",
    ],
)
def test_intervals_of_any_number(con: dpsql.Connection, text: str) -> None:
    cur = con.execute(text)
    column = cur.result.names.index("p")
    for row, answer in zip(cur.fetchall(), cur.result.column_answers[column], strict=True):
        assert answer.interval is not None
        assert row[-1] == answer.interval[1]


ENDS = "DP_INTERVAL_LOW(n) AS lo, DP_INTERVAL_HIGH(n) AS hi"


@pytest.mark.parametrize(
    ("text", "bars"),
    [
        (f"SELECT region, COUNT(*) AS n, {ENDS}, n - lo AS w, hi - lo, lo / hi FROM people GROUP BY region", {1}),
        (f"SELECT COUNT(*) AS n, {ENDS}, n + 1 FROM people", {0, 3}),
        (f"SELECT AVG(age) AS n, {ENDS}, hi - n FROM people", {0}),
        (f"SELECT region, lo, n, lo > 1 FROM (SELECT region, COUNT(*) AS n, {ENDS} FROM people GROUP BY ALL)", {2}),
        (f"SELECT MAX(lo), SUM(n - lo), SUM(n) FROM (SELECT COUNT(*) AS n, {ENDS} FROM people GROUP BY member)", {2}),
        (f"SELECT CASE WHEN lo > 9 THEN n END, lo FROM (SELECT COUNT(*) AS n, {ENDS} FROM people)", {0}),
    ],
)
def test_ends_of_intervals_are_known_and_have_no_bar(con: dpsql.Connection, text: str, bars: set[int]) -> None:
    cur = con.execute(text)
    assert set(cur.result.column_answers) == bars
    assert all(answer.error for found in cur.result.column_answers.values() for answer in found)
    assert not any(note.kind == "computed" for note in cur.notes)
    shown = str(render_result(cur.result, "table", PLAIN)).splitlines()[2]
    assert sum(shown.count(mark) for mark in ("±", " to ")) == len(bars)


def test_what_was_paid_for_an_end_of_an_interval_is_shown(tmp_path: Path) -> None:
    with dpsql.connect(city.build(tmp_path, rows=4000), ledger=":memory:") as opened:
        rows = "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE name = 'x') AS x, DP_INTERVAL_LOW(x) AS lo FROM people"
        opened.execute("SELECT COUNT(*) FROM people WHERE member")
        before = opened.budget.spent_epsilon
        cur = opened.execute(f"SELECT n, lo FROM ({rows})")
        assert set(cur.result.column_answers) == {0}
        assert opened.budget.spent_epsilon > before
        assert sum(answer.charged for answer in cur.answers) == pytest.approx(opened.budget.spent_epsilon - before)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "SELECT COUNT(*) / 2 AS p, DP_INTERVAL_LOW(p) AS low FROM people ORDER BY low",
            "known only when all rows are",
        ),
        ("SELECT COUNT(*) / 2 AS p, DP_INTERVAL_LOW(p) AS low FROM people ORDER BY 2", "known only when all rows are"),
        ("SELECT COUNT(*) / 2 AS p, DP_INTERVAL_LOW(p) AS low, low + 1 FROM people", "needs the alias of an aggregate"),
        ("SELECT COUNT(*) > 2 AS p, DP_INTERVAL_LOW(p) AS low FROM people", "are of numbers"),
        ("SELECT COUNT(*) / 2 AS p, DP_INTERVAL_LOW(p) + 1 AS low FROM people", "needs the alias of an aggregate"),
    ],
)
def test_an_interval_that_cannot_be_given_is_refused_for_nothing(con: dpsql.Connection, text: str, reason: str) -> None:
    before = con.budget.queries_answered
    with pytest.raises(dpsql.UnsupportedQuery, match=reason) as caught:
        con.execute(text)
    assert caught.value.hint
    assert con.budget.queries_answered == before


def test_a_denominator_that_may_be_0_says_so(con: dpsql.Connection) -> None:
    """No row lacks a region, so those of every age are noise alone: noise over noise is no percentage."""
    counts = "SELECT age, COUNT(*) AS n, COUNT(*) FILTER (WHERE member) AS m FROM people WHERE region IS NULL"
    cur = con.execute(f"SELECT age, n, 100.0 * m / n AS p FROM ({counts} GROUP BY age)")
    below, shares = cur.result.column_answers[1], cur.result.column_answers[2]
    reaches_0 = [answer.interval is not None and answer.interval[0] <= 0 for answer in below]
    assert any(reaches_0)  # by chance one of forty lies above its error, never all of them
    for answer, may_be_0 in zip(shares, reaches_0, strict=True):
        assert (answer.error is None, answer.interval is None) == (may_be_0, may_be_0)
    assert tuple(n.text for n in cur.result.notes if n.kind == "computed") == (
        "the error of p is not known where a denominator's interval reaches 0, or it is no finite number",
        *[n.text for n in cur.result.notes if "NULLIF" in n.text],
    )
    shares = con.execute(SHARE).result.column_answers[1]
    assert [answer.error is not None for answer in shares[:3]] == [True, True, True]


def test_labels_and_ranks_keep_their_values_and_say_so(con: dpsql.Connection) -> None:
    cur = con.execute(f"SELECT region, n, rank() OVER (ORDER BY n) AS r, n > 5 AS big, 1 AS one FROM {G}")
    assert list(cur.result.column_answers) == [1]
    assert tuple(n.text for n in cur.result.notes if n.kind == "computed") == (
        "r, big depend on released numbers and can differ where these are off",
    )


def test_what_depends_on_no_released_number_has_no_bar(con: dpsql.Connection) -> None:
    cur = con.execute(f"SELECT COUNT(*) AS groups, MAX(region) AS last, SUM(n) AS s FROM {G}")
    assert list(cur.result.column_answers) == [2]
    assert cur.fetchall()[0][:2] == (3, "west")


def test_rows_that_look_alike_have_no_bars(con: dpsql.Connection) -> None:
    cur = con.execute(f"SELECT n * 2 AS x FROM {G}, (VALUES (1), (1)) AS v(i)")
    assert {a.error for a in cur.answers} == {None}
    assert tuple(n.text for n in cur.result.notes if n.kind == "computed") == (
        "the error of x is not known where rows look alike: select what tells them apart",
    )


@pytest.mark.parametrize("shown", ["{} ORDER BY ALL", "SELECT * FROM ({}) WHERE n > -5000 ORDER BY ALL"])
def test_rows_of_several_levels_keep_their_bars(con: dpsql.Connection, shown: str) -> None:
    """A subtotal and the group of NULL look alike: each is a row of its own level."""
    text = "SELECT region, member, COUNT(*) AS n FROM people GROUP BY CUBE (region, member)"
    cur = con.execute(shown.format(text))
    own = {a.value: a.error for a in con.execute("SELECT COUNT(*) FROM people").answers}
    bars = {a.value: a.error for a in cur.result.column_answers[2]}
    assert None not in bars.values()
    assert bars.items() >= own.items()


def test_a_row_near_a_threshold_keeps_its_bar(con: dpsql.Connection) -> None:
    """HAVING drops the row in half of the draws; what is shown is as uncertain as without it."""
    every = con.execute(f"SELECT region, n / 2 AS h, n * 1.0 / SUM(n) OVER () AS p FROM {G}")
    bars = {row[0]: a.error for row, a in zip(every.fetchall(), every.result.column_answers[1], strict=True)}
    smallest = min(row[0] for row in con.execute(f"SELECT n FROM {G}").fetchall())
    cur = con.execute(f"SELECT region, n / 2 AS h FROM {G} WHERE n >= {smallest} ORDER BY n LIMIT 2")
    found = {row[0]: a.error for row, a in zip(cur.fetchall(), cur.result.column_answers[1], strict=True)}
    assert found == {r: bars[r] for r in found}
    assert len(found) == 2


def test_a_computation_that_fails_on_other_draws_gets_a_bar_from_those_above_0(con: dpsql.Connection) -> None:
    text = f"SELECT -SUM(p * ln(p)) AS entropy FROM (SELECT n * 1.0 / SUM(n) OVER () AS p FROM {G})"
    (answer,) = con.execute(text).answers
    assert answer.error is not None
    assert 0 < answer.error < 1


def test_a_bar_that_cannot_be_computed_withholds_no_answer(con: dpsql.Connection) -> None:
    (n,) = con.execute("SELECT COUNT(*) FROM people").fetchall()[0]
    other = f"CASE WHEN n NOT IN (0, {n}) THEN 'x' ELSE '' END"  # 0 is among the counts of the trial
    text = f"SELECT SUM(n) AS s, SUM(CAST('{n}' || {other} AS BIGINT)) AS t FROM "
    cur = con.execute(text + "(SELECT COUNT(*) AS n FROM people)")
    assert cur.fetchall() == [(n, n)]
    assert [a.error for a in cur.answers] == [None, None]
    assert "is not known where computing it many times over is not possible" in cur.result.notes[0].text


def test_what_was_paid_is_shown_once(tmp_path: Path) -> None:
    policy = city.policy_text("epsilon = 4.0\ndelta = 1e-6\n", 'strategy = "pmw"\n')
    with dpsql.connect(city.build(tmp_path / "city", policy=policy), ledger=":memory:") as con:
        for text in (SHARE, f"SELECT SUM(n) AS s, MAX(n) AS m FROM {G.replace('region', 'member')}"):
            before = con.budget.spent_epsilon
            cur = con.execute(text)
            assert cur.result.charged == pytest.approx(con.budget.spent_epsilon - before)


def test_what_is_shown_lies_in_its_interval_below_0_too(tmp_path: Path) -> None:
    """Counts of no row have noise of their own: what is computed from them is not cut at 0, and their bars reach it."""
    path, negative = tmp_path / "t.duckdb", 0
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE t AS SELECT i % 8 AS k, i % 2 AS g FROM range(4000) r(i)")
    columns = 'k = { type = "integer", min = 0, max = 7 }\ng = { type = "integer", min = 0, max = 3 }\n'
    policy = f"version = 1\n[privacy]\nepsilon = 1\ndelta = 1e-6\nplanned_queries = 5\n[tables.t.columns]\n{columns}"
    with dpsql.connect(path, policy=dpsql.load_policy(policy), ledger=":memory:") as con:
        doubled = [f"COUNT(*) FILTER (WHERE g = {g}) * 2" for g in (2, 3)]  # some noise below 0 among 27 draws
        for computed in ("100.0 * COUNT(*) FILTER (WHERE g = 3) / COUNT(*)", *doubled):
            cursor = con.execute(f"SELECT k, {computed} AS x FROM t GROUP BY k")
            for answer in cursor.result.column_answers[1]:
                if answer.value is None or answer.interval is None:
                    continue
                negative += answer.value < 0
                assert answer.interval[0] <= answer.value <= answer.interval[1]
    assert negative > 0


@pytest.mark.parametrize("planned", [5, 100_000])
def test_sums_that_no_row_makes_smaller_are_shown_at_0_at_least(tmp_path: Path, planned: int) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE t AS SELECT i % 8 AS k, i % 2 AS g, i % 90 / 10.0 AS x FROM range(4000) r(i)")
    columns = (
        'k = { type = "integer", min = 0, max = 7 }\ng = { type = "integer", min = 0, max = 3 }\n'
        'x = { type = "number", min = 0, max = 10, bins = 5 }\n'
    )
    policy = (
        f"version = 1\n[privacy]\nepsilon = 1\ndelta = 1e-6\nplanned_queries = {planned}\n[tables.t.columns]\n{columns}"
    )
    with dpsql.connect(path, policy=dpsql.load_policy(policy), ledger=":memory:") as con:
        asked = "COUNT(*) FILTER (WHERE g = 3), SUM(x) FILTER (WHERE g = 3), SUM(k) FILTER (WHERE g > 1)"
        for more in ("", ", COUNT(*) FILTER (WHERE sin(x) > 0.5 AND g = 3)"):
            cursor = con.execute(f"SELECT k, {asked}{more} FROM t GROUP BY k")
            for answer in cursor.answers:
                assert answer.value is not None and answer.interval is not None
                assert 0 <= answer.interval[0] <= answer.value <= answer.interval[1]


@pytest.mark.parametrize(
    ("text", "same", "times"),
    [
        ("SELECT SUM(3 * age) - SUM(age) FROM people", "SELECT SUM(age) FROM people", 2.0),
        ("SELECT AVG(3 * age + 1) - AVG(age) FROM people", "SELECT AVG(age) FROM people", 2.0),
        ("SELECT SUM(age) - SUM(-age) FROM people", "SELECT SUM(age) FROM people", 2.0),
        ("SELECT SUM(3 * age) % 7 * 0 + 2 * SUM(age) FROM people", "SELECT SUM(age) FROM people", 2.0),
        ("SELECT 100.0 * SUM(age + 0) / SUM(age) FROM people", "SELECT SUM(age) FROM people", 0.0),
        ("SELECT SUM(2) - COUNT(*) FROM people", "SELECT COUNT(*) FROM people", 1.0),
    ],
)
def test_multiples_of_one_released_number_are_off_together(
    con: dpsql.Connection, text: str, same: str, times: float
) -> None:
    """They had the bar of numbers that may be off in opposite directions, of four times the error for two."""
    (answer,) = con.execute(f"SELECT p + 0 FROM ({text}) AS t (p)").answers
    (alone,) = con.execute(same).answers
    assert answer.error is not None and alone.error
    assert answer.error == pytest.approx(times * alone.error, abs=3.0 if times else 1e-9)  # sums are rounded
