"""Private counts on a DuckDB database, and what an owner may ask of one while drafting a policy."""

from dpsql.engine.duckdb.drafting import (
    ColumnContent,
    ColumnDescription,
    TableDescription,
    count_rows,
    describe,
    look_at,
)
from dpsql.engine.duckdb.engine import DuckDbEngine

__all__ = [
    "ColumnContent",
    "ColumnDescription",
    "DuckDbEngine",
    "TableDescription",
    "count_rows",
    "describe",
    "look_at",
]
