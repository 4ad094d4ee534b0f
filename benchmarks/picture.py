"""Small SVG pictures of results, drawn from their JSON with matplotlib (extra ``[plot]``)."""

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

OURS, OTHERS = "#1f6f8b", "#b8b8b8"


def draw(name: str, kept: Mapping[str, Any], folder: Path) -> bool:
    """``folder/NAME.svg``; ``False`` when matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    rows: Sequence[Mapping[str, Any]] = kept["rows"]
    if rows and "class" in rows[0]:
        figure = _coverage(rows, kept["title"])
    else:
        figure = _errors([r for r in rows if "mean" in r], kept["title"])
    figure.savefig(folder / f"{name}.svg", format="svg", metadata={"Date": None, "Creator": None})
    return True


def figure_of(height: float, title: str) -> tuple[Any, Any]:
    """An empty figure of that height in inches, and its axes."""
    import matplotlib  # type: ignore[import-not-found]

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "dpsql", "font.size": 9})
    from matplotlib.figure import Figure  # type: ignore[import-not-found]

    figure = Figure(figsize=(7.2, height), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, fontsize=8, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _errors(rows: Sequence[Mapping[str, Any]], title: str) -> Any:
    """Mean error of each method as a bar, 95th percentile as a mark; logarithmic."""
    figure, axes = figure_of(0.9 + 0.3 * len(rows), title)
    ordered = sorted(rows, key=lambda r: -float(r["mean"]))
    names = [str(r["method"]) for r in ordered]
    means = [max(float(r["mean"]), 0.1) for r in ordered]
    ours = [OURS if str(r.get("peer", "")).startswith("dpsql") else OTHERS for r in ordered]
    axes.barh(names, means, color=ours)
    axes.plot([max(float(r["p95"]), 0.1) for r in ordered], names, "|", color="black", markersize=9)
    for i, mean in enumerate(means):
        axes.annotate(f" {mean:,.0f}", (mean, i), va="center", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("absolute error in counts: mean (bar), 95th percentile (mark)")
    return figure


def _coverage(rows: Sequence[Mapping[str, Any]], title: str) -> Any:
    """Coverage by class, with the promised 95 %."""
    known = [r for r in rows if "coverage" in r][::-1]
    figure, axes = figure_of(0.9 + 0.22 * len(known), title)
    axes.plot([float(r["coverage"]) for r in known], [str(r["class"]) for r in known], "o", color=OURS)
    axes.axvline(0.95, color="black", linewidth=0.8)
    axes.set_xlim(min(0.85, *(float(r["coverage"]) for r in known)) - 0.01, 1.005)
    axes.set_xlabel("share of numbers inside their 95 % error")
    return figure
