"""Privacy accounting: curves, plans and the filter. Pure functions and frozen values; no randomness, no data."""

from dpsql.accounting.accountant import MEASUREMENTS, RELEASES, TESTS, Accountant, Purse
from dpsql.accounting.calibration import calibrate
from dpsql.accounting.curve import (
    UNITS,
    approximate_hard_round_cost,
    epsilon_at,
    gaussian_cost,
    hard_round_cost,
    hard_round_curve,
    pure_cost,
    units,
)
from dpsql.accounting.net import TABLE_MARGIN, Net
from dpsql.accounting.plan import Plan
from dpsql.accounting.selection import selection_threshold

__all__ = [
    "MEASUREMENTS",
    "RELEASES",
    "TABLE_MARGIN",
    "TESTS",
    "UNITS",
    "Accountant",
    "Net",
    "Plan",
    "Purse",
    "approximate_hard_round_cost",
    "calibrate",
    "epsilon_at",
    "gaussian_cost",
    "hard_round_cost",
    "hard_round_curve",
    "pure_cost",
    "selection_threshold",
    "units",
]
