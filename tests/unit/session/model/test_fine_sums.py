"""Sums of models are kept in parts of a range, equal each time they are asked, and shown with meaningful digits."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import dpsql
import dpsql.accounting.plan
import dpsql.mechanism
import dpsql.session.asker
import dpsql.session.given
from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST
from dpsql.postprocess import combine
from dpsql.query import Factor, Form, LinearQuery, Term
from dpsql.result import Answer
from dpsql.session.answers import completed
from dpsql.session.model.beside_model import Beside
from dpsql.session.model.modelled import Told, as_counted, barred, certified
from dpsql.session.own.by_value.counted import Rows, rows_known, waits
from dpsql.session.results.sums import summed
from dpsql.session.results.unasked import NOTHING_SAID
from dpsql.session.table_state import TableState
from dpsql.sql.statement import Aggregate
from tests.support.entropy import SeededEntropy
from tests.support.lessons import learned_briefly

LARGEST = 1000.0
NARROW = "SELECT SUM(owed) FROM debts WHERE owed BETWEEN 10 AND 12"
ASKED = (NARROW, "SELECT k, SUM(owed) FROM debts WHERE owed > 40 GROUP BY k", "SELECT SUM(k) FROM debts WHERE owed < 9")
SUM = LinearQuery("t", (), None, "x")
BEFORE = MODEL_RULES[25]


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    learned_briefly(monkeypatch)
    monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(11))
    with duckdb.connect(str(tmp_path / "debts.duckdb")) as con:
        con.execute("CREATE TABLE debts AS SELECT i % 5 AS k, (i * 37 % 9001) / 90.0 AS owed FROM range(9000) t(i)")
    path = tmp_path / "policy.toml"
    path.write_text(
        "version = 1\n[privacy]\nepsilon = 5.0\ndelta = 1e-6\n[tables.debts.columns]\n"
        'k = { type = "integer", min = 0, max = 4, nullable = false }\n'
        f'owed = {{ type = "number", min = 0, max = {LARGEST}, nullable = false }}\n'
    )
    return path


def asked(policy: Path, *texts: str) -> list[list[tuple[object, ...]]]:
    folder = policy.parent
    with dpsql.connect(folder / "debts.duckdb", policy=policy, ledger=folder / "ledger") as con:
        return [con.execute(text).fetchall() for text in texts]


def test_a_sum_of_few_rows_is_no_whole_number_of_ranges(policy: Path) -> None:
    (((narrow,),), groups, ((whole,),)) = asked(policy, *ASKED)
    assert narrow == pytest.approx(180 * 11.0, rel=0.5)  # 180 rows: two ranges
    sums = [narrow, *[value for _, value in groups]]
    assert all(isinstance(value, float) for value in sums) and any(value % LARGEST for value in sums)
    assert isinstance(whole, int)


def test_it_is_the_same_each_time_and_in_the_next_process(policy: Path) -> None:
    first = asked(policy, *ASKED, *ASKED)
    assert first[:3] == first[3:] == asked(policy, *ASKED)


def test_by_older_rules_it_is_a_whole_number_of_ranges(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = dpsql.accounting.plan.Plan.__init__

    def older(plan: dpsql.accounting.plan.Plan, *args: object, **more: object) -> None:
        made(plan, *args, **more)  # type: ignore[arg-type]
        object.__setattr__(plan, "models", 24)

    monkeypatch.setattr(dpsql.accounting.plan.Plan, "__init__", older)
    policy.write_text(policy.read_text().replace("5.0", "4.5"))  # plans of equal policies are kept
    (((narrow,),),) = asked(policy, NARROW)
    assert narrow % LARGEST == 0
    assert MODEL_RULES[25].fine and not MODEL_RULES[24].fine


def test_a_release_is_told_as_it_is_unless_it_has_a_certificate() -> None:
    fine = completed(12.3, 4.0, fractional=True, fine=True)
    assert (fine.value, fine.error) == (12.3, DEVIATIONS * 4.0)
    assert fine.interval == (12.3 - DEVIATIONS * 4.0, 12.3 + DEVIATIONS * 4.0) and fine.certified_bound is None
    assert completed(-20.0, 4.0, fractional=True, fine=True).interval == (0.0, 0.0)
    older, count = completed(12.3, 4.0, fractional=True), completed(12.3, 4.0, fine=True)
    assert (older.value, older.error, count.value, count.error) == (12, 9.0, 12, 8.0)
    certain = completed(12.3, 4.0, 3.0, fractional=True, fine=True)
    assert (certain.value, certain.certified_bound) == (12, 13.0)


@pytest.mark.parametrize(("off", "bound"), [(0, 7), (0.3, 8), (-0.3, 8), (2.5, 10)])
def test_what_a_test_has_passed_is_certified_as_much_wider_as_it_is_shown_elsewhere(
    off: float, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test asks about a whole number."""
    monkeypatch.setattr(TableState, "certificate", lambda state, query: 7)
    state = TableState.__new__(TableState)
    assert certified(state, SUM, off) == bound
    monkeypatch.setattr(TableState, "certificate", lambda state, query: None)
    assert certified(state, SUM, off) is None


@pytest.mark.parametrize(
    "where", ["owed BETWEEN 10 AND 12", "owed BETWEEN 10 AND 10.1", "owed < 0.5 AND k = 2", "owed > 99 AND k < 2"]
)
def test_a_sum_is_as_many_rows_as_its_count_says_times_their_average(policy: Path, where: str) -> None:
    """Of values about 0 it is made of both: what rounding makes of a count of 20 rows was 500 in it."""
    policy.write_text(policy.read_text().replace("min = 0, max = 1000.0", "min = -1000, max = 1000"))
    (((total, rows, mean),),) = asked(policy, f"SELECT SUM(owed), COUNT(owed), AVG(owed) FROM debts WHERE {where}")
    assert mean is None or total == pytest.approx(rows * mean, abs=0.2)  # of few rows there is no average
    assert abs(total) <= 200.0 * rows


@pytest.mark.parametrize(
    "beside", ["SUM(coalesce(owed, 7))", "SUM(CASE WHEN k < 9 THEN owed ELSE 7 END)", "AVG(coalesce(owed, 0))"]
)
def test_a_sum_beside_a_count_of_other_rows_is_not_theirs(policy: Path, beside: str) -> None:
    """Of rows without a value, or of those that a CASE leaves, there are none: a sum was multiplied by what rounding
    made of them, and stayed so."""
    policy.write_text(policy.read_text().replace("max = 1000.0, nullable = false", "max = 1000, nullable = true"))
    ((_,),), ((total,),) = asked(policy, f"SELECT {beside} FROM debts", "SELECT SUM(owed) FROM debts")
    assert total == pytest.approx(9000 * 50.0, rel=0.2)


def test_only_a_count_of_the_same_rows_is_a_sums() -> None:
    few, own = Factor(("x",), np.array([1, 0, 0, 1])), Factor(("x",), np.array([1, 1, 0, 0]))
    other = Factor(("g",), np.array([0, 1]))
    summed = LinearQuery("t", (own, other), None, "x")
    answer = Answer(3, 1.0, (2.0, 4.0), "calibrated", "hypothesis", certified=False)
    counts = LinearQuery("t", (own, other)), LinearQuery("t", (few, other)), LinearQuery("t", (own,))
    answers = {count.digest: answer for count in counts}
    found = [rows_known([summed, SUM], {summed.digest: count}, lambda _: answers, NEWEST) for count in counts]
    assert found == [{summed.digest: Rows(counts[0], 3.0)}, {}, {}]
    assert rows_known([summed], {summed.digest: counts[0]}, lambda _: {}, NEWEST) == {}
    assert rows_known([summed], {summed.digest: counts[0]}, lambda _: answers, MODEL_RULES[24]) == {}


@pytest.mark.parametrize(
    ("weights", "rows", "same"),
    [
        ([0, 1, 2, 3, 0], [1, 1, 1, 1, 0], True),
        ([0, 1, 2, 0, 0], [1, 1, 1, 0, 0], True),
        ([3, 2, 1, 0, 0], [1, 1, 1, 1, 0], True),
        ([0, 1, 2, 0, 0], [1, 1, 1, 1, 0], False),  # a CASE that leaves some of what is counted
        ([0, 1, 2, 3, 0], [0, 0, 0, 0, 1], False),  # what coalesce puts in place of NULL
        ([0, 1, 2, 3, 0], [1, 1, 1, 0, 0], False),
    ],
)
def test_a_sum_of_what_cells_count_is_of_the_rows_that_are_counted(
    weights: list[int], rows: list[int], same: bool
) -> None:
    other = Factor(("g",), np.array([0, 1]))
    summed = LinearQuery("t", (other, Factor(("x",), np.array(weights), unit=3)))
    count = LinearQuery("t", (other, Factor(("x",), np.array(rows))))
    answer = Answer(3, 1.0, (2.0, 4.0), "calibrated", "hypothesis", certified=False)
    known = [
        rows_known([summed], {summed.digest: count}, lambda _: {count.digest: answer}, r) for r in (NEWEST, BEFORE)
    ]
    assert known == [{summed.digest: Rows(count, 3.0)} if same else {}, {}]
    elsewhere = LinearQuery("t", (count.factors[1],))
    assert not rows_known([summed], {summed.digest: elsewhere}, lambda _: {elsewhere.digest: answer}, NEWEST)


class _Modelled:
    """Says 40 rows, and 25 of a sum."""

    def estimate(self, query: LinearQuery) -> float:
        return 40.0


@pytest.mark.parametrize(
    ("rows", "whatever", "number", "moved"),
    [
        (40.0, True, 25.0, 0.0),
        (40.8, False, 25.5, 0.0),
        (60.0, True, 37.5, 12.5),
        (60.0, False, 25.0, 0.0),
        (-8.0, True, -5.0, 30.0),
        (None, True, 25.0, 0.0),
    ],
)
def test_a_sum_is_of_as_many_rows_as_were_counted_and_its_bar_knows_how_far_it_was_moved(
    rows: float | None, whatever: bool, number: float, moved: float
) -> None:
    """A release said 60 rows, of which the model knows what one of them counts."""
    counted = None if rows is None else Rows(SUM, rows)
    found = as_counted(_Modelled(), 25.0, counted, whatever=whatever)  # type: ignore[arg-type]
    assert found == Told(pytest.approx(number), pytest.approx(moved))
    assert barred([9, None], [found, found]) == [9 + math.ceil(moved), None]


def test_where_a_release_counts_the_rows_their_sum_is_of_as_many(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum was the model's and the count the release's: their quotient was an end of the values."""
    policy.write_text(policy.read_text().replace("min = 0, max = 1000.0", "min = -1000, max = 1000"))
    folder, text = policy.parent, "SELECT SUM(owed), COUNT(owed), AVG(owed) FROM debts WHERE owed > 60 AND k = 2"
    given = dpsql.session.given.Given.of

    def twice(known: Any, queries: Any) -> Any:
        return {name: replace(a, value=2 * a.value) for name, a in given(known, queries).items()}

    with dpsql.connect(folder / "debts.duckdb", policy=policy, ledger=folder / "ledger") as con:
        con.execute(text.replace("SUM(owed), COUNT(owed), AVG(owed)", "COUNT(owed)"))
        monkeypatch.setattr(dpsql.session.given.Given, "of", twice)
        cursor = con.execute(text)
        ((total, rows, mean),) = cursor.fetchall()
        assert rows == pytest.approx(2 * 720, rel=0.3) and mean == pytest.approx(80.0, rel=0.1)
        assert total == pytest.approx(rows * mean, rel=0.01)
        assert cursor.answers[0].error > rows / 2 * 80.0 * 0.9  # it was moved by so much


@pytest.mark.parametrize("first", ["SUM(k)", "AVG(k)", "COUNT(k)"])
def test_in_whatever_order_and_for_free_a_sum_is_of_the_rows_that_its_statement_counts(
    policy: Path, first: str
) -> None:
    """Of whole numbers from 3 on SUM and AVG ask for sums of one outline, of which one has a count beside it."""
    policy.write_text(policy.read_text().replace('k = { type = "integer", min = 0', 'k = { type = "integer", min = -3'))
    rest = [item for item in ("SUM(k)", "COUNT(k)", "AVG(k)") if item != first]
    text = f"SELECT {', '.join([first, *rest])} FROM debts WHERE owed BETWEEN 10 AND 11.5"
    folder = policy.parent
    with dpsql.connect(folder / "debts.duckdb", policy=policy, ledger=folder / "ledger") as con:
        con.execute("SELECT k, COUNT(*) FROM debts WHERE owed > 4 GROUP BY k")  # measures first
        free = con.execute(text, max_charge=0).fetchall()
        assert con.execute(text).fetchall() == free


def test_a_round_weighs_a_moved_sum_with_its_moved_bar(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a failed test leaves is weighed with what would have been shown."""

    class Hard(SeededEntropy):
        def bits(self, n: int) -> int:
            return (1 << n) - 1

    monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", lambda: Hard(3))
    policy.write_text(policy.read_text().replace("epsilon = 5.0", "epsilon = 4.0\nplanned_queries = 3000"))
    by, weighed = Beside.by, []

    def seen(rules: Any, hard: Any, queries: Any, estimates: Any, bars: Any) -> Beside:
        weighed.append((queries[0].is_indicator, estimates[0], bars[0]))
        return by(rules, hard, queries, estimates, bars)

    monkeypatch.setattr(dpsql.session.asker.Beside, "by", seen)
    monkeypatch.setattr(dpsql.session.asker, "told", lambda *_: [Told(12.5, 1e6)])
    with dpsql.connect(policy.parent / "debts.duckdb", policy=policy, ledger=policy.parent / "ledger") as con:
        con.execute("SELECT SUM(owed) FROM debts WHERE owed > 60 AND k = 2")
    assert [(e, b > 1e6) for indicator, e, b in weighed if not indicator] == [(12.5, True)]


def test_queries_wait_where_any_of_them_has_a_count_beside_it() -> None:
    other = LinearQuery("t", (Factor(("g",), np.array([0, 1, 2]), unit=2),))
    counts = {SUM.digest: LinearQuery("t", ())}
    assert waits([other, SUM], counts, NEWEST) and waits([SUM, other], counts, BEFORE)
    assert not waits([other, SUM], counts, BEFORE) and not waits([other], counts, NEWEST)


def test_what_is_asked_for_free_is_as_many_rows_as_it_counts(policy: Path) -> None:
    policy.write_text(policy.read_text().replace("min = 0, max = 1000.0", "min = -1000, max = 1000"))
    folder, text = policy.parent, "SELECT SUM(owed), COUNT(owed), AVG(owed) FROM debts WHERE owed BETWEEN 10 AND 10.1"
    with dpsql.connect(folder / "debts.duckdb", policy=policy, ledger=folder / "ledger") as con:
        con.execute("SELECT SUM(owed), COUNT(*) FROM debts WHERE owed > 4 AND k = 1")  # measures first
        ((total, rows, mean),) = con.execute(text, max_charge=0).fetchall()
        assert con.execute(text).fetchall() == [(total, rows, mean)]
    assert 0 <= total <= 12.0 * rows
    assert mean is None or total == pytest.approx(rows * mean, abs=0.2)


def test_a_group_is_what_the_same_rows_are_alone(policy: Path) -> None:
    grouped, *alone = asked(
        policy,
        "SELECT k, SUM(owed) FROM debts WHERE owed < 9 GROUP BY k",
        *[f"SELECT SUM(owed) FROM debts WHERE owed < 9 AND k = {k}" for k in range(5)],
    )
    assert [value for _, value in grouped] == [value for ((value,),) in alone]


@pytest.mark.parametrize("planned", [20, 1000])
def test_a_row_shows_what_its_answer_says_however_it_is_written(policy: Path, planned: int) -> None:
    """Direct and through an outer statement: noise takes sums of no rows below 0, where they are shown as 0."""
    policy.write_text(policy.read_text().replace("delta", f"planned_queries = {planned}\ndelta"))
    policy.write_text(policy.read_text().replace("min = 0, max = 1000.0", "min = -1000, max = 1000"))
    folder, where = policy.parent, "owed > 150"
    texts = [
        f"SELECT k, SUM(owed) AS s FROM debts WHERE {where} GROUP BY k ORDER BY k",
        f"SELECT k + 1 AS one, SUM(owed) AS s FROM debts WHERE {where} GROUP BY k ORDER BY one",
        f"SELECT k, s FROM (SELECT k, SUM(owed) AS s FROM debts WHERE {where} GROUP BY k) ORDER BY k",
    ]
    shown = []
    with dpsql.connect(folder / "debts.duckdb", policy=policy, ledger=folder / "ledger") as con:
        for text in texts:
            cursor = con.execute(text)
            rows, answers = cursor.fetchall(), cursor.answers
            shown.append([value for _, value in rows])
            assert [a.value for a in answers] == shown[-1]
            assert all(a.interval[0] <= a.value <= a.interval[1] for a in answers)
    assert shown[0] == shown[1] == shown[2] and min(shown[0]) >= 0.0


def test_a_whole_sum_is_rounded_once() -> None:
    query = LinearQuery("t", (Factor(("g",), np.array([0, 1, 2]), unit=2),))
    told = Answer(3.25, 2.0, (1.25, 5.25), "calibrated", "hypothesis", certified=False)
    found = combine(Form(0.0, (Term(1, query),)), lambda _: told, integer=True)
    assert (found.value, found.error, found.interval) == (3, 2.25, (0.75, 5.25))


@pytest.mark.parametrize("bar", [0.0005, 0.13, 123.4])
@pytest.mark.parametrize(("share", "value"), [(0.0831662, 83.2), (-0.00001, 0.0), (0.123456789, 123.5)])
def test_digits_are_those_of_the_range_whatever_the_bar(share: float, value: float, bar: float) -> None:
    """So that equal questions have equal answers; what rounding is off by is in the bar and in the certificate."""
    told = Answer(share, bar, (share - bar, share + bar), "calibrated", "hypothesis", True, certified_bound=2 * bar)
    aggregate = Aggregate("a", "DOUBLE", (Form(0.0, (Term(LARGEST, SUM),)),), nonnegative=False)
    (found,) = summed(aggregate, lambda _: told, NOTHING_SAID)
    assert (found.value, str(found.value)) == (value, str(value))  # and no -0.0
    assert found.error is not None and found.certified_bound is not None
    assert found.error == pytest.approx(LARGEST * bar + abs(value - LARGEST * share))
    assert found.certified_bound == pytest.approx(2 * LARGEST * bar + abs(value - LARGEST * share))
    assert found.interval == pytest.approx((value - found.error, value + found.error))
    (before,) = summed(aggregate, lambda _: told, NOTHING_SAID, MODEL_RULES[24])
    assert before.value == LARGEST * share


def test_what_is_known_exactly_keeps_its_digits() -> None:
    told = Answer(0.123456789, 0.0, (0.123456789, 0.123456789), "exact", "public", certified=True)
    aggregate = Aggregate("a", "DOUBLE", (Form(0.0, (Term(LARGEST, SUM),)),))
    (found,) = summed(aggregate, lambda _: told, NOTHING_SAID)
    assert found.value == pytest.approx(123.456789, abs=1e-12)
