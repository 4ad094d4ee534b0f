"""Lists of values of numbers in bins: ``python -m benchmarks.value_lists [--table retail] [--rules 33]``.

``x IN (...)`` of 3 to 4 and of 5 to 20 values, as rows have them, every fourth list of values in between; the same with
a condition on a whole number, beside a string, left out, and summed, of all rows and of a string's. Tables: those of
``benchmarks.listed_values``.
Mean error in that of a Gaussian per statement which is told their number, coverage of the 95 % bars and the median bar
in counts, or the number's own unit, and CPU seconds a statement, by kind.
"""

import tempfile
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np

import dpsql
from benchmarks.followers import of_rules
from benchmarks.listed_values import TABLES, Listed
from benchmarks.options import command_text
from benchmarks.report import show
from benchmarks.strangers.sessions import gaussian_sigma
from dpsql.accounting.plan import NEWEST_MODELS

EACH = 40
"""Statements of each kind in a session."""
LONGEST = 20
KINDS = ("few", "many", "beside", "a string", "left out", "summed", "of a string")


def statements(
    con: duckdb.DuckDBPyConnection, whole: tuple[int, int], largest: float
) -> dict[str, list[tuple[str, str]]]:
    """What is counted or summed, and the condition, by kind: of declared values, for others are clipped."""
    rng = np.random.default_rng(8)
    inside = f"word IS NOT NULL AND x BETWEEN 0 AND {largest}"
    rows = con.execute(f"SELECT word, x FROM t WHERE {inside} ORDER BY hash(t) LIMIT 4000")
    words, values = zip(*rows.fetchall(), strict=True)
    asked: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    for number in range(EACH):
        for kind, found in asked.items():
            length = int(rng.integers(3, 5)) if kind == "few" else int(rng.integers(5, LONGEST + 1))
            chosen = {float(values[i]) for i in rng.integers(len(values), size=length)}
            if number % 4 == 3:
                chosen = {round(v * 1.01 + 0.013, 3) for v in chosen}
            listed = f"x {'NOT ' if kind == 'left out' else ''}IN ({', '.join(map(str, sorted(chosen)))})"
            half = (whole[0] + whole[1]) // 2
            word = str(words[int(rng.integers(len(words)))]).replace("'", "''")
            beside = {"beside": f" AND z <= {half}", "a string": f" AND word = '{word}'"}
            beside["of a string"] = beside["a string"]
            what = "SUM(x)" if kind in ("summed", "of a string") else "COUNT(*)"
            found.append((what, listed + beside.get(kind, "")))
    return asked


def study(name: str, of: Listed, epsilon: str, seeds: int) -> list[dict[str, object]]:
    found: dict[str, list[tuple[float, float, float, float]]] = {}
    rng, largest = np.random.default_rng(1), of.largest
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(str(path)) as con:
            of.build(con)
            asked = statements(con, of.whole, largest)
            every = [one for wanted in asked.values() for one in wanted]
            truth = {
                (what, sql): con.execute(
                    f"SELECT {what} FROM (SELECT * REPLACE (least(x, {largest}) AS x) FROM t) WHERE {sql}"
                ).fetchall()[0][0]
                for what, sql in every
            }
        policy = of.policy(epsilon)
        sigma = gaussian_sigma(Fraction(epsilon), 1_000)
        for _ in range(seeds):
            with dpsql.connect(path, policy=policy, ledger=":memory:", new_budget=True) as con_:
                con_.execute("SELECT COUNT(*) FROM t WHERE x > 1 AND z = 1")
                for number in range(EACH):
                    for kind, wanted in asked.items():
                        what, sql = wanted[number]
                        begin = time.process_time()
                        cursor = con_.execute(f"SELECT {what} FROM t WHERE {sql}")
                        ((said,),) = cursor.fetchall()
                        seconds = time.process_time() - begin
                        true = float(truth[what, sql] or 0)
                        noise = float(rng.normal(0.0, sigma))
                        peer = noise * largest if what == "SUM(x)" else max(-true, noise)
                        (answer,) = cursor.answers
                        bar = np.inf if answer.error is None else float(answer.error)
                        found.setdefault(kind, []).append((abs(float(said or 0) - true), bar, abs(peer), seconds))
    return [
        {
            "table": name,
            "kind": kind,
            "numbers": len(all_of),
            "mean error": round(float(np.mean([one[0] for one in all_of])), 1),
            "in the Gaussian's": round(float(np.mean([one[0] for one in all_of]) / np.mean([o[2] for o in all_of])), 3),
            "covered": f"{float(np.mean([off <= bar for off, bar, _, _ in all_of])):.1%}",
            "median bar": round(float(np.median([one[1] for one in all_of])), 1),
            "CPU seconds": round(float(np.mean([one[3] for one in all_of])), 3),
        }
        for kind, all_of in found.items()
    ]


@click.command()
@click.option("--table", "names", multiple=True, type=click.Choice(list(TABLES)), default=list(TABLES))
@click.option("--epsilon", default="1")
@click.option("--seeds", default=2)
@click.option("--rules", default=NEWEST_MODELS)
def main(names: Sequence[str], epsilon: str, seeds: int, rules: int) -> None:
    with of_rules(rules):
        rows = [row for name in names for row in study(name, TABLES[name], epsilon, seeds)]
    title = f"Lists of values, epsilon {epsilon}, {seeds} sessions each, rules {rules}"
    said = [command_text("value_lists", epsilon=epsilon, seeds=seeds, rules=rules)]
    show(title, rows, f"value_lists_eps{epsilon}", said)


if __name__ == "__main__":
    main()
