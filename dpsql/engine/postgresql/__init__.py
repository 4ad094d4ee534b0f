"""PostgreSQL, read as one snapshot by its ADBC driver: an extra, loaded when it is first needed."""

from dpsql.engine.postgresql.connection import Snapshot, is_address

__all__ = ["Snapshot", "is_address"]
