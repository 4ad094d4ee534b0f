"""The errors of a synthetic table as a small table and a picture.

A mean says little of a table's worst answers: the picture shows how errors spread, a bar for each tenth of the queries.
"""

from dataclasses import asdict
from math import log1p
from typing import Any

from dpsql.interface.render.style import Style
from dpsql.synthesis.quality import DECILES, Errors, Quality
from dpsql.synthesis.released import SyntheticTable

WIDEST = 40
"""Columns of the longest bar."""


def render_quality(report: Quality, style: Style) -> list[str]:
    """A sentence for a report of nothing; the widths of all bars are on one scale."""
    if not report.parts:
        return [report.compared]
    head = (
        f"{'':<10}{'queries':>9}{'mean':>10}{'median':>10}{'9 in 10':>10}{'largest':>10}{'public bar':>12}{'inside':>9}"
    )
    lines = [style.dim(head), *(_row(part) for part in report.parts)]
    longest = max(part.deciles[-1] for part in report.parts)
    for part in report.parts:
        lines += ["", f"{part.name}: errors in counts, each tenth of the queries up to (bars: logarithms)"]
        lines += [_bar(i, error, longest, style) for i, error in enumerate(part.deciles, start=1)]
    return [*lines, "", style.dim(report.compared)]


def _row(part: Errors) -> str:
    numbers = (part.mean, part.median, part.deciles[-2], part.deciles[-1])
    shown = "".join(f"{_number(n):>10}" for n in numbers)
    return f"{part.name:<10}{part.queries:>9,}{shown}{_number(part.bar):>12}{part.within:>9.0%}"


def _bar(tenth: int, error: float, longest: float, style: Style) -> str:
    on = "█" if style.unicode else "#"
    length = 0 if longest <= 0 else round(WIDEST * log1p(error) / log1p(longest))
    return f"{tenth * 100 // DECILES:>4} %{_number(error):>9}  {style.cyan(on * length)}".rstrip()


def _number(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def synthetic_object(table: SyntheticTable, output: str) -> dict[str, Any]:
    """What ``dpsql synth --json`` prints: where the rows are, what they charged, their errors, what to know."""
    return {
        "output": output,
        "rows": table.rows,
        "charged": table.charged,
        **table.facts,
        "errors": [asdict(part) for part in table.report.parts],
        "compared": table.report.compared,
        "notes": list(table.notes),
    }
