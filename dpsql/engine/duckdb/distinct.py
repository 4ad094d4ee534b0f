"""Counts of different values over the rows of a table, as one scan: units, or the strings of a text column.

Regions go to DuckDB as lists of numbers and keys, as everything public that it counts by.
"""

from collections.abc import Sequence

import numpy as np

from dpsql.domain import TableDomain
from dpsql.engine.duckdb.kept_rows import Rows
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.partition import Partition
from dpsql.query import Counts, Regions


def distinct_counts(
    reader: Reader,
    rows: Rows,
    table: TableDomain,
    column: str,
    partitions: Sequence[Partition],
    regions: Regions,
    most: int,
) -> Counts:
    """Values of ``column`` by region and number of rows, int64, shape ``(regions, most)``."""
    given: dict[str, object] = {"regions": regions.numbers.reshape(-1).tolist()}
    part, stride = ["0::BIGINT"], 1
    for i, p in reversed(list(enumerate(partitions))):
        part.append(f"{stride}::BIGINT * list_extract($p{i}::BIGINT[], 1 + ({rows.cell(p.columns)}))")
        given[f"p{i}"] = p.flat.tolist()
        stride *= p.size
    source = rows.from_where(tuple(c for p in partitions for c in p.columns))
    listed = ""
    texts = "".join(f", {rows.text(c)} AS k{i}" for i, c in enumerate(regions.text_columns))
    if regions.text_columns:
        columns = [[_bytes(key[i]) for key in regions.keys] for i in range(len(regions.text_columns))]
        given |= {f"k{i}": strings for i, strings in enumerate(columns)}
        unnested = ", ".join(f"unnest($k{i}::BLOB[]) AS k{i}" for i in range(len(columns)))
        same = " AND ".join(f"s.k{i} IS NOT DISTINCT FROM l.k{i}" for i in range(len(columns)))
        listed = f"LEFT JOIN (SELECT {unnested}, unnest(range({len(regions.keys)})) AS key) AS l ON {same}"
    key = f"coalesce(l.key, {len(regions.keys)}) * {stride}::BIGINT + " if listed else ""
    found = reader.rows(
        f"counting different values of {table.name}",
        "SELECT region, times, count(*) FROM (SELECT region, least(count(*), "
        f"{int(most)}) AS times FROM (SELECT list_extract($regions::BIGINT[], 1 + {key}part) AS region, value FROM "
        f"(SELECT {' + '.join(part)} AS part, {rows.holder(column)} AS value{texts} {source}) AS s {listed}) "
        "WHERE region >= 0 AND value IS NOT NULL GROUP BY region, value) GROUP BY region, times",
        given,
    )
    counts = np.zeros((regions.size, most), dtype=np.int64)
    for region, times, n in found:
        counts[region, times - 1] = n
    return counts


def _bytes(part: str | None) -> bytes | None:
    """As stored strings are compared; surrogates never match."""
    return None if part is None else part.encode("utf-8", "surrogatepass")
