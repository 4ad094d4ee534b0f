"""Rows of a private table that a SELECT yields: nobody sees them, a block counts them."""

from dpsql.sql.blocks.rows.projection import projection
from dpsql.sql.blocks.rows.units import lists_units, unit_rows

__all__ = ["lists_units", "projection", "unit_rows"]
