"""Methods of synthesis beside each other: ``python -m benchmarks.synthesis [--tables adult6,nltcs] [--epsilon 1]``.

Every method has a ledger of its own and may spend all of it; the session's hypothesis spends it on a first look. Errors
are against the private tables, which are public here: mean, 95 % and largest over the workload, the mean over the
held-out queries (all in % of the rows), and the mean total variation distance of all contingencies of three columns.
"""

import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import isnan, prod
from pathlib import Path

import click
import numpy as np

from benchmarks.rules_study import COLUMNS
from benchmarks.simulated_tables import ADULT6, CodedTable, adult, coded
from benchmarks.tables import ADULT14
from dpsql.domain import IntegerDomain, TableDomain
from dpsql.engine.partition import Partition
from dpsql.errors import Error
from dpsql.ledger import MemoryLedger
from dpsql.mechanism import SystemEntropy
from dpsql.planning import make_plan
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.private import Private
from dpsql.query import Counts, LinearQuery
from dpsql.session.asker import Asker
from dpsql.session.synthesizing import Synthesizing
from dpsql.synthesis.methods import METHODS, method_named
from dpsql.synthesis.synthetic import Synthetic
from dpsql.synthesis.wanted import Part, Wanted
from dpsql.synthesis.workload import Workload, generated, split

DATA = Path(__file__).parent / "data"
GRAPH = DATA.parents[1] / "examples" / "facebook" / "facebook.parquet"
WORKLOADS: Mapping[str, str] = {"facebook": "cuts:random:200"}
"""By table, where it is not the cells of all pairs of columns."""
TRIPLES, TRIPLE_CELLS = 100, 1 << 18


class CodedEngine:
    """Counts a table of codes: what an engine does, without a database."""

    def __init__(self, table: CodedTable) -> None:
        self._table = table

    def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
        return Private(np.asarray(self._table.contingency(columns), dtype=np.int64))

    def part_counts(self, table: str, partitions: tuple[Partition, ...]) -> Private[Counts]:
        domain, codes = self._table.domain, self._table.codes
        part = np.zeros(len(codes), dtype=np.int64)
        for p in partitions:
            cells = [codes[:, domain.order[c]] for c in p.columns]
            part = part * p.size + p.flat[np.ravel_multi_index(cells, domain.shape(p.columns))]
        sizes = [p.size for p in partitions]
        return Private(np.bincount(part, minlength=prod(sizes)).reshape(sizes))

    def is_base_table(self, table: str) -> bool:
        return True


def tables(names: Sequence[str]) -> dict[str, CodedTable]:
    """The benchmark tables by name; ``facebook``: each undirected edge once, from the smaller vertex to the larger."""
    out = {}
    for name in names:
        if name in ("adult6", "adult14"):
            out[name] = adult(ADULT6 if name == "adult6" else ADULT14)
        elif name == "facebook":
            found = coded(GRAPH, "facebook", ("src", "dst"))
            ends = [np.array(d.values, dtype=np.int64) for d in found.domain.finite]
            vertices = 1 + max(int(e.max()) for e in ends)
            columns = tuple(IntegerDomain(c, 0, vertices - 1, nullable=False) for c in ("src", "dst"))
            codes = np.stack([e[found.codes[:, i]] for i, e in enumerate(ends)], axis=1)
            out[name] = CodedTable(TableDomain("facebook", columns), codes)
        else:
            file, chosen = COLUMNS[name]
            out[name] = coded(DATA / f"{file}.parquet", file, chosen)
    return out


def made(
    table: CodedTable, method: str, word: str, epsilon: Fraction, options: Mapping[str, str]
) -> tuple[Synthetic, float]:
    """The synthetic table, and what its ledger was charged, in epsilon."""
    policy = Policy(Privacy(epsilon, Fraction(1, 10**6), "add-remove", 10_000), (table.domain,), Mechanism("auto"))
    plan, ledger = make_plan(policy), MemoryLedger({})
    asker = Asker(policy, plan, CodedEngine(table), ledger, SystemEntropy())  # type: ignore[arg-type]
    asker.first_touches(table.domain.name, ())
    may = None
    if method_named(method).pays:
        left = asker.turns.affordable_beside(only_row_counts=True)
        may = Fraction(left - 1, plan.total_units) * plan.epsilon
    wanted = Wanted(table.domain.name, method, (Part(word, word),), may, options=options, keeps_first_look=False)
    found = Synthesizing(asker, lambda text: (_ for _ in ()).throw(NotImplementedError), wanted).make()
    return found.synthetic, plan.as_epsilon(ledger.totals().spent)


def off(table: CodedTable, synthetic: Synthetic, queries: Sequence[LinearQuery]) -> np.ndarray:
    """Absolute errors in % of the rows."""
    rows, own = table.rows, CodedTable(table.domain, synthetic.codes)
    mine = [q.estimate(own.contingency(q.scope).astype(float)) * synthetic.scale for q in queries]
    return np.abs(np.subtract(mine, [table.truth(q) for q in queries])) * (100 / rows)


def three_way(table: CodedTable, synthetic: Synthetic) -> float:
    """Mean total variation distance over contingencies of three columns, ``TRIPLES`` of them at most."""
    own, distances = CodedTable(table.domain, synthetic.codes), []
    triples = [
        t for t in combinations([c.name for c in table.domain.varied], 3) if prod(table.domain.shape(t)) <= TRIPLE_CELLS
    ]
    if len(triples) > TRIPLES:
        triples = [triples[i] for i in np.random.default_rng(1).choice(len(triples), TRIPLES, replace=False)]
    for columns in triples:
        p, q = (t.contingency(columns) / t.rows for t in (table, own))
        distances.append(float(np.abs(p - q).sum()) / 2)
    return float(np.mean(distances)) if distances else float("nan")


def line(
    table: CodedTable, workload: Workload, names: tuple[str, str, str], epsilon: Fraction, options: Mapping[str, str]
) -> str:
    """A row of the table, or the words in which the method refuses; ``names``: table, method, workload."""
    name, method, word = names
    begin = time.perf_counter()
    try:
        synthetic, charged = made(table, method, word, epsilon, options)
    except Error as error:
        return f"| {name} | {method} | {error.message}; {error.hint} | | | | | | |"
    seconds = time.perf_counter() - begin
    told, held = off(table, synthetic, workload.told), off(table, synthetic, workload.held_out)
    said = " ".join([method, *(f"{k}={v}" for k, v in options.items())])
    numbers = [told.mean(), np.quantile(told, 0.95), told.max(), held.mean()]
    shown = " | ".join(f"{n:.3f}" for n in numbers)
    threes = three_way(table, synthetic)
    distance = "" if isnan(threes) else f"{threes:.3f}"
    return f"| {name} | {said} | {shown} | {distance} | {seconds:.1f} | {charged:.3f} |"


@click.command()
@click.option("--tables", "chosen", default="adult6,nltcs")
@click.option("--methods", default="", help="Words of dpsql synth --method; all of them by default.")
@click.option("--epsilon", default="1")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Of every method that is compared.")
def main(chosen: str, methods: str, epsilon: str, options: tuple[str, ...]) -> None:
    click.echo("| table | method | workload mean | 95 % | max | held-out mean | 3-way TV | s | charged |")
    click.echo("|---|---|---|---|---|---|---|---|---|")
    told = dict(o.split("=", 1) for o in options)
    for name, table in tables(chosen.split(",")).items():
        word = WORKLOADS.get(name, "marginals:2")
        workload = split(generated(table.domain, word, 1)[0], 1)
        for method in methods.split(",") if methods else METHODS:
            click.echo(line(table, workload, (name, method, word), Fraction(epsilon), told))


if __name__ == "__main__":
    main()
