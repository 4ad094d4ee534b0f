"""Sums of products: ``python -m benchmarks.products [--table orders] [--epsilon 1] [--seeds 1]``.

200 SUMs and AVGs of products of columns, as of an amount, a quantity and a discount, in random groups of 500 rows or
more, in half of them beside a condition on the first column, too. Tables and columns are those of
``benchmarks.numbers``, and 100,000 made orders. Compared with what DuckDB makes of the same text on clipped values:
coverage of the 95 % bars, mean and median error, and those of a Gaussian for each statement that was told how many
there are and knows the number of rows of each group exactly.
"""

import re
import tempfile
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np
import pyarrow as pa

import dpsql
from benchmarks.number_tables import TABLES, Numbers
from benchmarks.numbers import LEAST, Found, Row, Writer, ask, gaussian, row_of
from benchmarks.options import command_text
from benchmarks.report import show
from dpsql.domain import IntegerDomain, NumberDomain
from dpsql.policy_file import parse_policy

ASKED = 200
SEGMENTS = ("corporate", "public", "retail")
# product, the most of it, column of the condition
PRODUCTS = {
    "orders": (
        ("amount * units", 10000 * 30, "amount"),
        ("amount * (1 - discount)", 10000, "amount"),
        ("units * discount", 15, "discount"),
        ("amount * units * (1 - discount)", 10000 * 30, "amount"),
    ),
    "balances": (("balance * day", 800 * 7, "balance"), ("balance * (day > 5)::INTEGER", 800, "balance")),
    "adult": (("hours_per_week * education_num", 99 * 16, "hours_per_week"), ("age * education_num", 90 * 16, "age")),
    "flights": (("distance * hour", 4983 * 23, "distance"), ("dep_delay * month", 1301 * 12, "dep_delay")),
    "diamonds": (("price * carat", 20000 * 4, "price"), ("price * (depth - 60)", 20000 * 20, "price")),
    "earnings": (("earnings * age", 80 * 64, "earnings"), ("earnings * (age - 20)", 80 * 44, "earnings")),
}


def orders(con: duckdb.DuckDBPyConnection) -> str:
    """100,000 amounts, units and discounts, most of which are 0; segments buy unlike amounts."""
    rng = np.random.default_rng(17)
    segment = rng.choice(3, 100_000, p=[0.25, 0.1, 0.65])
    amount = np.round(rng.lognormal(3.2, 1.3, 100_000) * np.array([1.5, 1.0, 0.8])[segment], 2)
    discount = np.where(rng.random(100_000) < 0.7, 0.0, np.round(rng.random(100_000) * 0.4, 2))
    units = rng.poisson(3, 100_000) + 1
    columns = {"amount": amount, "units": units, "discount": discount, "segment": np.array(SEGMENTS)[segment]}
    con.register("made", pa.table(columns | {"day": rng.integers(1, 8, 100_000)}))
    return "made"


MADE = Numbers(
    "*",
    'amount = { type = "number", min = 0, max = 10000 }\ndiscount = { type = "number", min = 0, max = 0.5 }\n'
    'units = { type = "integer", min = 0, max = 30 }\nday = { type = "integer", min = 1, max = 7 }\n'
    f'segment = {{ type = "category", values = {list(SEGMENTS)} }}'.replace("'", '"'),
    ("amount", "discount"),
    {"segment": SEGMENTS, "day": tuple(range(1, 8))},
)
EVERY = {**TABLES, "orders": (orders, MADE)}


Asked = tuple[str, str, str, float, float, float]
"""Aggregate, condition, the kind of question, the truth, rows, and what one row may change the truth by times rows."""
Values = dict[str, np.ndarray]
Asking = Callable[[duckdb.DuckDBPyConnection, str, Writer, Values, np.random.Generator], list[Asked]]


def study(name: str, epsilon: Fraction, seed: int, asking: Asking, bins: int | None = None) -> list[Row]:
    """The table's rows of the report, by kind of question. ``bins``: equal ones of every number column."""
    source, table = EVERY[name]
    with tempfile.TemporaryDirectory() as folder:
        path, policy = Path(folder) / "products.duckdb", Path(folder) / "products.dpsql.toml"
        declared = (
            table.columns if bins is None else re.sub('(type = "number".*?) }', rf"\1, bins = {bins} }}", table.columns)
        )
        text = f"version = 1\n[privacy]\nepsilon = {float(epsilon)}\ndelta = 1e-6\n[tables.t.columns]\n{declared}\n"
        policy.write_text(text)
        columns = parse_policy(text).tables[0].columns
        domains = {c.name: c for c in columns if isinstance(c, NumberDomain)}
        ends = {n: (d.edges[0], d.edges[-1]) for n, d in domains.items()}
        kept = [
            f"CASE WHEN {n} IS NOT NULL THEN least(greatest({n}, {low}), {high})::DOUBLE END AS {n}"
            for n, (low, high) in ends.items()
        ]
        for c in columns:
            if isinstance(c, IntegerDomain):  # what is not declared is NULL
                kept.append(f"CASE WHEN {c.name} BETWEEN {c.low} AND {c.high} THEN {c.name} END AS {c.name}")
        with duckdb.connect(str(path)) as con:
            con.execute(f"CREATE TABLE t AS SELECT {table.source} FROM {source(con)}")
            con.execute(f"CREATE TEMP TABLE clipped AS SELECT * REPLACE ({', '.join(kept)}) FROM t")
            values = {n: con.execute(f"SELECT {n} FROM clipped WHERE {n} IS NOT NULL").fetchnumpy()[n] for n in domains}
            asked = asking(con, name, Writer(table, domains, seed), values, np.random.default_rng([seed, 400]))
        return _answered(path, policy, asked, name, epsilon, seed)


def products(
    con: duckdb.DuckDBPyConnection, name: str, writer: Writer, values: Values, rng: np.random.Generator
) -> list[Asked]:
    """Sums and averages of products, in turn."""
    out: list[Asked] = []
    while len(out) < ASKED:
        product, most, column = PRODUCTS[name][int(rng.integers(len(PRODUCTS[name])))]
        cut = len(out) >= ASKED // 2
        where = f"{writer.condition(values, column)} AND {writer.groups()}" if cut else writer.groups()
        kind = "SUM" if len(out) % 2 else "AVG"
        found = con.execute(f"SELECT COUNT({product}), {kind}({product}) FROM clipped WHERE {where}").fetchall()
        ((count, truth),) = found
        if count >= LEAST:
            most = most * count if kind == "SUM" else most
            out.append(
                (f"{kind}({product})", where, kind + (" of stretches" if cut else ""), float(truth), count, most)
            )
    return out


def _answered(path: Path, policy: Path, asked: Sequence[Asked], name: str, epsilon: Fraction, seed: int) -> list[Row]:
    sigma, rng = gaussian(epsilon, len(asked)), np.random.default_rng([seed, 1])
    kinds: dict[str, list[Found]] = {}
    with dpsql.connect(path, policy=policy, ledger=path.with_suffix(".ledger"), new_budget=True) as con:
        cursor, begin = con.cursor(), time.process_time()
        for aggregate, where, kind, truth, count, most in asked:
            found = ask(cursor, f"SELECT {aggregate} FROM t WHERE {where}", truth)
            noise = abs(rng.normal(0.0, sigma)) * most / count
            kinds.setdefault(kind, []).append(Found(found.off, found.bar, found.exact, noise))
        seconds = time.process_time() - begin
    return [row_of(f"{name}, {kind}", found, seconds) for kind, found in kinds.items()]


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(PRODUCTS)), default=list(PRODUCTS))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=1)
def main(names: Sequence[str], epsilon: str, seeds: int) -> None:
    rows = [row for name in names for seed in range(seeds) for row in study(name, Fraction(epsilon), seed, products)]
    title = f"Products of columns, epsilon {epsilon}, delta 1e-6: {ASKED} questions"
    show(title, rows, "products", [command_text("products", epsilon=epsilon, seeds=seeds)])


if __name__ == "__main__":
    main()
