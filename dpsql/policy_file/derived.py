"""Columns of the policy file that are worked out from others: ``is_mix = { type = "boolean", sql = "..." }``.

The owner's SQL is read here once; what it may be is said in ``dpsql.sql.derived``.
"""

from collections.abc import Sequence

from dpsql.domain import Derived
from dpsql.errors import PolicyError
from dpsql.policy_file.toml_table import TomlTable


def read_derived(name: str, keys: TomlTable) -> Derived:
    """What the column's key ``sql`` says; PolicyError at that key otherwise."""
    if keys.value("type", 'type = "boolean"') == "text":
        keys.refuse("sql", "a column of type text is not derived", "declare its values: a category")
    sql = keys.string("sql", "sql = \"species LIKE '%Mix%'\"")
    from dpsql.sql import derived_expression  # here, so that ``import dpsql`` does not load sqlglot

    try:
        return Derived(name, sql, derived_expression(sql))
    except PolicyError as error:
        keys.refuse("sql", error.message, error.hint or "write one expression over the row's columns")


def check_derived(table: str, unit: str | None, derived: Sequence[Derived]) -> tuple[Derived, ...]:
    """The same; PolicyError where one is worked out from another, or is the unit."""
    names = {d.name.lower() for d in derived}
    for d in derived:
        path = f"tables.{table}.columns.{d.name}.sql"
        again = next((c for c in d.expression.columns if c.lower() in names), None)
        if again is not None:
            raise PolicyError(f"{again} is derived itself", path=path, hint="write out what it is worked out from")
        if unit is not None and unit.lower() == d.name.lower():
            raise PolicyError("the unit is a column of the table", path=path, hint="name the unit's own column")
    return tuple(derived)
