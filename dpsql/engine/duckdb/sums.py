"""Sums and counts by the values of a table's rows, as one scan each."""

from collections.abc import Sequence
from math import prod

import numpy as np

from dpsql.domain import NumberDomain, TableDomain
from dpsql.engine.duckdb.kept_rows import Rows
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.partition import Partition
from dpsql.query import Counts, Interval


def sums_by_cell(
    reader: Reader, rows: Rows, table: TableDomain, scope: Sequence[str], numbers: Sequence[str] | None, summed: str
) -> Counts:
    """Sums of ``summed``, an integer expression over ``numbers``, by the cells of ``scope``; flat. Without numbers
    every row adds 1."""
    columns = tuple(dict.fromkeys((*scope, *(numbers or ()))))
    total = "count(*)" if numbers is None else "CAST(sum(part) AS BIGINT)"
    found = reader.integers(
        f"{'counting rows of' if numbers is None else 'summing'} {table.name}",
        f"SELECT cell, {total} AS n FROM "
        f"(SELECT {rows.cell(scope)} AS cell, {summed} AS part {rows.from_where(columns)}) GROUP BY cell",
    )
    sums = np.zeros(prod(table.shape(tuple(scope))), dtype=np.int64)
    sums[found["cell"]] = found["n"]
    return sums


def value_counts(
    reader: Reader, rows: Rows, table: TableDomain, column: NumberDomain, marks: Sequence[float]
) -> Counts:
    """Rows at each of increasing ``marks``, and beyond it up to the next one; int64, shape ``(2 * marks,)``."""
    at = "CASE WHEN v.x = m.mark THEN 0 ELSE 1 END"
    found = reader.rows(
        f"counting values of {table.name}.{column.name}",
        f"SELECT 2 * m.place + {at} AS cell, count(*) AS n "
        f"FROM (SELECT {rows.number(column)} AS x {rows.from_where((column.name,))}) AS v ASOF JOIN "
        f"(SELECT unnest(?::DOUBLE[]) AS mark, unnest(range({len(marks)})) AS place) AS m ON v.x >= m.mark "
        "GROUP BY cell",
        [list(marks)],
    )
    counts = np.zeros(2 * len(marks), dtype=np.int64)
    for cell, n in found:
        counts[cell] = n
    return counts


def scanned_parts(
    reader: Reader,
    rows: Rows,
    table: TableDomain,
    partitions: Sequence[Partition],
    inside: Sequence[tuple[NumberDomain, Interval]] = (),
    summed: NumberDomain | None = None,
) -> Counts:
    """Rows in all intervals, or sums of their shares of a number, by part, flat: one scan; the labels go to DuckDB as
    lists of numbers."""
    part, stride = ["0::BIGINT"], 1
    for i, p in reversed(list(enumerate(partitions))):
        part.append(f"{stride}::BIGINT * list_extract($p{i}::BIGINT[], 1 + ({rows.cell(p.columns)}))")
        stride *= p.size
    columns = dict.fromkeys([*(c for p in partitions for c in p.columns), *(n.name for n, _ in inside)])
    of, total, what = "1", "count(*)", "counting rows of"
    if summed is not None:
        columns[summed.name] = None
        of, total, what = rows.share(summed), "CAST(sum(share) AS BIGINT)", "summing"
    told = f"SELECT {' + '.join(part)} AS part, {of} AS share, {rows.inside(inside)} AS inside"
    found = reader.rows(
        f"{what} {table.name}",
        f"SELECT part, {total} FROM ({told} {rows.from_where(tuple(columns))}) WHERE inside GROUP BY part",
        {f"p{i}": p.flat.tolist() for i, p in enumerate(partitions)},
    )
    counts = np.zeros(stride, dtype=np.int64)
    for number, n in found:
        counts[number] = n
    return counts
