"""Where the groups of a text column come from: strings that a key selection has released. Everything here is public.

Only a first touch knows these strings; the front end asks for them through this interface and stays without state of
its own.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from dpsql.domain import TableDomain
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.string_predicates import text_refusal, unshown_refusal

ReleasedRows = Mapping[str, pa.Table]
"""Answers of statements inside another, by their texts."""
AskedKeys = Mapping[tuple[str, str], tuple[str | None, ...] | None]
"""What a source of keys said, by (table, text column); ``None``: not released yet."""


class ReleasedKeys(Protocol):
    """The released keys of text columns."""

    def keys(self, table: str, text_column: str) -> Sequence[str | None] | None:
        """The released strings (``None`` among them: NULL is a group) of a text column, declared or derived.

        ``None``: no selection was made yet. Distinct, in any order.
        """
        ...

    def shown_from(self, table: str, text_column: str) -> int | None:
        """From how many rows on a string could be shown, where the owner says that none has as many, and so none is
        ever selected; else ``None``. Known without asking a row."""
        ...


class KeyLookup:
    """The keys that one statement asked a source for. Without a source no keys can be had.

    ``rows``: what statements inside it, by their texts, were answered; ``None``: there may be no such statements.
    ``first``: the texts of those that are to be answered before it.

    >>> lookup = KeyLookup(None)
    >>> lookup.keys("t", "name"), lookup.awaited
    (None, (('t', 'name'),))
    """

    def __init__(self, source: ReleasedKeys | None, rows: ReleasedRows | None = None) -> None:
        self._source, self._rows = source, rows
        self.first: dict[str, None] = {}
        self._asked: dict[tuple[str, str], tuple[str | None, ...] | None] = {}

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

    def check(self, text: str, bound: Bound, table: TableDomain, column: str, keyed_by: str) -> None:
        """UnsupportedQuery, at no charge, for what ``bound`` asks of every string where none is or will be released.

        ``column``: the text column; ``keyed_by``: it, or its prefix of which strings are asked for.
        """
        if self._source is None:
            raise text_refusal(text, bound, column, table)
        least = self._source.shown_from(table.name, keyed_by)
        if least is not None:
            raise unshown_refusal(text, column, table, least)

    @property
    def in_steps(self) -> bool:
        """Whether statements inside may be answered before the one around them."""
        return self._rows is not None

    def alone(self) -> "KeyLookup":
        """For a statement inside: the same source, and what it asks first is its own affair."""
        return KeyLookup(self._source, self._rows)

    def rows(self, text: str) -> pa.Table | None:
        """What a statement inside was answered; ``None``, noted in ``first``, before it was."""
        found = (self._rows or {}).get(text)
        if found is None:
            self.first[text] = None
        return found

    def agrees(self, asked: AskedKeys) -> bool:
        """Whether there is a source, and it says the same now to the questions of an earlier statement."""
        return not asked or (
            self._source is not None and all(self.keys(*column) == keys for column, keys in asked.items())
        )
