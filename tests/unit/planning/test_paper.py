"""The papers' constants: their formulas computed another way, and that a plan pays for all the noise they have."""

from dataclasses import replace
from fractions import Fraction
from math import inf, log, sqrt

import pytest

from dpsql.domain import TableDomain, TextDomain
from dpsql.errors import PolicyError
from dpsql.hypothesis import STRATEGIES, Construction
from dpsql.planning import make_plan, paper_notices, plan_tables
from dpsql.planning.advice import advice
from dpsql.planning.paper import algorithm_one, paper_constants, rows_needed, solved_alpha, solved_updates
from dpsql.policy import Mechanism, Policy, Privacy
from tests.support.simulated import table_of

PRIVACY = Privacy(Fraction(1), Fraction(1, 10**6), planned_queries=1000)
TABLE = table_of((16, 16, 16))
STRINGS = TableDomain("t", (*TABLE.columns, TextDomain("name")))
WORDS = [word for word, s in STRATEGIES.items() if s.construction is not None]


def construction(word: str) -> Construction:
    found = STRATEGIES[word].construction
    assert found is not None
    return found


def policy(word: str, table: TableDomain = TABLE, privacy: Privacy = PRIVACY, **mechanism: object) -> Policy:
    return Policy(privacy, (table,), Mechanism(word, calibration="paper", **mechanism))  # type: ignore[arg-type]


def test_sigma_and_threshold_are_those_of_algorithm_one() -> None:
    sigma, threshold = algorithm_one(PRIVACY, 25.0)
    assert sigma == pytest.approx(1000 * 5 * log(4e6))
    assert threshold == pytest.approx(4 * sigma * log(2 * 1000 / 0.05))
    found = paper_constants(PRIVACY, 25)
    assert (found.noise, found.threshold) == (sigma, threshold)
    assert (found.alpha, found.accuracy) == (0.75 * threshold, 1.25 * threshold)
    assert 4 * found.alpha / 3 <= found.threshold <= 2 * found.alpha  # Theorem 4.9's condition


def test_equation_3_is_solved_as_by_hand() -> None:
    """B = 4 n^2 ln|X| / alpha^2 makes alpha^2 = 3000 ln(4/delta) ln(2k/beta) 2 n sqrt(ln|X|) / epsilon."""
    rows = 1e7
    alpha = sqrt(3000 * log(4e6) * log(2 * 1000 / 0.05) * 2 * rows * sqrt(log(16**3)))
    assert solved_alpha(PRIVACY, TABLE, construction("textbook-pmw"), rows) == pytest.approx(alpha, rel=1e-9)
    updates = 4 * rows**2 * log(16**3) / alpha**2
    assert solved_updates(PRIVACY, TABLE, construction("textbook-pmw"), rows) == pytest.approx(updates, rel=1e-9)


def test_the_rows_that_it_takes_are_those_of_a_tenth() -> None:
    for word in WORDS:
        if construction(word).obstacle(TABLE) is None:
            rows = rows_needed(PRIVACY, TABLE, construction(word))
            assert solved_alpha(PRIVACY, TABLE, construction(word), rows) == pytest.approx(0.1 * rows, rel=5e-3)
    # n = 3000 ln(4/delta) ln(2k/beta) 2 sqrt(ln|X|) / .01
    assert rows_needed(PRIVACY, TABLE, construction("textbook-pmw")) == pytest.approx(
        3000 * log(4e6) * log(40_000) * 2 * sqrt(log(16**3)) / 0.01, rel=2e-3
    )
    hopeless = replace(construction("textbook-pmw"), update_bound=lambda table, n, alpha, k: n**4 + 0 * alpha)
    assert rows_needed(PRIVACY, TABLE, hopeless) == inf


def test_updates_follow_the_planned_rows_unless_hard_rounds_are_chosen() -> None:
    small, large, chosen = (
        make_plan(policy("textbook-pmw", **more))
        for more in ({}, {"planned_rows": 10**7}, {"planned_rows": 10**7, "hard_rounds": 7})
    )
    assert small.hard_rounds == 1
    assert large.hard_rounds == int(solved_updates(PRIVACY, TABLE, construction("textbook-pmw"), 1e7)) > 100
    assert chosen.hard_rounds == 7
    assert make_plan(policy("textbook-pmw", planned_rows=10**12)).hard_rounds == 1000


UNITS = replace(TABLE, unit="who", max_rows_per_unit=5)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("table", [TABLE, UNITS])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(50)])
def test_a_plan_pays_for_all_the_noise(neighbors: str, table: TableDomain, epsilon: Fraction) -> None:
    """Test and measurement are never sharper than those that the checked plan pays for, and as noisy as the papers'."""
    privacy = replace(PRIVACY, epsilon=epsilon, neighbors=neighbors)  # type: ignore[arg-type]
    rules = policy("textbook-pmw", table, privacy, hard_rounds=10)
    tight = replace(rules, mechanism=replace(rules.mechanism, calibration="tight"))
    plan = make_plan(rules)
    assert plan == make_plan(tight)
    ours, theirs = plan_tables(plan, tight)["t"].net, plan_tables(plan, rules)["t"].net
    changes = table.max_rows_per_unit
    assert theirs.sensitivity >= ours.sensitivity == changes
    assert theirs.certified_slope * theirs.sensitivity == plan.certified_slope  # what each step of the test costs
    assert theirs.sigma >= ours.sigma and theirs.slope <= ours.slope
    noise = algorithm_one(privacy, 10.0)[0] * changes
    assert float(theirs.slope) == pytest.approx(1 / noise, rel=0.02) and float(theirs.slope) <= 1 / noise
    assert float(theirs.sigma) == pytest.approx(sqrt(2) * noise)


def test_where_the_papers_have_less_noise_the_plans_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpsql.planning.paper.NOISE", 1e-6)
    rules = policy("textbook-pmw", hard_rounds=10)
    plan = make_plan(rules)
    found = plan_tables(plan, rules)["t"].net
    assert found == plan.for_sensitivity()


def test_a_certified_bound_is_within_the_papers_accuracy() -> None:
    rules = policy("textbook-pmw", hard_rounds=10)
    found = plan_tables(make_plan(rules), rules)["t"]
    assert found.paper is not None
    assert found.paper.threshold < found.bound < found.paper.accuracy
    assert found.theta == pytest.approx(found.paper.threshold, abs=1)


def test_owners_hear_how_far_from_usable_it_is() -> None:
    rules = policy("pmw")
    (words,) = paper_notices(make_plan(rules), rules)
    assert "100,000 planned rows" in words and "n >= " in words and "updated once" in words
    tight = replace(rules, mechanism=Mechanism("pmw"))
    assert paper_notices(make_plan(tight), tight) == ()
    assert not any("paper" in line for line in advice(Policy(PRIVACY, (TABLE, STRINGS))))  # no newcomer's concern


def test_the_papers_say_nothing_of_auto_and_pmw_is_the_textbooks() -> None:
    with pytest.raises(PolicyError, match="auto") as caught:
        make_plan(policy("auto"))
    assert caught.value.path == "mechanism.calibration" and all(f'"{word}"' in caught.value.hint for word in WORDS)
    rules = policy("pmw")
    assert plan_tables(make_plan(rules), rules)["t"].strategy is STRATEGIES["textbook-pmw"]


@pytest.mark.parametrize(
    ("word", "table", "reason"),
    [
        ("textbook-pmw", STRINGS, "name is a text column"),
        ("median", STRINGS, "name is a text column"),
        ("median", TABLE, "4,096 cells"),
        ("textbook-pmw", table_of((4096, 4097)), "at most 16,777,216"),
    ],
)
def test_tables_that_a_construction_cannot_hold_are_refused(word: str, table: TableDomain, reason: str) -> None:
    for calibration in ("tight", "paper"):
        rules = policy(word, table)
        rules = replace(rules, mechanism=replace(rules.mechanism, calibration=calibration))  # type: ignore[arg-type]
        with pytest.raises(PolicyError, match=reason) as caught:
            make_plan(rules)
        assert caught.value.path == "tables.t" and caught.value.hint
