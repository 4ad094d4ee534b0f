"""Days and moments of public tables as whole numbers: the driver wraps around what is infinite or beyond its range.

Counted from 1970, with the greatest and the smallest number for both infinities, which is how DuckDB has them.
"""

import pyarrow as pa

MOST = {"date": 2**31 - 1, "timestamp": 2**63 - 1, "timestamptz": 2**63 - 1}
"""The number of 'infinity', by the type of a column; that of '-infinity' is the same below 0."""
_LAST = "294246-12-31"
"""Whole years of moments that DuckDB has; what PostgreSQL has beyond is in no calendar, and comes as infinite."""
_ARROW = {"date": pa.date32(), "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", "UTC")}


def as_number(x: str, kind: str) -> str:
    """SQL of PostgreSQL for a moment as a number: of days, or of microseconds."""
    most, integer = MOST[kind], "int4" if kind == "date" else "int8"
    finite, within = f"{x} - date '1970-01-01'", f"isfinite({x})"
    if kind != "date":
        finite, within = f"(extract(epoch FROM {x}) * 1000000)::bigint", f"{within} AND {x} < {kind} '{_LAST}'"
    return (
        f"CASE WHEN {within} THEN {finite} "
        f"WHEN {x} > {kind} '1970-01-01' THEN {most}::{integer} WHEN {x} IS NOT NULL THEN -{most}::{integer} END"
    )


def of_numbers(column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """Such numbers as a column of moments."""
    return pa.chunked_array([chunk.view(_ARROW[kind]) for chunk in column.chunks], _ARROW[kind])


def of_number(name: str, kind: str) -> str:
    """SQL of DuckDB for the same."""
    of, finite = {
        "date": ("DATE", f"DATE '1970-01-01' + {name}"),
        "timestamp": ("TIMESTAMP", f"make_timestamp({name})"),
        "timestamptz": ("TIMESTAMPTZ", f"make_timestamptz({name})"),
    }[kind]
    most = MOST[kind]
    return f"CASE {name} WHEN {most} THEN {of} 'infinity' WHEN {-most} THEN {of} '-infinity' ELSE {finite} END"
