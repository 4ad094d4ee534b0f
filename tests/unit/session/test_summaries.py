"""From released counts to medians and extremes: what is shown, what the notes say, whose bars are used."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from fractions import Fraction

import pytest

from dpsql.domain import BooleanDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain
from dpsql.policy import Policy, Privacy
from dpsql.query import LinearQuery
from dpsql.query.summary import Cells, Moments
from dpsql.result import Answer, Result, Source
from dpsql.session.results import result
from dpsql.session.results.unasked import Unasked
from dpsql.sql import FrontEnd
from tests.support.contingency import seeded
from tests.support.exact import front_end, public_sql

FRONT = front_end()
PRIVACY = Privacy(Fraction(1), Fraction(1, 10**6))
ERROR = 10.0


def shown(
    text: str,
    counts: Callable[[LinearQuery], float],
    source: Source = "measurement",
    error_of: Callable[[LinearQuery], float | None] = lambda query: None,
) -> tuple[list[tuple[object, ...]], list[Answer], list[str]]:
    """Rows, answers and notes of a statement whose queries have these counts, with bars of 10."""
    statement = FRONT.lower(text)
    answers = {}
    for query in statement.queries:
        value = counts(query)
        answers[query.digest] = Answer(value, ERROR, (value - ERROR, value + ERROR), "exact", source, True, ERROR, 0.5)
    found = result(statement, answers, public_sql(), unasked=Unasked(error_of))
    rows = [tuple(row.values()) for row in found.table.to_pylist()]
    return rows, list(found.answers), [note.text for note in found.notes]


def by_value(*counts: float) -> Callable[[LinearQuery], float]:
    """Counts of the cells of a query's last column, in their order."""

    def of(query: LinearQuery) -> float:
        weights = query.factors[-1].weights
        return float(sum(c for c, w in zip(counts, weights.tolist(), strict=False) if w))

    return of


def but_the_last(count: float, last: float) -> Callable[[LinearQuery], float]:
    """Counts of cells of an age, which are equal but for that of the highest age."""

    def of(query: LinearQuery) -> float:
        ages = next(f.weights for f in query.factors if f.columns == ("age",))
        return last if ages[8] else count

    return of


def test_the_note_names_the_last_value_and_the_rows_beyond_it() -> None:
    """age is 17 to 25; 22 is the last value that surely has rows, and nobody can say of more."""
    rows, answers, notes = shown("SELECT MAX(age) FROM people", by_value(90, 90, 90, 90, 90, 60, 5, 0, -4))
    assert rows == [(22,)]
    assert (answers[0].interval, answers[0].error) == ((22.0, 25.0), 3.0)
    assert notes == ["max(age) is the last value that surely has rows; at most 18 rows lie after 22 (95 %)"]


def test_the_first_value_is_found_from_the_other_end() -> None:
    rows, answers, notes = shown("SELECT MIN(age) FROM people", by_value(4, 0, 2, 90, 90, 60, 5, 0, -4))
    assert rows == [(20,)] and answers[0].interval == (17.0, 20.0)
    assert notes == ["min(age) is the first value that surely has rows; at most 23 rows lie before 20 (95 %)"]


def test_no_note_where_the_last_value_is_the_last_one_there_can_be() -> None:
    rows, answers, notes = shown("SELECT MAX(age) FROM people", by_value(*[90] * 9))
    assert (rows, answers[0].error, notes) == ([(25,)], 0.0, [])


def test_booleans_say_what_is_not_sure() -> None:
    rows, answers, notes = shown("SELECT bool_or(member), bool_and(member) FROM people", by_value(80, 3))
    assert rows == [(False, False)]
    assert notes == ["bool_or(member) is FALSE unless rows are surely not; at most 13 rows are not (95 %)"]
    assert [a.label for a in answers] == [False, False]


def test_the_charges_of_all_counts_are_shown_once() -> None:
    _, answers, _ = shown("SELECT MAX(age), MIN(age), COUNT(DISTINCT age) FROM people", by_value(*[90] * 9))
    assert [a.charged for a in answers] == [4.5, 0.0, 0.0]


def test_groups_have_one_note_together() -> None:
    rows, _, notes = shown("SELECT sex, MAX(age) FROM people GROUP BY sex", lambda query: 3.0)
    assert [r[1] for r in rows] == [None] * 3
    assert notes == ["NULL stands in 3 of 3 groups, in which there may be no value"]
    rows, _, notes = shown("SELECT sex, MAX(age) FROM people GROUP BY sex", but_the_last(13.0, 2.0))
    assert notes == [
        "max(age) is the last value that surely has rows; at most 29 rows lie after it in any group (95 %)"
    ]
    assert len({r[1] for r in rows}) == 1 and rows[0][1] in range(17, 26)


def test_an_extreme_of_dates_says_between_which() -> None:
    """joined is by the month; what is likely and not sure has no bar that could say so."""
    text, source = "SELECT MAX(joined) FROM people", "hypothesis"
    _, _, notes = shown(text, by_value(90, 90, 6, 0), source, lambda _: 8.0)
    assert notes == ["max(joined) is from 2019-12-01 to 2020-02-01, and at most 14 rows lie after 2019-12-01 (95 %)"]
    rows, _, notes = shown(text, by_value(90, 90, 13, 0), source, lambda _: 8.0)
    assert rows == [(date(2020, 1, 1),)]
    assert notes == ["max(joined) is from 2019-12-01 to 2020-02-01, and at most 12 rows lie after 2020-01-01 (95 %)"]
    rows, _, notes = shown(text, by_value(90, 90, 90, 13), source, lambda _: 8.0)
    assert rows == [(date(2020, 2, 1),)]
    assert notes == ["max(joined) is from 2020-01-01 to 2020-02-01 (95 %)"]


def test_of_a_model_what_is_likely_is_shown() -> None:
    """Of 275 rows from 0 to 55 the maximum was 17, and the median 27."""
    rows, answers, notes = shown(
        "SELECT MAX(age) FROM people", by_value(400, 90, 0, 0, 0, 15, 0, 0, 0), "hypothesis", lambda _: 8.0
    )
    assert rows == [(22,)] and answers[0].interval == (18.0, 25.0)
    assert notes == ["max(age) is the last value that probably has rows; at most 8 rows lie after 22 (95 %)"]


def weighed(values: Sequence[float], measured: Sequence[float] | None, source: Source = "measurement") -> Answer:
    """A median of cells that were moved since they were measured; ``None``: by a measurement that is not kept."""
    statement = FRONT.lower("SELECT median(age) FROM people")
    moved, raw = by_value(*values), None if measured is None else by_value(*measured)
    answers = {q.digest: Answer(moved(q), ERROR, (0.0, 99.0), "calibrated", source, False) for q in statement.queries}

    def as_released(queries: Sequence[LinearQuery], errors: Sequence[float]) -> list[int] | None:
        assert list(errors) == [ERROR] * len(queries)
        return None if raw is None else [int(raw(q)) for q in queries]

    return result(statement, answers, public_sql(), unasked=Unasked(as_released=as_released)).answers[0]


def test_a_median_is_that_of_cells_as_they_were_released() -> None:
    """Empty cells that were moved above 0 take it with them; a model's numbers, and others of unknown noise, stay."""
    moved, measured = [60, 60, 25, 25, 25, 25, 25, 25, 25], [90, 90, 15, -15, 15, -15, 15, -15, 15]
    found = weighed(moved, measured)
    assert found.value == 18 and found.interval == (17.0, 18.0) and found.source == "measurement"
    assert weighed(moved, None).value == weighed(moved, measured, "hypothesis").value == 20


def test_a_median_of_dates_says_between_which() -> None:
    rows, answers, notes = shown("SELECT median(joined) FROM people", by_value(50, 20, 20, 50))
    middle = datetime(2019, 12, 1)  # noqa: DTZ001 - as DuckDB's median of dates
    assert rows == [(middle,)]
    assert (answers[0].value, answers[0].label) == (None, middle)
    assert notes == ["median(joined) is from 2019-12-01 00:00:00 to 2020-01-01 00:00:00 (95 %)"]
    assert FRONT.lower("SELECT median(joined) FROM people").blocks[0].aggregates[0].sql_type == "TIMESTAMP"


@pytest.mark.parametrize("values", ["sex", "member", "joined", "age", "age * 1.5", "hours", "age::TINYINT"])
@pytest.mark.parametrize("form", ["median({})", "max({})", "mode({})", "quantile_disc({}, 0.3)", "COUNT(DISTINCT {})"])
@pytest.mark.parametrize("outer", ["SELECT {} FROM people", "SELECT * FROM (SELECT {} AS x FROM people) WHERE TRUE"])
def test_every_type_of_value_fits_into_its_column(values: str, form: str, outer: str) -> None:
    """What fails here would fail after it was paid for."""
    rows, answers, _ = shown(outer.format(form.format(values)), lambda query: 400.0)
    assert len(rows) == 1 and rows[0][0] is not None
    (answer,) = answers
    assert (answer.label is None) == isinstance(answer.value, (int, float))


def test_the_models_own_bar_of_a_union_is_used_where_the_model_answered() -> None:
    """It knows wholes better than the root of the squares of the parts' bars."""
    text, counts = "SELECT median(age) FROM people", by_value(*[20] * 9)
    loose = shown(text, counts, "hypothesis")[1][0].interval
    asked: list[LinearQuery] = []

    def error_of(query: LinearQuery) -> float:
        asked.append(query)
        return 1.0

    tight = shown(text, counts, "hypothesis", error_of)[1][0].interval
    assert loose is not None and tight is not None
    assert loose[0] < tight[0] <= tight[1] < loose[1]
    assert len({tuple(q.factors[0].weights.tolist()) for q in asked}) > 5
    asked.clear()
    assert shown(text, counts, "measurement", error_of)[1][0].interval != tight
    assert not asked


@pytest.mark.parametrize("text", ["SELECT stddev(age) FROM people", "SELECT COUNT(DISTINCT age) FROM people"])
def test_numbers_are_computed_and_not_certified(text: str) -> None:
    _, answers, _ = shown(text, lambda query: 5000.0)
    assert answers[0].error_kind == "computed" and not answers[0].certified
    assert answers[0].source == "measurement"


@pytest.mark.parametrize(("source", "value"), [("measurement", 22), ("hypothesis", 19)])
def test_of_a_model_a_count_must_be_farther_from_nothing(source: Source, value: int) -> None:
    """Of many empty values some have 2.5 bars in a model's answer, which noise of its own nearly never has."""
    counts = by_value(400, 400, 400, 0, 0, 25, 0, 0, 0)
    rows, answers, _ = shown("SELECT MAX(age) FROM people", counts, source)
    assert rows == [(22,)]  # likely in both
    assert answers[0].interval == (value, 25.0)


def test_the_mode_of_bins_may_be_in_any_that_has_rows() -> None:
    """The fullest may hold many values, another one a value that has more rows."""
    table = TableDomain("t", (NumberDomain("x", (0.0, 10.0, 20.0, 30.0, 40.0)), BooleanDomain("b")))
    front = FrontEnd(Policy(PRIVACY, (table,)), public_sql())

    def found(text: str, counts: Callable[[LinearQuery], float]) -> Result:
        statement = front.lower(text)
        given = {
            q.digest: Answer(counts(q), 1.0, None, "exact", "measurement", True, 1.0, 0.5) for q in statement.queries
        }
        return result(statement, given, public_sql())

    whole = found("SELECT mode(x) FROM t", by_value(30, 60, 30, 0))
    assert (whole.answers[0].value, whole.answers[0].interval) == (15.0, (0.0, 40.0))
    assert "10.0 to 20.0; a single value anywhere from 0.0 to 40.0 may be" in whole.notes[-1].text
    groups = found("SELECT b, mode(x) FROM t GROUP BY b", lambda query: 60.0)
    assert "a single value elsewhere may have more" in groups.notes[-1].text
    rows, answers, notes = shown("SELECT mode(age) FROM people", by_value(30, 60, 30, 0, 0, 0, 0, 0, 0))
    assert (rows, answers[0].interval, notes) == ([(18,)], (18.0, 18.0), [])


@pytest.mark.parametrize("source", ["hypothesis", "measurement"])
@pytest.mark.parametrize("seed", range(12))
def test_no_more_different_values_are_shown_than_from_the_least_to_the_greatest(seed: int, source: Source) -> None:
    """Rows that are spread over all values made all of them likely, beside a MIN and a MAX far from both ends."""
    rng = seeded(seed)
    counts = by_value(*[rng.choice([90, 25, 14, 8, 8, 4, -4]) for _ in range(9)])
    text = "SELECT MIN(age), MAX(age), COUNT(DISTINCT age), SUM(DISTINCT age) FROM people"
    _, (least, greatest, different, total), _ = shown(text, counts, source)
    assert different.interval is not None and total.interval is not None
    if least.value is not None and greatest.value is not None:
        room = greatest.value - least.value + 1
        assert (different.value or 0) <= max(room, different.interval[0])  # those that surely have rows
    for answer in (different, total):
        assert answer.value is not None and answer.interval is not None
        assert answer.interval[0] <= answer.value <= answer.interval[1]


@pytest.mark.parametrize("text", ["MAX(age)", "MIN(age)", "median(age)", "mode(age)"])
def test_values_are_read_from_counts_without_a_bar(text: str) -> None:
    """Where nothing is known of errors, nothing is surely there, and no interval is said."""
    statement = FRONT.lower(f"SELECT {text} FROM people")
    bare = Answer(60, None, None, "computed", "hypothesis", False, None, 0.5)
    found = result(statement, {q.digest: bare for q in statement.queries}, public_sql())
    assert all(a.interval is None for a in found.answers)


def test_no_spread_is_no_lack_of_rows() -> None:
    """A correlation with a constant is NULL in SQL as well: that says nothing of how many rows there are."""
    rows, _, notes = shown("SELECT corr(age, 1) FROM people", lambda query: 0.0 if query.unit > 1 else 5000.0)
    assert (rows, notes) == ([(None,)], [])


def test_a_date_inside_a_cell_says_which_cell_it_is() -> None:
    days = TableDomain("days", (DateDomain("d", date(2020, 1, 1), date(2020, 3, 31), "month"), BooleanDomain("b")))
    front = FrontEnd(Policy(PRIVACY, (days,)), public_sql())

    def notes(text: str) -> list[str]:
        statement = front.lower(text)
        given = Answer(400, ERROR, (390.0, 410.0), "exact", "measurement", True, ERROR, 0.5)
        found = result(statement, {q.digest: given for q in statement.queries}, public_sql())
        return [n.text for n in found.notes if n.kind == "beyond"]

    assert notes("SELECT MAX(d) FROM days WHERE month(d) = 2") == [
        "max(d) is known by its cell alone, from 2020-02-01 to 2020-02-29"
    ]
    assert notes("SELECT b, MIN(d) FROM days GROUP BY b") == [
        "min(d) is known by its cell alone, from 2020-01-01 to 2020-01-31 where it is first shown"
    ]
    assert notes("SELECT MAX(b) FROM days") == []


@pytest.mark.parametrize(
    ("condition", "left"),
    [("x < 13", [(0.0, 10.0), (10.0, 13.0)]), ("x BETWEEN 12 AND 13", [(12.0, 13.0)]), ("x = 25", [(25.0, 25.0)])],
)
def test_cells_are_what_a_condition_leaves_of_them(condition: str, left: list[tuple[float, float]]) -> None:
    """MAX(x) of x < 1 was the middle of a bin from 0 to 12.7, beside an average of 0."""
    table = TableDomain("t", (NumberDomain("x", (0.0, 10.0, 20.0, 30.0, 40.0)), BooleanDomain("b")))
    front = FrontEnd(Policy(PRIVACY, (table,)), public_sql())
    (block,) = front.lower(f"SELECT MIN(x), MEDIAN(x), MAX(x) FROM t WHERE {condition}").blocks
    for aggregate in block.aggregates:
        assert isinstance(aggregate.summary, Cells)
        assert [(c.low, c.high) for c in aggregate.summary.cells[0]] == left


def test_a_deviation_is_no_wider_than_its_condition_leaves() -> None:
    """STDDEV(x) of x from 100 to 200 was 0, and up to 33,783: squares are of distances from the middle of all."""
    table = TableDomain("t", (NumberDomain("x", (0.0, 10.0, 20.0, 30.0, 40_000.0)), BooleanDomain("b")))
    front = FrontEnd(Policy(PRIVACY, (table,)), public_sql())
    for condition, most in (("x BETWEEN 12 AND 18", 3.0), ("x = 25", 0.0)):
        statement = front.lower(f"SELECT stddev_pop(x) FROM t WHERE {condition}")
        given = {q.digest: Answer(400.0, 5.0, None, "exact", "measurement", True, 5.0, 0.5) for q in statement.queries}
        (answer,) = result(statement, given, public_sql()).answers
        assert answer.interval is not None and answer.interval[1] == pytest.approx(most)


@pytest.mark.parametrize("expression", ["10 * x", "x * x", "x + 0", "CASE WHEN b THEN x ELSE 700 END", "x // 0.01"])
def test_a_deviation_of_an_expression_is_not_confined_to_its_column(expression: str) -> None:
    """stddev(10 * x) of x below 100 is up to 500."""
    table = TableDomain("t", (NumberDomain("x", (0.0, 10.0, 20.0, 30.0, 40.0)), BooleanDomain("b")))
    front = FrontEnd(Policy(PRIVACY, (table,)), public_sql())
    columns = [
        aggregate.summary.column
        for text in ("x", expression)
        for block in front.lower(f"SELECT stddev({text}) FROM t WHERE x < 13").blocks
        for aggregate in block.aggregates
        if isinstance(aggregate.summary, Moments)
    ]
    assert columns == ["x", None]


def test_whole_numbers_counted_together_end_where_conditions_do() -> None:
    table = TableDomain("t", (IntegerDomain("n", 0, 5000), BooleanDomain("b")))
    front = FrontEnd(Policy(PRIVACY, (table,)), public_sql())
    (block,) = front.lower("SELECT MAX(n) FROM t WHERE n BETWEEN 1000 AND 1006 AND b").blocks
    summary = block.aggregates[0].summary
    assert isinstance(summary, Cells)
    assert [(c.low, c.high) for c in summary.cells[0]] == [(1000, 1004), (1005, 1006)]


def test_the_least_and_the_greatest_of_one_cell_are_on_either_side_of_its_middle() -> None:
    """Both were the middle, and a median beside them below it or above."""
    table = TableDomain("t", (NumberDomain("x", (0.0, 10.0, 20.0, 30.0, 40.0)), BooleanDomain("b")))
    statement = FrontEnd(Policy(PRIVACY, (table,)), public_sql()).lower(
        "SELECT MIN(x), quantile_cont(x, 0.2), quantile_cont(x, 0.8), MAX(x) FROM t WHERE x BETWEEN 12 AND 13"
    )
    given = {q.digest: Answer(9.0, 2.0, None, "exact", "measurement", True, 2.0, 0.5) for q in statement.queries}
    values = [a.value for a in result(statement, given, public_sql()).answers]
    assert (
        values == sorted(values, key=float) and values[0] == pytest.approx(12.1) and values[-1] == pytest.approx(12.9)
    )
