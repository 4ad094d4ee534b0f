"""Crowds that noise hides: ``python -m benchmarks.hidden_crowds [--table lognormal] [--epsilon 1] [--seeds 4] [--rules
23] [--beside 8]``.

12,000 rows of a number column of ``benchmarks.numbers``, with the bins that a policy gets that says nothing of them, of
which 0, 50, 100 or 200 are beyond an end of its range, at 0 or at a round number inside; a session for each of these.
Three conditions about that place: the value alone, what is within 2 % of it (of 0, of a hundredth of the end), and all
from there on (of 0, above). ``--beside``: how many columns that tell nothing share the budget. Compared with what
DuckDB counts on clipped values.
"""

import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.followers import of_rules
from benchmarks.number_tables import TABLES
from benchmarks.numbers import ask
from benchmarks.options import command_text
from benchmarks.report import show
from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.domain import NumberDomain
from dpsql.policy_file import parse_policy

Row = dict[str, object]
ROWS = 12_000
CROWDS = (0, 50, 100, 200)
COLUMNS = {name: (name.split(".")[0], name.split(".")[1]) for name in (
    "lognormal.amount", "balances.balance", "diamonds.price", "flights.distance", "earnings.earnings"
)}  # fmt: skip


PLACES = {"end": "an end", "zero": "0", "round": "a round number"}


def policy_of(columns: str, epsilon: Fraction) -> str:
    return f"version = 1\n[privacy]\nepsilon = {float(epsilon)}\ndelta = 1e-6\n[tables.t.columns]\n{columns}\n"


def study(name: str, epsilon: Fraction, seeds: int, beside: int) -> list[Row]:
    table, column = COLUMNS[name]
    source, of = TABLES[table]
    line = next(line for line in of.columns.splitlines() if line.startswith(f"{column} = "))
    others = "".join(f'\nc{i} = {{ type = "integer", min = 0, max = 7 }}' for i in range(beside))
    text = policy_of(f'{line}\nhalf = {{ type = "boolean" }}{others}', epsilon)
    (domain,) = (c for c in parse_policy(text).tables[0].columns if isinstance(c, NumberDomain))
    with duckdb.connect() as con:
        made = con.execute(f"SELECT {column}::DOUBLE AS x FROM {source(con)} WHERE {column} IS NOT NULL").fetchnumpy()
    values = np.clip(np.asarray(made["x"], dtype=np.float64), domain.edges[0], domain.edges[-1])
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 31])
        x = rng.choice(values, ROWS)
        end, inside = domain.edges[-1], float(f"{rng.choice(values[(values > 0) & (values < domain.edges[-1])]):.1g}")
        zero = 0.0 if domain.edges[0] <= 0.0 else domain.edges[0]
        for where, at in (("end", end), ("zero", zero), ("round", inside)):
            for crowd in CROWDS:
                y = x.copy()
                y[:crowd] = at
                found.setdefault((where, crowd), []).extend(asked(text, column, y, at, end, beside))
    return [
        {
            "column": name,
            "crowd": f"{crowd} at {PLACES[where]}",
            "numbers": len(numbers),
            "inside": round(float(np.mean([off <= bar for off, bar in numbers])), 2),
            "mean error": float(np.mean([off for off, _ in numbers])),
            "mean bar": float(np.mean([bar for _, bar in numbers])),
        }
        for (where, crowd), numbers in found.items()
    ]


def asked(text: str, column: str, x: np.ndarray, at: float, end: float, beside: int) -> list[tuple[float, float]]:
    """Errors and bars in one session. Rows beyond an end are as they would come: clipped by dpsql."""
    near, above = at * 0.02 or end * 0.01, ">" if at <= 0.0 else ">="
    conditions = (f"= {at}", np.equal(x, at)), (f"BETWEEN {at - near} AND {at + near}", np.abs(x - at) <= near)
    whole = (f"{above} {at}", x > at if above == ">" else x >= at)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crowds.duckdb"
        path.with_suffix(".dpsql.toml").write_text(text)
        with duckdb.connect(str(path)) as con:
            rng = np.random.default_rng(1)
            half, others = rng.random(len(x)) < 0.5, {f"c{i}": rng.integers(0, 8, len(x)) for i in range(beside)}
            con.register("rows", {column: np.where(x == end, end * 1.2, x), "half": half, **others})
            con.execute("CREATE TABLE t AS FROM rows")
        with dpsql.connect(path, ledger=path.with_suffix(".ledger"), new_budget=True) as con:
            out = []
            for condition, true in (*conditions, whole):
                text = f"SELECT COUNT(*) FROM t WHERE {column} {condition}"
                here = ask(con.cursor(), text, float(true.sum()))
                out.append((here.off, here.bar))
        return out


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(COLUMNS)), default=list(COLUMNS))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=4)
@click.option("--rules", default=NEWEST_MODELS)
@click.option("--beside", default=0)
def main(names: Sequence[str], epsilon: str, seeds: int, rules: int, beside: int) -> None:
    with of_rules(rules):
        rows = [row for name in names for row in study(name, Fraction(epsilon), seeds, beside)]
    for where in PLACES.values():
        for crowd in CROWDS:
            some = [row for row in rows if row["crowd"] == f"{crowd} at {where}"]
            mean = {
                key: float(np.mean([float(str(row[key])) for row in some]))
                for key in ("inside", "mean error", "mean bar")
            }
            rows.append({"column": "all", "crowd": f"{crowd} at {where}", "numbers": 3 * seeds * len(some), **mean})
    title = f"Crowds that noise hides, epsilon {epsilon}, {seeds} sessions each, rules {rules}"
    command = command_text("hidden_crowds", epsilon=epsilon, seeds=seeds, rules=rules, beside=beside)
    show(title, rows, "hidden_crowds", [command])


if __name__ == "__main__":
    main()
