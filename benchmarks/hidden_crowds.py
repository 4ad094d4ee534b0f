"""Crowds that noise hides: ``python -m benchmarks.hidden_crowds [--table lognormal] [--epsilon 1] [--seeds 4] [--rules
23]``.

12,000 rows of a number column of ``benchmarks.numbers``, with the bins that a policy gets that says nothing of them, of
which 0, 50, 100 or 200 are beyond an end of its range or at a round number inside; a session for each of these. Three
conditions about that place: the value alone, what is within 2 % of it, and all above. Compared with what DuckDB counts
on clipped values.
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


def policy_of(columns: str, epsilon: Fraction) -> str:
    return f"version = 1\n[privacy]\nepsilon = {float(epsilon)}\ndelta = 1e-6\n[tables.t.columns]\n{columns}\n"


def study(name: str, epsilon: Fraction, seeds: int) -> list[Row]:
    table, column = COLUMNS[name]
    source, of = TABLES[table]
    line = next(line for line in of.columns.splitlines() if line.startswith(f"{column} = "))
    text = policy_of(f'{line}\nhalf = {{ type = "boolean" }}', epsilon)
    (domain,) = (c for c in parse_policy(text).tables[0].columns if isinstance(c, NumberDomain))
    with duckdb.connect() as con:
        made = con.execute(f"SELECT {column}::DOUBLE AS x FROM {source(con)} WHERE {column} IS NOT NULL").fetchnumpy()
    values = np.clip(np.asarray(made["x"], dtype=np.float64), domain.edges[0], domain.edges[-1])
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 31])
        x = rng.choice(values, ROWS)
        end, inside = domain.edges[-1], float(f"{rng.choice(values[(values > 0) & (values < domain.edges[-1])]):.1g}")
        for where, at in (("end", end), ("round", inside)):
            for crowd in CROWDS:
                y = x.copy()
                y[:crowd] = at
                found.setdefault((where, crowd), []).extend(asked(text, column, y, at, end))
    return [
        {
            "column": name,
            "crowd": f"{crowd} at {'an end' if where == 'end' else 'a round number'}",
            "numbers": len(numbers),
            "inside": round(float(np.mean([off <= bar for off, bar in numbers])), 2),
            "mean error": float(np.mean([off for off, _ in numbers])),
            "mean bar": float(np.mean([bar for _, bar in numbers])),
        }
        for (where, crowd), numbers in found.items()
    ]


def asked(text: str, column: str, x: np.ndarray, at: float, end: float) -> list[tuple[float, float]]:
    """Errors and bars in one session. Rows beyond an end are as they would come: clipped by dpsql."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "crowds.duckdb"
        path.with_suffix(".dpsql.toml").write_text(text)
        with duckdb.connect(str(path)) as con:
            half = np.random.default_rng(1).random(len(x)) < 0.5
            con.register("rows", {column: np.where(x == end, end * 1.2, x), "half": half})
            con.execute("CREATE TABLE t AS FROM rows")
        with dpsql.connect(path, ledger=path.with_suffix(".ledger"), new_budget=True) as con:
            out = []
            for low, high in ((at, at), (at * 0.98, at * 1.02), (at, np.inf)):
                above = "" if high == np.inf else f" AND {column} <= {high}"
                here = ask(
                    con.cursor(),
                    f"SELECT COUNT(*) FROM t WHERE {column} >= {low}{above}",
                    float(((x >= low) & (x <= high)).sum()),
                )
                out.append((here.off, here.bar))
        return out


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(COLUMNS)), default=list(COLUMNS))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=4)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: Sequence[str], epsilon: str, seeds: int, rules: int) -> None:
    with of_rules(rules):
        rows = [row for name in names for row in study(name, Fraction(epsilon), seeds)]
    for where in ("an end", "a round number"):
        for crowd in CROWDS:
            some = [row for row in rows if row["crowd"] == f"{crowd} at {where}"]
            mean = {
                key: float(np.mean([float(str(row[key])) for row in some]))
                for key in ("inside", "mean error", "mean bar")
            }
            rows.append({"column": "all", "crowd": f"{crowd} at {where}", "numbers": 3 * seeds * len(some), **mean})
    title = f"Crowds that noise hides, epsilon {epsilon}, {seeds} sessions each, rules {rules}"
    show(title, rows, "hidden_crowds", [command_text("hidden_crowds", epsilon=epsilon, seeds=seeds, rules=rules)])


if __name__ == "__main__":
    main()
