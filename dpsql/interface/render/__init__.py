"""Results, budgets, plans and listings as text, for people and for programs.

Interfaces differ in how they ask, not in what an answer looks like; everything that is shown is drawn here.
"""

from typing import Literal, get_args

from dpsql.interface.render.style import Style

Format = Literal["table", "csv", "json", "jsonl", "parquet", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)

__all__ = ["FORMATS", "Format", "Style"]
