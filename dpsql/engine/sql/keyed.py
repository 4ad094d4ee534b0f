"""Counts of listed strings by cell, as one query in any dialect."""

from collections.abc import Sequence

from dpsql.domain import NumberDomain
from dpsql.engine.sql.rows import SqlRows
from dpsql.query import Interval


def keyed_query(
    rows: SqlRows,
    key: str,
    text_columns: Sequence[str],
    columns: Sequence[str],
    inside: Sequence[tuple[NumberDomain, Interval]],
) -> str:
    """Number of the key, which ``key`` tells of a row, codes of ``columns``, and the rows inside all intervals."""
    named = ", ".join(["k", *rows.codes(columns)])
    inner = ", ".join([f"{key} AS k", *rows.codes(columns)])
    read = rows.query([*text_columns, *columns, *(n.name for n, _ in inside)])
    counted = f"SELECT {inner} FROM ({read}) AS counted{rows.where(inside)}"
    return (
        f"SELECT {named}, CAST(count(*) AS BIGINT) AS n FROM ({counted}) AS keyed WHERE k IS NOT NULL GROUP BY {named}"
    )
