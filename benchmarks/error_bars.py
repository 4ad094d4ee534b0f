"""Do the error bars hold? ``python -m benchmarks.error_bars [--table adult6] [--epsilon 1] [--queries 1000]``.

All benchmark tables at epsilon 1 and .1 by default. Coverage of the 95 % bounds over distinct numbers, by where an
answer came from, by number of columns and by size; the bound's median in medians of the error; and how often a
certified bound was exceeded (with probability 5 % at most for a whole session).
"""

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from benchmarks.catalog import TABLES
from benchmarks.comparison import Setting, report_rows, tasks
from benchmarks.options import command_text
from benchmarks.peers.dpsql_session import DpsqlSession
from benchmarks.task import Task

SIZES = (0, 50, 500, 5_000)
Row = dict[str, object]


@dataclass(frozen=True)
class Bar:
    """One released number and how far it was off; counts. ``certified``: the guaranteed bound, if there is one."""

    origin: str
    columns: int
    value: float
    off: float
    error: float | None
    certified: float | None


def bars(task: Task) -> list[Bar]:
    """The distinct numbers of one session."""
    peer = DpsqlSession()
    given = peer.give(task)
    out = []
    for q, answers, values, truth in zip(
        task.asked, peer.sessions[-1].answers, given.answers, task.truths, strict=True
    ):
        for answer, value, true in zip(answers, values.tolist(), truth.tolist(), strict=True):
            origin = "measured" if answer.source == "measurement" else f"model, {answer.error_kind}"
            certified = answer.certified_bound if answer.certified else None
            out.append(Bar(origin, len(set(q.columns)), value, abs(value - true), answer.error, certified))
    return out


def coverage(chosen: Sequence[Bar]) -> Row:
    """Share inside the error, and the error's median in medians of what the answers were off (at least 1 count)."""
    known = [b for b in chosen if b.error is not None]
    row: Row = {"numbers": len(chosen), "without error": len(chosen) - len(known)}
    if not known:
        return row
    width = float(np.median([b.error for b in known if b.error is not None]))
    off = float(np.median([b.off for b in known]))
    inside = float(np.mean([b.off <= (b.error or 0.0) for b in known]))
    return row | {"coverage": round(inside, 3), "median error": width, "width": round(width / max(off, 1.0), 1)}


def classes(found: Sequence[Bar]) -> list[tuple[str, Callable[[Bar], bool]]]:
    """How the numbers are split: all, by origin, by number of columns, by size."""
    out: list[tuple[str, Callable[[Bar], bool]]] = [("all", lambda b: True)]
    for origin in sorted({b.origin for b in found}):
        out.append((origin, lambda b, o=origin: b.origin == o))  # type: ignore[misc]
    for number in sorted({b.columns for b in found}):
        out.append((f"{number} column{'s' if number != 1 else ''}", lambda b, n=number: b.columns == n))  # type: ignore[misc]
    for low, high in zip(SIZES, (*SIZES[1:], math.inf), strict=True):
        text = f"{low:,} to {high:,.0f}" if high < math.inf else f"{low:,} and more"
        out.append((text, lambda b, a=low, z=high: a <= max(b.value, 0) < z))  # type: ignore[misc]
    return out


def certified(sessions: Sequence[Sequence[Bar]]) -> Row:
    """Certified answers of the sessions, and how many were off by more."""
    known = [[b for b in s if b.certified is not None] for s in sessions]
    over = [sum(b.off > (b.certified or 0.0) for b in s if b.origin != "measured") for s in known]
    tested = sum(b.origin != "measured" for s in known for b in s)
    return {"certified by a test": tested, "exceeded": sum(over), "sessions with any": sum(o > 0 for o in over)}


@click.command()
@click.option("--table", "names", type=click.Choice(list(TABLES)), multiple=True, default=tuple(TABLES))
@click.option("--epsilon", "epsilons", multiple=True, default=("1", "0.1"))
@click.option("--queries", default=1000)
@click.option("--seeds", default=2)
def main(names: Sequence[str], epsilons: Sequence[str], queries: int, seeds: int) -> None:
    for name in names:
        for epsilon in epsilons:
            setting = Setting(name, queries, epsilon, seeds)
            with tempfile.TemporaryDirectory() as folder:
                sessions = [bars(task) for task in tasks(setting, Path(folder))]
            found = [b for s in sessions for b in s]
            rows: list[Row] = [
                {"class": title, **coverage(chosen)}
                for title, inside in classes(found)
                if (chosen := [b for b in found if inside(b)])
            ]
            rows[0] |= certified(sessions)
            command = command_text("error_bars", table=name, epsilon=epsilon, queries=queries, seeds=seeds)
            title = f"{name}, epsilon {epsilon}, {queries:,} statements, {seeds} sessions"
            notes = [
                "width = median error bar over the median of what answers were off by",
                "certified bounds of a whole session are exceeded with probability 5 % at most",
            ]
            report_rows(setting, title, f"error_bars_{setting.name}", command, rows, notes)


if __name__ == "__main__":
    main()
