"""The session's plan from public numbers only: which strategy and shares. Fixed when a ledger is created."""

from dataclasses import replace
from fractions import Fraction
from math import comb, sqrt

from dpsql.accounting import Plan, calibrate
from dpsql.domain import TableDomain, row_count_obstacle
from dpsql.hypothesis import strategy_named
from dpsql.hypothesis.warm_start import NARROW_CELLS, ONE_WAY_SHARE
from dpsql.policy import Policy
from dpsql.session.predicting import Forecast, own_noise_is_better

HARD_ROUNDS = 20
MEASURE_SHARE = 0.65
"""Share of a hard round's precision for its measurement, without a warm start (docs/decisions/0003-hard-rounds.md)."""
FALSE_ALARMS = 0.5
"""Share of the hard rounds that a perfect hypothesis may lose: lower thresholds repair the model sooner."""
WARM_FALSE_ALARMS = 0.1
"""The same after a warm start, where the net is for rare surprises."""
TOTAL_SHARE = Fraction(2, 100)
"""Share of the squared precision for the row counts that are private, split evenly between their tables."""
WARM_TOTAL_SHARE = Fraction(5, 100)
"""The same with a warm start, out of its share: the model's answers carry the row count's error in proportion."""
WARM_HARD_ROUNDS = (6, 10, 30, 100)
"""After a warm start: the fewest whose threshold is at least THRESHOLD times the noise of a wide table's pairs."""
THRESHOLD = 5.0
TEXT_SHARE = Fraction(25, 100)
"""Of a table's start for each text column, half of it at most; more where finite columns need less."""
LONE_TEXT_SHARE = Fraction(90, 100)
"""The same where the table has one finite column beside its text."""
DELTA_SHARE = Fraction(1, 4)
"""Of delta for the selections of keys, split evenly between text columns and declared prefix lengths."""


def make_plan(policy: Policy) -> Plan:
    """The plan of a new ledger: noise for each question alone where few are planned, else models of whole tables.

    PolicyError when epsilon is too small for it.
    """
    own, models = _own_noise_plan(policy), _model_plan(policy)
    if own is None:
        return models
    better = all(
        own_noise_is_better(float(question_sigma(own, policy, t)), _model_sd(models, policy, t)) for t in policy.tables
    )
    return own if better else models


def _own_noise_plan(policy: Policy) -> Plan | None:
    """``planned_queries`` questions with equal shares and no test; ``None`` where the owner wants another strategy.

    Neither with text columns: which of their strings may be shown is a release of another kind.
    """
    privacy, mechanism = policy.privacy, policy.mechanism
    if (
        not strategy_named(mechanism.strategy).own_noise
        or mechanism.hard_rounds is not None
        or any(t.text for t in policy.tables)
    ):
        return None
    number = privacy.planned_queries
    plan = replace(calibrate(privacy.epsilon, privacy.delta, hard_rounds=0, releases=number), questions=number)
    return plan if question_cost(plan, policy) > 0 else None


def _model_sd(plan: Plan, policy: Policy, table: TableDomain) -> float:
    """Sd (counts) foreseen for a typical question; without a warm start that of a paid answer."""
    if has_warm_start(policy, table):
        precision = warm_precision(plan, policy, table)
        return Forecast(table, precision, differences=measures_differences(policy)).typical_sd
    return float(plan.for_sensitivity(query_sensitivity(table), contingency_l2_squared(policy, table)).sigma)


def _model_plan(policy: Policy) -> Plan:
    if any(has_start(policy, table) for table in policy.tables):
        return _warm_plan(policy)
    privacy, mechanism = policy.privacy, policy.mechanism
    return calibrate(
        privacy.epsilon,
        privacy.delta,
        hard_rounds=HARD_ROUNDS if mechanism.hard_rounds is None else mechanism.hard_rounds,
        measure_share=MEASURE_SHARE,
        release_share=float(TOTAL_SHARE) if _private_totals(policy) else 0.0,
    )


def _warm_plan(policy: Policy) -> Plan:
    privacy, chosen = policy.privacy, policy.mechanism.hard_rounds
    share = float(policy.mechanism.warm_start)
    purse = privacy.delta * DELTA_SHARE if any(has_text_start(policy, t) for t in policy.tables) else Fraction(0)
    for rounds in WARM_HARD_ROUNDS if chosen is None else (chosen,):
        plan = calibrate(
            privacy.epsilon,
            privacy.delta,
            hard_rounds=rounds,
            release_share=share,
            delta_purse=purse,
            releases=_releases(policy),
        )
        if plan.hard_rounds == 0 or all(_threshold_is_high(plan, policy, table) for table in policy.tables):
            break
    return plan


def _releases(policy: Policy) -> int:
    """About how many releases the starts of all tables will make: row counts, columns, pairs, and three for a text."""
    number = 0
    for table in policy.tables:
        columns = sum(c.size > 1 for c in table.finite)
        number += 1 + columns + comb(columns, 2) + 3 * len(table.text)
    return number


def _threshold_is_high(plan: Plan, policy: Policy, table: TableDomain) -> bool:
    """Whether noise of a wide table's pairs alone will hardly ever make a test hard (mechanism: theta >= 5 sd)."""
    if not has_warm_start(policy, table) or is_narrow(table):
        return True
    l2_squared = contingency_l2_squared(policy, table)
    pairs = comb(sum(c.size > 1 for c in table.finite), 2)
    precision = warm_precision(plan, policy, table) * (1.0 - ONE_WAY_SHARE) / pairs
    net = plan.for_sensitivity(query_sensitivity(table), l2_squared)
    return net.threshold(policy.privacy.planned_queries, WARM_FALSE_ALARMS) >= THRESHOLD / sqrt(precision)


# --- what is measured before the first answer ---------------------------------------------------------------------


def has_start(policy: Policy, table: TableDomain) -> bool:
    """Whether contingencies of the table, or keys of its text columns, are measured before its first answer."""
    return has_warm_start(policy, table) or has_text_start(policy, table)


def has_warm_start(policy: Policy, table: TableDomain) -> bool:
    """Whether contingencies are: with two finite columns, or one beside text."""
    number = sum(column.size > 1 for column in table.finite)
    return strategy_named(policy.mechanism.strategy).starts and (number >= 2 or (number == 1 and bool(table.text)))


def has_text_start(policy: Policy, table: TableDomain) -> bool:
    """Whether frequent keys of the table's text columns are, each at its first touch."""
    return strategy_named(policy.mechanism.strategy).starts and bool(table.text)


def measures_differences(policy: Policy) -> bool:
    """Whether warm starts measure columns of two values as differences: not where replaced rows change them by 2."""
    return policy.privacy.neighbors == "add-remove"


def is_narrow(table: TableDomain) -> bool:
    """Whether the universe is small enough for one tensor."""
    return table.cells <= NARROW_CELLS


def warm_units(plan: Plan, policy: Policy, table: TableDomain) -> int:
    """Units for the contingencies of the table's warm start, row count excluded; 0 where questions are paid alone."""
    if plan.questions or not has_warm_start(policy, table):
        return 0
    return _start_units(plan, policy) - text_units(plan, policy, table)


def text_units(plan: Plan, policy: Policy, table: TableDomain) -> int:
    """Units for the first touches of the table's text columns, all together; 0 in a plan with no delta for them."""
    if plan.delta_purse == 0 or not has_text_start(policy, table):
        return 0
    number = sum(column.size > 1 for column in table.finite)
    share = {0: Fraction(1), 1: LONE_TEXT_SHARE}.get(number, min(Fraction(1, 2), TEXT_SHARE * len(table.text)))
    return int(_start_units(plan, policy) * share)


def _start_units(plan: Plan, policy: Policy) -> int:
    """What each table that has a start may spend on it."""
    return (plan.release_budget - _totals_purse(plan, policy)) // sum(has_start(policy, t) for t in policy.tables)


def warm_precision(plan: Plan, policy: Policy, table: TableDomain) -> float:
    """Sum of 1/sigma^2 (sigma in counts) over the contingencies of the table's warm start."""
    units = warm_units(plan, policy, table)
    l2_squared = contingency_l2_squared(policy, table)
    return float(plan.release_precision * units / plan.release_budget / l2_squared)


# --- noise for each question alone ------------------------------------------------------------------------------


def question_cost(plan: Plan, policy: Policy) -> int:
    """Units for the release that answers one question; 0 where the plan foresees none."""
    return (plan.release_budget - _totals_purse(plan, policy)) // plan.questions if plan.questions else 0


def question_sigma(plan: Plan, policy: Policy, table: TableDomain) -> Fraction:
    """Noise of each count in the release that answers one question, in counts."""
    return plan.release_sigma(question_cost(plan, policy), contingency_l2_squared(policy, table))


# --- row counts -------------------------------------------------------------------------------------------------


def row_count_is_public(policy: Policy, table: TableDomain) -> bool:
    """Whether the exact number of counted rows may be shown: the owner says so, and neighbours cannot change it."""
    return row_count_obstacle(table, policy.privacy.neighbors) is None


def total_cost(plan: Plan, policy: Policy, table: TableDomain) -> int:
    """Units for measuring the table's row count; 0 where it is public."""
    return 0 if row_count_is_public(policy, table) else _totals_purse(plan, policy) // _private_totals(policy)


def _totals_purse(plan: Plan, policy: Policy) -> int:
    if _private_totals(policy) == 0:
        return 0
    if plan.questions:
        return int(plan.release_budget * TOTAL_SHARE)
    if not any(has_start(policy, table) for table in policy.tables):
        return plan.release_budget
    return int(plan.release_budget * min(Fraction(1, 2), WARM_TOTAL_SHARE / policy.mechanism.warm_start))


def _private_totals(policy: Policy) -> int:
    return sum(not row_count_is_public(policy, table) for table in policy.tables)


def total_sigma(plan: Plan, policy: Policy, table: TableDomain) -> Fraction:
    """Noise of the released row count, in rows."""
    return plan.release_sigma(total_cost(plan, policy, table), contingency_l2_squared(policy, table))


# --- sensitivities ----------------------------------------------------------------------------------------------


def contingency_l2_squared(policy: Policy, table: TableDomain) -> int:
    """Squared L2 sensitivity of a contingency: c^2 for add-remove (c rows may share a cell), 2 c^2 for replace-one."""
    c = table.max_rows_per_unit if table.unit is not None else 1
    return c * c * (2 if policy.privacy.neighbors == "replace-one" else 1)


def query_sensitivity(table: TableDomain) -> int:
    """How much a linear query changes between neighbours: c, the rows of one unit, under both relations."""
    return table.max_rows_per_unit if table.unit is not None else 1
