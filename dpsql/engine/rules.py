"""Which rules an engine keeps: how it knows data again, and which rows of a unit it counts.

A ledger keeps its rules for ever. An engine is told them when it is opened, and they are frozen then: another rule for
the rows of a unit is another table, and what was released under one says nothing of the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpsql.domain import ColumnDomain, DateDomain, NumberDomain
from dpsql.errors import LedgerError
from dpsql.policy import Policy

_NEWEST = 2
_KEYS = ("fingerprint", "unit_rows", "numbers")


@dataclass(frozen=True)
class Rules:
    """``fingerprint``: 2 is :mod:`dpsql.engine.values`, 1 was the DuckDB engine's own. ``unit_rows``: of the rows of a
    unit those with the smallest MD5 are kept, read as hexadecimal text (2) or as DuckDB's number of another text (1).
    ``numbers``: what a row of a binned column holds: its value, clipped (2), or the first value of its cell, and NULL
    for a number outside (1).

    >>> Rules.of({}) == Rules(), Rules.of({"policy": "of an earlier version"})
    (True, Rules(fingerprint=1, unit_rows=1, numbers=1))
    >>> Rules.of(Rules().header()) == Rules()
    True
    """

    fingerprint: int = _NEWEST
    unit_rows: int = _NEWEST
    numbers: int = _NEWEST

    def read(self, policy: Policy) -> Policy:
        """The policy with its binned columns read by these rules."""
        if self.numbers == _NEWEST:
            return policy
        tables = [replace(t, columns=tuple(_by_cells(c) for c in t.columns)) for t in policy.tables]
        return replace(policy, tables=tuple(tables))

    @classmethod
    def of(cls, stored: Mapping[str, str]) -> "Rules":
        """The rules of the ledger with this header; the newest where there is none. LedgerError: of a later version."""
        if not stored:
            return cls()
        found = {key: stored.get(key, "1") for key in _KEYS}
        known = {str(n): n for n in range(1, _NEWEST + 1)}
        unknown = next((f"{key} {text}" for key, text in found.items() if text not in known), None)
        if unknown is not None:
            raise LedgerError(
                f"the ledger keeps rules that this dpsql does not know: {unknown}",
                hint="open it with the dpsql version that wrote it",
            )
        return cls(**{key: known[text] for key, text in found.items()})

    def header(self) -> dict[str, str]:
        """What a ledger's header says of them."""
        return {key: str(getattr(self, key)) for key in _KEYS}


def _by_cells(column: ColumnDomain) -> ColumnDomain:
    match column:
        case NumberDomain():
            return replace(column, outside="null", reading="cell")
        case DateDomain():
            return replace(column, reading="cell")
        case _:
            return column
