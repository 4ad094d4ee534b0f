"""The SQL front end: text and parameters become blocks of linear queries and an outer statement, or a refusal."""

from dpsql.sql.frontend import FrontEnd, lower
from dpsql.sql.key_source import ReleasedKeys
from dpsql.sql.parameters import Parameters
from dpsql.sql.public_sql import GridColumn, PublicSql
from dpsql.sql.statement import Aggregate, AggregateType, Block, DirectColumn, Statement

__all__ = [
    "Aggregate",
    "AggregateType",
    "Block",
    "DirectColumn",
    "FrontEnd",
    "GridColumn",
    "Parameters",
    "PublicSql",
    "ReleasedKeys",
    "Statement",
    "lower",
]
