"""Sums of models are kept in parts of a range, equal each time they are asked, and shown with meaningful digits."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

import dpsql
import dpsql.accounting.plan
from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.rules import MODEL_RULES
from dpsql.postprocess import combine
from dpsql.query import Factor, Form, LinearQuery, Term
from dpsql.result import Answer
from dpsql.session.answers import completed
from dpsql.session.model.modelled import certified
from dpsql.session.results.sums import summed
from dpsql.session.results.unasked import NOTHING_SAID
from dpsql.session.table_state import TableState
from dpsql.sql.statement import Aggregate
from tests.support.lessons import learned_briefly

LARGEST = 1000.0
NARROW = "SELECT SUM(owed) FROM debts WHERE owed BETWEEN 10 AND 12"
ASKED = (NARROW, "SELECT k, SUM(owed) FROM debts WHERE owed > 40 GROUP BY k", "SELECT SUM(k) FROM debts WHERE owed < 9")
SUM = LinearQuery("t", (), None, "x")


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    learned_briefly(monkeypatch)
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


@pytest.mark.parametrize(("shown", "bound"), [(12, 7), (12.3, 8), (12.0, 8)])
def test_what_a_test_has_passed_is_certified_one_wider(
    shown: float, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was asked of the whole number, and what is shown is up to half from it."""
    monkeypatch.setattr(TableState, "certificate", lambda state, query: 7)
    state = TableState.__new__(TableState)
    assert certified(state, SUM, shown) == bound
    monkeypatch.setattr(TableState, "certificate", lambda state, query: None)
    assert certified(state, SUM, shown) is None


def test_a_whole_sum_is_rounded_once() -> None:
    query = LinearQuery("t", (Factor(("g",), np.array([0, 1, 2]), unit=2),))
    told = Answer(3.25, 2.0, (1.25, 5.25), "calibrated", "hypothesis", certified=False)
    found = combine(Form(0.0, (Term(1, query),)), lambda _: told, integer=True)
    assert (found.value, found.error, found.interval) == (3, 2.25, (0.75, 5.25))


@pytest.mark.parametrize(
    ("share", "bar", "value", "error"),
    [(0.0831662, 0.130748, 83.0, 130.9), (1.6, 123.4, 2000.0, 123800.0), (0.123456789, 0.0005, 123.457, 0.50021)],
)
def test_digits_end_where_the_bar_says_nothing_of_them(share: float, bar: float, value: float, error: float) -> None:
    told = Answer(share, bar, (share - bar, share + bar), "calibrated", "hypothesis", certified=False)
    aggregate = Aggregate("a", "DOUBLE", (Form(0.0, (Term(LARGEST, SUM),)),))
    (found,) = summed(aggregate, lambda _: told, NOTHING_SAID)
    assert found.value == value
    assert found.error == pytest.approx(error, rel=1e-3)
    assert found.error >= LARGEST * bar + abs(value - LARGEST * share) - 1e-9
    (before,) = summed(aggregate, lambda _: told, NOTHING_SAID, MODEL_RULES[24])
    assert before.value == LARGEST * share


def test_what_is_known_exactly_keeps_its_digits() -> None:
    told = Answer(0.123456789, 0.0, (0.123456789, 0.123456789), "exact", "public", certified=True)
    aggregate = Aggregate("a", "DOUBLE", (Form(0.0, (Term(LARGEST, SUM),)),))
    (found,) = summed(aggregate, lambda _: told, NOTHING_SAID)
    assert found.value == pytest.approx(123.456789, abs=1e-12)
