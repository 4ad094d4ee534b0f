"""Random cuts of graphs under one budget, as in the last column of the source's Table 1: ``python -m benchmarks.cuts``.

Gupta, Roth and Ullman 2011 compare constructions by their worst error on cuts of a graph. Here the same sessions that
anybody opens answer the same random cuts: Frieze and Kannan's sums of products, textbook multiplicative weights,
multiplicative weights with refitted measurements, and noise for each query. ``uniform`` is the model before any update.
Prints mean and largest error in edges over the last quarter of the cuts, when most hard rounds are behind, and how
many of these there were; first what the theorems say: the most
updates B(alpha) at which a construction is off by at most a tenth of the edges on every cut.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

import dpsql
from dpsql.hypothesis import STRATEGIES as STRATEGIES_KNOWN
from dpsql.planning import make_plan
from dpsql.policy import Policy

EXAMPLE = Path(__file__).parents[1] / "examples" / "facebook" / "facebook.parquet"
STRATEGIES = {"frieze-kannan": 600, "textbook-pmw": 600, "pmw": 60}
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


def graphs(vertices: int, seed: int) -> dict[str, tuple[int, Edges]]:
    """By name: the number of vertices and the edges, one row for each, all pairs in order allowed."""
    rng = np.random.default_rng(seed)
    half = [rng.random(vertices) < 0.5 for _ in range(6)]
    planted = np.outer(half[0], half[1]).astype(float)
    three = sum(np.outer(half[2 * i], half[2 * i + 1]) for i in range(3)) / 3.0
    few = rng.random((vertices, vertices)) < 0.01 * (1.0 + 30.0 * np.outer(rng.random(vertices) < 0.1, half[3]))
    found = {
        "dense: one random cut": planted > 0,
        "dense: three random cuts": rng.random((vertices, vertices)) < three,
        "dense: uniform": rng.random((vertices, vertices)) < 0.25,
        "sparse: a tenth are hubs": few,
    }
    return {name: (vertices, np.argwhere(m).astype(np.int64)) for name, m in found.items()}


def facebook() -> tuple[int, Edges]:
    """The ego network of the example."""
    found = duckdb.sql(f"SELECT src, dst FROM '{EXAMPLE}'").fetchnumpy()
    edges = np.stack([np.asarray(found[c], dtype=np.int64) for c in ("src", "dst")], axis=1)
    return int(edges.max()) + 1, edges


def cuts(vertices: int, number: int, seed: int) -> Iterator[tuple[Edges, Edges]]:
    """Each vertex is on either side with probability 1/2."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        yield np.flatnonzero(rng.random(vertices) < 0.5), np.flatnonzero(rng.random(vertices) < 0.5)


def truths(vertices: int, edges: Edges, asked: list[tuple[Edges, Edges]]) -> npt.NDArray[np.float64]:
    out = []
    for left, right in asked:
        sides = np.zeros((2, vertices), dtype=bool)
        sides[0, left] = sides[1, right] = True
        out.append(float((sides[0, edges[:, 0]] & sides[1, edges[:, 1]]).sum()))
    return np.array(out)


def session_errors(
    strategy: str, vertices: int, edges: Edges, asked: list[tuple[Edges, Edges]], epsilon: float, rounds: int
) -> tuple[npt.NDArray[np.float64], int]:
    """Errors of one session, and the hard rounds that it used."""
    con = duckdb.connect()
    con.execute("CREATE TABLE edges (src INTEGER, dst INTEGER)")
    con.execute("INSERT INTO edges SELECT unnest(?), unnest(?)", [edges[:, 0].tolist(), edges[:, 1].tolist()])
    policy = policy_of(strategy, vertices, len(asked), epsilon, rounds)
    with tempfile.TemporaryDirectory() as folder:
        session = dpsql.connect(con, policy=policy, ledger=Path(folder) / "l", new_budget=True)
        answers = [session.execute(CUT, [s.tolist(), t.tolist()]).fetchone() for s, t in asked]
        used = rounds - session.budget.hard_rounds_left
        session.close()
    found = np.array([a[0] for a in answers if a is not None], dtype=float)
    return np.abs(found - truths(vertices, edges, asked)), used


def policy_of(strategy: str, vertices: int, queries: int, epsilon: float, rounds: int) -> Policy:
    text = RULES.format(epsilon=epsilon, queries=queries, strategy=strategy, rounds=rounds, last=vertices - 1)
    return dpsql.load_policy(text)


def noise_errors(queries: int, epsilon: float, seed: int) -> npt.NDArray[np.float64]:
    """Of a Gaussian release for each query, all together under the same budget."""
    plan = make_plan(policy_of("pmw", 2, queries, epsilon, 1))
    sigma = float(plan.release_sigma(plan.total_units // queries, 1))
    return np.abs(np.rint(np.random.default_rng(seed).normal(0.0, sigma, queries)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vertices", type=int, default=160)
    parser.add_argument("--queries", type=int, default=1200)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[8.0])
    parser.add_argument("--facebook", type=int, default=0, help="cuts of the example's graph, which take longer")
    parser.add_argument("--only", action="store_true", help="no graph but the example's")
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=list(STRATEGIES))
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    made = {} if given.only else graphs(given.vertices, given.seed)
    chosen = {n: (*g, given.queries) for n, g in made.items()}
    if given.facebook:
        chosen["facebook"] = (*facebook(), given.facebook)
    print("| graph | edges | B, frieze-kannan | B, textbook-pmw | epsilon | uniform | noise per query | ", end="")
    print(" | ".join(given.strategies) + " |")
    print("|---|---|---|---|---|---|---|" + "---|" * len(given.strategies), flush=True)
    for name, (vertices, edges, number) in chosen.items():
        asked = list(cuts(vertices, number, given.seed + 1))
        exact = truths(vertices, edges, asked)
        uniform = np.array([len(s) * len(t) for s, t in asked]) * len(edges) / vertices**2
        for epsilon in given.epsilon:
            cells = [shown(np.abs(uniform - exact)), shown(noise_errors(number, epsilon, given.seed))]
            for strategy in given.strategies:
                errors, used = session_errors(strategy, vertices, edges, asked, epsilon, STRATEGIES[strategy])
                cells.append(f"{shown(errors)} ({used})")
            head = f"| {name} | {len(edges):,} | " + " | ".join(bounds(vertices, len(edges))) + f" | {epsilon:g} | "
            print(head + " | ".join(cells) + " |", flush=True)


def bounds(vertices: int, edges: int) -> list[str]:
    """B(alpha) of both constructions for alpha = a tenth of the edges (Theorems 5.1 and A.4)."""
    (table,) = policy_of("pmw", vertices, 1, 1.0, 1).tables
    made = [STRATEGIES_KNOWN[word].construction for word in ("frieze-kannan", "textbook-pmw")]
    return [f"{c.update_bound(table, float(edges), edges / 10, 1):,.0f}" for c in made if c is not None]


def shown(errors: npt.NDArray[np.float64]) -> str:
    last = errors[-max(1, len(errors) // 4) :]
    return f"{last.mean():,.0f} / {last.max():,.0f}"


if __name__ == "__main__":
    main()
