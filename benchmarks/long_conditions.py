"""What models of wide tables say of conditions on two to six columns: ``python -m benchmarks.long_conditions
[--table fire] [--share .15] [--rules 19]``.

One session measures what a first look measures, with its own noise; the questions are then asked of the model alone, so
that neither spare releases nor hard rounds answer them. Conditions at random, and such as a row of the table meets
("alike"); disjunctions of the latter's opposites. Mean and largest error in counts, and the CPU seconds of all of it.
``--share``: of the releases' precision for three columns together, measured however few rows there are; without it as
planned. ``--rules``: as ledgers of these rules of models answer.
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from pathlib import Path
from unittest.mock import patch

import click
import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd

import dpsql
from benchmarks.followers import of_rules
from benchmarks.options import command_text
from benchmarks.report import show
from benchmarks.strangers.newcomers import NEWCOMERS
from benchmarks.strangers.tables import STRANGERS
from benchmarks.tables import BenchmarkTable
from dpsql.accounting.plan import NEWEST_MODELS
from dpsql.domain import FiniteDomain, IntegerDomain, NumberDomain
from dpsql.hypothesis import Hypothesis
from dpsql.planning import contingencies
from dpsql.query import Factor, LinearQuery, linear_query

Codes = Mapping[str, npt.NDArray[np.int64]]
Row = dict[str, object]
WIDE = ("adult14", "loans", "fire", "flights", "choices")
TABLES = {**{name: STRANGERS[name] for name in WIDE}, **NEWCOMERS}
KINDS = (*(f"{n}{alike}" for n in range(2, 7) for alike in ("", " alike")), *(f"or {n}" for n in range(3, 6)))
MOST_CELLS = 2_000_000
PLANNED = 1_000


def codes_of(table: BenchmarkTable) -> Codes:
    """The cell of every row in each column."""
    with duckdb.connect(str(table.path), read_only=True) as con:
        names = ", ".join(f'"{c.name}"' for c in table.domain.finite)
        frame = con.execute(f"SELECT {names} FROM {table.domain.name}").fetchdf()
    return {c.name: _cells(c, frame[c.name]) for c in table.domain.finite}


def _cells(column: FiniteDomain, values: "pd.Series[object]") -> npt.NDArray[np.int64]:
    if isinstance(column, NumberDomain | IntegerDomain):
        known = values.isna().to_numpy()
        numbers = pd.to_numeric(values).fillna(0).to_numpy(dtype=float)
        if isinstance(column, NumberDomain):
            out = np.clip(np.searchsorted(column.edges, numbers, side="right") - 1, 0, len(column.edges) - 2)
        else:
            out = np.clip(numbers, column.low, column.high).astype(np.int64) - column.low
        return np.where(known, column.size - 1, out).astype(np.int64)
    places = {value: i for i, value in enumerate(column.values)}
    return values.map(places).fillna(column.size - 1).to_numpy(dtype=np.int64)


def questions(
    table: BenchmarkTable, codes: Codes, kind: str, count: int, rng: np.random.Generator
) -> list[LinearQuery]:
    """Different conditions on as many columns as the kind says."""
    columns, number = table.domain.finite, int(kind.split()[-1] if kind.startswith("or") else kind.split()[0])
    out: list[LinearQuery] = []
    while number <= len(columns) and len(out) < count:
        chosen = [columns[i] for i in sorted(rng.choice(len(columns), number, replace=False).tolist())]
        row = int(rng.integers(len(next(iter(codes.values())))))
        inside = [_weights(c, int(codes[c.name][row]) if " " in kind else None, rng) for c in chosen]
        if not kind.startswith("or"):
            factors = [Factor((c.name,), w) for c, w in zip(chosen, inside, strict=True)]
        elif np.prod([float(c.size) for c in chosen]) > MOST_CELLS:
            continue
        else:
            none = reduce(np.multiply.outer, [1 - (1 - w) for w in inside])
            factors = [Factor(tuple(c.name for c in chosen), 1 - none)]
        found = linear_query(table.domain, factors)
        if found is not None and len(found.scope) == number:
            out.append(found)
    return out


def _weights(column: FiniteDomain, met: int | None, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """One value, a range, or a list; with the value that is ``met`` among them."""
    out = np.zeros(column.size, dtype=np.int64)
    start, kind = int(rng.integers(column.size)) if met is None else met, rng.random()
    if (kind < 0.5 and met is not None) or column.size <= 2:
        out[start] = 1
    elif column.ordered and kind < 0.8:
        low, high = sorted((start, int(rng.integers(column.size))))
        out[low : high + 1] = 1
    else:
        out[rng.choice(column.size, int(rng.integers(1, max(2, column.size // 2))), replace=False)] = 1
        if met is not None:
            out[met] = 1
    return out


def truth(codes: Codes, query: LinearQuery) -> float:
    rows = np.ones(len(next(iter(codes.values()))))
    for f in query.factors:
        rows = rows * f.weights[tuple(codes[c] for c in f.columns)] / f.unit
    return float(rows.sum())


def model_of(table: BenchmarkTable, epsilon: str) -> Hypothesis:
    """What a session's first look makes."""
    policy = table.policy(Fraction(epsilon), PLANNED, strategy="auto")
    with dpsql.connect(table.path, policy=policy, ledger=":memory:", new_budget=True) as con:
        con.execute(f'SELECT "{table.domain.finite[0].name}", COUNT(*) FROM {table.domain.name} GROUP BY 1')
        model = con._session._asker.states[table.domain.name].model
        assert model is not None
        return model.hypothesis


def study(name: str, table: BenchmarkTable, epsilon: str, seeds: int, count: int) -> Row:
    codes, rng = codes_of(table), np.random.default_rng(7)
    asked = {kind: questions(table, codes, kind, count, rng) for kind in KINDS}
    truths = {kind: np.array([truth(codes, q) for q in found]) for kind, found in asked.items()}
    off: dict[str, list[npt.NDArray[np.float64]]] = {kind: [] for kind in KINDS}
    begun, threes = time.process_time(), 0
    for _ in range(seeds):
        model = model_of(table, epsilon)
        threes = sum(len(m.axes) == 3 for m in model.measurements)
        for kind, found in asked.items():
            off[kind].append(np.abs(np.array([model.answer(q) for q in found]) - truths[kind]))
    out: Row = {"table": name, "triples": threes}
    out |= {k: f"{np.mean(e):.1f}, {np.max(e):.0f}" for k, e in off.items() if np.size(e)}
    return out | {"CPU": round(time.process_time() - begun, 1)}


@click.command()
@click.option("--table", "tables", type=click.Choice(list(TABLES)), multiple=True, default=WIDE)
@click.option("--epsilon", default="1")
@click.option("--seeds", default=2)
@click.option("--questions", "count", default=150, help="Of each kind.")
@click.option("--share", type=float, help="For three columns together.")
@click.option("--rules", default=NEWEST_MODELS)
def main(tables: Sequence[str], epsilon: str, seeds: int, count: int, share: float | None, rules: int) -> None:
    rows = []
    least = contingencies.LEAST_TRIPLE_PARTS if share is None else 2 if share > 0.0 else 10**6
    for name in tables:
        with (
            tempfile.TemporaryDirectory() as folder,
            of_rules(rules),
            patch.object(contingencies, "LEAST_TRIPLE_PARTS", least),
            patch.object(contingencies, "TRIPLE_SHARE", share or contingencies.TRIPLE_SHARE),
        ):
            rows.append(study(name, TABLES[name](Path(folder)), epsilon, seeds, count))
    told = command_text("long_conditions", epsilon=epsilon, seeds=seeds, rules=rules)
    note = told if share is None else f"{told} --share {share}"
    show(f"Models alone, epsilon {epsilon}, rules {rules}: mean and largest error", rows, "long_conditions", [note])


if __name__ == "__main__":
    main()
