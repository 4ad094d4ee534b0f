"""Released tables: a block's answers as an Arrow table that the outer statement runs on. All public.

HAVING, ORDER BY, windows and joins need no rules of ours once the block's answers are a table: DuckDB runs them. This
is where numbers become that table.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from dpsql.domain import Value
from dpsql.errors import DataError
from dpsql.result import Answer

ROW = "_row"
LOW, HIGH = "_low", "_high"

_ARROW: dict[str, pa.DataType] = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "SMALLINT": pa.int16(),
    "TINYINT": pa.int8(),
    "UBIGINT": pa.uint64(),
    "UINTEGER": pa.uint32(),
    "USMALLINT": pa.uint16(),
    "UTINYINT": pa.uint8(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "VARCHAR": pa.string(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
}


def arrow_array(values: Sequence[Value], sql_type: str) -> Any:
    """The values (of the DuckDB type ``sql_type``) as an Arrow array; types without a fixed counterpart are inferred.

    Raises DataError for a released sum beyond its type.

    >>> arrow_array([1, None], "BIGINT").type
    DataType(int64)
    """
    known = _ARROW.get(sql_type.upper())
    try:
        return pa.array(values, known) if known is not None else pa.array(values)
    except (OverflowError, pa.ArrowInvalid):
        pass
    raise DataError(
        f"a released number does not fit into {sql_type}", hint="sum smaller numbers, or CAST them to DOUBLE"
    )


def released_table(
    group_columns: Sequence[str],
    group_types: Sequence[str],
    groups: Sequence[Sequence[Value]],
    aggregates: Sequence[tuple[str, str, Sequence[Answer]]],
    *,
    intervals: bool,
) -> Any:
    """An Arrow table: ``_row``, one column per group expression, one per aggregate ``(name, type, answers)``.

    With ``intervals`` each aggregate ``a`` also has ``a_low`` and ``a_high``, DOUBLE, NULL where the error is unknown.
    """
    names, arrays = [ROW], [pa.array(range(len(groups)), pa.int64())]
    for i, (name, sql_type) in enumerate(zip(group_columns, group_types, strict=True)):
        names.append(name)
        arrays.append(arrow_array([g[i] for g in groups], sql_type))
    for name, sql_type, answers in aggregates:
        names.append(name)
        arrays.append(arrow_array([a.value for a in answers], sql_type))
        if intervals:
            for suffix, end in ((LOW, 0), (HIGH, 1)):
                names.append(name + suffix)
                arrays.append(
                    pa.array([None if a.interval is None else a.interval[end] for a in answers], pa.float64())
                )
    return pa.table(arrays, names=names)
