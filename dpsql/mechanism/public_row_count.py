"""The one exact number that may leave: a row count that the owner declares public and neighbours cannot change.

The policy and the plan ask the same rule before; it is asked again here because only this module opens the count.
"""

from dpsql.domain import TableDomain, row_count_obstacle
from dpsql.errors import InternalError
from dpsql.private import Private
from dpsql.query import Counts


def public_row_count(rows: Private[Counts], neighbors: str, table: TableDomain, *, is_base_table: bool) -> int:
    """The exact number of counted rows (a 0-d contingency) of a base table whose row count is public.

    ``InternalError`` in every other case, and always for a view: a replaced row may leave it. There the count is
    measured.
    """
    if not is_base_table or row_count_obstacle(table, neighbors) is not None:
        raise InternalError("this table's row count is private")
    return int(rows.reveal())
