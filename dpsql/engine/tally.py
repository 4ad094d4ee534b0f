"""How many rows of a table its policy counts, and why not the others. For the owner alone: exact counts of rows.

A policy that drops half of the rows answers as calmly as one that drops none; its owner must be able to see it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class RowTally:
    """Rows of one private table, exact and PRIVATE. ``rows = counted + left_out + beyond_cap``.

    ``left_out``: without a declared value in a column that is not nullable. Of all others: ``beyond_cap``, more than
    ``max_rows_per_unit`` of one unit; ``units`` of them, ``units_beyond_cap`` with more; ``without_unit`` whose unit is
    NULL, which are one of the units. Without a privacy unit these four are 0.
    """

    rows: int
    left_out: int
    beyond_cap: int = 0
    units: int = 0
    units_beyond_cap: int = 0
    without_unit: int = 0

    @property
    def counted(self) -> int:
        """Rows that answers speak of."""
        return self.rows - self.left_out - self.beyond_cap
