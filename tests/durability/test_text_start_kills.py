"""Sessions killed while they select the keys of a text column: the next try spends what is left of the delta."""

from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.first.payload import LISTED, decode_release
from tests.durability import session_script as script
from tests.durability.killing import STEPS, kill_while_asking
from tests.support import city

POLICY = city.policy_text("epsilon = 8.0\ndelta = 1e-6\n", "hard_rounds = 5\n")
READ = {"reserve:appended": ["no one", "somebody"], "release:committed": ["no one", "nobody", "somebody"]}
"""The strings that are read in the end, by the step of a kill that lost nothing."""
QUESTION = "SELECT name, COUNT(*) FROM people GROUP BY name"


@pytest.fixture(autouse=True)
def registry_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", "/nonexistent")  # each session sets it; what was set comes back afterwards


@pytest.mark.parametrize("step", STEPS)
def test_a_selection_that_was_lost_is_made_again(tmp_path: Path, step: str) -> None:
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
            tries = [e.payload for e in events if e.kind == "reserve" and "delta" in e.payload]
            assert [t["try"] for t in tries] == [1, 2][: 1 + lost]
            assert all(t["columns"] == [["name"], ["name", ""]] for t in tries)
            assert len({t["delta"] for t in tries}) == len(tries)
            assert sum(Fraction(t["delta"]) for t in tries) < plan.delta_purse
            burnt = [e.cost for e in events if e.kind == "burn"]
            assert len(burnt) == lost
            assert sum(burnt) < 0.1 * plan.total_units
    assert shown[0] == shown[1]
    assert len(shown[0]) > 1


@pytest.mark.parametrize("step", STEPS)
def test_a_string_whose_reading_was_lost_is_never_read_again(tmp_path: Path, step: str) -> None:
    script.prepare(tmp_path / "original", policy=POLICY)
    directory = script.copied(tmp_path / "original", tmp_path / "copy")
    with script.connect(directory) as con:
        con.execute(QUESTION).fetchall()
        spent = script.ledger_of(con).totals().spent
    kill_while_asking(directory, "SELECT COUNT(*) FROM people WHERE name IN ('nobody', 'no one')", step, 1)
    with script.connect(directory) as con:
        answers = con.execute("SELECT COUNT(*) FROM people WHERE name IN ('no one', 'somebody')").answers
        assert answers[0].error is not None
        releases = [e.payload for e in script.ledger_of(con).events() if e.kind == "release"]
        read = [m.keys for payload in releases for kind, m in decode_release(payload) if kind == LISTED]
        assert sorted(str(k) for keys in read for (k,) in keys) == READ.get(step, ["somebody"])
        assert script.ledger_of(con).totals().spent == spent
