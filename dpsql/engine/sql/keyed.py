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
    summed: NumberDomain | None,
) -> str:
    """Number of the key, which ``key`` tells of a row, codes of ``columns``, and the rows inside all intervals, or the
    sum of their shares of ``summed``."""
    numbers = [n.name for n, _ in inside] + ([] if summed is None else [summed.name])
    named = ", ".join(["k", *rows.codes(columns)])
    total, share = ("count(*)", "1") if summed is None else ("sum(share)", rows.share(summed))
    inner = ", ".join([f"{key} AS k", *rows.codes(columns), f"{share} AS share"])
    counted = f"SELECT {inner} FROM ({rows.query([*text_columns, *columns, *numbers])}) AS counted{rows.where(inside)}"
    return (
        f"SELECT {named}, CAST({total} AS BIGINT) AS n FROM ({counted}) AS keyed WHERE k IS NOT NULL GROUP BY {named}"
    )
