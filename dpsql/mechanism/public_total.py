"""The one exact number that may leave: a table's row count under replace-one neighbours."""

from dpsql.errors import InternalError
from dpsql.private import Private
from dpsql.query import Counts


def public_total(rows: Private[Counts], neighbors: str) -> int:
    """The exact number of rows (a 0-d contingency). Public because neighbours under replace-one have equally many.

    ``InternalError`` under any other relation: there the count is measured like anything else.
    """
    if neighbors != "replace-one":
        raise InternalError("the row count is private under add-remove")
    return int(rows.reveal())
