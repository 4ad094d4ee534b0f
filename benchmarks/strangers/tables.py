"""The stranger's tables: a fire department's calls, loans, a survey, flights, Adult, people's successive choices."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.rules_study import NLTCS
from benchmarks.tables import HERE, BenchmarkTable, adult6, adult14, distinct
from benchmarks.text_tables import flights, pets
from benchmarks.workload import Column
from dpsql.domain import CategoryDomain, ColumnDomain, IntegerDomain, TableDomain

Builder = Callable[[Path], BenchmarkTable]
FIRE = (
    *("als_unit", "final_priority", "call_type_group", "original_priority", "priority", "city", "unit_type"),
    *("battalion", "supervisor_district", "call_final_disposition", "zipcode_of_incident", "call_type"),
    *("neighborhooods_analysis_boundaries", "station_area", "number_of_alarms"),
)
LOANS = (
    *("term", "grade", "sub_grade", "emp_length", "home_ownership", "verification_status", "issue_d", "loan_status"),
    *("purpose", "addr_state", "pub_rec", "inq_last_6mths"),
)
ORDERED = {"number_of_alarms", "sub_grade", "emp_length", "issue_d", "pub_rec", "inq_last_6mths"}
CHOICES, STEPS, PEOPLE = 17, 10, 400_000


def stored(path: Path, source: Path, name: str, columns: Sequence[str]) -> BenchmarkTable:
    """Columns of a parquet file of codes: those of ORDERED as whole numbers, others as categories."""
    shown = ", ".join(c if c in ORDERED else f"{c}::VARCHAR AS {c}" for c in columns)
    domains: list[ColumnDomain] = []
    asked = []
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE TABLE {name} AS SELECT {shown} FROM '{source}'")
        for c in columns:
            if c in ORDERED:
                ((most,),) = con.execute(f"SELECT max({c}) FROM {name}").fetchall()
                domains.append(IntegerDomain(c, 0, int(most), nullable=False))
                asked.append(Column(c, tuple(range(int(most) + 1)), ordered=True))
            else:
                values = distinct(con, name, c)
                domains.append(CategoryDomain(c, values, nullable=False))
                asked.append(Column(c, values))
    return BenchmarkTable(path, TableDomain(name, tuple(domains)), tuple(asked))


def fire(folder: Path) -> BenchmarkTable:
    """305,119 calls of San Francisco's fire department, 15 columns."""
    return stored(folder / "fire.duckdb", HERE / "data" / "fire.parquet", "fire", FIRE)


def loans(folder: Path) -> BenchmarkTable:
    """42,535 loans, 12 columns, four of them in order."""
    return stored(folder / "loans.duckdb", HERE / "data" / "loans.parquet", "loans", LOANS)


def nltcs(folder: Path) -> BenchmarkTable:
    """The National Long Term Care Survey, 21,574 rows, 16 columns of two values."""
    return stored(folder / "nltcs.duckdb", HERE / "data" / "nltcs.parquet", "nltcs", NLTCS)


def choices(folder: Path) -> BenchmarkTable:
    """400,000 people's first ten choices among 17 things, simulated: a column for each step.

    Everybody has a few favourites, drawn from a heavy-tailed law, goes on with the last choice or returns to one of
    them, and stops for good ("none"): pairs say little of three columns together.
    """
    rng = np.random.default_rng(17)
    weights = (1.0 + np.arange(CHOICES - 1)) ** -1.1
    favourites = rng.choice(CHOICES - 1, size=(PEOPLE, 3), p=weights / weights.sum())
    stays, leaves = rng.beta(2.0, 2.0, PEOPLE), rng.beta(1.0, 6.0, PEOPLE)
    now = favourites[:, 0].copy()
    seen = np.empty((PEOPLE, STEPS), dtype=np.int64)
    for step in range(STEPS):
        seen[:, step] = now
        back = favourites[np.arange(PEOPLE), rng.integers(3, size=PEOPLE)]
        now = np.where((now == CHOICES - 1) | (rng.random(PEOPLE) < leaves), CHOICES - 1, now)
        moves = (now < CHOICES - 1) & (rng.random(PEOPLE) >= stays)
        now = np.where(moves, back, now)
    names = tuple(f"step{i + 1}" for i in range(STEPS))
    values = (*(f"thing{i + 1:02d}" for i in range(CHOICES - 1)), "none")
    strings = np.array(values)
    rows = pa.table({n: strings[seen[:, i]] for i, n in enumerate(names)})
    path = folder / "choices.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("rows", rows)
        con.execute("CREATE TABLE choices AS SELECT * FROM rows")
    domain = TableDomain("choices", tuple(CategoryDomain(n, values, nullable=False) for n in names))
    return BenchmarkTable(path, domain, tuple(Column(n, values) for n in names))


STRANGERS: Mapping[str, Builder] = {
    "adult6": adult6,
    "adult14": adult14,
    "fire": fire,
    "loans": loans,
    "nltcs": nltcs,
    "flights": flights,
    "pets": pets,
    "choices": choices,
}
