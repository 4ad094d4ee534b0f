"""Sessions killed while they select the keys of a text column: what may have been drawn is not drawn again."""

from fractions import Fraction
from pathlib import Path

import pytest

from tests.durability import session_script as script
from tests.durability.killing import STEPS, kill_while_asking
from tests.support import city

POLICY = city.policy_text("epsilon = 8.0\ndelta = 1e-6\n", "hard_rounds = 5\n")
QUESTION = "SELECT name, COUNT(*) FROM people GROUP BY name"


@pytest.fixture(autouse=True)
def registry_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", "/nonexistent")  # each session sets it; what was set comes back afterwards


@pytest.mark.parametrize("step", STEPS)
def test_a_selection_is_made_once(tmp_path: Path, step: str) -> None:
    script.prepare(tmp_path / "original", policy=POLICY)
    directory = script.copied(tmp_path / "original", tmp_path / "copy")
    kill_while_asking(directory, QUESTION, step, 2)  # 1: the row count's
    lost = step not in ("reserve:appended", "release:committed")
    shown = []
    for _ in range(2):
        with script.connect(directory) as con:
            before = script.ledger_of(con).totals()
            assert before.reserved == 0
            shown.append(con.execute(QUESTION).fetchall())
            after, plan = script.ledger_of(con).totals(), script.plan_of(con)
            assert before.spent <= after.spent <= plan.total_units
            events = script.ledger_of(con).events()
            begun = [e for e in events if e.kind == "reserve" and e.payload["purpose"] == "text start"]
            assert [e.payload["columns"] for e in begun] == [[["name"]]]
            assert sum(Fraction(e.payload["delta"]) for e in begun) < plan.delta_purse
            assert len([e for e in events if e.kind == "burn"]) == lost
    assert shown[0] == shown[1]
    assert [name for name, _ in shown[0]] == [None] if lost else len(shown[0]) > 1
