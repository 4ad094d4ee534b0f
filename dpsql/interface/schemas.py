"""A database's tables as a draft of a policy takes them: from the catalog, or with a look at the rows.

The second way discloses values of single rows to whoever reads the policy, so only commands of the owner come here.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from dpsql.engine.duckdb import ColumnDescription
    from dpsql.policy_file import TableSchema

    Opened = Path | DuckDBPyConnection


def described(database: "Opened", name: str, columns: Iterable["ColumnDescription"]) -> "TableSchema":
    """A table from the catalog alone; its keys are those that the schema declares."""
    from dpsql.engine.duckdb import declared_keys
    from dpsql.policy_file import ColumnSchema, TableSchema

    keys = declared_keys(database, name)
    return TableSchema(name, tuple(ColumnSchema(*c)._replace(is_key=c.name in keys) for c in columns))


def looked_at(database: "Opened", schema: "TableSchema") -> "TableSchema":
    """The same with ranges and lists read from the rows, which a policy then makes public."""
    from dpsql.engine.duckdb import look_at, rows_each
    from dpsql.policy_file import RowsEach, TableSchema, may_tell_people

    columns = []
    for column in schema.columns:
        seen = look_at(database, schema.name, column.name)
        strings = None if seen.values is None else tuple(v for v in seen.values if isinstance(v, str))
        each = rows_each(database, schema.name, column.name) if may_tell_people(column) else None
        columns.append(
            column._replace(
                low=seen.low,
                high=seen.high,
                middle=seen.middle,
                values=strings or None,
                rows_each=None if each is None else RowsEach(*each),
            )
        )
    return TableSchema(schema.name, tuple(columns))
