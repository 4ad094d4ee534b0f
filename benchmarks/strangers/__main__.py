"""A stranger's questions against noise for each: ``python -m benchmarks.strangers [--table fire] [--queries 1000]``.

Each session gets all kinds of questions in turn; ``--alone`` gives each kind a session of its own. Errors are compared
with a Gaussian per statement that is told the number of distinct ones, cut at 0, in the same run: ratios of the mean,
the 95 % quantile and the largest. Bars: the share of answers within their 95 % error, and its median in medians of what
answers were off by.
"""

import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import exp, log
from pathlib import Path

import click
import numpy as np

from benchmarks.report import show
from benchmarks.strangers.drawn import DRAWN
from benchmarks.strangers.kinds import KINDS
from benchmarks.strangers.narrow import NARROW
from benchmarks.strangers.newcomers import NEWCOMERS
from benchmarks.strangers.sessions import Number, Session, run
from benchmarks.strangers.tables import STRANGERS, Builder

Row = dict[str, object]
TABLES: Mapping[str, Builder] = {**STRANGERS, **NARROW, **NEWCOMERS, **DRAWN}
LIMITS = {100: (1.1, 1.1, 1.3), 1_000: (1.05, 1.1, 1.3), 10_000: (0.6, 1.0, 1.0)}
"""By the number of statements: the ratios of mean, 95 % quantile and maximum that a cell should not exceed."""


def ratios(numbers: Sequence[Number]) -> tuple[float, float, float]:
    """Mean, 95 % quantile and largest error in the Gaussian's."""
    own = np.array([abs(n.said - n.truth) for n in numbers])
    peer = np.array([abs(n.peer - n.truth) for n in numbers])
    parts = [(f(own), f(peer)) for f in (np.mean, lambda e: np.quantile(e, 0.95), np.max)]
    mean, p95, largest = (float(a / max(b, 1e-9)) for a, b in parts)
    return mean, p95, largest


def width(numbers: Sequence[Number]) -> float:
    """The median bar in median errors, the latter of one row at least where rows are counted or added up."""
    known = [n for n in numbers if n.error is not None]
    if not known:
        return 0.0
    off = float(np.median([abs(n.said - n.truth) for n in known]))
    least = 1e-9 if known[0].kind == "averages" else 1.0
    return round(float(np.median([n.error or 0.0 for n in known])) / max(off, least), 1)


def by_kind(kind: str, sessions: Sequence[Session]) -> Row | None:
    """One kind on all tables: coverage and width of its bars."""
    found = [n for s in sessions for n in s.numbers if n.kind == kind and n.error is not None]
    if not found:
        return None
    inside = float(np.mean([abs(n.said - n.truth) <= (n.error or 0.0) for n in found]))
    return {"kind": kind, "numbers": len(found), "covered": round(inside, 3), "width": width(found)}


def cell(table: str, kind: str, sessions: Sequence[Session]) -> Row | None:
    """One kind on one table: over all sessions, with the spread of the mean's ratio."""
    by_session = [[n for n in s.numbers if n.kind == kind] for s in sessions]
    found = [n for numbers in by_session for n in numbers]
    refused = sum(s.refused.get(kind, 0) for s in sessions)
    if not found:
        return {"table": table, "kind": kind, "numbers": 0, "refused": refused} if refused else None
    off = np.array([abs(n.said - n.truth) for n in found])
    mean, p95, largest = ratios(found)
    each = [ratios(numbers)[0] for numbers in by_session if numbers]
    known = [n for n in found if n.error is not None]
    inside = [abs(n.said - n.truth) <= (n.error or 0.0) for n in known]
    certified = [n for n in found if n.certified is not None]
    over = sum(abs(n.said - n.truth) > (n.certified or 0.0) for n in certified)
    return {
        "table": table,
        "kind": kind,
        "numbers": len(found),
        "mean": float(off.mean()),
        "p95": float(np.quantile(off, 0.95)),
        "max": float(off.max()),
        "mean/G": round(mean, 2),
        "spread": f"{min(each):.2f} to {max(each):.2f}",
        "p95/G": round(p95, 2),
        "max/G": round(largest, 2),
        "covered": round(float(np.mean(inside)), 3) if known else "",
        "width": width(found),
        "no bar": len(found) - len(known),
        "over certified": over,
        "refused": refused,
    }


def notes_of(rows: Sequence[Row], queries: int) -> list[str]:
    """How many cells are within LIMITS, and the geometric mean of the means' ratios."""
    cells = [r for r in rows if "mean/G" in r]
    limits = LIMITS.get(queries, LIMITS[1_000])
    met = sum(
        all(float(str(r[c])) <= m for c, m in zip(("mean/G", "p95/G", "max/G"), limits, strict=True)) for r in cells
    )
    logs = [log(max(float(str(r["mean/G"])), 0.01)) for r in cells]
    covered = sum(float(str(r["covered"] or 1)) >= 0.92 for r in cells)
    return [
        f"{met} of {len(cells)} cells have at most {limits} times the Gaussian's mean, p95 and maximum",
        f"geometric mean of the means' ratios {exp(sum(logs) / max(1, len(logs))):.3f}",
        f"{covered} cells covered 92 % and more",
    ]


@click.command()
@click.option("--table", "tables", type=click.Choice(list(TABLES)), multiple=True, default=tuple(STRANGERS))
@click.option("--kind", "kinds", type=click.Choice(list(KINDS)), multiple=True, default=tuple(KINDS))
@click.option("--epsilon", "epsilons", multiple=True, default=("1",))
@click.option("--queries", "counts", type=int, multiple=True, default=(1000,))
@click.option("--seeds", default=1)
@click.option("--alone", is_flag=True, help="A session for each kind.")
def main(
    tables: Sequence[str], kinds: Sequence[str], epsilons: Sequence[str], counts: Sequence[int], seeds: int, alone: bool
) -> None:
    for epsilon in epsilons:
        for queries in counts:
            rows: list[Row] = []
            everywhere: list[Session] = []
            for table in tables:
                with tempfile.TemporaryDirectory() as folder:
                    made = TABLES[table](Path(folder))
                    for together in [[k] for k in kinds] if alone else [list(kinds)]:
                        found = [run(made, together, queries, Fraction(epsilon), s + 1) for s in range(seeds)]
                        rows += [r for k in together if (r := cell(table, k, found)) is not None]
                        everywhere += found
            title = f"Strangers, epsilon {epsilon}, {queries:,} statements, {seeds} sessions"
            show(title, rows, f"strangers_{queries}_eps{epsilon}", notes_of(rows, queries))
            bars = [r for k in kinds if (r := by_kind(k, everywhere)) is not None]
            show("Bars on all of these tables", bars, f"strangers_bars_{queries}_eps{epsilon}", [])


if __name__ == "__main__":
    main()
