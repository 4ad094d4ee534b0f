"""The one exact number that may leave: a table's row count under replace-one neighbours."""

from dpsql.domain import TableDomain
from dpsql.errors import InternalError
from dpsql.private import Private
from dpsql.query import Counts


def public_total(rows: Private[Counts], neighbors: str, table: TableDomain) -> int:
    """The exact number of counted rows (a 0-d contingency), where all neighbours have equally many.

    That is under replace-one, for rows as privacy units, when no column is ``nullable = false`` (rows outside such a
    column's domain are not counted). ``InternalError`` in every other case: there the count is measured.
    """
    if neighbors != "replace-one" or table.unit is not None or not all(c.nullable for c in table.columns):
        raise InternalError("this table's row count is private")
    return int(rows.reveal())
