"""Where the groups of a text column come from: strings that a key selection has released. Everything here is public.

Only a first touch knows these strings; the front end asks for them through this interface and stays without state of
its own.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

AskedKeys = Mapping[tuple[str, str], tuple[str | None, ...] | None]
"""What a source of keys said, by (table, text column); ``None``: not released yet."""


class ReleasedKeys(Protocol):
    """The released keys of text columns."""

    def keys(self, table: str, text_column: str) -> Sequence[str | None] | None:
        """The released strings (``None`` among them: NULL is a group) of a text column, declared or derived.

        ``None``: no selection was made yet. Distinct, in any order.
        """
        ...


class KeyLookup:
    """The keys that one statement asked a source for. Without a source no keys can be had (``possible`` is false).

    >>> lookup = KeyLookup(None)
    >>> lookup.possible, lookup.awaited
    (False, ())
    """

    def __init__(self, source: ReleasedKeys | None) -> None:
        self._source = source
        self._asked: dict[tuple[str, str], tuple[str | None, ...] | None] = {}

    @property
    def possible(self) -> bool:
        return self._source is not None

    @property
    def asked(self) -> AskedKeys:
        """What the source said so far."""
        return self._asked

    @property
    def awaited(self) -> tuple[tuple[str, str], ...]:
        """The (table, text column) pairs whose keys are not released yet, in the order they were asked for."""
        return tuple(column for column, keys in self._asked.items() if keys is None)

    def keys(self, table: str, text_column: str) -> tuple[str | None, ...] | None:
        """The released keys, or ``None``; the same throughout the statement."""
        column = (table, text_column)
        if column not in self._asked:
            found = None if self._source is None else self._source.keys(table, text_column)
            self._asked[column] = None if found is None else tuple(found)
        return self._asked[column]

    def agrees(self, asked: AskedKeys) -> bool:
        """Whether there is a source, and it says the same now to the questions of an earlier statement."""
        return not asked or (self.possible and all(self.keys(*column) == keys for column, keys in asked.items()))
