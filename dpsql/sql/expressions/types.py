"""DuckDB types: the ones a cast may name, and Arrow's for released columns.

What a cast means must be known before it is allowed, and a released column needs a type that Arrow has; both lists are
short on purpose.
"""

import re

import pyarrow as pa
from sqlglot import exp

_T = exp.DataType.Type
_CASTS = {
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
_ARROW = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "HUGEINT": pa.decimal128(38, 0),
    "UTINYINT": pa.uint8(),
    "USMALLINT": pa.uint16(),
    "UINTEGER": pa.uint32(),
    "UBIGINT": pa.uint64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "DATE": pa.date32(),
    "TIME": pa.time64("us"),
    "TIMESTAMP": pa.timestamp("us"),
    "INTERVAL": pa.month_day_nano_interval(),
}


def type_name(node: exp.Expr) -> str | None:
    """DuckDB's name of a type that a cast may name, ``None`` for any other.

    >>> type_name(exp.DataType.build("DECIMAL(10, 2)", dialect="duckdb"))
    'DECIMAL(10,2)'
    """
    if not isinstance(node, exp.DataType) or node.args.get("nested") or node.args.get("kind"):
        return None
    name = _CASTS.get(node.this)
    if name != "DECIMAL" or not node.expressions:
        return name
    sizes = [str(p.name) for p in node.expressions]
    return f"DECIMAL({','.join(sizes)})" if all(s.isdigit() for s in sizes) else None


def arrow_type(name: str) -> pa.DataType:
    """Arrow type of an empty stand-in for a released column of a DuckDB type.

    >>> arrow_type("DECIMAL(10,2)")
    Decimal128Type(decimal128(10, 2))
    """
    decimal = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", name)
    if decimal is not None:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return _ARROW.get(name, pa.string())
