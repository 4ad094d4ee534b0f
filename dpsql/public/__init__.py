"""Public work in a locked, empty DuckDB: the only place where analyst text is evaluated. It sees no engine.

Predicates of analysts are evaluated here over the policy's public values, never over rows; that the package cannot
import an engine is checked.
"""

from dpsql.public.locked_duckdb import DuckDbPublicSql

__all__ = ["DuckDbPublicSql"]
