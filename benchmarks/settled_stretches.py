"""Floors, gaps and crowds inside bins: ``python -m benchmarks.settled_stretches [--epsilon 1] [--bins none]``.

Ten columns (a floor inside a bin, a ceiling, a gap, crowds at one value with negative amounts beside them, prices that
end in .99, whole and rounded numbers, a normal law about 0, few rows), conditions that cut a bin at these places and
elsewhere. Cells have noise of sd 32 at epsilon 1, bins a third of that, made possible as a column's cells are: numpy's
noise, so that it takes no ledger. Of the bins that a condition cuts: the mean of the errors' absolute means over seeds
(bias), their root mean square, median error and bar, the share inside, and that of the condition with the lowest.
``--bins``: which are shared stretch by stretch, ``none`` as by rules 30, ``all``, or those that their cells do not fit.
"""

from collections.abc import Sequence
from math import inf, nextafter
from unittest.mock import patch

import click
import numpy as np

from benchmarks.report import show
from dpsql.domain import NumberDomain, marks_of
from dpsql.hypothesis import Axis, Measurement
from dpsql.hypothesis.columns.possible_counts import top_down
from dpsql.hypothesis.values import marked_cells
from dpsql.hypothesis.values.marked_cells import MarkedCells
from dpsql.policy_file import parse_policy
from dpsql.query import Interval

NOISE, OF_BINS = 32.0, 10.0
Row = dict[str, object]
Pairs = list[tuple[float, float]]
_ABOVE = [(float(t), inf) for t in (12, 25, 33, 40, 50, 75, 110, 150)]
_ONE = [(30.0, 30.0), (100.0, 100.0), (45.0, 45.0)]


def below(x: float) -> float:
    return nextafter(x, -inf)


def columns() -> dict[str, tuple[str, np.ndarray, Pairs]]:
    """What a policy says of each, its values, and its conditions: both ends are meant."""
    r = np.random.default_rng(1)
    which, size = r.random(90_000), r.random(90_000)
    fees = np.where(which < 0.06, -np.round(np.exp(3 + 2 * size), 2), np.round(np.exp(1 + 4 * size), 2))
    fees = np.where((which >= 0.06) & (which < 0.3), 19.99, np.where((which >= 0.3) & (which < 0.4), 0.0, fees))
    made = r.lognormal(4.0, 0.8, 40_000)
    smooth, prices = r.lognormal(3.0, 1.0, 60_000), r.lognormal(3.0, 1.0, 60_000)
    ends = np.maximum(np.rint(prices / 5.0) * 5.0 - 0.01, 0.0)
    halves = 100.0 * r.random(20_000)
    return {
        "floor": ("min = 0, max = 5000", np.round(20 + 400 * r.random(30_000) ** 3, 2), [
            (0, below(20)), (20, inf), (0, 20), (20, 30), (0, below(30)), (20, 20), (0, below(25)), (0, below(50)),
            (19, 20.2), (20.1, 20.3)]),
        "ceiling": ("min = 0, max = 1000", np.minimum(np.round(r.exponential(150, 40_000), 2), 250), [
            (20, inf), (100, inf), (220, inf), (240, inf), (245, inf), (250, inf), (255, inf),
            (nextafter(250, inf), inf), (250, 250), (0, 260), (230, 249)]),
        "gap": ("min = 0, max = 1000", np.round(halves + np.where(r.random(20_000) < 0.5, 0.0, 160.0), 2), [
            *[(t, inf) for t in (90, 98, 100, 102, 150, 158, 160, 165, 200)], (100, 160), (95, 120), (140, 163),
            (60, 70)]),
        "fees": ("min = -100, max = 500, bins = 60", fees, [
            (0, 0), (19.5, 20), (19, 21), (nextafter(19, inf), below(30)), (nextafter(0, 1), below(19)), (10, 19),
            (15, 20), (20, 20), (19.5, 19.5), (-100, below(-25)), (-40, -20), (12, 15), (-20, -1), (20, 25), (19, 19),
            (5, 5)]),
        "prices": ("min = 0, max = 500", np.where(r.random(60_000) < 0.6, ends, np.round(prices, 2)), [
            *_ABOVE, (10, 20), (20, 25), (50, 60), (29.9, 30), (30, 30)]),
        "smooth": ("min = 0, max = 500", np.round(smooth, 2), [*_ABOVE, (10, 20), (20, 25), (50, 60), (30, 30)]),
        "whole": ("min = 0, max = 2000", np.rint(made), [*_ABOVE, (10, 20), (20, 25), (50, 60), *_ONE]),
        "rounded": ("min = 0, max = 2000", np.where(r.random(40_000) < 0.7, 5 * np.rint(made / 5), np.rint(made)), [
            *_ABOVE, (10, 20), (20, 25), (50, 60), *_ONE]),
        "normal": ("min = -300, max = 300", np.round(r.normal(-20, 60, 40_000)), [
            *[(t, inf) for t in (-100, -50, -31, -20, -5, 10, 33, 70)], (-10, 10), (0, 0), (-20, -20), (25, 30)]),
        "few": ("min = 0, max = 1000", np.round(50 + 100 * r.random(1500), 2), [
            *[(t, inf) for t in (40, 50, 55, 60, 75, 90, 100, 120, 140)], (50, 60), (70, 80), (100, 100)]),
    }  # fmt: skip


def study(name: str, epsilon: float, seeds: int, *, together: bool) -> Row:
    text, x, conditions = columns()[name]
    policy = f'version = 1\n[privacy]\nepsilon = 1\ndelta = 1e-6\n[tables.t.columns]\nx = {{ type = "number", {text} }}'
    (domain,) = (c for c in parse_policy(policy).tables[0].columns if isinstance(c, NumberDomain))
    edges, marks = np.array(domain.edges), np.array(marks_of(domain.edges))
    x = np.clip(x, edges[0], edges[-1])
    bins = np.minimum(np.searchsorted(edges, x, side="right") - 1, len(edges) - 2)
    place = np.searchsorted(marks, x, side="right") - 1
    rows = np.bincount(bins, minlength=len(edges) - 1).astype(float)
    counts = np.bincount(2 * place + (x != marks[place]), minlength=2 * len(marks))
    off, bars = np.zeros((seeds, len(conditions))), np.zeros((seeds, len(conditions)))
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 5])
        noisy = counts + np.rint(NOISE / epsilon * rng.normal(size=len(counts))).astype(np.int64)
        known = top_down(rows + OF_BINS / epsilon * rng.normal(size=len(rows)), float(rows.sum()))
        told = Measurement("t", (Axis.cells(("x",), (len(counts),)),), noisy, NOISE / epsilon)
        cells = MarkedCells.of(domain, known, told, together=together)
        for i, (low, high) in enumerate(conditions):
            taken = cells.inside(Interval("x", max(low, domain.edges[0]), min(high, domain.edges[-1])))
            true = np.bincount(bins, (x >= low) & (x <= high), minlength=len(rows))
            some = taken.cut
            off[seed, i] = (taken.share * known - true)[some].sum()
            noise = np.hypot(taken.sd * known, OF_BINS / epsilon * taken.share)[some]
            bars[seed, i] = 1.96 * np.sqrt((noise**2).sum()) + (taken.doubt * known)[some].sum() + 1.0
    inside = np.abs(off) <= bars
    return {
        "column": name,
        "bias": float(np.abs(off.mean(axis=0)).mean()),
        "rms": float(np.sqrt((off**2).mean())),
        "median error": float(np.median(np.abs(off))),
        "median bar": float(np.median(bars)),
        "inside": f"{inside.mean():.1%}",
        "lowest": f"{inside.mean(axis=0).min():.0%}",
    }


@click.command()
@click.option("--column", "names", multiple=True, type=click.Choice(list(columns())), default=list(columns()))
@click.option("--epsilon", default=1.0)
@click.option("--seeds", default=20)
@click.option("--bins", "which", default="unsettled", type=click.Choice(["none", "unsettled", "all"]))
def main(names: Sequence[str], epsilon: float, seeds: int, which: str) -> None:
    found = {"all": lambda edges, *_: np.ones(len(edges) - 1, dtype=bool)}.get(which, marked_cells.unsettled_bins)
    with patch.object(marked_cells, "unsettled_bins", found):
        rows = [study(name, epsilon, seeds, together=which != "none") for name in names]
    title = f"Stretches inside bins, epsilon {epsilon:g}, {seeds} seeds, {which} settled together"
    show(title, rows, "settled_stretches", ["errors and bars in rows, of the bins that conditions cut"])


if __name__ == "__main__":
    main()
