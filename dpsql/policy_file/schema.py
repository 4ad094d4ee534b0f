"""What a draft is made from: tables and columns as the database's catalog describes them, no data.

It keeps the draft apart from the engine: one reads the catalog, the other writes text, and both can be tested alone.
"""

from typing import NamedTuple


class RowsEach(NamedTuple):
    """How ``rows`` with a value are spread over the ``values`` of a column: 95 % of these have at most ``usual`` rows,
    one has ``most``."""

    rows: int
    values: int
    usual: int
    most: int


class ColumnSchema(NamedTuple):
    """A column: its DuckDB type, whether it is NOT NULL, an ENUM's values, and whether it alone is a declared key.

    ``low``, ``high``, ``values``, ``middle`` (the median) and ``rows_each`` were read from the rows themselves
    (``--look-at-data``) and are ``None`` otherwise.
    """

    name: str
    sql_type: str
    not_null: bool = False
    enum_values: tuple[str, ...] = ()
    low: object = None
    high: object = None
    values: tuple[str, ...] | None = None
    middle: object = None
    rows_each: RowsEach | None = None
    is_key: bool = False

    @property
    def looked_at(self) -> bool:
        return any(seen is not None for seen in (self.low, self.high, self.values, self.rows_each))

    @property
    def is_distinct(self) -> bool:
        """Whether every row is known to have a value of its own."""
        return self.is_key or (self.rows_each is not None and self.rows_each.rows > 1 and self.rows_each.most == 1)


class TableSchema(NamedTuple):
    """A table and its columns in order.

    ``rows`` and ``describes`` were read from the rows themselves: their number, and the columns of larger tables, as
    ``trips.zone``, whose values are keys of this one.
    """

    name: str
    columns: tuple[ColumnSchema, ...]
    rows: int | None = None
    describes: tuple[str, ...] = ()
