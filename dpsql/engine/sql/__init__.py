"""The private questions on any SQL database: one engine, and for each database a dialect and a connection."""

from dpsql.engine.sql.engine import SqlEngine

__all__ = ["SqlEngine"]
