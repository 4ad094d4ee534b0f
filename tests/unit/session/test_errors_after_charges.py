"""What leaves a session when it fails: errors of dpsql, with what had been paid, and nothing of what was private."""

import traceback
from decimal import Context, Inexact, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpsql
from dpsql.public.locked_duckdb import DuckDbPublicSql
from tests.support import city

POLICY = city.policy_text("epsilon = 4.0\ndelta = 1e-6\n", 'strategy = "pmw"\n')


@pytest.fixture
def con(tmp_path: Path) -> Any:
    with dpsql.connect(city.build(tmp_path / "city", policy=POLICY), ledger=":memory:") as connection:
        yield connection


def test_a_refusal_has_charged_nothing(con: dpsql.Connection) -> None:
    with pytest.raises(dpsql.UnsupportedQuery) as caught:
        con.execute("SELECT LIST(age) FROM people")
    assert caught.value.charged == con.budget.spent_epsilon == 0.0
    assert caught.value.__notes__ == [f"hint: {caught.value.hint}"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CAST('x' || n AS INTEGER) FROM (SELECT COUNT(*) AS n FROM people)",
        "SELECT make_date((20000 + n)::INTEGER, 1, 1) FROM (SELECT COUNT(*) % 100 AS n FROM people)",
        "SELECT DATE '9999-12-30' + n::INTEGER FROM (SELECT COUNT(*) + 2 AS n FROM people)",
        "SELECT COUNT(*) AS n, CAST('infinity' AS DATE) FROM people",
        "SELECT make_date((20000 + age)::INTEGER, 1, 1), COUNT(*) FROM people GROUP BY 1",
        "SELECT CAST(CASE WHEN age > 5 THEN 'infinity' ELSE '2020-01-01' END AS DATE), COUNT(*) FROM people GROUP BY 1",
        "SELECT CAST(CASE WHEN age > 5 THEN '-infinity' ELSE '2020-01-01' END AS TIMESTAMP), COUNT(*) FROM people "
        "GROUP BY 1",
        "SELECT CAST('9223372036854775807' AS HUGEINT) + age, COUNT(*) FROM people GROUP BY 1",
        "SELECT strptime('2020-01-01 0.123456789', '%Y-%m-%d %H.%n'), COUNT(*) FROM people GROUP BY 1",
        "SELECT INTERVAL 1 DAY * age, COUNT(*) FROM people GROUP BY 1",
        "SELECT CAST(age AS DECIMAL(38, 0)) + 1000000000000000000000, COUNT(*) FROM people GROUP BY 1",
    ],
)
def test_what_fails_whatever_the_counts_are_is_refused_before_any_charge(con: dpsql.Connection, text: str) -> None:
    with pytest.raises(dpsql.Error) as caught:
        con.execute(text).fetchall()
    assert caught.value.charged == con.budget.spent_epsilon == 0.0
    assert not isinstance(caught.value, dpsql.InternalError)


def test_rows_without_a_python_form_say_what_was_paid(con: dpsql.Connection) -> None:
    cursor = con.execute("SELECT make_date((n * 100)::INTEGER, 1, 1) FROM (SELECT COUNT(*) AS n FROM people)")
    with pytest.raises(dpsql.DataError) as caught:
        cursor.fetchall()
    assert caught.value.charged == con.budget.spent_epsilon > 0.0


def test_an_error_after_a_charge_says_what_was_paid(con: dpsql.Connection) -> None:
    with pytest.raises(dpsql.Error) as caught:
        con.execute("SELECT n::TINYINT FROM (SELECT COUNT(*) AS n FROM people)")
    assert caught.value.charged == con.budget.spent_epsilon > 0.0
    assert any(note.startswith("charged: epsilon") for note in caught.value.__notes__)
    with pytest.raises(dpsql.Error) as again:
        con.execute("SELECT n::TINYINT FROM (SELECT COUNT(*) AS n FROM people)")
    assert again.value.charged == 0.0  # what was bought is kept


def test_a_foreign_exception_becomes_an_internal_error_without_its_text(
    con: dpsql.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise ValueError("row 4711 of people")

    monkeypatch.setattr(DuckDbPublicSql, "run", fails)
    with pytest.raises(dpsql.InternalError) as caught:
        con.execute("SELECT n + 1 FROM (SELECT COUNT(*) AS n FROM people)")
    assert caught.value.charged >= 0.0
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert "4711" not in "".join(traceback.format_exception(caught.value))


def test_a_foreign_exception_of_an_explanation_does_not_leave_either(
    con: dpsql.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise ValueError("4711")

    monkeypatch.setattr("dpsql.session.session.explanation", fails)
    with pytest.raises(dpsql.InternalError) as caught:
        con.explain("SELECT COUNT(*) FROM people")
    assert (caught.value.charged, caught.value.__context__) == (0.0, None)


@pytest.mark.parametrize(
    ("questions", "fails_in", "text"),
    [
        (8, "dpsql.session.own.release.completed", "SELECT age, COUNT(*) FROM people GROUP BY age"),
        (8, "dpsql.first.row_count.encode_measurement", "SELECT COUNT(*) FROM people"),
        (None, "dpsql.first.warm_start.encode_measurements", "SELECT age, COUNT(*) FROM people GROUP BY age"),
    ],
)
def test_what_fails_after_its_noise_was_drawn_is_paid_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, questions: int | None, fails_in: str, text: str
) -> None:
    """The reservation can only be burnt then: the error names what the ledger will."""

    def fails(*_: Any, **__: Any) -> Any:
        raise FloatingPointError("4711")

    planned = "" if questions is None else f"planned_queries = {questions}\n"
    rules = city.policy_text("epsilon = 4.0\ndelta = 1e-6\n" + planned, "")
    with dpsql.connect(city.build(tmp_path / "city", policy=rules), ledger=":memory:") as con:
        if "row_count" not in fails_in:
            con.execute("SELECT COUNT(*) FROM people")
        before = con.budget.spent_epsilon
        with monkeypatch.context() as patched:
            patched.setattr(fails_in, fails)
            with pytest.raises(dpsql.InternalError) as caught:
                con.execute(text)
        assert caught.value.charged == pytest.approx(con.budget.spent_epsilon - before)
        assert caught.value.charged > 0.0
        con.execute(text)


def test_a_session_does_not_depend_on_how_its_caller_computes(tmp_path: Path) -> None:
    """What floats and decimals raise elsewhere in the program would fail here after a charge."""
    rules = city.policy_text("epsilon = 4.0\ndelta = 1e-6\nplanned_queries = 20\n", "")
    built = city.build(tmp_path / "city", policy=rules)
    with (
        np.errstate(all="raise"),
        localcontext(Context(prec=3, traps=[Inexact])),
        dpsql.connect(built, ledger=":memory:") as con,
    ):
        for _ in range(3):
            con.execute("SELECT age, COUNT(*) FROM people GROUP BY age").fetchall()
