"""Privacy accounting: curves, plans and the filter. Pure functions and frozen values; no randomness, no data.

A reader who doubts the privacy claim can check this package alone: nothing in it can touch a row, draw a coin or open a
file. The theorems are in docs/privacy.md.
"""

from dpsql.accounting.accountant import Accountant
from dpsql.accounting.calibration import calibrate
from dpsql.accounting.curve import (
    UNITS,
    approximate_hard_round_cost,
    epsilon_at,
    gaussian_cost,
    hard_round_cost,
    hard_round_curve,
    pure_cost,
    range_cost,
    units,
)
from dpsql.accounting.net import TABLE_MARGIN, TABLE_RANGE, Net
from dpsql.accounting.plan import Plan, Unshown
from dpsql.accounting.profile import SMOOTHING, delta_bound, noise_cost
from dpsql.accounting.selection import selection_threshold

__all__ = [
    "SMOOTHING",
    "TABLE_MARGIN",
    "TABLE_RANGE",
    "UNITS",
    "Accountant",
    "Net",
    "Plan",
    "Unshown",
    "approximate_hard_round_cost",
    "calibrate",
    "delta_bound",
    "epsilon_at",
    "gaussian_cost",
    "hard_round_cost",
    "hard_round_curve",
    "noise_cost",
    "pure_cost",
    "range_cost",
    "selection_threshold",
    "units",
]
