"""When the exact number of a table's rows may be shown: one rule, for the policy, the plan and the mechanism alike.

It stands at the bottom because all of them need it: a plan that measured no count while the mechanism measured one, or
the other way round, would answer from nothing or reveal what was never declared.
"""

from dpsql.domain.table import TableDomain


def row_count_obstacle(table: TableDomain, neighbors: str) -> str | None:
    """Why the exact number of counted rows is private; ``None`` where it may be shown. Public.

    The owner must have declared it public, and no neighbour may change it (docs/privacy.md, "Who is protected"):
    that needs replace-one, rows as units, and no column whose values decide whether a row is counted. That the table
    is no view is for the engine to say.

    >>> from dpsql.domain import BooleanDomain
    >>> row_count_obstacle(TableDomain("t", (BooleanDomain("b"),)), "replace-one")
    'the policy does not declare it public'
    >>> declared = TableDomain("t", (BooleanDomain("b"),), row_count="public")
    >>> row_count_obstacle(declared, "add-remove"), row_count_obstacle(declared, "replace-one")
    ('under add-remove a neighbour has one row more or less', None)
    """
    if table.row_count != "public":
        return "the policy does not declare it public"
    if neighbors != "replace-one":
        return "under add-remove a neighbour has one row more or less"
    if table.unit is not None:
        return f"one {table.unit} may have more rows than another"
    dropping = next((column.name for column in table.columns if not column.nullable), None)
    if dropping is not None:
        return f"{dropping} is nullable = false, so that a row's values decide whether it is counted"
    return None
