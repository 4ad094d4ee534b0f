"""What each accounting allows: ``python -m benchmarks.plans``.

The noise of a plan with two purses relative to the plan with one Renyi order, for typical plans; delta 1e-6.
"""

from fractions import Fraction

import click

from benchmarks.report import show
from dpsql.accounting import Plan, calibrate

DELTA = Fraction(1, 10**6)
PLANS = (
    ("warm start, 6 columns", 6, 0.96, 22),
    ("warm start, 40 columns", 30, 0.96, 821),
    ("100 questions", 0, 0.0, 100),
    ("pmw", 20, 0.02, 1),
)


def noise(plan: Plan, share: float, releases: int) -> float:
    """Sd of one of ``releases`` equal releases, or of a hard round where nearly everything is for these."""
    if share < 0.5 and plan.hard_rounds > 0:
        return float(plan.sigma)
    return float(plan.release_sigma(plan.release_budget // releases))


@click.command()
def main() -> None:
    rows = []
    for epsilon in ("0.1", "1", "4"):
        for name, rounds, share, releases in PLANS:
            chosen, ordered = (
                calibrate(Fraction(epsilon), DELTA, hard_rounds=rounds, release_share=share, releases=n)
                for n in (releases, 0)
            )
            ours, theirs = (noise(plan, share, releases) for plan in (chosen, ordered))
            row: dict[str, object] = {"plan": name, "epsilon": epsilon, "hard rounds": rounds, "releases": releases}
            row |= {"one order": theirs, "chosen": ours, "ratio": round(ours / theirs, 3)}
            rows.append(row | {"accounted": "two purses" if chosen.alpha is None else "one order"})
    show("Noise of plans", rows, "plans", ["sd of one release in counts, sensitivity 1"])


if __name__ == "__main__":
    main()
