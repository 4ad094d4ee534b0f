"""Derived text columns: the first characters of a text column, for the lengths that the policy declares. Public.

A character is a Unicode code point, as in DuckDB's ``left`` and in Python's slices: a letter with a combining accent
is two. A string that is shorter than the length stays whole, and NULL stays NULL.
"""

from typing import NamedTuple

LONGEST_PREFIX = 64
"""Characters that a policy can declare: a longer prefix is as good as the whole string."""


class Prefix(NamedTuple):
    """The first ``length`` characters of the text column ``column``.

    >>> Prefix("ext", 2).name, Prefix("ext", 2).of("e"), Prefix("ext", 2).of(None)
    ('ext[:2]', 'e', None)
    """

    column: str
    length: int

    @property
    def name(self) -> str:
        """The derived column's name; analysts cannot write it, as columns are looked up among the declared ones."""
        return f"{self.column}[:{self.length}]"

    def of(self, string: str | None) -> str | None:
        """The derived value of a string."""
        return None if string is None else string[: self.length]
