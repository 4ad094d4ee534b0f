"""Engines: the private counts on DuckDB, its in-memory twin, and the locked DuckDB for public SQL."""

from dpsql.engine.drafting import ColumnContent, ColumnDescription, TableDescription, count_rows, describe, look_at
from dpsql.engine.duckdb_engine import DuckDbEngine
from dpsql.engine.duckdb_public_sql import DuckDbPublicSql
from dpsql.engine.memory_engine import MemoryEngine
from dpsql.engine.protocol import Engine

__all__ = [
    "ColumnContent",
    "ColumnDescription",
    "DuckDbEngine",
    "DuckDbPublicSql",
    "Engine",
    "MemoryEngine",
    "TableDescription",
    "count_rows",
    "describe",
    "look_at",
]
