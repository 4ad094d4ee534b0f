"""Summaries that are several values at once: how many rows have which value, and the most frequent values. Public."""

from collections.abc import Sequence

from dpsql.query.summary import Cells
from dpsql.result import Answer, Label, Note


def listed(summary: Cells, group: int, parts: Sequence[Answer]) -> Label | None:
    """What ``histogram`` and ``approx_top_k`` show of a group's counts.

    ``parts``: the released counts of ``summary.cells[group]``, whole numbers. Values without rows are left out;
    ``None`` when all are, as SQL has NULL for no rows.
    """
    shown = [(cell.low, int(p.value or 0)) for cell, p in zip(summary.cells[group], parts, strict=True)]
    found = [(value, count) for value, count in shown if count > 0]
    if not found:
        return None
    if summary.kind == "histogram":
        return dict(found)
    by_count = sorted(found, key=lambda entry: -entry[1])  # stable: of equal counts the first value comes first
    return tuple([value for value, _ in by_count[: int(summary.level)]])


def list_note(summary: Cells, name: str, parts: Sequence[Answer]) -> tuple[Note, ...]:
    """How far the counts of all groups may be off, those of values that are left out too."""
    known = [p.error for p in parts if p.error is not None]
    counts = f"each count in {name}" if summary.kind == "histogram" else f"{name} goes by counts: each"
    if len(known) < len(parts):
        return (Note("beyond", f"{name} goes by counts of which some have no known error"),)
    most = max(known, default=0.0)
    left_out = ", 0 for a value that is left out" if summary.kind == "histogram" else ""
    return (Note("beyond", f"{counts} is within {most:,.0f} rows{left_out} (95 %)"),) if most > 0 else ()
