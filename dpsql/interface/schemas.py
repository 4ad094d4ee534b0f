"""A database's tables as a draft of a policy takes them: from the catalog, or with a look at the rows.

The second way discloses values of single rows to whoever reads the policy, so only commands of the owner come here.
"""

from collections.abc import Iterable, Iterator, Sequence
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


def looked_at(database: "Opened", schemas: "Sequence[TableSchema]") -> "list[TableSchema]":
    """The same with ranges, lists and what refers to what read from the rows, which a policy then makes public."""
    from dpsql.engine.duckdb import count_rows

    tables = [_seen(database, s, count_rows(database, s.name)) for s in schemas]
    return [t._replace(describes=tuple(_described(database, t, tables))) for t in tables]


def _seen(database: "Opened", schema: "TableSchema", rows: int) -> "TableSchema":
    from dpsql.engine.duckdb import look_at, rows_each
    from dpsql.policy_file import LARGEST_LOOKUP, RowsEach, TableSchema, may_tell_people

    columns = []
    for column in schema.columns:
        seen = look_at(database, schema.name, column.name)
        strings = None if seen.values is None else tuple(v for v in seen.values if isinstance(v, str))
        wanted = rows <= LARGEST_LOOKUP or may_tell_people(column)
        each = rows_each(database, schema.name, column.name) if wanted else None
        columns.append(
            column._replace(
                low=seen.low,
                high=seen.high,
                middle=seen.middle,
                values=strings or None,
                rows_each=None if each is None else RowsEach(*each),
            )
        )
    return TableSchema(schema.name, tuple(columns), rows)


def _described(database: "Opened", small: "TableSchema", tables: "Sequence[TableSchema]") -> "Iterator[str]":
    """The columns of larger tables whose values are keys of this one, but for a few."""
    from dpsql.engine.duckdb import share_found
    from dpsql.policy_file import FOUND, may_describe

    for large in tables:
        for key, column in may_describe(small, large):
            if share_found(database, large.name, column, small.name, key) >= FOUND:
                yield f"{large.name}.{column}"
