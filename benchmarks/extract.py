"""What an extract costs beside reading alone: ``python -m benchmarks.extract [--rows 1000000]``.

The same rows from 100 Parquet files and from a PostgreSQL server that the benchmark starts itself: rows per second of
wall time for the extract, for DuckDB's own copy of the files, and for reading the server's rows without keeping them.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
import duckdb

import dpsql
from benchmarks.report import show
from dpsql.policy_file import load_policy

POLICY = """version = 1
[privacy]
epsilon = 1.0
delta = 1e-6
[tables.grown]{unit}
[tables.grown.columns]
a = {{ type = "integer", min = 0, max = 2 }}
b = {{ type = "integer", min = 0, max = 100 }}
c = {{ type = "integer", min = 0, max = 20 }}
w = {{ type = "text" }}
"""
UNIT = '\nunit = "u"\nmax_rows_per_unit = 2'
FILES = 100


def rate(rows: int, work: Callable[[], object]) -> int:
    """Rows per second of wall time, in thousands."""
    begun = time.perf_counter()
    work()
    return round(rows / (time.perf_counter() - begun) / 1000)


def write_files(folder: Path, rows: int) -> None:
    with duckdb.connect() as con:
        for i in range(FILES):
            numbers = f"range({i} * {rows} // {FILES}, ({i} + 1) * {rows} // {FILES})"
            con.execute(
                f"COPY (SELECT (hash(n) % 3)::INT AS a, (hash(n, 1) % 101)::INT AS b, (hash(n, 2) % 21)::INT AS c, "
                f"'w' || hash(n, 3) % 1000 AS w, (n // 3)::INT AS u FROM {numbers} "
                f"AS t(n)) TO '{folder}/part{i:03}.parquet'"
            ).fetchall()


def from_files(folder: Path, rows: int) -> list[dict[str, object]]:
    write_files(folder, rows)
    pattern = str(folder / "*.parquet")

    def copied() -> None:
        with duckdb.connect(str(folder / "copy.duckdb")) as con:
            con.execute(f"CREATE TABLE grown AS SELECT a, b, c, w FROM read_parquet('{pattern}')").fetchall()

    return [
        {"source": f"{FILES} Parquet files", "rows": rows, "reading alone, 1,000 rows/s": rate(rows, copied)}
        | extracted(folder, pattern, rows)
    ]


def extracted(folder: Path, source: str, rows: int) -> dict[str, object]:
    plain, unit = (load_policy(POLICY.format(unit=u)) for u in ("", UNIT))
    return {
        "extract, 1,000 rows/s": rate(rows, lambda: dpsql.extract(source, plain, folder / "x.duckdb", replace=True)),
        "with a unit": rate(rows, lambda: dpsql.extract(source, unit, folder / "x.duckdb", replace=True)),
        "MB": round((folder / "x.duckdb").stat().st_size / 1e6),
    }


def from_server(folder: Path, rows: int) -> list[dict[str, object]]:
    from adbc_driver_postgresql import dbapi

    from tests.support.postgres import obstacle, server

    if obstacle() is not None:
        print(obstacle())
        return []
    with server() as uri:
        with dbapi.connect(uri, autocommit=True) as con, con.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE grown AS SELECT (random() * 2)::int AS a, (random() * 100)::int AS b, "
                "(random() * 20)::int AS c, 'w' || (random() * 999)::int AS w, n / 3 AS u "
                f"FROM generate_series(1, {rows}) AS n"
            )

        def read() -> None:
            with dbapi.connect(uri) as con, con.cursor() as cursor:
                cursor.execute("SELECT a, b, c, w FROM grown")
                for _ in cursor.fetch_record_batch():
                    pass

        return [
            {"source": "PostgreSQL", "rows": rows, "reading alone, 1,000 rows/s": rate(rows, read)}
            | extracted(folder, uri, rows)
        ]


@click.command()
@click.option("--rows", type=int, default=1_000_000)
def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = from_files(Path(folder), rows) + from_server(Path(folder), rows)
    show("Extracts", found, "extract")


if __name__ == "__main__":
    main()
