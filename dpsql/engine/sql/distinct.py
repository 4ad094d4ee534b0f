"""Counts of different values by region, as one query in any dialect."""

from collections.abc import Sequence

from dpsql.domain import TableDomain
from dpsql.engine.partition import Partition
from dpsql.engine.sql.dialect import Dialect
from dpsql.engine.sql.rows import SqlRows, token_of
from dpsql.query import Regions


def distinct_query(
    dialect: Dialect,
    rows: SqlRows,
    table: TableDomain,
    column: str,
    partitions: Sequence[Partition],
    regions: Regions,
    most: int,
) -> str:
    """Region, number of rows (``most`` for more as well), and how many values of ``column`` have so many there."""
    at, stride = ["0"], 1
    for p in reversed(partitions):
        at.append(f"{stride} * {dialect.pick(p.flat.tolist(), _cell(rows, table, p.columns))}")
        stride *= p.size
    if regions.text_columns:
        keys = {token_of(key): i for i, key in enumerate(regions.keys)}
        key = dialect.lookup(keys, rows.token(regions.text_columns))
        at.append(f"{stride} * coalesce({key}, {len(regions.keys)})")
    columns = [c for p in partitions for c in p.columns] + list(regions.text_columns)
    region, value = dialect.pick(regions.numbers.reshape(-1).tolist(), " + ".join(at)), rows.holder(column)
    return (
        "SELECT region, times, CAST(count(*) AS BIGINT) AS n FROM ("
        f"SELECT region, CASE WHEN count(*) < {most} THEN count(*) ELSE {most} END AS times FROM ("
        f"SELECT {region} AS region, {value} AS holder FROM ({rows.query([*columns, column])}) AS counted"
        f") AS held WHERE region >= 0 AND {rows.is_somebody(column, 'holder')} GROUP BY region, holder"
        ") AS each_one GROUP BY region, times"
    )


def _cell(rows: SqlRows, table: TableDomain, columns: Sequence[str]) -> str:
    terms, stride = ["0"], 1
    for name in reversed(columns):
        terms.append(f"{stride} * {rows.code(name)}")
        stride *= table.finite_domain(name).size
    return " + ".join(terms)
