"""Conditions on binned columns: the points at which they are looked at, and the queries that these make. Public."""
