"""DuckDB's names of numeric types, as its catalog and its results write them.

More than one part of the house asks whether a column holds whole numbers; they must agree.
"""

INTEGERS = frozenset(
    ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"]
)
FLOATS = frozenset(["FLOAT", "DOUBLE"])
