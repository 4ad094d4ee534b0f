"""Public work in a locked, empty DuckDB: the only place where analyst text is evaluated. It sees no engine."""

from dpsql.public.locked_duckdb import DuckDbPublicSql

__all__ = ["DuckDbPublicSql"]
