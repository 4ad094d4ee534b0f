"""Random cuts of graphs under one budget, as in the last column of the source's Table 1: ``python -m benchmarks.cuts``.

Gupta, Roth and Ullman 2011 compare constructions by their worst error on cuts of a graph. Here the same sessions that
anybody opens answer the same random cuts: Frieze and Kannan's sums of products, textbook multiplicative weights,
multiplicative weights with refitted measurements, and noise for each query. ``uniform`` is the model before any update.

Prints, over the last quarter of the cuts, when most hard rounds are behind, the mean error in edges, in brackets its
least and largest over the seeds, the largest error, and how many hard rounds were used. First what can be said without
a session: B(alpha), the most updates after which a construction is off by at most a tenth of the edges on every cut
(Theorems 5.1 and A.4), and ``Reach``.
"""

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

import dpsql
from dpsql.hypothesis import STRATEGIES as STRATEGIES_KNOWN
from dpsql.planning import make_plan, plan_tables
from dpsql.planning.table_plan import UPDATED
from dpsql.policy import Policy

EXAMPLE = Path(__file__).parents[1] / "examples" / "facebook" / "facebook.parquet"
STRATEGIES = {"frieze-kannan": 1000, "textbook-pmw": 1000, "pmw": 60}
"""Hard rounds: many small steps for the constructions, few and large measurements for refits."""
RULES = """
version = 1
privacy = {{ epsilon = {epsilon}, delta = 1e-6, planned_queries = {queries} }}
mechanism = {{ strategy = "{strategy}", hard_rounds = {rounds} }}
[tables.edges.columns]
src = {{ type = "integer", min = 0, max = {last}, nullable = false }}
dst = {{ type = "integer", min = 0, max = {last}, nullable = false }}
"""
CUT = "SELECT COUNT(*) FROM edges WHERE src IN ? AND dst IN ?"
Edges = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Graph:
    """``edges``: one row for each, all pairs in order allowed."""

    vertices: int
    edges: Edges

    @property
    def pairs(self) -> int:
        return self.vertices**2


def graphs(vertices: int, seed: int) -> dict[str, Graph]:
    """By name; ``vertices`` those of the dense graphs, sparse ones have their own number."""
    rng = np.random.default_rng(seed)
    half = [rng.random(vertices) < 0.5 for _ in range(6)]
    three = sum(np.outer(half[2 * i], half[2 * i + 1]) for i in range(3)) / 3.0
    made = {
        "dense: one random cut": np.outer(half[0], half[1]),
        "dense: three random cuts": rng.random((vertices, vertices)) < three,
        "dense: uniform": rng.random((vertices, vertices)) < 0.25,
        "sparse: 50 to 100 of 500": block(500, 50, 100, rng),
        "sparse: 3 hubs of 300": block(300, 3, 300, rng),
    }
    return {name: found(m) for name, m in made.items()}


def found(adjacency: npt.NDArray[np.bool_]) -> Graph:
    return Graph(len(adjacency), np.argwhere(adjacency).astype(np.int64))


def block(vertices: int, sources: int, targets: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """95 % of the pairs from ``sources`` to ``targets``, vertices drawn at random, and a twentieth as many anywhere."""
    out = rng.random((vertices, vertices)) < 0.05 * sources * targets / vertices**2
    inside = np.ix_(rng.permutation(vertices)[:sources], rng.permutation(vertices)[:targets])
    out[inside] |= rng.random((sources, targets)) < 0.95
    return out


def facebook() -> Graph:
    """The ego network of the example."""
    found = duckdb.sql(f"SELECT src, dst FROM '{EXAMPLE}'").fetchnumpy()
    edges = np.stack([np.asarray(found[c], dtype=np.int64) for c in ("src", "dst")], axis=1)
    return Graph(int(edges.max()) + 1, edges)


def cuts(vertices: int, number: int, seed: int) -> Iterator[tuple[Edges, Edges]]:
    """Each vertex is on either side with probability 1/2."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        yield np.flatnonzero(rng.random(vertices) < 0.5), np.flatnonzero(rng.random(vertices) < 0.5)


def truths(graph: Graph, asked: list[tuple[Edges, Edges]]) -> npt.NDArray[np.float64]:
    out = []
    for left, right in asked:
        sides = np.zeros((2, graph.vertices), dtype=bool)
        sides[0, left] = sides[1, right] = True
        out.append(float((sides[0, graph.edges[:, 0]] & sides[1, graph.edges[:, 1]]).sum()))
    return np.array(out)


def session_errors(
    strategy: str, graph: Graph, asked: list[tuple[Edges, Edges]], epsilon: float, rounds: int
) -> tuple[npt.NDArray[np.float64], int]:
    """Errors of one session, and the hard rounds that it used."""
    con = duckdb.connect()
    con.execute("CREATE TABLE edges (src INTEGER, dst INTEGER)")
    ends = [graph.edges[:, i].tolist() for i in range(2)]
    con.execute("INSERT INTO edges SELECT unnest(?), unnest(?)", ends)
    policy = policy_of(strategy, graph.vertices, len(asked), epsilon, rounds)
    with tempfile.TemporaryDirectory() as folder:
        session = dpsql.connect(con, policy=policy, ledger=Path(folder) / "l", new_budget=True)
        answers = [session.execute(CUT, [s.tolist(), t.tolist()]).fetchone() for s, t in asked]
        used = rounds - session.budget.hard_rounds_left
        session.close()
    found = np.array([a[0] for a in answers if a is not None], dtype=float)
    return np.abs(found - truths(graph, asked)), used


def policy_of(strategy: str, vertices: int, queries: int, epsilon: float, rounds: int) -> Policy:
    text = RULES.format(epsilon=epsilon, queries=queries, strategy=strategy, rounds=rounds, last=vertices - 1)
    return dpsql.load_policy(text)


def noise_errors(queries: int, epsilon: float, seed: int) -> npt.NDArray[np.float64]:
    """Of a Gaussian release for each query, all together under the same budget."""
    plan = make_plan(policy_of("pmw", 2, queries, epsilon, 1))
    sigma = float(plan.release_sigma(plan.total_units // queries, 1))
    return np.abs(np.rint(np.random.default_rng(seed).normal(0.0, sigma, queries)))


@dataclass(frozen=True)
class Reach:
    """How far all planned steps move the density of the pairs that are edges, if nothing is learned before the last.

    A cut that uniform is off by ``e`` of ``n`` edges holds e / n more of the edges than of all pairs. So each step of
    alpha / |X| adds alpha e / (n |X|) to the edges' pairs against others on average, and each factor exp(alpha / 2n)
    of multiplicative weights becomes exp(alpha e / 2n^2). Right would be 1 - n / |X| more, and |X| / n times as much.
    """

    added: float
    times: float
    wanted: float

    @classmethod
    def of(cls, graph: Graph, alpha: float, rounds: int, off: float) -> "Reach":
        """``off``: what uniform is off by, mean over the cuts."""
        n, steps = len(graph.edges), alpha * rounds * off
        return cls(steps / (n * graph.pairs), exp(steps / (2 * n * n)), graph.pairs / n)

    def __str__(self) -> str:
        return f"+{self.added:.2g} of {1 - 1 / self.wanted:.2f} | x {self.times:.2g} of {self.wanted:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vertices", type=int, default=160, help="of the dense graphs")
    parser.add_argument("--queries", type=int, default=2400)
    parser.add_argument("--rounds", type=int, default=1000, help="hard rounds of the constructions")
    parser.add_argument("--epsilon", type=float, default=8.0)
    parser.add_argument("--facebook", type=int, default=0, help="cuts of the example's graph, which take longer")
    parser.add_argument(
        "--block",
        type=int,
        nargs=3,
        metavar=("VERTICES", "SOURCES", "TARGETS"),
        help="a sparse graph of this kind alone",
    )
    parser.add_argument("--graphs", default="", help="only those with this in their name")
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=list(STRATEGIES))
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    rounds = {s: STRATEGIES[s] if s == "pmw" else given.rounds for s in given.strategies}
    print(
        "| graph | edges | B, frieze-kannan | B, textbook-pmw | reach, frieze-kannan | reach, textbook-pmw | ", end=""
    )
    print("uniform | noise per query | " + " | ".join(rounds) + " |")
    print("|---|---|---|---|---|---|---|---|" + "---|" * len(rounds), flush=True)
    seeds = range(1, given.seeds + 1)
    made = {seed: graphs(given.vertices, seed) for seed in seeds}
    if given.block:
        made = {seed: {"block": found(block(*given.block, np.random.default_rng(seed)))} for seed in seeds}
    for name in made[1]:
        if given.graphs in name:
            line(name, {seed: made[seed][name] for seed in seeds}, given.queries, given.epsilon, rounds)
    if given.facebook:
        line("facebook", dict.fromkeys(seeds, facebook()), given.facebook, given.epsilon, rounds)


def line(name: str, chosen: dict[int, Graph], queries: int, epsilon: float, rounds: dict[str, int]) -> None:
    """Print a row of the table: one graph of each seed."""
    cells: dict[str, list[npt.NDArray[np.float64]]] = {word: [] for word in ("uniform", "noise", *rounds)}
    used: dict[str, list[int]] = {strategy: [] for strategy in rounds}
    for seed, graph in chosen.items():
        asked = list(cuts(graph.vertices, queries, seed + 1))
        uniform = np.array([len(s) * len(t) for s, t in asked]) * len(graph.edges) / graph.pairs
        cells["uniform"].append(np.abs(uniform - truths(graph, asked)))
        cells["noise"].append(noise_errors(queries, epsilon, seed))
        for strategy, number in rounds.items():
            errors, hard = session_errors(strategy, graph, asked, epsilon, number)
            cells[strategy].append(errors)
            used[strategy].append(hard)
    first, off = chosen[min(chosen)], float(np.mean([e.mean() for e in cells["uniform"]]))
    most = max(rounds.values())
    policy = policy_of("frieze-kannan", first.vertices, queries, epsilon, most)
    alpha = UPDATED * float(plan_tables(make_plan(policy), policy)["edges"].theta)
    reach = Reach.of(first, alpha, most, off)
    told = [name, f"{len(first.edges):,}", *bounds(first), str(reach)]
    told += [shown(e) + (f" ({spread(used[word])})" if word in used else "") for word, e in cells.items()]
    print("| " + " | ".join(told) + " |", flush=True)


def bounds(graph: Graph) -> list[str]:
    """B(alpha) of both constructions for alpha = a tenth of the edges (Theorems 5.1 and A.4)."""
    (table,) = policy_of("pmw", graph.vertices, 1, 1.0, 1).tables
    made = [STRATEGIES_KNOWN[word].construction for word in ("frieze-kannan", "textbook-pmw")]
    edges = len(graph.edges)
    return [f"{c.update_bound(table, float(edges), edges / 10, 1):,.0f}" for c in made if c is not None]


def shown(errors: list[npt.NDArray[np.float64]]) -> str:
    """Mean and largest error of each seed's last quarter."""
    last = [e[-max(1, len(e) // 4) :] for e in errors]
    means = [e.mean() for e in last]
    return f"{np.mean(means):,.0f} ({spread(means)}) / {max(e.max() for e in last):,.0f}"


def spread(values: list[float] | list[int]) -> str:
    low, high = (f"{v:,.0f}" for v in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


if __name__ == "__main__":
    main()
