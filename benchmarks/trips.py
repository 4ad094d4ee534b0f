"""A third column that depends on two others together: ``python -m benchmarks.trips [--rules 18]``.

400,000 trips between 60 places, which lie in a circle, at some hour of a week: how long one takes grows with how far
the places are apart, which no pair of columns tells. Most trips go near, so that most pairs of places have none.
Averages and counts of one place and some others: coverage of the 95 % bars, mean error and median bar, in minutes and
in trips.
"""

import tempfile
from pathlib import Path

import click
import duckdb
import numpy as np
import pandas as pd

import dpsql
from benchmarks.followers import of_rules
from benchmarks.options import command_text
from benchmarks.report import show
from dpsql.accounting.plan import NEWEST_MODELS

TRIPS, PLACES, HOURS, LONGEST = 400_000, 60, 168, 180.0
NEAR, FAR_PER_PLACE = 0.7, 3.0
KINDS = {
    "average, near": "SELECT AVG(dur) FROM trips WHERE a = {a} AND b BETWEEN {a} AND {a} + 4",
    "average, far": "SELECT AVG(dur) FROM trips WHERE a = {a} AND b > 30",
    "average, two places": "SELECT AVG(dur) FROM trips WHERE a BETWEEN {a} AND {a} + 1 AND b BETWEEN 15 AND 30",
    "long trips": "SELECT COUNT(*) FROM trips WHERE a = {a} AND b > 30 AND dur > 60",
}
POLICY = f"""version = 1
[privacy]
epsilon = {{epsilon}}
delta = 1e-6
[tables.trips.columns]
a = {{{{ type = "integer", min = 0, max = {PLACES - 1}, nullable = false }}}}
b = {{{{ type = "integer", min = 0, max = {PLACES - 1}, nullable = false }}}}
h = {{{{ type = "integer", min = 0, max = {HOURS - 1}, nullable = false }}}}
dur = {{{{ type = "number", min = 0, max = {LONGEST}, nullable = false }}}}
"""


def trips() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    a = rng.choice(PLACES, TRIPS, p=rng.dirichlet(np.full(PLACES, 0.6)))
    near = (a + rng.integers(0, 5, TRIPS)) % PLACES
    b = np.where(rng.random(TRIPS) < NEAR, near, rng.integers(15, 45, TRIPS))
    apart = np.minimum((b - a) % PLACES, 10)
    dur = np.clip(rng.gamma(2.0, 8.0, TRIPS) + FAR_PER_PLACE * apart, 0.0, LONGEST).round(1)
    return pd.DataFrame({"a": a, "b": b, "h": rng.integers(0, HOURS, TRIPS), "dur": dur})


def study(epsilon: str, seeds: int) -> list[dict[str, object]]:
    """A row of the report for each kind of question. An average over nothing, or said to be, is left out."""
    asked = [(kind, sql.format(a=a)) for kind, sql in KINDS.items() for a in range(0, PLACES, 3)]
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trips.duckdb"
        with duckdb.connect(str(path)) as con:
            con.register("made", trips())
            con.execute("CREATE TABLE trips AS SELECT a::INTEGER AS a, b::INTEGER AS b, h::INTEGER AS h, dur FROM made")
            truths = [con.execute(sql).fetchall()[0][0] for _, sql in asked]
        policy = dpsql.load_policy(POLICY.format(epsilon=epsilon))
        for _ in range(seeds):
            with dpsql.connect(path, policy=policy, ledger=":memory:", new_budget=True) as session:
                for (kind, sql), truth in zip(asked, truths, strict=True):
                    cursor = session.execute(sql)
                    ((said,),) = cursor.fetchall()
                    if said is not None and truth is not None:
                        bar = cursor.answers[0].error
                        found[kind].append((abs(float(said) - float(truth)), np.inf if bar is None else float(bar)))
    return [
        {
            "asked": kind,
            "numbers": len(numbers),
            "covered": f"{np.mean([off <= bar for off, bar in numbers]):.1%}",
            "mean error": float(np.mean([off for off, _ in numbers])),
            "median bar": float(np.median([bar for _, bar in numbers])),
        }
        for kind, numbers in found.items()
    ]


@click.command()
@click.option("--epsilon", default="1")
@click.option("--seeds", default=2)
@click.option("--rules", default=NEWEST_MODELS)
def main(epsilon: str, seeds: int, rules: int) -> None:
    with of_rules(rules):
        rows = study(epsilon, seeds)
    title = f"Trips between places, epsilon {epsilon}, delta 1e-6, rules {rules}: {seeds} sessions"
    show(title, rows, "trips", [command_text("trips", epsilon=epsilon, seeds=seeds, rules=rules)])


if __name__ == "__main__":
    main()
