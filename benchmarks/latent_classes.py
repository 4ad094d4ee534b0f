"""Models of three and more of many columns, by latent classes and without: ``python -m benchmarks.latent_classes
[--table forty] [--epsilon 1]``.

A session measures all pairs with its own noise; models of rules 25 and of the newest are then made of the same
measurements and asked about conditions at random, so that neither spare releases nor hard rounds answer them. ``forty``
and its like have five hidden kinds of rows (``benchmarks.forty``); in ``parents`` each of 24 columns follows from two
before it, a quarter of the rows aside, and no kind of row explains that. Mean errors in counts.
"""

import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path

import click
import duckdb
import numpy as np
import pyarrow as pa

import dpsql
from benchmarks.forty import forty
from benchmarks.long_conditions import codes_of, questions, truth
from benchmarks.options import command_text
from benchmarks.report import show
from benchmarks.strangers.tables import Builder
from benchmarks.tables import BenchmarkTable
from benchmarks.workload import Column
from dpsql.domain import IntegerDomain, TableDomain
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST

ROWS, COLUMNS, PLANNED = 100_000, 24, 10_000
SIZES = (2, 3, 4, 5, 6, 8, 12, 20)
KINDS = ("3", "4", "5", "6")


def parents(folder: Path, seed: int) -> BenchmarkTable:
    """Each column follows from two before it."""
    rng = np.random.default_rng(seed)
    codes: list[np.ndarray] = []
    for _ in range(COLUMNS):
        size = int(rng.choice(SIZES))
        alone = rng.choice(size, size=ROWS, p=rng.dirichlet(np.ones(size)))
        if len(codes) >= 2:
            one, other = (codes[i] for i in rng.choice(len(codes), 2, replace=False))
            place = one * (other.max() + 1) + other
            shares = np.cumsum(rng.dirichlet(np.full(size, 0.6), size=int(place.max()) + 1), axis=1)[place]
            follows = (rng.random(ROWS)[:, None] > shares).sum(axis=1).clip(0, size - 1)
            alone = np.where(rng.random(ROWS) < 0.25, alone, follows)
        codes.append(alone.astype(np.int64))
    names = [f"c{i:02d}" for i in range(COLUMNS)]
    path = folder / "parents.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("generated", pa.table(dict(zip(names, codes, strict=True))))
        con.execute("CREATE TABLE t AS SELECT * FROM generated")
    sizes = [int(c.max()) + 1 for c in codes]
    domains = [IntegerDomain(name, 0, size - 1, nullable=False) for name, size in zip(names, sizes, strict=True)]
    columns = [Column(name, tuple(range(size)), ordered=True) for name, size in zip(names, sizes, strict=True)]
    return BenchmarkTable(path, TableDomain("t", tuple(domains)), tuple(columns))


TABLES: Mapping[str, Builder] = {
    "forty": partial(forty, rows=ROWS),
    "forty41": partial(forty, rows=ROWS, seed=41),
    "forty42": partial(forty, rows=ROWS, seed=42),
    "parents1": partial(parents, seed=1),
    "parents2": partial(parents, seed=2),
}


def measured(table: BenchmarkTable, epsilon: Fraction) -> WideHypothesis:
    """The model of a session that has measured all pairs."""
    names = [c.name for c in table.domain.finite]
    policy = table.policy(epsilon, PLANNED, strategy="auto")
    with dpsql.connect(table.path, policy=policy, ledger=":memory:", new_budget=True) as con:
        for one, other in combinations(names, 2):
            con.execute(f"SELECT {one}, {other}, COUNT(*) FROM t GROUP BY ALL")
        model = con._session._asker.states["t"].model
        assert model is not None and isinstance(model.hypothesis, WideHypothesis)
        return model.hypothesis


def study(name: str, table: BenchmarkTable, epsilon: Fraction, count: int) -> dict[str, object]:
    codes, rng = codes_of(table), np.random.default_rng(7)
    made, models = measured(table, epsilon), []
    for rules in (MODEL_RULES[25], NEWEST):
        models.append(WideHypothesis(made.table, made.row_count, rules))
        for m in made.measurements:
            models[-1].absorb(m)
    out: dict[str, object] = {"table": name, "classes": len(models[1].latent_classes.weights)}
    for kind in KINDS:
        asked = questions(table, codes, kind, count, rng)
        true = [truth(codes, q) for q in asked]
        off = [np.mean([abs(m.answer(q) - t) for q, t in zip(asked, true, strict=True)]) for m in models]
        out[f"{kind} columns"] = " -> ".join(f"{e:.1f}" for e in off)
    return out


@click.command()
@click.option("--table", "tables", type=click.Choice(list(TABLES)), multiple=True, default=tuple(TABLES))
@click.option("--epsilon", default="1")
@click.option("--questions", "count", default=300, help="Over each number of columns.")
def main(tables: Sequence[str], epsilon: str, count: int) -> None:
    rows = []
    for name in tables:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(study(name, TABLES[name](Path(folder)), Fraction(epsilon), count))
    told = command_text("latent_classes", epsilon=epsilon, questions=count)
    show(f"Models of many columns, epsilon {epsilon}: mean errors by rules 25 and 26", rows, "latent_classes", [told])


if __name__ == "__main__":
    main()
