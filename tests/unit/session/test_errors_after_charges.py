"""What leaves a session when it fails: errors of dpsql, with what had been paid, and nothing of what was private."""

import traceback
from pathlib import Path
from typing import Any

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
        con.execute("SELECT MAX(age) FROM people")
    assert caught.value.charged == con.budget.spent_epsilon == 0.0
    assert caught.value.__notes__ == [f"hint: {caught.value.hint}"]


def test_an_error_after_a_charge_says_what_was_paid(con: dpsql.Connection) -> None:
    with pytest.raises(dpsql.Error) as caught:
        con.execute("SELECT n // (n - n) FROM (SELECT COUNT(*) AS n FROM people)")
    assert caught.value.charged == con.budget.spent_epsilon > 0.0
    assert any(note.startswith("charged: epsilon") for note in caught.value.__notes__)
    with pytest.raises(dpsql.Error) as again:
        con.execute("SELECT n // (n - n) FROM (SELECT COUNT(*) AS n FROM people)")
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
