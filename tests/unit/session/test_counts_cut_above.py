"""Counts of a table's rows are shown as no more than these may be, in ledgers of rules 31."""

from math import sqrt
from pathlib import Path
from statistics import NormalDist

import duckdb
import numpy as np
import pytest

import dpsql
from dpsql.confidence import DEVIATIONS, least_end
from dpsql.postprocess import shown_count
from dpsql.query import Factor, Form, LinearQuery, Term
from dpsql.result import Answer, CrosstabAnswers

POLICY = """version = 1
[privacy]
epsilon = 0.2
delta = 1e-6
neighbors = "replace-one"
planned_queries = 20
[tables.t]
row_count = "public"
[tables.t.columns]
a = { type = "integer", min = 0, max = 9 }
b = { type = "boolean" }
"""


def connected(folder: Path, epsilon: str = "0.2", planned: int = 20) -> dpsql.Connection:
    """Forty rows, most alike."""
    path = folder / "t.duckdb"
    with duckdb.connect(str(path)) as stored:
        stored.execute("CREATE TABLE t AS SELECT (i % 40 = 0)::INT AS a, true AS b FROM range(40) r(i)")
    path.with_suffix(".dpsql.toml").write_text(
        POLICY.replace("0.2", epsilon).replace("planned_queries = 20", f"planned_queries = {planned}")
    )
    return dpsql.connect(path, ledger=":memory:")


@pytest.fixture
def con(tmp_path: Path) -> dpsql.Connection:
    """At an epsilon that says little of them."""
    return connected(tmp_path)


def test_no_count_is_more_than_the_public_rows(con: dpsql.Connection) -> None:
    wheres = [
        "b",
        "a < 5",
        "b OR a = 1",
        "a > 0 OR b",
        "a <> 3",
        "b AND a < 8",
        "a = 0",
        "a < 9",
        "a IN (0, 2)",
        "a < 3",
    ]
    seen = []
    for where in wheres:
        cursor = con.execute(f"SELECT COUNT(*) FROM t WHERE {where}")
        ((shown,),) = cursor.fetchall()
        (answer,) = cursor.answers
        assert answer.interval is not None and answer.error is not None
        assert shown == answer.value <= 40 and answer.interval[1] <= 40.0
        seen.append((where, shown, answer.error))
    assert any(shown + error > 60 for _, shown, error in seen)  # which would be shown else
    where, shown, _ = max(seen, key=lambda one: one[1])
    ((more,),) = con.execute(f"SELECT n + 1 FROM (SELECT COUNT(*) AS n FROM t WHERE {where})").fetchall()
    assert more >= shown + 1  # what is computed takes it as it was released
    groups = con.execute("SELECT b, COUNT(*) FROM t GROUP BY b").fetchall()
    assert all(0 <= n <= 40 for _, n in groups)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, COUNT(*) FILTER (WHERE a > 0) FROM t GROUP BY a",  # whose first group is a public 0
        "SELECT COUNT(*) FROM t WHERE NOT (b AND a = 4)",
        "SELECT COUNT(b) FROM t",
        "SELECT a, b, COUNT(*) FROM t GROUP BY ALL",
        "SELECT COUNT(*) FROM t WHERE b IS DISTINCT FROM false",
    ],
)
def test_intervals_of_all_counts_of_rows_end_at_the_rows(con: dpsql.Connection, text: str) -> None:
    for answer in con.execute(text).answers:
        assert answer.interval is None or answer.interval[1] <= 40.0


def test_joins_in_which_rows_count_several_times_are_not_cut(tmp_path: Path) -> None:
    con = connected(tmp_path, "20.0")
    (twice,) = con.execute(
        "SELECT COUNT(*) FROM t JOIN (VALUES (0, 1), (0, 2), (0, 3)) AS v (a, k) ON t.a = v.a"
    ).answers
    assert twice.value is not None and twice.value > 80  # thrice 39 rows
    (both,) = con.execute("SELECT COUNT(*) * 2 FROM t").fetchall()
    assert both == (80,)


def test_only_forms_that_count_each_row_once_are_of_rows() -> None:
    half = Factor(("a",), np.array([1, 1, 0, 0]))
    part, whole = LinearQuery("t", (half, Factor(("b",), np.array([1, 0])))), LinearQuery("t", (half,))
    weighted = LinearQuery("t", (Factor(("a",), np.array([1, 2, 0, 0]), 2),))
    assert Form(0.0, (Term(1, part),)).of_rows is part
    assert Form(0.0, (Term(1, whole), Term(-1, part))).of_rows is whole
    assert Form(0.0, (Term(-1, part), Term(1, whole))).of_rows is whole
    for form in [
        Form(1.0, (Term(1, part),)),
        Form(0.0, (Term(3, part),)),
        Form(0.0, (Term(1, weighted),)),
        Form(0.0, (Term(1, whole), Term(1, part))),
        Form(0.0, (Term(1, part), Term(-1, whole))),
        Form(40.0),
    ]:
        assert form.of_rows is None


@pytest.mark.parametrize(("value", "interval"), [(50, (45.0, 55.0)), (38, (30.0, 46.0)), (-5, (0.0, 4.0)), (3, None)])
def test_values_and_intervals_are_cut(value: int, interval: tuple[float, float] | None) -> None:
    answer = Answer(value, 8.0 if interval else None, interval, "exact", "measurement", True)
    found = shown_count(answer, 1, 40)
    assert found.value == max(0, min(40, value)) and found.error == answer.error
    assert found.interval == (None if interval is None else (min(interval[0], 40.0), min(interval[1], 40.0)))
    assert shown_count(answer).value == max(0, value) and shown_count(answer).interval == interval


@pytest.mark.parametrize(
    ("value", "end"), [(-1, 999.0), (-700, 320.0), (-1000, 320.0), (-4000, 320.0), (-4000.0, 320.0), (1, 1001.0)]
)
def test_intervals_of_what_noise_took_far_below_0_are_no_point(value: float, end: float) -> None:
    """An interval from 0 to 0 reads as one that is sure, beside an error of a thousand."""
    for sign in (1, -1):
        interval = (0.0, max(0.0, value + 1000.0)) if sign > 0 else (min(0.0, -value - 1000.0), 0.0)
        found = shown_count(Answer(sign * value, 1000.0, interval, "exact", "measurement", True), sign)
        assert found.value == max(0.0, value) * sign and found.error == 1000.0
        assert found.interval == ((0.0, end) if sign > 0 else (-end, 0.0))
    released = Answer(value, 1000.0, (0.0, max(0.0, value + 1000.0)), "exact", "measurement", True)
    assert shown_count(released, 1, 40).interval == (0.0, 40.0)


def test_intervals_of_what_is_sure_are_points() -> None:
    sure = Answer(0, 0.0, (0.0, 0.0), "exact", "public", True)
    assert shown_count(sure) == sure
    assert shown_count(Answer(-3, None, None, "calibrated", "hypothesis", True)).interval is None


def test_the_least_end_is_where_unified_intervals_end() -> None:
    """Feldman and Cousins 1998, of a Gaussian's mean that is at least 0: rows of (value, end) in sds, 95 %, as their
    acceptance regions give them, whose upper end has as much likelihood relative to the best mean as the lower one."""
    normal = NormalDist()
    for value in (-1.96, -2.5, -4.0):
        ends = np.linspace(0.01, 2.0, 20_000)
        inside = [normal.cdf(sqrt(m * m - 2 * value * m)) - normal.cdf(value - m) for m in ends]
        end = float(ends[int(np.argmax(np.array(inside) >= 0.95))])
        assert end <= least_end(DEVIATIONS, whole=False) + 0.005
        assert value < -1.96 or end == pytest.approx(least_end(DEVIATIONS, whole=False), abs=0.005)


def test_crosstabs_are_cut_as_their_answers_are() -> None:
    values, errors = np.array([3, -2, 0, 59, -9, -200]), np.array([45.0, 7.0, np.nan, 2.0, 7.0, 99.0])
    found = CrosstabAnswers(values, errors, "calibrated", "hypothesis")
    for most in (40, None):
        shown = found.shown(most)
        assert [*shown] == [shown_count(a, 1, most) for a in found]
    assert [a.interval for a in found.shown(31)][-2:] == [(0.0, 3.0), (0.0, 31.0)]
    assert found.shown(40).numbers.tolist() == [3, 0, 0, 40, 0, 0]
    assert found.shown().numbers.tolist() == [3, 0, 0, 59, 0, 0]


def test_a_crosstab_that_a_model_answers_ends_at_the_rows(tmp_path: Path) -> None:
    con = connected(tmp_path, "0.5", planned=100_000)
    text = "SELECT a, b, COUNT(*) AS n FROM t GROUP BY ALL"
    con.execute(text)  # which looks at the table first
    ends = []
    for _ in range(2):
        answers = con.execute(text).answers
        assert not any(a.charged for a in answers)
        ends = [(a.interval[1], (a.value or 0) + (a.error or 0.0)) for a in answers if a.interval is not None]
        assert all(end <= 40.0 for end, _ in ends)
    assert max(uncut for _, uncut in ends) > 40.0


def test_counts_of_bins_that_are_cut_in_several_ways_end_at_the_rows(tmp_path: Path) -> None:
    """What a condition leaves open of bins may be more rows than there are."""
    path = tmp_path / "n.duckdb"
    with duckdb.connect(str(path)) as stored:
        stored.execute("CREATE TABLE t AS SELECT (i % 10 - 5)::DOUBLE AS x, true AS b FROM range(40) r(i)")
    column = 'a = { type = "integer", min = 0, max = 9 }'
    path.with_suffix(".dpsql.toml").write_text(POLICY.replace(column, 'x = { type = "number", min = -8, max = 8 }'))
    con, wide = dpsql.connect(path, ledger=":memory:"), 0
    for where in ("x * x > 9", "x * x < 9", "x * x > 2 AND b", "abs(x * x - 5) < 3"):
        (answer,) = con.execute(f"SELECT COUNT(*) FROM t WHERE {where}").answers
        assert answer.value is not None and answer.interval is not None and answer.error is not None
        assert answer.interval[0] <= answer.value <= answer.interval[1] <= max(40, answer.value)
        wide += answer.value + answer.error > 50
    assert wide
