"""State is a fold of the ledger: a session that is opened again knows, answers and has left what the live one had."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import dpsql
from tests.support import city, statements
from tests.support.inside import connect, inside
from tests.support.lessons import learned_briefly

SEQUENCES = 8
PRIVACY = "epsilon = 4.0\ndelta = 1e-6\n"
POLICIES = {
    "few rounds": city.policy_text(PRIVACY, 'strategy = "pmw"\nhard_rounds = 3\n'),
    "many rounds": city.policy_text(PRIVACY, 'strategy = "pmw"\nhard_rounds = 30\n'),
    "refuse": city.policy_text(PRIVACY, 'strategy = "pmw"\nhard_rounds = 4\nwhen_spent = "refuse"\n'),
    "replace-one": city.policy_text(PRIVACY + 'neighbors = "replace-one"\n', 'strategy = "pmw"\nhard_rounds = 12\n'),
    "sparse": city.policy_text(PRIVACY, 'strategy = "sparse-pmw"\nhard_rounds = 30\n'),
    "warm": city.policy_text(PRIVACY, "hard_rounds = 3\n"),
    "warm replace-one": city.policy_text(PRIVACY + 'neighbors = "replace-one"\n', 'when_spent = "refuse"\n'),
}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))
    learned_briefly(monkeypatch)


def estimates(con: dpsql.Connection, policy: str, texts: Sequence[str]) -> list[tuple[str, str | None, Any]]:
    """What the models think of each query of the statements, to the last bit, and what measurements say."""
    asker = inside(con).asker
    out: list[tuple[str, str | None, Any]] = []
    for text in texts:
        for query in city.queries(policy, text):
            state = asker.states[query.table]
            if state.model is None and state.plan.row_count_is_public:
                asker.first_touches(query.table)  # public, so in no ledger: known from the first question
            model = state.model
            estimate = None if model is None else model.estimate(query).hex()
            out.append((query.digest, estimate, None if model is None else model.measured(query)))
    return out


def answered(con: dpsql.Connection, text: str) -> Any:
    """Rows and answers, without what they charged, or the class of the refusal."""
    try:
        cursor = con.execute(text)
    except dpsql.BudgetExhausted as error:
        return type(error)
    return cursor.fetchall(), [(a.value, a.error, a.interval, a.source, a.certified) for a in cursor.answers]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(SEQUENCES // 4))
def test_live_equals_replayed(tmp_path: Path, policy: str, seed: int) -> None:
    coins = random.Random(f"{policy} {seed}")  # noqa: S311 - which statements come, no noise
    database = city.build(tmp_path / "city", rows=4000, policy=POLICIES[policy])
    texts = coins.sample(statements.STABLE, 25)
    probes = coins.sample(statements.STABLE, 40)
    given: dict[str, Any] = {}
    before: Any = None
    for part in range(3):  # three sessions, each of which goes on where the last one stopped
        with connect(database) as con:
            if before is not None:
                assert (estimates(con, POLICIES[policy], probes), con.budget) == before
                for text, answer in given.items():
                    spent = con.budget.spent_epsilon
                    if answer is not dpsql.BudgetExhausted:
                        assert answered(con, text) == answer, text
                        assert con.budget.spent_epsilon == spent
                assert estimates(con, POLICIES[policy], probes) == before[0]
            for text in texts[part::3]:
                given[text] = answered(con, text)
                if coins.random() < 0.3:  # a look in between must not change the fit
                    estimates(con, POLICIES[policy], coins.sample(probes, 3))
            before = estimates(con, POLICIES[policy], probes), con.budget
    sources = {a[3] for g in given.values() if g is not dpsql.BudgetExhausted for a in g[1]}
    assert sources >= {"hypothesis" if "warm" in policy else "measurement"}


def test_measurements_answer_after_a_restart_under_replace_one(tmp_path: Path) -> None:
    database = city.build(tmp_path / "city", rows=4000, policy=POLICIES["replace-one"])
    with connect(database) as con:
        con.execute("SELECT region, COUNT(*) FROM people GROUP BY region")
        con.execute("SELECT age, COUNT(*) FROM people GROUP BY age")
        plans = [con.explain(text) for text in statements.COUNTS]
        assert any(plan.plans[0].source == "a measurement" for plan in plans if plan.plans)
    with connect(database) as con:
        assert [con.explain(text) for text in statements.COUNTS] == plans


def test_a_second_session_learns_what_the_first_released(tmp_path: Path) -> None:
    rules = POLICIES["many rounds"]
    database = city.build(tmp_path / "city", rows=4000, policy=rules)
    with connect(database) as other:
        with connect(database) as one:
            given = {text: answered(one, text) for text in statements.STABLE[::9]}
            one.execute("SELECT age, region, COUNT(*) FROM people GROUP BY ALL")  # likely measured last
            other.execute("SELECT COUNT(*) FROM people")
            assert estimates(one, rules, statements.STABLE) == estimates(other, rules, statements.STABLE)
            budget = one.budget
        spent = other.budget.spent_epsilon
        assert spent == budget.spent_epsilon
        assert {text: answered(other, text) for text in given} == given
        assert other.budget.spent_epsilon == spent
