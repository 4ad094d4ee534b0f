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
) -> Counts:
    """Rows in all intervals by part, flat: one scan."""
    columns = dict.fromkeys([*(c for p in partitions for c in p.columns), *(n.name for n, _ in inside)])
    return _by_part(
        reader,
        f"counting rows of {table.name}",
        f"SELECT part, count(*) FROM (SELECT {_part(rows, partitions)} AS part, {rows.inside(inside)} AS inside "
        f"{rows.from_where(tuple(columns))}) WHERE inside GROUP BY part",
        partitions,
        1,
    )[:, 0]


def summed_parts(
    reader: Reader,
    rows: Rows,
    table: TableDomain,
    partitions: Sequence[Partition],
    inside: Sequence[tuple[NumberDomain, Interval]],
    summed: NumberDomain,
    reach: tuple[int, int],
) -> Counts:
    """The same beside sums of where a number's shares stand in ``reach``; shape (parts, 2). One scan for both: whatever
    changes meanwhile, a row counts between its ends."""
    columns = dict.fromkeys([*(c for p in partitions for c in p.columns), *(n.name for n, _ in inside), summed.name])
    low, high = reach
    share = f"least(greatest({rows.share(summed)}, {low}::BIGINT), {high}::BIGINT) - {low}::BIGINT"
    return _by_part(
        reader,
        f"summing {table.name}",
        f"SELECT part, count(*), CAST(sum(share) AS BIGINT) FROM (SELECT {_part(rows, partitions)} AS part, {share} AS "
        f"share, {rows.inside(inside)} AS inside {rows.from_where(tuple(columns))}) WHERE inside GROUP BY part",
        partitions,
        2,
    )


def _part(rows: Rows, partitions: Sequence[Partition]) -> str:
    """SQL for the number of a row's part; the labels go to DuckDB as lists of numbers."""
    part, stride = ["0::BIGINT"], 1
    for i, p in reversed(list(enumerate(partitions))):
        part.append(f"{stride}::BIGINT * list_extract($p{i}::BIGINT[], 1 + ({rows.cell(p.columns)}))")
        stride *= p.size
    return " + ".join(part)


def _by_part(reader: Reader, what: str, sql: str, partitions: Sequence[Partition], numbers: int) -> Counts:
    """What a query gives for each part, int64, shape (parts, numbers); 0 for parts without rows."""
    out = np.zeros((prod(p.size for p in partitions), numbers), dtype=np.int64)
    for part, *of_part in reader.rows(what, sql, {f"p{i}": p.flat.tolist() for i, p in enumerate(partitions)}):
        out[part] = of_part
    return out
