"""How many rounds offline constructions should make: ``python -m benchmarks.rounds_study [--epsilon 1]``.

For each table the mean absolute error (counts) on the cells of pairs of columns, with T = factor
times the square root of the number of rounds that balances the worst-case bound. Below, for each table, the factor that
the other tables choose (geometric mean) and what it does on this one, beside the best.
"""

from collections.abc import Mapping
from fractions import Fraction

import click
import numpy as np

from benchmarks.synthesis import made, off, tables
from dpsql.planning import make_plan
from dpsql.policy import Mechanism, Policy, Privacy
from dpsql.synthesis.offline.rounds import CHOSEN, balanced_rounds
from dpsql.synthesis.workload import generated, split

TABLES = ("flights 4", "loans", "fire, priorities", "nltcs", "adult6")
FACTORS = (0.5, 1.0, 2.0, 4.0)


def best(errors: Mapping[float, Mapping[str, float]], left_out: str) -> float:
    """The factor that is best on all tables but one."""
    return min(errors, key=lambda f: sum(np.log(e) for t, e in errors[f].items() if t != left_out))


def study(method: str, epsilon: Fraction, chosen: tuple[str, ...]) -> dict[float, dict[str, float]]:
    errors: dict[float, dict[str, float]] = {f: {} for f in FACTORS}
    for name in chosen:
        (table,) = tables((name,)).values()
        workload = split(generated(table.domain, "marginals:2", 1)[0], 1)
        policy = Policy(Privacy(epsilon, Fraction(1, 10**6), "add-remove", 10_000), (table.domain,), Mechanism("auto"))
        plan = make_plan(policy)
        log_cells = float(np.log(table.domain.cells))
        balanced = balanced_rounds(plan, plan.noise_budget, CHOSEN, 1, table.rows, log_cells, len(workload.told))
        for factor in FACTORS:
            rounds = max(1, round(factor * balanced**0.5))
            synthetic, _ = made(table, method, "marginals:2", epsilon, {"rounds": str(rounds)})
            errors[factor][name] = float(off(table, synthetic, workload.told).mean()) * table.rows / 100
            click.echo(f"| {method} | {name} | {factor:g} | {rounds} | {errors[factor][name]:.1f} |")
    return errors


@click.command()
@click.option("--epsilon", default="1")
@click.option("--methods", default="iterative,mwem")
@click.option("--tables", "chosen", multiple=True, default=TABLES)
def main(epsilon: str, methods: str, chosen: tuple[str, ...]) -> None:
    click.echo("| method | table | factor | rounds | mean error |\n|---|---|---|---|---|")
    for method in methods.split(","):
        errors = study(method, Fraction(epsilon), chosen)
        for name in chosen:
            others = best(errors, name)
            least = min(errors[f][name] for f in FACTORS)
            click.echo(f"{method}, {name}: others choose {others:g}: {errors[others][name]:.1f}, best {least:.1f}")


if __name__ == "__main__":
    main()
