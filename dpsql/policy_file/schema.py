"""What a draft is made from: tables and columns as the database's catalog describes them, no data.

It keeps the draft apart from the engine: one reads the catalog, the other writes text, and both can be tested alone.
"""

from typing import NamedTuple


class ColumnSchema(NamedTuple):
    """A column: its DuckDB type, whether it is NOT NULL, and an ENUM's values.

    ``low``, ``high`` and ``values`` were read from the rows themselves (``--look-at-data``) and are ``None`` otherwise.
    """

    name: str
    sql_type: str
    not_null: bool = False
    enum_values: tuple[str, ...] = ()
    low: object = None
    high: object = None
    values: tuple[str, ...] | None = None

    @property
    def looked_at(self) -> bool:
        return self.low is not None or self.high is not None or self.values is not None


class TableSchema(NamedTuple):
    """A table and its columns in order."""

    name: str
    columns: tuple[ColumnSchema, ...]
