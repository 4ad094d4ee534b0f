"""Where the rows of an extract come from: kept in the extract itself, as the comment of each of its tables.

Who extracts the same people twice has two files of different rows. The address of what both were made from says that
they are the same people; without it the second file would begin a second budget on them.
"""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256

from dpsql.domain import NumberDomain, TableDomain

_MARK = "dpsql extract, version 1, of"


@dataclass(frozen=True)
class Origin:
    """What one table of an extract was copied from. Public, as every table name is.

    ``address``: an absolute path or an address without its password. ``snapshot``: which state of it was read, in the
    words of the source. ``units``: :func:`units_of` the table that chose the rows of each unit; "" where none were
    left out. ``view``: whether it was a view, whose rows are more than those of one table.

    >>> origin = Origin("postgresql://db/clinic", "731:731:", "")
    >>> Origin.of(origin.comment) == origin, Origin.of("the patients"), Origin.of(None)
    (True, None, None)
    """

    address: str
    snapshot: str
    units: str = ""
    view: bool = False

    @property
    def comment(self) -> str:
        """The text that a table carries."""
        return json.dumps({_MARK: asdict(self)}, sort_keys=True)

    @classmethod
    def of(cls, comment: str | None) -> "Origin | None":
        """The origin that a table's comment tells; ``None`` for a table with another comment, or with none."""
        try:
            told = json.loads(comment or "")[_MARK]
            return cls(str(told["address"]), str(told["snapshot"]), str(told["units"]), bool(told["view"]))
        except (ValueError, TypeError, KeyError):
            return None


def units_of(table: TableDomain) -> str:
    """A digest of all that decides which rows of a unit are kept; "" for a table without a unit. Public.

    >>> from dpsql.domain import IntegerDomain
    >>> units_of(TableDomain("t", (IntegerDomain("a", 0, 9),)))
    ''
    """
    if table.unit is None:
        return ""
    null = tuple(c.name for c in table.columns if isinstance(c, NumberDomain) and c.outside == "null")
    told = (table.unit.lower(), table.max_rows_per_unit, table.columns, null)
    return sha256(repr(told).encode()).hexdigest()
