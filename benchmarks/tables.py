"""The benchmark tables: real data from the repository, as DuckDB files with their policies."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb

from benchmarks.workload import Column, TextColumn
from dpsql.domain import CategoryDomain, ColumnDomain, NumberDomain, TableDomain, TextDomain
from dpsql.policy import Mechanism, Policy, Privacy

HERE = Path(__file__).parent
ADULT = HERE.parent / "dpsql" / "interface" / "demo" / "data" / "adult.parquet"
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
    """A DuckDB file, the domains of its columns, and the columns a workload may touch, one of them text at most."""

    path: Path
    domain: TableDomain
    columns: tuple[Column, ...]
    text: TextColumn | None = None

    def policy(
        self,
        epsilon: Fraction = Fraction(1),
        planned: int = 10_000,
        hard_rounds: int | None = None,
        strategy: str = "pmw",
    ) -> Policy:
        """(epsilon, 1e-6), add-remove, rows as privacy units; strategy "pmw" makes no warm start."""
        privacy = Privacy(epsilon, Fraction(1, 10**6), "add-remove", planned)
        return Policy(privacy, (self.domain,), Mechanism(strategy, hard_rounds))


def adult6(folder: Path, chosen: str = "") -> BenchmarkTable:
    """UCI Adult, 48,842 rows, 6 columns: age in bins of 5 years, workclass, education, marital status, sex, income.

    ``chosen``: SQL condition on ``file_row_number`` for a table of fewer rows.
    """
    path = folder / "adult6.duckdb"
    names = ("workclass", "education", "marital_status", "sex", "income")
    with duckdb.connect(str(path)) as con:
        source = f"read_parquet('{ADULT}', file_row_number = true)" + (f" WHERE {chosen}" if chosen else "")
        con.execute(f"CREATE TABLE adult AS SELECT (age - age % 5)::DOUBLE AS age, {', '.join(names)} FROM {source}")
        values = {n: distinct(con, f"'{ADULT}'", n) for n in names}
    domains: list[ColumnDomain] = [NumberDomain("age", AGE_EDGES, nullable=False, reading="cell")]
    domains += [CategoryDomain(n, values[n], nullable=False) for n in names]
    columns = (Column("age", AGE_EDGES[:-1], ordered=True), *(Column(n, values[n]) for n in names))
    return BenchmarkTable(path, TableDomain("adult", tuple(domains)), columns)


def adult5000(folder: Path) -> BenchmarkTable:
    """5,000 rows of ``adult6``, evenly spaced in the file: a rule that no row's values enter."""
    return adult6(folder, "(file_row_number + 1) * 5000 // 48842 > file_row_number * 5000 // 48842")


def adult2240(folder: Path) -> BenchmarkTable:
    """UCI Adult, 48,842 rows, 5 columns of 2,240 cells: education, marital status, race, sex, income."""
    path = folder / "adult2240.duckdb"
    names = ("education", "marital_status", "race", "sex", "income")
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE TABLE adult AS SELECT {', '.join(names)} FROM '{ADULT}'")
        values = {n: distinct(con, "adult", n) for n in names}
    domain = TableDomain("adult", tuple(CategoryDomain(n, values[n], nullable=False) for n in names))
    return BenchmarkTable(path, domain, tuple(Column(n, values[n]) for n in names))


def adult14(folder: Path) -> BenchmarkTable:
    """UCI Adult, 48,842 rows, 14 columns, numbers in bins: 1.7e14 cells."""
    path = folder / "adult14.duckdb"
    names = [c for c in ADULT14 if c not in EDGES]
    with duckdb.connect(str(path)) as con:
        numbers = ", ".join(f"{_bin(c)} AS {c}" for c in EDGES)
        con.execute(f"CREATE TABLE adult AS SELECT {numbers}, {', '.join(names)} FROM '{ADULT}'")
        values = {n: distinct(con, "adult", n) for n in names}
    domains: list[ColumnDomain] = []
    columns: list[Column] = []
    for c in ADULT14:
        if c in EDGES:
            edges = tuple(float(e) for e in EDGES[c])
            domains.append(NumberDomain(c, edges, nullable=False, reading="cell"))
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
        sections = distinct(con, "files", "section")
        text = TextColumn("ext", frequencies(con, "files", "ext"), 0.8)
    domain = TableDomain("files", (TextDomain("ext"), CategoryDomain("section", sections, nullable=False)))
    return BenchmarkTable(path, domain, (Column("section", sections),), text)


def distinct(con: duckdb.DuckDBPyConnection, table: str, column: str) -> tuple[str, ...]:
    """The strings of a column in order. The tables are public; a real policy lists them from general knowledge."""
    found = con.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY 1").fetchall()
    return tuple(str(v) for (v,) in found)


def frequencies(con: duckdb.DuckDBPyConnection, table: str, column: str) -> tuple[tuple[str, int], ...]:
    """The strings of a text column with their counts, most frequent first."""
    grouped = f"SELECT {column}, COUNT(*) FROM {table} WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    return tuple((str(s), int(c)) for s, c in con.execute(grouped).fetchall())
