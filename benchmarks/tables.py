"""The benchmark tables: real data from the repository, as DuckDB files with their policies."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb

from benchmarks.workload import Column
from dpsql.domain import CategoryDomain, ColumnDomain, NumberDomain, TableDomain, TextDomain
from dpsql.policy import Mechanism, Policy, Privacy

HERE = Path(__file__).parent
ADULT = HERE.parent / "dpsql" / "interface" / "data" / "adult.parquet"
FILES = HERE / "data" / "files.parquet"
AGE_EDGES = tuple(float(e) for e in range(10, 100, 5))


@dataclass(frozen=True)
class BenchmarkTable:
    """A DuckDB file, the domains of its columns, and the columns a workload may touch."""

    path: Path
    domain: TableDomain
    columns: tuple[Column, ...]

    def policy(self, epsilon: Fraction = Fraction(1), planned: int = 10_000, hard_rounds: int | None = None) -> Policy:
        """(epsilon, 1e-6), add-remove, rows as privacy units, no warm start."""
        privacy = Privacy(epsilon, Fraction(1, 10**6), "add-remove", planned)
        return Policy(privacy, (self.domain,), Mechanism("pmw", hard_rounds))


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
