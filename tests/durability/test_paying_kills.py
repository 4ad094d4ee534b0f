"""Sessions killed while they pay for a question: nothing shown is missing, what may have been drawn stays spent."""

from pathlib import Path

import pytest

from tests.durability import session_script as script
from tests.durability.killing import STEPS, kill_while_asking
from tests.support import city

QUESTIONS = 2
ROW_COUNTED = 2 / 3
"""Of the budget, what the row count leaves: 1 / (1 + 2 sqrt(k)) is its own, the root rounded down."""
PRIVACY = f"epsilon = 1.0\ndelta = 1e-6\nplanned_queries = {QUESTIONS}\n"
POLICY = "\n".join(line for line in city.policy_text(PRIVACY).splitlines() if '"text"' not in line)
QUESTION = "SELECT age, member, COUNT(*) FROM people GROUP BY ALL"


@pytest.fixture(autouse=True)
def registry_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", "/nonexistent")  # each session sets it; what was set comes back afterwards


@pytest.mark.parametrize("step", STEPS)
def test_a_question_is_paid_before_it_is_shown_and_lost_at_most_once(tmp_path: Path, step: str) -> None:
    script.prepare(tmp_path / "original", policy=POLICY)
    directory = script.copied(tmp_path / "original", tmp_path / "copy")
    kill_while_asking(directory, QUESTION, step, 2)  # 1: the row count's
    with script.connect(directory) as con:
        reserved = step != "reserve:appended"  # nothing was durable before that
        assert script.ledger_of(con).totals().reserved == 0
        assert con.budget.questions_left == QUESTIONS - reserved
        before = con.budget.spent_epsilon
        cursor = con.execute(QUESTION)
        released = step == "release:committed"
        assert cursor.result.charged == pytest.approx(0.0 if released else ROW_COUNTED / QUESTIONS, rel=1e-6)
        assert len(cursor.answers) == 33
        # the groups have something in common, by which each is moved; what its count certifies holds on any data
        assert {(a.error_kind, a.source, a.certified) for a in cursor.answers} == {("calibrated", "measurement", True)}
        assert before <= con.budget.spent_epsilon <= con.budget.epsilon
        first = cursor.fetchall()
    with script.connect(directory) as con:
        assert con.execute(QUESTION).fetchall() == first
        assert con.budget.questions_left == QUESTIONS - reserved - (not released)


def test_a_live_session_does_not_wait_for_one_that_was_killed(tmp_path: Path) -> None:
    """It burns what the dead one had reserved for the row count, and measures it itself."""
    directory = tmp_path / "city"
    script.prepare(directory, policy=POLICY)
    with script.connect(directory) as con:
        kill_while_asking(directory, QUESTION, "reserve:committed", 1)
        assert script.ledger_of(con).totals().reserved > 0
        assert len(con.execute(QUESTION).fetchall()) == 33
        assert script.ledger_of(con).totals().reserved == 0
        assert [e.kind for e in script.ledger_of(con).events()[:2]] == ["reserve", "burn"]
