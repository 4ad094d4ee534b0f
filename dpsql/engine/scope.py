"""Names that an engine is asked for, checked against the policy. The front end has bound them already.

Engines check again what the front end has checked: a wrong name must fail before a scan, not in it, and every engine
must say the same.
"""

from collections.abc import Callable, Sequence

from dpsql.domain import NumberDomain, TableDomain
from dpsql.errors import InternalError, PolicyError, UnknownName
from dpsql.policy import Policy
from dpsql.query import Interval


def private_table(policy: Policy, name: str) -> TableDomain:
    """The private table of that name, in any case."""
    table = policy.by_name.get(name.lower())
    if table is None:
        raise UnknownName(f"there is no table {name}", name=name, suggestions=[t.name for t in policy.tables])
    return table


def scope_of(table: TableDomain, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The finite columns in table order. UnknownName when one is not a finite column of the table."""
    known = {c.name for c in table.finite}
    for name in columns:
        if name not in known:
            raise UnknownName(f"{table.name} has no finite column {name}", name=name)
    if len(set(columns)) != len(columns):
        raise InternalError(f"a column is listed twice in a scope of {table.name}")
    return tuple(sorted(columns, key=table.order.__getitem__))


def number_of(table: TableDomain, column: str) -> NumberDomain:
    """A number column of the table that is read by its values. UnknownName when it is none."""
    domain = table.by_name.get(column.lower())
    if not isinstance(domain, NumberDomain) or not domain.is_binned:
        raise UnknownName(f"{table.name} has no number column {column}", name=column)
    return domain


def inside_of(table: TableDomain, intervals: Sequence[Interval]) -> list[tuple[NumberDomain, Interval]]:
    """Each interval with its number column. UnknownName when one is none."""
    return [(number_of(table, i.column), i) for i in intervals]


def text_columns_of(table: TableDomain, columns: tuple[str, ...]) -> None:
    """UnknownName when one is not a text column of the table, declared or derived."""
    for name in columns:
        if name not in table.text_names:
            raise UnknownName(f"{table.name} has no text column {name}", name=name)


def holder_of(table: TableDomain, column: str) -> None:
    """UnknownName when a column is neither the table's unit nor a text column: its different values are not counted."""
    if column != table.unit:
        text_columns_of(table, (column,))


def refuse_derived(policy: Policy, where: str) -> None:
    """PolicyError for a column that is worked out from others, ``where`` nothing is."""
    for table in policy.tables:
        for derived in table.derived:
            raise PolicyError(
                f"no column is derived {where}",
                path=f"tables.{table.name}.columns.{derived.name}.sql",
                hint="make a view that has the column, declare it without sql, and extract the view if need be",
            )


def check_row_counts(policy: Policy, is_base_table: Callable[[str], bool]) -> None:
    """PolicyError when the row count of a view is declared public: one replaced row behind it may enter or leave."""
    for table in policy.tables:
        if table.row_count == "public" and not is_base_table(table.name):
            raise PolicyError(
                "the number of rows of a view cannot be public: a replaced row may enter or leave it",
                path=f"tables.{table.name}.row_count",
                hint="leave row_count out, or declare the table behind the view",
            )
