"""What the database's catalog says: names, types, and what stands behind a view. Reads no rows."""

from dpsql.engine.duckdb.catalog.catalog import (
    Catalog,
    attached_files,
    check_columns,
    described,
    missing,
    own_file,
    private_sources,
    public_sources,
    stored_tables,
    tables_behind,
)
from dpsql.engine.duckdb.catalog.source import Source
from dpsql.engine.duckdb.catalog.views import base_tables

__all__ = [
    "Catalog",
    "Source",
    "attached_files",
    "base_tables",
    "check_columns",
    "described",
    "missing",
    "own_file",
    "private_sources",
    "public_sources",
    "stored_tables",
    "tables_behind",
]
