"""Private counts on a DuckDB database, and what an owner may ask of one while drafting a policy."""

from dpsql.engine.duckdb.drafting import (
    ColumnContent,
    ColumnDescription,
    TableDescription,
    count_rows,
    declared_keys,
    describe,
    hidden_tables,
    look_at,
    rows_each,
    share_found,
)
from dpsql.engine.duckdb.engine import DuckDbEngine
from dpsql.engine.duckdb.importing import database_of, import_rows, is_file_of_rows, is_parquet, table_of
from dpsql.engine.duckdb.reader import open_read_only

__all__ = [
    "ColumnContent",
    "ColumnDescription",
    "DuckDbEngine",
    "TableDescription",
    "count_rows",
    "database_of",
    "declared_keys",
    "describe",
    "hidden_tables",
    "import_rows",
    "is_file_of_rows",
    "is_parquet",
    "look_at",
    "open_read_only",
    "rows_each",
    "share_found",
    "table_of",
]
