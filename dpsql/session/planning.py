"""The session's plan from public numbers only: how many hard rounds, which shares. Fixed when a ledger is created."""

from fractions import Fraction

from dpsql.accounting import Plan, calibrate
from dpsql.domain import TableDomain
from dpsql.policy import Policy

HARD_ROUNDS = 20
MEASURE_SHARE = 0.6
"""Share of a hard round's precision for its measurement (docs/decisions/0003-hard-rounds.md)."""
TOTAL_SHARE = 0.02
"""Share of the squared precision for the tables' row counts under add-remove, split evenly between the tables."""


def make_plan(policy: Policy) -> Plan:
    """The plan of a new ledger. PolicyError when epsilon is too small for it."""
    privacy, mechanism = policy.privacy, policy.mechanism
    return calibrate(
        privacy.epsilon,
        privacy.delta,
        hard_rounds=HARD_ROUNDS if mechanism.hard_rounds is None else mechanism.hard_rounds,
        measure_share=MEASURE_SHARE,
        release_share=TOTAL_SHARE if privacy.neighbors == "add-remove" else 0.0,
    )


def total_cost(plan: Plan, policy: Policy) -> int:
    """Units for measuring the row count of one table; 0 under replace-one, where it is public."""
    if policy.privacy.neighbors == "replace-one":
        return 0
    return plan.release_budget // max(len(policy.tables), 1)


def contingency_l2_squared(policy: Policy, table: TableDomain) -> int:
    """Squared L2 sensitivity of a contingency: c^2 for add-remove (c rows may share a cell), 2 c^2 for replace-one."""
    c = table.max_rows_per_unit if table.unit is not None else 1
    return c * c * (2 if policy.privacy.neighbors == "replace-one" else 1)


def query_sensitivity(table: TableDomain) -> int:
    """How much a linear query changes between neighbours: c, the rows of one unit, under both relations."""
    return table.max_rows_per_unit if table.unit is not None else 1


def total_sigma(plan: Plan, policy: Policy, table: TableDomain) -> Fraction:
    """Noise of the released row count, in rows."""
    return plan.release_sigma(total_cost(plan, policy), contingency_l2_squared(policy, table))
