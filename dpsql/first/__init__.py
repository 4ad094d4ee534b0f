"""First touches: what is measured once for all sessions of a ledger, before anything else is answered.

A row count, the contingencies of a warm start, the frequent strings of a text column: in each file the fold of the
ledger's events stands above the function that measures. ``Turns`` lets one of several sessions do it while the others
wait; ``Purses`` checks that the budget covers it.
"""

from dpsql.first.bench import GRID_CELLS, Bench
from dpsql.first.listed import read_listed
from dpsql.first.purses import ON_DEMAND, Purses, Used
from dpsql.first.row_count import check_row_count, measure_row_count, published_row_count
from dpsql.first.text_start import measure_strings
from dpsql.first.touches import Touches
from dpsql.first.turns import Turns
from dpsql.first.warm_start import Progress, measure_contingencies

__all__ = [
    "GRID_CELLS",
    "ON_DEMAND",
    "Bench",
    "Progress",
    "Purses",
    "Touches",
    "Turns",
    "Used",
    "check_row_count",
    "measure_contingencies",
    "measure_row_count",
    "measure_strings",
    "published_row_count",
    "read_listed",
]
