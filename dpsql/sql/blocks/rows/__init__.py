"""Rows of a private table that a SELECT yields: nobody sees them, a block counts them."""

from dpsql.sql.blocks.rows.projection import projection

__all__ = ["projection"]
