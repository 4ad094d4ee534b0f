"""Post-processing of released numbers: nothing here sees a private value, nothing here is charged.

What is done to released numbers costs nothing and needs no proof; keeping it out of the session keeps the session's
steps countable.
"""

from dpsql.postprocess.combine import (
    added,
    are_rows_of,
    combine,
    divide,
    line_in,
    merged_source,
    narrowed,
    shown_count,
    sum_in,
)
from dpsql.postprocess.released import released_array, released_table, shown_values

__all__ = [
    "added",
    "are_rows_of",
    "combine",
    "divide",
    "line_in",
    "merged_source",
    "narrowed",
    "released_array",
    "released_table",
    "shown_count",
    "shown_values",
    "sum_in",
]
