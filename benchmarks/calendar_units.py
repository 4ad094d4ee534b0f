"""Months of a column that is declared by the day: ``python -m benchmarks.calendar_units [--rules 28] [--unit month]``.

Eight simulated tables, four of which one tensor holds and four wide ones: rows even over two years, more of them every
month, by the weekday, by the season, on a tenth of the days, over three years of which the last has nearly all, and
even ones of other kinds at weekends. Rows by the day, month, quarter and year, by month or weekday and a column, and of
seventy days by a column: root mean square error, median bar and the share that is covered. ``--unit month``: as if
months were declared; ``--rules``: as ledgers of these rules of models answer.
"""

import tempfile
from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Literal

import click
import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

import dpsql
from benchmarks.followers import of_rules
from benchmarks.options import command_text
from benchmarks.report import show
from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.domain import CategoryDomain, ColumnDomain, DateDomain, IntegerDomain, TableDomain
from dpsql.policy import Mechanism, Policy, Privacy

ROWS = 60_000
FIRST = date(2023, 1, 1)
Shape = Literal["even", "growing", "weekdays", "seasons", "few days", "late", "weekly"]
SHAPES: tuple[tuple[Shape, int, bool], ...] = (
    ("even", 731, False),
    ("growing", 731, True),
    ("weekdays", 731, True),
    ("seasons", 731, False),
    ("few days", 731, True),
    ("late", 1096, True),
    ("growing", 731, False),
    ("weekly", 365, False),
)
"""Of each table: how rows are over the days, how many days there are, and whether it has columns for a wide one."""
UNITS = ("day", "month", "quarter", "year")


def days(shape: Shape, number: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The day of each row."""
    at = np.arange(number)
    weights = {
        "even": np.ones(number),
        "growing": np.exp(3.0 * at / number),
        "weekdays": np.where((at + FIRST.weekday()) % 7 < 5, 1.0, 0.05),
        "seasons": 1.1 + np.sin(2 * np.pi * at / 365.0),
        "few days": (rng.random(number) < 0.1) + 1e-9,
        "late": np.where(at < 730, 0.02, 1.0),
        "weekly": np.ones(number),
    }[shape]
    return rng.choice(number, size=ROWS, p=weights / weights.sum()).astype(np.int64)


def made(folder: Path, shape: Shape, number: int, wide: bool, unit: Literal["day", "month"]) -> tuple[Path, Policy]:
    """The table ``t`` and its policy at epsilon 1."""
    rng = np.random.default_rng(number + len(shape))
    day = days(shape, number, rng)
    kinds, others = ("a", "b", "c"), {}
    columns: list[ColumnDomain] = [
        DateDomain("day", FIRST, FIRST + timedelta(days=number - 1), unit, nullable=False),
        CategoryDomain("kind", kinds, nullable=False),
    ]
    for i in range(4 if wide else 1):
        others[f"x{i}"] = (rng.poisson(3 + i, ROWS) + day // 100).clip(0, 19)
        columns.append(IntegerDomain(f"x{i}", 0, 19, nullable=False))
    if shape == "weekly":
        others["x0"] = (others["x0"] + 4 * ((day + FIRST.weekday()) % 7 >= 5)).clip(0, 19)
    kind = np.array(kinds)[(day // 61 + rng.integers(0, 2, ROWS)) % 3]  # another mixture every two months
    table = pa.table({"day": [FIRST + timedelta(days=int(d)) for d in day], "kind": kind} | others)
    path = folder / "t.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("rows", table)
        con.execute("CREATE TABLE t AS SELECT * FROM rows")
    privacy = Privacy(Fraction(1), Fraction(1, 10**6), "add-remove", 1_000)
    return path, Policy(privacy, (TableDomain("t", tuple(columns)),), Mechanism("auto"))


def statements(unit: str) -> Iterator[tuple[str, str]]:
    for one in UNITS[UNITS.index(unit) :]:
        yield one, f"SELECT date_trunc('{one}', day)::DATE, COUNT(*) FROM t GROUP BY 1"
    yield "month, kind", "SELECT date_trunc('month', day)::DATE, kind, COUNT(*) FROM t GROUP BY 1, 2"
    yield "month, x0", "SELECT date_trunc('month', day)::DATE, x0, COUNT(*) FROM t GROUP BY 1, 2"
    if unit == "day":
        yield "weekday, x0", "SELECT isodow(day), x0, COUNT(*) FROM t GROUP BY 1, 2"
        yield "70 days, x0", "SELECT x0, COUNT(*) FROM t WHERE day BETWEEN '2023-03-10' AND '2023-05-18' GROUP BY 1"


def studied(unit: Literal["day", "month"], seeds: int, rules: int) -> list[dict[str, object]]:
    out: list[dict[str, object]] = []
    for shape, number, wide in SHAPES:
        found: dict[str, list[tuple[float, float]]] = {}
        for _ in range(seeds):
            with tempfile.TemporaryDirectory() as folder, of_rules(rules):
                path, policy = made(Path(folder), shape, number, wide, unit)
                with duckdb.connect(str(path)) as con:
                    true = {q: {r[:-1]: r[-1] for r in con.execute(q).fetchall()} for _, q in statements(unit)}
                with dpsql.connect(path, policy=policy, ledger=":memory:") as con:
                    for kind, q in statements(unit):
                        cursor = con.execute(q)
                        for row, answer in zip(cursor.fetchall(), cursor.answers, strict=True):
                            off = float(row[-1] - true[q].get(tuple(row[:-1]), 0))
                            found.setdefault(kind, []).append((off, float(answer.error or 0.0)))
        table = f"{shape}{', wide' if wide else ''}"
        for kind, pairs in found.items():
            off, bars = np.array(pairs).T
            rms, bar = float(np.sqrt((off**2).mean())), float(np.median(bars))
            inside = round(float((np.abs(off) <= bars).mean()), 3)
            out.append(
                {"table": table, "rows by": kind, "numbers": len(off), "rms": rms, "bar": bar, "covered": inside}
            )
    return out


@click.command()
@click.option("--unit", type=click.Choice(["day", "month"]), default="day")
@click.option("--seeds", default=2)
@click.option("--rules", default=NEWEST_MODELS)
def main(unit: Literal["day", "month"], seeds: int, rules: int) -> None:
    title = f"Dates declared by the {unit}, epsilon 1, {ROWS:,} rows, {seeds} sessions each, rules {rules}"
    told = command_text("calendar_units", unit=unit, seeds=seeds, rules=rules)
    show(title, studied(unit, seeds, rules), f"calendar_units_{unit}", [told])


if __name__ == "__main__":
    main()
