"""The session's plan from public numbers only: how many hard rounds, which shares. Fixed when a ledger is created."""

from fractions import Fraction

from dpsql.accounting import Plan, calibrate
from dpsql.domain import TableDomain
from dpsql.policy import Policy

HARD_ROUNDS = 20
MEASURE_SHARE = 0.65
"""Share of a hard round's precision for its measurement (docs/decisions/0003-hard-rounds.md)."""
FALSE_ALARMS = 0.5
"""Share of the hard rounds that a perfect hypothesis may lose: lower thresholds repair the model sooner."""
TOTAL_SHARE = 0.02
"""Share of the squared precision for the row counts that are private, split evenly between their tables."""


def make_plan(policy: Policy) -> Plan:
    """The plan of a new ledger. PolicyError when epsilon is too small for it."""
    privacy, mechanism = policy.privacy, policy.mechanism
    return calibrate(
        privacy.epsilon,
        privacy.delta,
        hard_rounds=HARD_ROUNDS if mechanism.hard_rounds is None else mechanism.hard_rounds,
        measure_share=MEASURE_SHARE,
        release_share=TOTAL_SHARE if _private_totals(policy) else 0.0,
    )


def row_count_is_public(policy: Policy, table: TableDomain) -> bool:
    """Whether neighbours always have equally many counted rows, so that the exact number may be shown.

    Only when rows are replaced one by one and none can leave the count: a replaced unit may bring another number of
    rows, and a row outside the domain of a ``nullable = false`` column is not counted.
    """
    whole = table.unit is None and all(column.nullable for column in table.columns)
    return policy.privacy.neighbors == "replace-one" and whole


def total_cost(plan: Plan, policy: Policy, table: TableDomain) -> int:
    """Units for measuring the table's row count; 0 where it is public."""
    return 0 if row_count_is_public(policy, table) else plan.release_budget // _private_totals(policy)


def _private_totals(policy: Policy) -> int:
    return sum(not row_count_is_public(policy, table) for table in policy.tables)


def contingency_l2_squared(policy: Policy, table: TableDomain) -> int:
    """Squared L2 sensitivity of a contingency: c^2 for add-remove (c rows may share a cell), 2 c^2 for replace-one."""
    c = table.max_rows_per_unit if table.unit is not None else 1
    return c * c * (2 if policy.privacy.neighbors == "replace-one" else 1)


def query_sensitivity(table: TableDomain) -> int:
    """How much a linear query changes between neighbours: c, the rows of one unit, under both relations."""
    return table.max_rows_per_unit if table.unit is not None else 1


def total_sigma(plan: Plan, policy: Policy, table: TableDomain) -> Fraction:
    """Noise of the released row count, in rows."""
    return plan.release_sigma(total_cost(plan, policy, table), contingency_l2_squared(policy, table))
