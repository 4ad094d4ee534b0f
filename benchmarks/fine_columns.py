"""Columns of hundreds of values and more: ``python -m benchmarks.fine_columns [--epsilon 1] [--table pets] [--rules
37]``.

Moments by the hour, days, prices, weights, delays, incomes, in wide tables. Of each such column random values, ranges
of two to a hundred of them, the same with a condition on another column, and days, weeks or tens, among those from its
first to its last hundredth; ``common``: the values of random rows, round ones more often than others; ``again``: of
moments each hour of the day and day of the week. A session for each table, which plans a thousand questions, or
``--planned`` ones. ``gaussian``: the mean error of noise for each of a thousand statements, cut at 0.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.followers import of_rules
from benchmarks.report import show
from benchmarks.strangers.sessions import gaussian_sigma
from benchmarks.tables import ADULT
from benchmarks.text_tables import FLIGHTS, PETS
from dpsql.accounting.plan import NEWEST_MODELS

PLANNED, EACH, LONGEST = 1_000, 60, 100
KINDS = ("values", "ranges", "beside", "blocks", "common", "again")
Row = dict[str, object]


@dataclass(frozen=True)
class Fine:
    """A column of ``cells`` values: what its policy says, an expression of whole numbers in order from ``first`` on,
    how many of them a block has; ``at``: the SQL of the value of such a number; ``again``: conditions that are met
    each day or week."""

    name: str
    domain: str
    number: str
    first: int
    cells: int
    block: int
    at: Callable[[int], str] = str
    again: tuple[str, ...] = ()


@dataclass(frozen=True)
class Made:
    """``source``: what is selected; ``small``: domains of the other columns, by name; ``other``: conditions on them."""

    source: str
    fine: tuple[Fine, ...]
    small: str
    other: tuple[str, ...]


def whole(name: str, low: int, high: int, block: int) -> Fine:
    return Fine(name, f'{{type = "integer", min = {low}, max = {high}}}', name, low, high - low + 1, block)


def moments(name: str, first: str, last: str, unit: str, block: int) -> Fine:
    """From the one to the other, days alone or with an hour."""
    start = f"TIMESTAMP '{first}'"
    return Fine(
        name,
        f'{{type = "date", min = {first.replace(" ", "T")}, max = {last.replace(" ", "T")}, unit = "{unit}"}}',
        f"date_diff('{unit}', {start}, {name}::TIMESTAMP)",
        0,
        1 + int((datetime.fromisoformat(last) - datetime.fromisoformat(first)) / timedelta(**{f"{unit}s": 1})),
        block,
        lambda i: f"{start} + INTERVAL {i} {unit}",
        tuple(
            [f"hour({name}) = {h}" for h in range(24 if unit == "hour" else 0)]
            + [f"isodow({name}) = {d}" for d in range(1, 8)]
        ),
    )


def listed(column: str, path: Path) -> str:
    text = f"SELECT DISTINCT {column} FROM '{path}' WHERE {column} IS NOT NULL ORDER BY 1"
    values = duckdb.execute(text).fetchall()
    return f'{column} = {{type = "category", values = {[v for (v,) in values]}}}'.replace("'", '"')


FEW = "\n".join(f'c{i} = {{type = "integer", min = 0, max = {2 + i % 4}}}' for i in range(12))
DRAWN = ", ".join(f"floor(random() * {3 + i % 4})::INT AS c{i}" for i in range(12))
TABLES: dict[str, Callable[[], Made]] = {
    "flights": lambda: Made(
        f"SELECT make_timestamp(2013, month, day, hour::BIGINT, 0, 0.0) AS came, dep_delay, air_time, distance, month, "
        f"carrier, origin, dest FROM '{FLIGHTS}' WHERE hour < 24",
        (
            moments("came", "2013-01-01 00:00:00", "2013-12-31 23:00:00", "hour", 24),
            whole("dep_delay", -60, 600, 10),
            whole("air_time", 0, 720, 10),
            whole("distance", 0, 5_000, 50),
        ),
        "\n".join(
            [
                'month = {type = "integer", min = 1, max = 12}',
                *(listed(c, FLIGHTS) for c in ("carrier", "origin", "dest")),
            ]
        ),
        ("carrier = 'UA'", "origin = 'JFK'", "month < 6"),
    ),
    "pets": lambda: Made(
        f"SELECT issued, species, primary_breed, zip_code FROM '{PETS}'",
        (moments("issued", "2014-01-01", "2018-12-31", "day", 7),),
        "\n".join(listed(c, PETS) for c in ("species", "primary_breed", "zip_code")),
        ("species = 'Dog'", "zip_code = '98115'"),
    ),
    "adult": lambda: Made(
        "SELECT fnlwgt // 500 AS weight, capital_gain, age, hours_per_week, sex, race, workclass, education, "
        f"occupation FROM '{ADULT}'",
        (whole("weight", 0, 3_000, 20), whole("capital_gain", 0, 99_999, 1_000)),
        "\n".join(
            [
                'age = {type = "integer", min = 17, max = 90}',
                'hours_per_week = {type = "integer", min = 1, max = 99}',
                *(listed(c, ADULT) for c in ("sex", "race", "workclass", "education", "occupation")),
            ]
        ),
        ("sex = 'Male'", "age < 30"),
    ),
    "visits": lambda: Made(
        "SELECT TIMESTAMP '2024-01-01' + INTERVAL 1 hour * (day * 24 + least(23, greatest(0, 14 + "
        "(random() + random() + random() - 1.5) * 9)::INT)) AS came, "
        f"least(2000, (raw / step)::INT * step) AS price, {DRAWN} FROM ("
        "SELECT (random() * 363)::INT AS day, CASE WHEN random() < 0.5 THEN 10 ELSE 1 END AS step, "
        "exp(4 + sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())) AS raw "
        "FROM range(80000)) WHERE day % 7 < 5 OR random() < 0.3",
        (moments("came", "2024-01-01 00:00:00", "2024-12-31 23:00:00", "hour", 24), whole("price", 0, 2_000, 10)),
        FEW,
        ("c1 = 1", "c3 < 2"),
    ),
    "incomes": lambda: Made(
        "SELECT least(20000, (x / 100)::INT * 100) AS income, least(3000, (y / z)::INT * z) AS gift, "
        f"least(50000, CASE WHEN z = 1 THEN w ELSE (w / 500)::INT * 500 END) AS loan, {DRAWN} FROM ("
        "SELECT CASE WHEN random() < 0.3 THEN 0 ELSE 1700 * exp(0.7 * sqrt(-2 * ln(1 - random())) * cos(6.28 * "
        "random())) END AS x, exp(4.5 + sqrt(-2 * ln(1 - random())) * cos(6.28 * random())) AS y, "
        "(8000 * -ln(1 - random()))::INT AS w, CASE WHEN random() < 0.6 THEN 50 ELSE 1 END AS z FROM range(60000))",
        (whole("income", 0, 20_000, 500), whole("gift", 0, 3_000, 10), whole("loan", 0, 50_000, 1_000)),
        FEW,
        ("c1 = 1", "c3 < 2"),
    ),
    "even": lambda: Made(
        "SELECT TIMESTAMP '2023-01-01' + INTERVAL 1 hour * (random() * 4799)::INT AS came, "
        f"DATE '2022-06-01' + (random() * random() * 600)::INT AS d, (random() * random() * 1000)::INT AS v, {DRAWN} "
        "FROM range(60000)",
        (
            moments("came", "2023-01-01 00:00:00", "2023-07-31 23:00:00", "hour", 24),
            moments("d", "2022-01-01", "2024-12-31", "day", 7),
            whole("v", 0, 1_000, 10),
        ),
        FEW,
        ("c1 = 1", "c3 < 2"),
    ),
}


def counts(made: Made) -> Iterator[tuple[str, np.ndarray]]:
    """(column, rows of each of its values, the last those of NULL)."""
    with duckdb.connect() as con:
        con.execute("SELECT setseed(0.1)")
        con.execute(f"CREATE TABLE t AS {made.source}")
        for fine in made.fine:
            out = np.zeros(fine.cells + 1)
            for number, rows in con.execute(f"SELECT {fine.number}, count(*) FROM t GROUP BY 1").fetchall():
                inside = number is not None and 0 <= number - fine.first < fine.cells
                out[number - fine.first if inside else -1] += rows
            yield fine.name, out


def conditions(made: Made, con: duckdb.DuckDBPyConnection, seed: int) -> Iterator[tuple[str, str, str]]:
    """(column, kind, condition)."""
    rng = np.random.default_rng(seed)
    for fine in made.fine:
        ends = con.execute(f"SELECT quantile_disc({fine.number}, [0.01, 0.99]) FROM t").fetchall()
        low, high = ends[0][0]
        held = f"SELECT {fine.number} AS x FROM t ORDER BY ALL"
        common = [n for (n,) in con.execute(held).fetchall() if n is not None and low <= n <= high]
        yield from ((fine.name, "again", where) for where in fine.again)
        for kind in KINDS[:-1]:
            for _ in range(EACH):
                drawn = int(rng.integers(low, high + 1))
                first = int(common[int(rng.integers(len(common)))]) if kind == "common" else drawn
                length = 1 if kind in ("values", "common") else int(np.exp(rng.uniform(np.log(2), np.log(LONGEST))))
                if kind == "blocks":
                    first, length = first - first % fine.block, fine.block
                where = f"{fine.name} >= {fine.at(first)} AND {fine.name} < {fine.at(first + length)}"
                if kind == "beside":
                    where += f" AND {made.other[int(rng.integers(len(made.other)))]}"
                yield fine.name, kind, where


def study(made: Made, epsilon: Fraction, seed: int, planned: int) -> list[tuple[str, str, float, float, float]]:
    """(column, kind, truth, error, bar) of each question."""
    domains = "\n".join([*(f"{f.name} = {f.domain}" for f in made.fine), made.small])
    text = f"version = 1\n[privacy]\nepsilon = {float(epsilon)}\ndelta = 1e-6\n"
    text += f"planned_queries = {planned}\n" if planned else ""
    policy = dpsql.load_policy(f"{text}[tables.t.columns]\n{domains}\n")
    out = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(str(path)) as con:
            con.execute("SELECT setseed(0.1)")
            con.execute(f"CREATE TABLE t AS {made.source}")
            asked = list(conditions(made, con, seed))
            truths = [con.execute(f"SELECT count(*) FROM t WHERE {w}").fetchall()[0][0] for _, _, w in asked]
        with dpsql.connect(path, policy=policy, ledger=":memory:") as session:
            for (column, kind, where), true in zip(asked, truths, strict=True):
                (answer,) = session.execute(f"SELECT COUNT(*) FROM t WHERE {where}").answers
                out.append((column, kind, float(true), float(answer.value or 0) - true, answer.error or 0.0))
    return out


def row(title: str, kind: str, found: Sequence[tuple[str, str, float, float, float]], sigma: float) -> Row:
    truth, off, bar = np.array([f[2:] for f in found]).T
    noise = np.random.default_rng(7).normal(0.0, sigma, (40, len(truth)))
    peer = np.abs(np.maximum(truth + noise, 0.0) - truth).mean()
    return {
        "column": title,
        "kind": kind,
        "questions": len(found),
        "rows": float(truth.mean()),
        "off by": float(np.abs(off).mean()),
        "gaussian": float(peer),
        "inside": round(float((np.abs(off) <= bar).mean()), 3),
        "bar": float(np.median(bar)),
    }


@click.command()
@click.option("--table", "tables", type=click.Choice(list(TABLES)), multiple=True, default=tuple(TABLES))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=1)
@click.option("--rules", default=NEWEST_MODELS)
@click.option("--planned", default=PLANNED, help="0: as a policy has it that does not say.")
def main(tables: Sequence[str], epsilon: str, seeds: int, rules: int, planned: int) -> None:
    rows: list[Row] = []
    every: list[tuple[str, str, float, float, float]] = []
    sigma = gaussian_sigma(Fraction(epsilon), PLANNED)
    for name in tables:
        with of_rules(rules):
            found = [
                one for seed in range(seeds) for one in study(TABLES[name](), Fraction(epsilon), seed + 1, planned)
            ]
        for column, kind in dict.fromkeys(f[:2] for f in found):
            rows.append(row(f"{name}.{column}", kind, [f for f in found if f[:2] == (column, kind)], sigma))
        every += found
    asked = dict.fromkeys(f[1] for f in every)
    rows += [row("all", kind, [f for f in every if f[1] == kind], sigma) for kind in asked]
    title = f"Columns of many values, epsilon {epsilon}, {planned:,} planned, {seeds} sessions, rules {rules}"
    show(title, rows, f"fine_columns_eps{epsilon}", ["means over questions; bar: median"])


if __name__ == "__main__":
    main()
