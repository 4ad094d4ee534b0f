"""Columns that the owner derives from others of the same row, as a tree of operations. Public.

An expression of the policy is read into this tree (``dpsql.sql.derived``) and written for an engine from it, so what is
checked is what is run. It knows no operation that could fail on a row: an error would tell of the row that caused it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Sort = Literal["text", "number", "boolean", "moment"]
"""What an operation takes and gives. Numbers are doubles, moments are days or timestamps in UTC."""
Constant = str | float | bool | datetime | None

FIXED: dict[str, tuple[tuple[Sort, ...], Sort]] = {
    "+": (("number", "number"), "number"),
    "-": (("number", "number"), "number"),
    "*": (("number", "number"), "number"),
    "/": (("number", "number"), "number"),
    "%": (("number", "number"), "number"),
    "negative": (("number",), "number"),
    "abs": (("number",), "number"),
    "floor": (("number",), "number"),
    "ceil": (("number",), "number"),
    "round": (("number",), "number"),
    "||": (("text", "text"), "text"),
    "lower": (("text",), "text"),
    "upper": (("text",), "text"),
    "trim": (("text",), "text"),
    "ltrim": (("text",), "text"),
    "rtrim": (("text",), "text"),
    "length": (("text",), "number"),
    "contains": (("text", "text"), "boolean"),
    "starts_with": (("text", "text"), "boolean"),
    "ends_with": (("text", "text"), "boolean"),
    "like": (("text", "text"), "boolean"),
    "ilike": (("text", "text"), "boolean"),
    "number": (("text",), "number"),
    "and": (("boolean", "boolean"), "boolean"),
    "or": (("boolean", "boolean"), "boolean"),
    "not": (("boolean",), "boolean"),
    "year": (("moment",), "number"),
    "quarter": (("moment",), "number"),
    "month": (("moment",), "number"),
    "day": (("moment",), "number"),
    "hour": (("moment",), "number"),
    "minute": (("moment",), "number"),
    "isodow": (("moment",), "number"),
}
"""Operations with arguments of fixed sorts, and what they give."""
ALIKE: dict[str, Sort | None] = {
    "=": "boolean",
    "<>": "boolean",
    "<": "boolean",
    "<=": "boolean",
    ">": "boolean",
    ">=": "boolean",
    "in": "boolean",
    "coalesce": None,
    "nullif": None,
}
"""Operations with arguments of one sort, whichever; ``None``: they give that sort. ``case`` and ``is null`` are beside
them: the first has conditions and values in turn and may end in another value."""


@dataclass(frozen=True)
class Expression:
    """One operation on ``parts``, or the column or constant in ``value``."""

    operation: str
    parts: tuple["Expression", ...] = ()
    value: Constant = None

    @property
    def columns(self) -> Iterator[str]:
        """The names of the columns in it, as written; a name may come several times."""
        if self.operation == "column":
            yield str(self.value)
        for part in self.parts:
            yield from part.columns


@dataclass(frozen=True)
class Derived:
    """A declared column whose values are worked out; ``sql`` is what the owner wrote."""

    name: str
    sql: str
    expression: Expression = field(repr=False)
