"""Extracts: an owner's copy of private tables, from wherever they are, in one DuckDB file that dpsql reads."""

from dpsql.engine.extracting.extract import extract
from dpsql.engine.extracting.source import Reading, Relation, Source

__all__ = ["Reading", "Relation", "Source", "extract"]
