"""The only code that sees unreleased values: the test, the measurement, and where their randomness comes from.

It is small so that it can be read as a whole: a test searches the package for ``reveal`` and allows it here alone.
"""

from dpsql.mechanism.choice import choose, draw_weighted
from dpsql.mechanism.entropy import Entropy, SystemEntropy
from dpsql.mechanism.key_selection import compared_counts, drawn_alone, select_keys
from dpsql.mechanism.measure import measure
from dpsql.mechanism.public_row_count import public_row_count
from dpsql.mechanism.rounding import rounded_by_chance
from dpsql.mechanism.sparse_vector import Outcome, all_two_sided, two_sided
from dpsql.mechanism.threshold_test import ThresholdTest

__all__ = [
    "Entropy",
    "Outcome",
    "SystemEntropy",
    "ThresholdTest",
    "all_two_sided",
    "choose",
    "compared_counts",
    "draw_weighted",
    "drawn_alone",
    "measure",
    "public_row_count",
    "rounded_by_chance",
    "select_keys",
    "two_sided",
]
