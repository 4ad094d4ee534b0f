"""The SQL front end: text and parameters become blocks of linear queries and an outer statement, or a refusal.

It knows declared columns and public values, no data and no budget: what it refuses is refused before anything could be
spent.
"""

from dpsql.sql.counting.key_source import ReleasedKeys
from dpsql.sql.derived import derived_expression
from dpsql.sql.frontend import FrontEnd, lower
from dpsql.sql.public_sql import GridColumn, PublicSql
from dpsql.sql.statement import Aggregate, Block, DirectColumn, Statement

__all__ = [
    "Aggregate",
    "Block",
    "DirectColumn",
    "FrontEnd",
    "GridColumn",
    "PublicSql",
    "ReleasedKeys",
    "Statement",
    "derived_expression",
    "lower",
]
