"""PIVOT and UNPIVOT: other ways to write a GROUP BY with filters, and a UNION ALL."""

from dpsql.sql.blocks.pivots.source import Source
from dpsql.sql.blocks.pivots.turning import turned, turned_entry

__all__ = ["Source", "turned", "turned_entry"]
