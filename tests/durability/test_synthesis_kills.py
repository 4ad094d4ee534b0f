"""Sessions killed while a synthetic table is made: no recorded step is paid twice, nothing is shown unpaid."""

from pathlib import Path

import pytest

from dpsql.synthesis.runs import PURPOSE
from tests.durability import session_script as script
from tests.durability.killing import STEPS, kill_while_synthesizing

QUESTION = "SELECT COUNT(*) FROM people"
ALLOWED = 2.0


@pytest.fixture(autouse=True)
def registry_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", "/nonexistent")  # each session sets it; what was set comes back afterwards


@pytest.mark.parametrize(
    "step",
    [s if s in ("release:begin", "release:committed") else pytest.param(s, marks=pytest.mark.slow) for s in STEPS],
)
def test_the_run_goes_on_where_it_was_killed(tmp_path: Path, step: str) -> None:
    directory = tmp_path / "city"
    script.prepare(directory, rows=300)
    kill_while_synthesizing(directory, QUESTION, step, 4)  # 1: the row count's; the third of four steps
    released, reserved = step == "release:committed", step != "reserve:appended"
    with script.connect(directory) as con:
        ledger = script.ledger_of(con)
        assert ledger.totals().reserved == 0
        before = {name: spent for name, spent, _ in con.budget.purses}["synthetic tables"]
        assert before == pytest.approx(ALLOWED / 4 * (2 + reserved), rel=1e-6)
        made = script.synthesize(con)
        assert made.charged == pytest.approx(ALLOWED / 4 * (2 - released), rel=1e-6)
        lost = reserved and not released
        spent = {name: spent for name, spent, _ in con.budget.purses}["synthetic tables"]
        assert spent == pytest.approx(ALLOWED + lost * ALLOWED / 4, rel=1e-6)
        kept = [e.payload["step"] for e in ledger.events() if e.payload.get("kind") == PURPOSE]
        assert kept == [0, 1, 2, 3]
    with script.connect(directory) as con:
        again = script.synthesize(con)
        assert again.charged == 0.0 and again.to_arrow().equals(made.to_arrow())
