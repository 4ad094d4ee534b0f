"""The benchmark tables: real data from the repository, as DuckDB files with their policies."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb

from benchmarks.workload import Column
from dpsql.domain import CategoryDomain, ColumnDomain, NumberDomain, TableDomain, TextDomain
from dpsql.policy import Mechanism, Policy, Privacy, Strategy

HERE = Path(__file__).parent
ADULT = HERE.parent / "dpsql" / "interface" / "data" / "adult.parquet"
FILES = HERE / "data" / "files.parquet"
AGE_EDGES = tuple(float(e) for e in range(10, 100, 5))
ADULT14 = (
    *("age", "workclass", "education", "education_num", "marital_status", "occupation", "relationship", "race"),
    *("sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"),
)
EDGES: dict[str, tuple[float, ...]] = {
    "age": AGE_EDGES,
    "hours_per_week": tuple(range(0, 105, 5)),
    "education_num": tuple(range(1, 18)),
    "capital_gain": (0, 1, *range(500, 5000, 500), 5000, 6000, 7000, 8000, 10000, 13000, 15000, 20000, 30000, 100000),
    "capital_loss": (0, 1, *range(200, 1401, 200), *range(1500, 2201, 100), 2400, 2600, 3000, 5000),
}


@dataclass(frozen=True)
class BenchmarkTable:
    """A DuckDB file, the domains of its columns, and the columns a workload may touch."""

    path: Path
    domain: TableDomain
    columns: tuple[Column, ...]

    def policy(
        self,
        epsilon: Fraction = Fraction(1),
        planned: int = 10_000,
        hard_rounds: int | None = None,
        strategy: Strategy = "pmw",
    ) -> Policy:
        """(epsilon, 1e-6), add-remove, rows as privacy units; strategy "pmw" makes no warm start."""
        privacy = Privacy(epsilon, Fraction(1, 10**6), "add-remove", planned)
        return Policy(privacy, (self.domain,), Mechanism(strategy, hard_rounds))


def adult6(folder: Path) -> BenchmarkTable:
    """UCI Adult, 48,842 rows, 6 columns: age in bins of 5 years, workclass, education, marital status, sex, income."""
    path = folder / "adult6.duckdb"
    names = ("workclass", "education", "marital_status", "sex", "income")
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE TABLE adult AS SELECT (age - age % 5)::DOUBLE AS age, {', '.join(names)} FROM '{ADULT}'")
        values = {n: _distinct(con, "adult", n) for n in names}
    domains: list[ColumnDomain] = [NumberDomain("age", AGE_EDGES, nullable=False)]
    domains += [CategoryDomain(n, values[n], nullable=False) for n in names]
    columns = (Column("age", AGE_EDGES[:-1], ordered=True), *(Column(n, values[n]) for n in names))
    return BenchmarkTable(path, TableDomain("adult", tuple(domains)), columns)


def adult14(folder: Path) -> BenchmarkTable:
    """UCI Adult, 48,842 rows, 14 columns, numbers in bins: 6.4e17 cells."""
    path = folder / "adult14.duckdb"
    names = [c for c in ADULT14 if c not in EDGES]
    with duckdb.connect(str(path)) as con:
        numbers = ", ".join(f"{_bin(c)} AS {c}" for c in EDGES)
        con.execute(f"CREATE TABLE adult AS SELECT {numbers}, {', '.join(names)} FROM '{ADULT}'")
        values = {n: _distinct(con, "adult", n) for n in names}
    domains: list[ColumnDomain] = []
    columns: list[Column] = []
    for c in ADULT14:
        if c in EDGES:
            edges = tuple(float(e) for e in EDGES[c])
            domains.append(NumberDomain(c, edges, nullable=False))
            columns.append(Column(c, edges[:-1], ordered=True))
        else:
            domains.append(CategoryDomain(c, values[c], nullable=False))
            columns.append(Column(c, values[c]))
    return BenchmarkTable(path, TableDomain("adult", tuple(domains)), tuple(columns))


def _bin(column: str) -> str:
    """SQL for the lower edge of a number's bin; what is missing or below the first edge counts to the first bin."""
    cuts = EDGES[column][1:-1]
    cases = " ".join(f"WHEN {column} >= {e} THEN {e}" for e in reversed(cuts))
    return f"(CASE {cases} ELSE {EDGES[column][0]} END)::DOUBLE"


def files(folder: Path) -> BenchmarkTable:
    """Debian's file index, 1,655,516 rows: ext as text (5,976 strings), section as 57 categories."""
    path = folder / "files.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE TABLE files AS SELECT * FROM '{FILES}'")
        sections = _distinct(con, "files", "section")
    domain = TableDomain("files", (TextDomain("ext"), CategoryDomain("section", sections, nullable=False)))
    return BenchmarkTable(path, domain, (Column("section", sections),))


def _distinct(con: duckdb.DuckDBPyConnection, table: str, column: str) -> tuple[str, ...]:
    found = con.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY 1").fetchall()
    return tuple(str(v) for (v,) in found)
