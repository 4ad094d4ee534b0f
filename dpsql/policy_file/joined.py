"""What a draft says of two tables that tell the same people apart: how the owner makes their join answerable."""

from collections.abc import Sequence

from dpsql.dialect.quoting import identifier
from dpsql.policy_file.schema import TableSchema
from dpsql.policy_file.toml_table import quoted, quoted_key, quoted_list
from dpsql.policy_file.units import people_columns, rows_of_each


def join_lines(tables: Sequence[TableSchema]) -> list[str]:
    """Comments on each pair of tables of which one has a row for each person and the other several.

    >>> from dpsql.policy_file.schema import ColumnSchema
    >>> patients = TableSchema("patients", (ColumnSchema("patient_id", "BIGINT", is_key=True),))
    >>> visits = TableSchema("visits", (ColumnSchema("patient_id", "BIGINT"), ColumnSchema("day", "DATE")))
    >>> print(*join_lines([patients, visits]), sep="\\n")
    # To answer "patients" JOIN "visits" by "patient_id", make a view, and declare it with the columns of both:
    # CREATE VIEW patients_visits AS SELECT * FROM "patients" JOIN "visits" USING ("patient_id");
    # [tables.patients_visits]
    # unit = "patient_id"             # and the same in the two tables
    # max_rows_per_unit = 3
    # joins = ["patients", "visits"]
    """
    out: list[str] = []
    for one in tables:
        for many in tables:
            if one is not many:
                out += _pair(one, many)
    return out


def _pair(one: TableSchema, many: TableSchema) -> list[str]:
    found = {c.name.lower(): c for c in people_columns(many) if not c.is_distinct}
    unit = next((found[c.name.lower()] for c in people_columns(one) if c.is_distinct and c.name.lower() in found), None)
    names = (one.name, many.name)
    if unit is None or not all(name.isprintable() for name in names):
        return []
    view = f"{one.name}_{many.name}"
    tables = " JOIN ".join(identifier(name) for name in names)
    return [
        f"# To answer {quoted(one.name)} JOIN {quoted(many.name)} by {quoted(unit.name)}, make a view, and declare it "
        "with the columns of both:",
        f"# CREATE VIEW {view if view.isidentifier() else identifier(view)} AS SELECT * FROM {tables} "
        f"USING ({identifier(unit.name)});",
        f"# [tables.{quoted_key(view)}]",
        f"# unit = {quoted(unit.name)}".ljust(33) + " # and the same in the two tables",
        f"# max_rows_per_unit = {rows_of_each(unit)}",
        f"# joins = {quoted_list(names)}",
    ]
