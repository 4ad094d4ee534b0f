"""HiGHS beside CP-SAT on the best responses of one run of dual-query: python -m benchmarks.best_responses

Adult's 14 columns, each made binary, cells of three columns; the draws are those of a run without privacy (its weights
are exact), the same for both. CP-SAT needs ``pip install ortools``; without it its rows stay out.
"""

import argparse
import importlib.util
import time
from collections import Counter
from concurrent.futures import Executor, ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks.binary_adult import TABLE, cells_of, rows
from dpsql.query import LinearQuery
from dpsql.synthesis.coins import coins
from dpsql.synthesis.dual_query.response import Responder, on_records

Terms = list[tuple[int, list[tuple[str, bool]]]]


def cp_sat(terms: Terms, seconds: float) -> tuple[float, float]:
    """The best value, in one thread, and how long it took. Each term: a weight and what its columns must be."""
    from ortools.sat.python import cp_model

    begin = time.perf_counter()
    model = cp_model.CpModel()
    bits = {c.name: model.new_bool_var(c.name) for c in TABLE.finite}
    objective: list[Any] = []
    for weight, wanted in terms:
        literals = [bits[column] if value else ~bits[column] for column, value in wanted]
        y = model.new_bool_var("")
        model.add_bool_or([y, *(~x for x in literals)])
        for x in literals:
            model.add_implication(y, x)
        objective.append(weight * y)
    model.maximize(sum(objective))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    solver.solve(model)
    return float(solver.objective_value), time.perf_counter() - begin


def terms_of(queries: tuple[LinearQuery, ...], weights: dict[int, int]) -> Terms:
    return [(w, [(f.columns[0], bool(f.weights[1])) for f in queries[i].factors]) for i, w in weights.items() if w != 0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--samples", type=int, nargs="+", default=[50, 150])
    arguments = parser.parse_args()
    queries = cells_of(3)
    codes = rows()
    truth = np.array([on_records(TABLE, q, codes).mean() for q in queries])
    both = [name for name in ("highspy", "ortools") if importlib.util.find_spec(name)]
    print(f"{len(queries)} queries, {len(codes)} rows; " + ", ".join(f"{name} {version(name)}" for name in both))
    print("| draws | solver | mean ms | 95 % ms | largest ms | best in all rounds |\n|---|---|---|---|---|---|")
    # a process of its own: both libraries bring HiGHS, and cannot be loaded into one
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for samples in arguments.samples:
            report(queries, truth, samples, arguments.rounds, pool if "ortools" in both else None)


def report(
    queries: tuple[LinearQuery, ...], truth: np.ndarray, samples: int, rounds: int, beside: Executor | None
) -> None:
    rng, responder = np.random.default_rng(1), Responder(TABLE, queries, 60.0)
    gaps = np.zeros(len(queries))
    took: dict[str, list[float]] = {"HiGHS": [], "CP-SAT": []}
    proved, equal = True, True
    for t in range(rounds):
        weights = np.exp(np.concatenate([gaps, -gaps]))
        drawn = rng.choice(2 * len(queries), size=samples, p=weights / weights.sum())
        net = Counter[int]()
        for i in drawn.tolist():
            net[i % len(queries)] += 1 if i < len(queries) else -1
        begin = time.perf_counter()
        found = responder.respond(net, coins(t))
        took["HiGHS"].append(time.perf_counter() - begin)
        proved &= found.bound <= found.value + 1e-6
        if beside is not None:
            other, seconds = beside.submit(cp_sat, terms_of(queries, net), 60.0).result()
            took["CP-SAT"].append(seconds)
            equal &= abs(other - found.value) < 1e-6
        record = np.array(found.codes)
        gaps += truth - np.array([float(on_records(TABLE, q, record)) for q in queries])
    for name, best in (("HiGHS", proved), ("CP-SAT", equal)):
        if took[name]:
            ms = 1000 * np.array(took[name])
            print(f"| {samples} | {name} | {ms.mean():.0f} | {np.quantile(ms, 0.95):.0f} | {ms.max():.0f} | {best} |")


if __name__ == "__main__":
    main()
