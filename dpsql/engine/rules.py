"""Which rules an engine keeps: how it knows data again, and which rows of a unit it counts.

A ledger keeps its rules for ever. An engine is told them when it is opened, and they are frozen then: another rule for
the rows of a unit is another table, and what was released under one says nothing of the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dpsql.errors import LedgerError

_NEWEST = 2
_KEYS = ("fingerprint", "unit_rows")


@dataclass(frozen=True)
class Rules:
    """``fingerprint``: 2 is :mod:`dpsql.engine.values`, 1 was the DuckDB engine's own. ``unit_rows``: of the rows of a
    unit those with the smallest MD5 are kept, read as hexadecimal text (2) or as DuckDB's number of another text (1).

    >>> Rules.of({}) == Rules(), Rules.of({"policy": "of an earlier version"})
    (True, Rules(fingerprint=1, unit_rows=1))
    >>> Rules.of(Rules().header()) == Rules()
    True
    """

    fingerprint: int = _NEWEST
    unit_rows: int = _NEWEST

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
