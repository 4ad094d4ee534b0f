"""The DuckDB types that a cast may name.

What a cast means must be known before it is allowed, so the list is short on purpose; what each type is to Arrow and to
PEP 249 stands in ``dialect/types.py``, for all.
"""

from sqlglot import exp

from dpsql.dialect.types import INTEGERS

_T = exp.DataType.Type
CASTS = {
    _T.BOOLEAN: "BOOLEAN",
    _T.TINYINT: "TINYINT",
    _T.SMALLINT: "SMALLINT",
    _T.INT: "INTEGER",
    _T.BIGINT: "BIGINT",
    _T.INT128: "HUGEINT",
    _T.UTINYINT: "UTINYINT",
    _T.USMALLINT: "USMALLINT",
    _T.UINT: "UINTEGER",
    _T.UBIGINT: "UBIGINT",
    _T.FLOAT: "FLOAT",
    _T.DOUBLE: "DOUBLE",
    _T.DECIMAL: "DECIMAL",
    _T.TEXT: "VARCHAR",
    _T.VARCHAR: "VARCHAR",
    _T.CHAR: "VARCHAR",
    _T.DATE: "DATE",
    _T.TIME: "TIME",
    _T.TIMESTAMPNTZ: "TIMESTAMP",
    _T.TIMESTAMP: "TIMESTAMP",
    _T.INTERVAL: "INTERVAL",
}


def type_name(node: exp.Expr) -> str | None:
    """DuckDB's name of a type that a cast may name, ``None`` for any other.

    >>> type_name(exp.DataType.build("DECIMAL(10, 2)", dialect="duckdb"))
    'DECIMAL(10,2)'
    """
    if not isinstance(node, exp.DataType) or node.args.get("nested") or node.args.get("kind"):
        return None
    name = CASTS.get(node.this)
    if name != "DECIMAL" or not node.expressions:
        return name
    sizes = [str(p.name) for p in node.expressions]
    return f"DECIMAL({','.join(sizes)})" if all(s.isdigit() for s in sizes) else None


def cast_constant(to: str, value: float) -> float | None:
    """What a constant is after a cast to a DuckDB type: itself where that holds it, else ``None``.

    >>> cast_constant("INTEGER", 7.0), cast_constant("INTEGER", 7.4), cast_constant("DECIMAL(5,2)", 7.4)
    (7.0, None, 7.4)
    """
    if to == "DOUBLE" or (to in INTEGERS and value.is_integer()):
        return value
    digits = to.removeprefix("DECIMAL(").removesuffix(")").partition(",")[2]
    return value if to.startswith("DECIMAL(") and round(value, int(digits or 0)) == value else None
