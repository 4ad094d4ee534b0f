"""Which tables of a database a draft proposes as public: small ones that say what the codes of a larger one mean.

A table of zones or tariffs that is declared private takes a share of epsilon and cannot be joined. A table of people
must not be taken for one, so names decide first, and what was found in the rows comes second.
"""

from collections.abc import Sequence

from dpsql.policy_file.schema import TableSchema
from dpsql.policy_file.units import declared_unit, speaks_of_people

LARGEST_LOOKUP = 10_000
"""Rows of a table that is proposed as public, at most."""
MANY_TIMES = 10
"""Rows that a table has at least for each row of one that describes its codes."""
FOUND = 0.95
"""The share of a column's rows whose value a table has as a key, at least, before it is said to describe the column."""


def proposed_public(tables: Sequence[TableSchema]) -> dict[str, str]:
    """Names of tables that a draft proposes as public, and the columns whose codes they describe, as ``trips.zone``.

    None where no row was looked at. Never a table that is named after people or that has a column that may tell them
    apart.
    """
    found = [t for t in tables if t.describes and t.name.isprintable() and not _is_about_people(t)]
    return {t.name: ", ".join(t.describes) for t in found}


def may_describe(small: TableSchema, large: TableSchema) -> tuple[tuple[str, str], ...]:
    """(key of the small table, column of the large one) by which the first may describe codes of the second.

    The names are equal, or ``zones.id`` describes ``zone_id``; the key is different in every row.

    >>> from dpsql.policy_file.schema import ColumnSchema
    >>> zones = TableSchema("zones", (ColumnSchema("id", "INTEGER", is_key=True),), rows=6)
    >>> may_describe(zones, TableSchema("trips", (ColumnSchema("zone_id", "INTEGER"),), rows=3000))
    (('id', 'zone_id'),)
    """
    if small.rows is None or large.rows is None or small.rows > LARGEST_LOOKUP or _is_about_people(small):
        return ()
    if not 0 < small.rows * MANY_TIMES <= large.rows:
        return ()
    keys = [c for c in small.columns if c.is_distinct and (c.rows_each is None or c.rows_each.rows == small.rows)]
    return tuple(
        (k.name, c.name) for k in keys for c in large.columns if c.name.lower() in _names_of(k.name, small.name)
    )


def _names_of(key: str, table: str) -> frozenset[str]:
    """What a column that refers to the key is called, in lower case."""
    key, table = key.lower(), table.lower()
    if key not in ("id", "code", "key"):
        return frozenset([key])
    return frozenset(f"{one}_{key}" for one in (table, table.removesuffix("s"), table.removesuffix("es")))


def _is_about_people(table: TableSchema) -> bool:
    names = (table.name, *(c.name for c in table.columns))
    return declared_unit(table) is not None or any(map(speaks_of_people, names))
