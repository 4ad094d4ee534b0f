"""Wide tables, whose pairs of columns are measured together once a quarter of the columns was asked about."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import dpsql
import dpsql.mechanism
from tests.support.entropy import SeededEntropy
from tests.support.lessons import learned_briefly

COLUMNS = [f"c{i:02}" for i in range(20)]
PAIRS = 190
FEW = ("c00", "c01"), ("c02", "c03")
"""They touch four of twenty columns; a fifth is a quarter of them."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(dpsql.mechanism, "SystemEntropy", lambda: SeededEntropy(4))
    learned_briefly(monkeypatch)
    columns = ", ".join(f"hash(i * {j + 3}) % {2 + j % 4} AS {name}" for j, name in enumerate(COLUMNS[:-2]))
    with duckdb.connect(str(tmp_path / "wide.duckdb")) as con:
        con.execute(
            f"CREATE TABLE wide AS SELECT {columns}, i % 500 AS c18, (i % 900) / 9.0 AS c19 FROM range(3000) t(i)"
        )
    words = [f'{c} = {{ type = "integer", min = 0, max = 4, nullable = false }}' for c in COLUMNS[:-2]]
    words += ['c18 = { type = "integer", min = 0, max = 499 }', 'c19 = { type = "number", min = 0, max = 100 }']
    lines = ["version = 1", "[privacy]", "epsilon = 4", "delta = 1e-6", "planned_queries = 20000"]
    (tmp_path / "policy.toml").write_text("\n".join([*lines, "[tables.wide.columns]", *words]))
    return tmp_path


def connected(folder: Path) -> dpsql.Connection:
    return dpsql.connect(folder / "wide.duckdb", policy=folder / "policy.toml", ledger=folder / "ledger")


@pytest.fixture
def con(folder: Path) -> Iterator[dpsql.Connection]:
    """Four columns are asked about."""
    with connected(folder) as con:
        for pair in FEW:
            con.execute(about(*pair))
        yield con


def about(*columns: str) -> str:
    return "SELECT COUNT(*) FROM wide WHERE " + " AND ".join(f"{c} < 2" for c in columns)


def asked(con: dpsql.Connection, text: str, **terms: float) -> float:
    """What the statement charges; no more than was explained before."""
    explained, before = con.explain(text).worst_charge, con.budget.spent_epsilon
    con.execute(text, **terms)
    charged = con.budget.spent_epsilon - before
    assert charged <= explained + 1e-9
    return charged


@pytest.mark.parametrize("text", [about("c00", "c18"), "SELECT AVG(c19) FROM wide WHERE c01 = 1", about("c00")])
def test_the_first_question_charges_no_more_than_was_explained(folder: Path, text: str) -> None:
    """Positions inside bins and parts of long ranges were paid for beside it."""
    with connected(folder) as con:
        assert asked(con, text) > 0.0


def test_the_question_that_touches_a_quarter_measures_all_pairs_and_says_so(con: dpsql.Connection) -> None:
    assert asked(con, about("c01", "c02")) < 0.2
    notes = " ".join(note.text for note in con.explain(about("c02", "c04")).notes)
    assert "this question to wide also measures" in notes and f"{PAIRS - 4} pairs of columns beside those" in notes
    assert asked(con, about("c02", "c04")) > 1.0
    assert "pairs of columns" not in " ".join(note.text for note in con.explain(about("c10", "c11", "c12")).notes)
    spent = con.budget.spent_epsilon
    con.execute(about("c10", "c11"), max_charge=0.0)
    assert con.budget.spent_epsilon == spent


def test_what_the_scopes_of_a_statement_touch_together_is_explained(folder: Path) -> None:
    scopes = [about("c00", "c01"), about("c02", "c03"), about("c04", "c05")]
    with connected(folder) as con:
        assert asked(con, " UNION ALL ".join(scopes)) > 1.0


def test_who_limits_the_charge_buys_one_pair(con: dpsql.Connection) -> None:
    assert con.explain(about("c02", "c04")).worst_charge > 1.0
    assert 0.0 < asked(con, about("c02", "c04"), max_charge=0.3) <= 0.3
    assert asked(con, about("c02", "c05")) > 1.0  # who does not, all that are left


def test_after_an_interrupt_what_needs_no_pair_is_free(folder: Path, con: dpsql.Connection) -> None:
    steps = []

    def stop(table: str, what: str, done: int, of: int) -> None:
        steps.append(done)
        if len(steps) == 4:
            raise KeyboardInterrupt

    con.session.on_progress(stop)
    before = con.budget.spent_epsilon
    with pytest.raises(KeyboardInterrupt) as stopped:
        con.execute(about("c02", "c04"))
    paid = con.budget.spent_epsilon - before
    assert paid > 0.0
    assert stopped.value.__notes__ == [f"epsilon {paid:.3g} was paid, and asked again it goes on from there"]
    con.close()
    with connected(folder) as again:
        spent = again.budget.spent_epsilon
        for text in (about("c00"), about("c00", "c01"), "SELECT c07, COUNT(*) FROM wide GROUP BY c07"):
            again.execute(text, max_charge=0.0)
        assert again.budget.spent_epsilon == spent
        assert asked(again, about("c08", "c09")) > 0.5  # goes on
        assert "pairs of columns" not in " ".join(note.text for note in again.explain(about("c10", "c12")).notes)
