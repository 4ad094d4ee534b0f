"""DuckDB's names of numeric types, as its catalog and its results write them."""

INTEGERS = frozenset(
    ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"]
)
FLOATS = frozenset(["FLOAT", "DOUBLE"])
