"""Results, budgets, plans and listings as text, for people and for programs.

Interfaces differ in how they ask, not in what an answer looks like; everything that is shown is drawn here.
"""

from typing import Literal, get_args

from dpsql.interface.render.style import Style

Format = Literal["table", "csv", "json", "jsonl", "parquet", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)
WITH_NOTES: tuple[Format, ...] = ("table", "markdown")
"""Formats that people read: notes stand in the text. Those of other formats go beside it."""

__all__ = ["FORMATS", "WITH_NOTES", "Format", "Style"]
