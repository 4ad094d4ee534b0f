"""Peers on the same tasks: errors by seed, their spread, and the ratio to the headline peer."""

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.catalog import TABLES
from benchmarks.peers.dpsql_session import DpsqlSession
from benchmarks.peers.external import AIM, SMARTNOISE, External, PeerFailedError
from benchmarks.peers.gaussian import Gaussian
from benchmarks.peers.histogram import Histogram
from benchmarks.peers.opendp_counts import OpenDpCounts
from benchmarks.peers.peer import Given, Peer
from benchmarks.peers.textbook_pmw import TextbookPmw
from benchmarks.picture import draw
from benchmarks.report import RESULTS, show, summary
from benchmarks.task import Task, make_task

PEERS: dict[str, Peer] = {
    p.name: p
    for p in (
        DpsqlSession(),
        Gaussian(),
        Gaussian("gaussian-plain", "the same, not cut at 0", cut=False),
        OpenDpCounts(),
        SMARTNOISE,
        Histogram(),
        AIM,
        TextbookPmw(),
        DpsqlSession("pmw", "dpsql-pmw", "dpsql, strategy pmw"),
    )
}
HEADLINE = "gaussian"
Chosen = Callable[[Task], np.ndarray]


@dataclass(frozen=True)
class Setting:
    """A table's name, the length of the stream, epsilon as text (0.1 is one tenth), and how many seeds."""

    table: str
    queries: int
    epsilon: str
    seeds: int

    @property
    def name(self) -> str:
        """The result's file name."""
        return f"{self.table}_{self.queries}_eps{self.epsilon}"


def tasks(setting: Setting, folder: Path) -> list[Task]:
    """One task for each seed, on one copy of the table."""
    table = TABLES[setting.table](folder)
    out: list[Task] = []
    for seed in range(1, setting.seeds + 1):
        rows = out[0].rows if out else None
        out.append(make_task(setting.table, table, rows, setting.queries, Fraction(setting.epsilon), seed))
    return out


@dataclass(frozen=True)
class Run:
    """What a peer answered, by seed; ``refused``: why it did not."""

    peer: Peer
    given: list[Given]
    seconds: float
    refused: str | None = None

    def row(self, made: Sequence[Task], only: Chosen | None = None) -> dict[str, object]:
        """Mean, 95th percentile and maximum, averaged over the seeds, with the range of the means.

        ``only``: for each number of the stream whether it counts.
        """
        told: dict[str, object] = {"method": self.peer.title, "peer": self.peer.name}
        if self.refused is not None:
            return told | {"note": self.refused}
        by_seed = []
        for task, given in zip(made, self.given, strict=False):
            errors = task.errors(given.answers)
            by_seed.append(summary(list(errors if only is None else errors[only(task)])))
        means = [s["mean"] for s in by_seed]
        return told | {
            "mean": float(np.mean(means)),
            "spread": f"{min(means):.4g} to {max(means):.4g}",
            "p95": float(np.mean([s["p95"] for s in by_seed])),
            "max": float(np.mean([s["max"] for s in by_seed])),
            "seconds": self.seconds,
            "note": self.given[0].note + (f"; {len(means)} of {len(made)} seeds" if len(means) < len(made) else ""),
            "seeds": by_seed,
        }


def run(peer: Peer, made: Sequence[Task], slow_seeds: int = 1) -> Run:
    """The peer on every task, a slow one on the first ``slow_seeds``; ``seconds``: for one of them."""
    made = made[:slow_seeds] if isinstance(peer, External) and peer.slow else made
    refused = peer.refuses(made[0])
    given: list[Given] = []
    begin = time.perf_counter()
    try:
        if refused is None:
            given = [peer.give(task) for task in made]
    except PeerFailedError as error:
        refused = f"failed: {error}"
    return Run(peer, given, (time.perf_counter() - begin) / len(made), refused)


def with_ratio(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Each row's mean over the headline peer's mean on the same seeds: below 1 is better."""
    headline = next((_means(r) for r in rows if r["peer"] == HEADLINE), [])
    for row in rows:
        own = _means(row)
        if own and len(headline) >= len(own):
            row["ratio"] = round(sum(own) / sum(headline[: len(own)]), 3)
    return rows


def _means(row: Mapping[str, Any]) -> list[float]:
    return [float(s["mean"]) for s in row.get("seeds", [])]


COLUMNS = ("method", "mean", "spread", "p95", "max", "ratio", "seconds", "note")


def report(
    setting: Setting, title: str, name: str, command: str, rows: list[dict[str, object]], notes: Sequence[str] = ()
) -> None:
    """``report_rows`` of a comparison: what each seed had is kept, not printed."""
    shown: list[dict[str, object]] = [{c: r.get(c, "") for c in COLUMNS} for r in rows]
    report_rows(setting, title, name, command, rows, notes, shown)


def report_rows(
    setting: Setting,
    title: str,
    name: str,
    command: str,
    rows: list[dict[str, object]],
    notes: Sequence[str] = (),
    shown: list[dict[str, object]] | None = None,
) -> None:
    """Print the table (``shown``, by default ``rows``), keep it as JSON, draw it where matplotlib is installed."""
    show(title, rows if shown is None else shown, name, notes)
    kept = write(setting, title, name, command, rows, notes)
    if not draw(name, kept, RESULTS):
        print("no picture: matplotlib is not installed; pip install '.[plot]'")


def write(
    setting: Setting, title: str, name: str, command: str, rows: list[dict[str, object]], notes: Sequence[str] = ()
) -> dict[str, object]:
    """What is kept of a result, as ``results/NAME.json``."""
    settings = asdict(setting)
    kept: dict[str, object] = {"title": title, "command": command, "setting": settings, "rows": rows}
    kept["notes"] = list(notes)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(kept, indent=1))
    return kept


def compare(setting: Setting, peers: Sequence[Peer], command: str, slow_seeds: int = 1) -> list[dict[str, object]]:
    """Every peer on the setting; prints, and writes ``results/compare_TABLE_QUERIES_epsEPSILON.json``.

    What an earlier run of the same questions says of peers that are not asked now is kept: slow ones run once.
    """
    name = f"compare_{setting.name}"
    with tempfile.TemporaryDirectory() as folder:
        made = tasks(setting, Path(folder))
        title = _title(setting, made[0])
        rows = _kept(name, title)
        for peer in peers:
            rows[peer.name] = run(peer, made, slow_seeds).row(made)
            write(setting, title, name, command, _ordered(rows))
    notes = ["absolute errors in counts, averaged over seeds; ratio = mean over the mean of the Gaussian told k"]
    report(setting, title, name, command, _ordered(rows), notes)
    return _ordered(rows)


def _title(setting: Setting, first: Task) -> str:
    distinct, numbers = len(first.asked), len(first.errors(list(first.truths)))
    return (
        f"{setting.table}, {len(first.rows.codes):,} rows, epsilon {setting.epsilon}, delta 1e-6, "
        f"{setting.queries:,} statements ({distinct:,} distinct, {numbers:,} numbers), {setting.seeds} seeds"
    )


def _kept(name: str, title: str) -> dict[str, dict[str, object]]:
    """Rows of an earlier run by peer, if it asked the same questions."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return {}
    before = json.loads(path.read_text())
    return {r["peer"]: r for r in before["rows"] if "mean" in r} if before["title"] == title else {}


def _ordered(rows: dict[str, dict[str, object]]) -> list[dict[str, object]]:
    """In the order of ``PEERS``, with the ratio."""
    return with_ratio([rows[name] for name in PEERS if name in rows])
