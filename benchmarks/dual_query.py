"""dual-query: its accountings side by side, with pictures, and a release: python -m benchmarks.dual_query

Three parts: ``accounting`` (section 3 of the source: what each accounting says of one run, by rounds), ``sample``
(claim 3: what is printed, what the lemma gives, and no sample) and ``release`` (Adult, 14 binary columns, cells of
three columns: time and error beside other methods that exist, at one epsilon).
"""

import tempfile
import time
from fractions import Fraction
from pathlib import Path

import click
import numpy as np

import dpsql
from benchmarks.binary_adult import TABLE, cells_of, rows, write
from benchmarks.picture import figure_of
from dpsql.accounting import calibrate
from dpsql.errors import Error
from dpsql.synthesis.dual_query.accounting import (
    Goal,
    Run,
    advanced_epsilon,
    claimed,
    concentrated,
    pure_epsilon,
    ranged,
    subsampled,
    zcdp_epsilon,
)
from dpsql.synthesis.dual_query.response import on_records
from dpsql.synthesis.dual_query.setting import Setting, total_cost
from dpsql.synthesis.methods import METHODS

PARTS = ("accounting", "sample", "release")
DELTA = 1e-6
PICTURES = Path(__file__).parents[1] / "docs" / "benchmarks"
ROUNDS = (10, 100, 1000, 3000, 10_000, 100_000)


@click.command(help=__doc__)
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
@click.option("--epsilon", default="0.9", show_default=True, help="Of 1 that the ledger has; the rest is row counts.")
@click.option("--method", "methods", multiple=True, help="Methods of the release. Default: all.")
@click.option("--pictures", type=click.Path(path_type=Path), default=PICTURES, help="Where they go.")
def main(parts: tuple[str, ...], epsilon: str, methods: tuple[str, ...], pictures: Path) -> None:
    chosen = parts or PARTS
    if "accounting" in chosen:
        accounting(pictures)
    if "sample" in chosen:
        sample()
    if "release" in chosen:
        release(methods or tuple(METHODS), epsilon)


def accounting(pictures: Path) -> None:
    """s = 50, eta = .2, n = 48,842: replace-one, rows as units, delta = 1e-6."""
    print("\n| T | pure | advanced (original) | zCDP (Gong) | advanced / zCDP | bounded range, as zCDP |")
    print("|---|---|---|---|---|---|")
    for t in ROUNDS:
        print("| " + " | ".join(f"{x:,.4g}" for x in (t, *row(t, 0.2))) + " |")
    print("\nof a ledger with epsilon 1 the run of 300 rounds at rate 0.2 costs, as a share of the budget:")
    for neighbors, width in (("replace-one", 2), ("add-remove", 1)):
        print(f"{neighbors}: " + ", ".join(f"{word} {cost:.2f}" for word, cost in charges(width).items()))
    figure, axes = figure_of(3.2, "DualQuery, s = 50, n = 48,842, delta = 1e-6: original over zCDP accounting")
    many = np.unique(np.geomspace(3, 10**6, 80).astype(int))
    for rate in (0.02, 0.2, 2e-5):
        axes.plot(many, [row(int(t), rate)[3] for t in many], label=f"eta = {rate:g}")
    for level in (3**0.5, 6.0):
        axes.axhline(level, color="black", linewidth=0.6)
    axes.set_xscale("log")
    axes.set_ylim(0, 12)
    axes.set_xlabel("rounds T")
    axes.set_ylabel("epsilon, original / zCDP")
    axes.legend(frameon=False)
    figure.savefig(pictures / "dual_query_accounting.svg", format="svg", metadata={"Date": None, "Creator": None})


def row(rounds: int, rate: float) -> tuple[float, float, float, float, float]:
    run = Run(rounds, 50, rate, 48_842)
    original, concentrate = advanced_epsilon(run, DELTA), zcdp_epsilon(concentrated(run), DELTA)
    return pure_epsilon(run), original, concentrate, original / concentrate, zcdp_epsilon(ranged(run, 2), DELTA)


def charges(width: int) -> dict[str, float]:
    """Shares of a ledger's budget at epsilon 1: each kind of charge that is sound there."""
    plan = calibrate(Fraction(1), Fraction(1, 10**6), hard_rounds=6)
    setting = Setting(300, 50, Fraction(1, 5), 48_842, width)
    return {word: total_cost(plan, setting, word) / plan.total_units for word in ("range", "pure", "zcdp")}


def sample() -> None:
    """Claim 3 of the source, at alpha = .1, beta = .05, |Q| = 5,824, |X| = 2^14."""
    goal = Goal(0.1, 0.05, 5824, 2**14)
    print(f"\nsample of {goal.sample:,} rows, delta = 1e-6")
    print("| n | no sample (first display) | claim 3, printed | the lemma on the sample |\n|---|---|---|---|")
    for n in (10**5, 10**6, 10**8, 10**10):
        numbers = (goal.epsilon(n, DELTA), claimed(goal, n, DELTA)[0], subsampled(goal, n, DELTA)[0])
        print(f"| {n:,} | " + " | ".join(f"{x:,.3g}" for x in numbers) + " |")


def release(methods: tuple[str, ...], epsilon: str) -> None:
    """Every cell of every three columns, in shares of the rows: mean and largest error, and how long it took."""
    queries, codes = cells_of(3), rows()
    truth = np.array([on_records(TABLE, q, codes).mean() for q in queries])
    print(f"\nAdult, 14 binary columns, {len(queries):,} cells of three columns, epsilon {epsilon} of 1")
    print("| method | mean error, % of n | largest | charged | seconds |\n|---|---|---|---|---|")
    for method in methods:
        begin = time.perf_counter()
        try:
            made, charged = released(method, epsilon)
        except Error as error:
            print(f"| {method} | {error} | | | |")
            continue
        took = time.perf_counter() - begin
        off = np.abs(np.array([on_records(TABLE, q, made).mean() for q in queries]) - truth)
        print(f"| {method} | {100 * off.mean():.3f} | {100 * off.max():.2f} | {charged:.3f} | {took:.0f} |")


def released(method: str, epsilon: str) -> tuple[np.ndarray, float]:
    policy = "version = 1\n[privacy]\nepsilon = 1.0\ndelta = 1e-6\n[tables.adult.columns]\n"
    policy += "".join(f'{c.name} = {{ type = "boolean", nullable = false }}\n' for c in TABLE.finite)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder))
        (path.parent / "adult.dpsql.toml").write_text(policy, encoding="utf-8")
        with dpsql.connect(path, new_budget=True) as con:
            pays = METHODS[method].pays
            asked = {"workload": "marginals:3", "epsilon": epsilon, "keeps_first_look": False} if pays else {}
            made = con.synthesize("adult", method=method, **asked)
            table = made.to_arrow()
    codes = [table.column(c.name).to_numpy(zero_copy_only=False).astype(np.int64) for c in TABLE.finite]
    return np.stack(codes, axis=1), made.charged


if __name__ == "__main__":
    main()
