"""Sessions killed in the middle of a warm start: the next one measures again what was lost, and the budget holds."""

from pathlib import Path

import pytest

from dpsql.first.payload import decode_release
from dpsql.ledger import Event
from tests.durability import session_script as script
from tests.durability.killing import STEPS, kill_while_asking
from tests.support import city
from tests.support.lessons import learned_briefly

POLICY = city.policy_text("epsilon = 8.0\ndelta = 1e-6\n", "hard_rounds = 5\n")
QUESTION = "SELECT age, member, COUNT(*) FROM people GROUP BY ALL"
OTHER = "SELECT region, hours >= 20, COUNT(*) FROM people GROUP BY ALL"


@pytest.fixture(autouse=True)
def registry_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", "/nonexistent")  # each session sets it; what was set comes back afterwards
    learned_briefly(monkeypatch)


@pytest.mark.parametrize("step", STEPS)
def test_the_next_session_goes_on_where_the_killed_one_stopped(tmp_path: Path, step: str) -> None:
    script.prepare(tmp_path / "original", policy=POLICY)
    for occurrence in (2, 3):  # the first is the row count's
        directory = script.copied(tmp_path / "original", tmp_path / f"{occurrence}")
        kill_while_asking(directory, QUESTION, step, occurrence)
        with script.connect(directory) as con:
            before = script.ledger_of(con).totals()
            assert before.reserved == 0
            answers = con.execute(QUESTION).answers
            assert len(answers) == 33
            assert not [note for note in con.explain(OTHER).notes if "also measures" in note.text]  # all is begun
            after, plan = script.ledger_of(con).totals(), script.plan_of(con)
            assert before.spent <= after.spent <= plan.total_units
            events = script.ledger_of(con).events()
            begun = [e for e in events if e.kind == "reserve" and e.payload["purpose"] == "warm start"]
            starts = {e.sequence: e for e in begun}
            lost = [e for e in events if e.kind == "burn"]
            assert len(lost) == (step not in ("reserve:appended", "release:committed"))
            kept = [e for e in begun if e.sequence not in {b.reservation for b in lost}]
            portions = [(tuple(c), *told) for e in kept for c, told in zip(*columns_of(e), strict=True)]
            assert len(portions) == len({(c, before) for c, before, _ in portions})  # none of them twice
            assert sum(rest == 0 for _, _, rest in portions) == len({c for c, _, _ in portions}) == 16
            released = [decode_release(e.payload) for e in events if e.kind == "release" and e.reservation in starts]
            assert sum(map(len, released)) == len(portions)
            assert sum(e.cost for e in lost) <= 0.05 * plan.total_units
            assert con.budget.hard_rounds_left >= 4  # all but the one that the session keeps in reserve


def columns_of(reservation: Event) -> tuple[list[list[str]], list[list[int]]]:
    return reservation.payload["columns"], reservation.payload["portions"]
