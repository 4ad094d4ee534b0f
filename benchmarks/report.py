"""Printing a benchmark's table and keeping it as JSON in ``benchmarks/results``."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"


def summary(errors: Sequence[float]) -> dict[str, float]:
    """Mean, 95th percentile and maximum of absolute errors, in counts."""
    e = np.abs(np.asarray(errors, dtype=float))
    return {"mean": float(e.mean()), "p95": float(np.quantile(e, 0.95)), "max": float(e.max()), "numbers": len(e)}


def show(title: str, rows: Sequence[Mapping[str, object]], name: str, notes: Sequence[str] = ()) -> None:
    """Print rows as an aligned table and write them to ``results/NAME.json``."""
    print(f"\n{title}")
    columns = list(dict.fromkeys(c for r in rows for c in r))
    text = [[_cell(r.get(c, "")) for c in columns] for r in rows]
    widths = [max(len(c), *(len(t[i]) for t in text)) for i, c in enumerate(columns)]
    print("  ".join(c.ljust(w) for c, w in zip(columns, widths, strict=True)))
    for t in text:
        print("  ".join(c.rjust(w) if c[:1].isdigit() else c.ljust(w) for c, w in zip(t, widths, strict=True)))
    for note in notes:
        print(note)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps({"title": title, "rows": rows, "notes": list(notes)}, indent=1))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 10 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
