"""Cuts of a synthetic graph beside other answers to them, at the same epsilon; docs/papers/graph.md has the figures.

    python -m benchmarks.graph [--epsilon 1] [--vertices 150] [--cuts 300]    generated graphs
    python -m benchmarks.graph --facebook FILE.parquet                        4,039 vertices, time and memory
    python -m benchmarks.graph --noise                                        which noise, and its worst cuts

Errors are edges of random cuts (each vertex is in S, and in T, with probability 1/2); ``worst`` is the heaviest cut
that the oracle finds. All graphs are generated or public.
"""

import argparse
import math
import resource
import time
from collections.abc import Callable
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa

from dpsql import Connection, connect
from dpsql.accounting import Plan, calibrate
from dpsql.domain import IntegerDomain, TableDomain
from dpsql.mechanism import SystemEntropy
from dpsql.mechanism.randomized_response import Bits, least_flips
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.private import Private
from dpsql.synthesis.graph.bounds import laplace_bound, noise_bound
from dpsql.synthesis.graph.cut_norm import heavy_cuts
from dpsql.synthesis.graph.linear_program import program_weights
from dpsql.synthesis.graph.noise import Noise, least_noise, read
from dpsql.synthesis.graph.pairs import Matrix, Vertices
from dpsql.synthesis.graph.simple import simple_graph
from dpsql.synthesis.graph.spectral import spectral_weights
from dpsql.synthesis.wanted import Wanted

DELTA = Fraction(1, 10**6)


def structured(vertices: Vertices, generator: np.random.Generator) -> Bits:
    """A sum of four random cuts, about a quarter of all ordered pairs."""
    chances = np.full((vertices.number, vertices.number), 0.1)
    for _ in range(4):
        chances += 0.4 * np.outer(generator.random(vertices.number) < 0.5, generator.random(vertices.number) < 0.5)
    return generator.random(vertices.pairs) < vertices.of_pairs(np.clip((chances + chances.T) / 2, 0, 1))


def sparse(vertices: Vertices, generator: np.random.Generator) -> Bits:
    """Eight groups with edges inside, few between."""
    group = generator.integers(0, 8, vertices.number)
    chances = np.where(group[:, None] == group[None, :], 0.3, 0.01)
    return generator.random(vertices.pairs) < vertices.of_pairs(chances)


class Cuts:
    """Random cuts of one graph, and errors of its estimates."""

    def __init__(self, vertices: Vertices, bits: Bits, number: int, generator: np.random.Generator) -> None:
        self.vertices, self.bits = vertices, bits
        self.rows = generator.random((vertices.number, number)) < 0.5
        self.columns = generator.random((vertices.number, number)) < 0.5
        self.truth = self.values(bits.astype(np.float64))

    def values(self, weights: Matrix) -> Matrix:
        matrix = np.triu(self.vertices.matrix(weights))
        return np.einsum("ik,ik->k", self.rows, matrix @ self.columns.astype(np.float64))

    def line(self, name: str, answers: Matrix, weights: Matrix | None = None, note: str = "") -> None:
        off = np.abs(answers - self.truth)
        worst = "" if weights is None else f"{self.worst(weights):,.0f}"
        print(f"| {name} | {off.mean():,.1f} | {np.quantile(off, 0.95):,.0f} | {off.max():,.0f} | {worst} | {note} |")

    def worst(self, weights: Matrix) -> float:
        if self.vertices.number > 1000:
            return math.nan
        matrix = np.triu(self.vertices.matrix(weights - self.bits))
        return abs(heavy_cuts(matrix, np.random.default_rng(1))[0].value)


def policy(vertices: Vertices, epsilon: Fraction, queries: int, strategy: str) -> Policy:
    ends = tuple(IntegerDomain(c, 0, vertices.number - 1, nullable=False) for c in ("src", "dst"))
    privacy = Privacy(epsilon, DELTA, planned_queries=queries)
    return Policy(privacy, (TableDomain("edges", ends),), Mechanism(strategy))


def opened(vertices: Vertices, bits: Bits, rules: Policy) -> Connection:
    ends = vertices.ends(np.flatnonzero(bits))
    out = duckdb.connect()
    out.register("rows", pa.table({"src": ends[:, 0], "dst": ends[:, 1]}))
    out.execute("CREATE TABLE edges AS FROM rows")
    out.unregister("rows")
    return connect(out, rules, ":memory:", new_budget=True)


def by_session(vertices: Vertices, cuts: Cuts, epsilon: Fraction) -> Matrix:
    """The cuts asked as SQL, of a session that was told how many."""
    number = cuts.rows.shape[1]
    with opened(vertices, cuts.bits, policy(vertices, epsilon, number, "auto")) as con:
        answers = []
        for k in range(number):
            s, t = (",".join(map(str, np.flatnonzero(side[:, k]))) for side in (cuts.rows, cuts.columns))
            found = con.execute(f"SELECT COUNT(*) FROM edges WHERE src IN ({s}) AND dst IN ({t})").fetchall()
            answers.append(float(found[0][0]))
    return np.array(answers)


def by_method(vertices: Vertices, bits: Bits, epsilon: Fraction, form: str) -> tuple[Matrix, float]:
    """``dpsql synth --method graph`` with all that the ledger gives it, beside the row count: pairs, and epsilon."""
    with opened(vertices, bits, policy(vertices, epsilon, 100_000, "pmw")) as con:
        con.execute("SELECT COUNT(*) FROM edges")
        taste = Wanted("edges", "graph", epsilon=Fraction(1, 10**6), keeps_first_look=False)
        share = 0.9999 * con.session.foresee(taste).left
        made = con.synthesize(
            "edges", "graph", epsilon=share, workload="cuts:random:10", keeps_first_look=False, form=form
        )
        rows = made.to_arrow()
        matrix = np.zeros((vertices.number, vertices.number))
        matrix[rows["src"].to_numpy(), rows["dst"].to_numpy()] = 1.0
    return vertices.of_pairs(matrix), made.charged


def own_noise(epsilon: Fraction, queries: int) -> float:
    """Sd of one of ``queries`` answers with noise of their own."""
    plan = calibrate(epsilon, DELTA, hard_rounds=0, releases=queries)
    return float(plan.release_sigma(plan.release_budget // queries))


def generated(epsilon: Fraction, number: int, queries: int) -> None:
    vertices, generator = Vertices("src", "dst", number), np.random.default_rng(1)
    graphs: dict[str, Callable[[Vertices, np.random.Generator], Bits]] = {"dense": structured, "sparse": sparse}
    for name, make in graphs.items():
        bits = make(vertices, generator)
        cuts, edges = Cuts(vertices, bits, queries, generator), float(bits.sum())
        print(f"\n{name}: {number} vertices, {bits.sum():,} edges, {queries} cuts, epsilon {float(epsilon):g}\n")
        print("| answers | mean | p95 | max | worst | |\n|---|---|---|---|---|---|")
        even = np.full(vertices.pairs, edges / vertices.pairs)
        cuts.line("no look but at the number of edges", cuts.values(even), even)
        noise = Noise("randomised-response", 0, flips=least_flips(epsilon))
        noisy = read(noise.released(Private(bits), SystemEntropy()), vertices.pairs)
        pure = f"pure epsilon {float(epsilon):g}"
        cuts.line("noisy pairs themselves", cuts.values(noisy.values), noisy.values, pure)
        for form in ("spectral", "program"):
            begin = time.perf_counter()
            if form == "spectral":
                weights = spectral_weights(vertices, noisy, edges, generator)
            else:
                weights = program_weights(vertices, noisy, edges, generator)
            took = f"{pure}, {time.perf_counter() - begin:.1f} s"
            drawn = np.zeros(vertices.pairs)
            drawn[simple_graph(weights, round(edges), generator)] = 1.0
            cuts.line(f"graph, {form}", cuts.values(drawn), drawn, took)
        for form in ("spectral", "program"):
            drawn, charged = by_method(vertices, bits, epsilon, form)
            cuts.line(f"dpsql synth, {form}", cuts.values(drawn), drawn, f"ledger, {charged:.2f}")
        cuts.line("the session, asked the cuts", by_session(vertices, cuts, epsilon), note="ledger")
        sd = own_noise(epsilon, queries)
        own = cuts.truth + np.random.default_rng(2).normal(0, sd, queries)
        cuts.line("Gaussian for each cut", own, note=f"sd {sd:.0f}")


def noises() -> None:
    """Sd of one pair by either noise for the whole of a plan, bounds of all cuts, and the worst cut of noise alone."""
    print("| plan | epsilon | sd, randomised response | sd, Gaussian |\n|---|---|---|---|")
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(4)):
        plans: dict[str, Plan] = {
            "with an order": calibrate(epsilon, DELTA, hard_rounds=0),
            "with two purses": calibrate(epsilon, DELTA, hard_rounds=0, releases=1000),
        }
        for name, plan in plans.items():
            sds = [
                math.sqrt(least_noise(plan, plan.release_budget, 1, 1000, kind).variance)
                for kind in ("randomised-response", "gaussian")
            ]
            told = name if (plan.alpha is None) == (name == "with two purses") else "(the other kind)"
            print(f"| {told} | {float(epsilon):g} | {sds[0]:.2f} | {sds[1]:.2f} |")
    print("\n| vertices | worst cut / (sd n^1.5) | bound of all cuts, 95 % | Laplace, Lemma 6.1 |\n|---|---|---|---|")
    noise, generator = Noise("randomised-response", 0, flips=least_flips(Fraction(1))), np.random.default_rng(1)
    for number in (40, 100, 200):
        vertices = Vertices("a", "b", number)
        bits = structured(vertices, generator)
        found = []
        for _ in range(3):
            values = read(noise.released(Private(bits), SystemEntropy()), vertices.pairs).values
            found.append(abs(heavy_cuts(np.triu(vertices.matrix(values - bits)), generator)[0].value))
        scale = math.sqrt(noise.variance) * number**1.5
        sides = vertices.pairs, number * math.log(4)
        bounds = noise_bound(noise, *sides, 0.05) / scale, laplace_bound(1.0, *sides, 0.05) / scale
        print(f"| {number} | {np.mean(found) / scale:.3f} | {bounds[0]:.2f} | {bounds[1]:.2f} |")


def facebook(path: str, epsilon: Fraction, queries: int) -> None:
    rows = duckdb.execute("SELECT src, dst FROM read_parquet(?)", [path]).fetchnumpy()
    vertices, generator = Vertices("src", "dst", 4039), np.random.default_rng(1)
    counts = np.zeros((4039, 4039), dtype=np.int64)
    counts[rows["src"], rows["dst"]] = 1
    bits = vertices.adjacency(counts)
    cuts = Cuts(vertices, bits, queries, generator)
    print(f"facebook: 4,039 vertices, {bits.sum():,} edges, {queries} cuts, epsilon {float(epsilon):g}\n")
    print("| answers | mean | p95 | max | worst | |\n|---|---|---|---|---|---|")
    even = np.full(vertices.pairs, bits.sum() / vertices.pairs)
    cuts.line("no look but at the number of edges", cuts.values(even))
    begin, cpu = time.perf_counter(), time.process_time()
    drawn, charged = by_method(vertices, bits, epsilon, "spectral")
    took = f"{time.perf_counter() - begin:.0f} s, {time.process_time() - cpu:.0f} s of processors"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    cuts.line("dpsql synth, spectral", cuts.values(drawn), note=f"ledger, {charged:.2f}; {took}, {memory:.1f} GB")
    noisy = read(
        Noise("randomised-response", 0, flips=least_flips(epsilon)).released(Private(bits), SystemEntropy()),
        vertices.pairs,
    )
    cuts.line("noisy pairs themselves", cuts.values(noisy.values), note=f"pure epsilon {float(epsilon):g}")
    weights = spectral_weights(vertices, noisy, float(bits.sum()), generator)
    drawn = np.zeros(vertices.pairs)
    drawn[simple_graph(weights, int(bits.sum()), generator)] = 1.0
    cuts.line("graph, spectral", cuts.values(drawn), note=f"pure epsilon {float(epsilon):g}")
    sd = own_noise(epsilon, queries)
    own = cuts.truth + np.random.default_rng(2).normal(0, sd, queries)
    cuts.line("Gaussian for each cut", own, note=f"sd {sd:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--vertices", type=int, default=150)
    parser.add_argument("--cuts", type=int, default=300)
    parser.add_argument("--facebook", metavar="FILE.parquet")
    parser.add_argument("--noise", action="store_true")
    asked = parser.parse_args()
    if asked.noise:
        noises()
    elif asked.facebook:
        facebook(asked.facebook, asked.epsilon, asked.cuts)
    else:
        generated(asked.epsilon, asked.vertices, asked.cuts)


if __name__ == "__main__":
    main()
