"""Methods of synthesis side by side: a table, a picture in characters, and one in a file."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from dpsql.errors import DataError, NotSupportedError
from dpsql.interface.compare import Compared
from dpsql.interface.render.quality import WIDEST
from dpsql.interface.render.style import Style, escape


def render_comparison(found: Sequence[Compared], style: Style) -> list[str]:
    """One line for each method: mean errors against the true rows, in counts, time, epsilon; bars of the means."""
    head = f"{'method':<14}{'workload':>10}{'9 in 10':>10}{'held out':>10}{'seconds':>10}{'epsilon':>10}"
    lines = [style.dim(head)]
    longest = max((c.parts[0].mean for c in found if c.parts), default=0.0)
    for one in found:
        if one.failed:
            lines.append(f"{one.method:<14}{escape(one.failed)}")
            continue
        told, held = one.parts[0], one.parts[1].mean if len(one.parts) > 1 else None
        shown = "-" if held is None else f"{held:,.1f}"
        numbers = f"{told.mean:>10,.1f}{told.deciles[-2]:>10,.1f}{shown:>10}{one.seconds:>10.1f}{one.charged:>10.3g}"
        lines.append(f"{one.method:<14}{numbers}")
    lines += ["", "mean error on the workload, in counts of the true rows"]
    on = "█" if style.unicode else "#"
    for one in found:
        if one.parts:
            length = round(WIDEST * one.parts[0].mean / longest) if longest > 0 else 0
            lines.append(f"{one.method:<14}{style.cyan(on * max(length, 1))} {one.parts[0].mean:,.1f}")
    return lines


def check_drawing(path: Path) -> None:
    """Before anything is compared: NotSupportedError without matplotlib, DataError for another ending."""
    if path.suffix.lower() != ".png":
        raise DataError(f"{path} is no picture", hint="with --compare, -o names a file that ends in .png")
    if importlib.util.find_spec("matplotlib") is None:
        raise NotSupportedError("there is no matplotlib to draw with", hint='pip install "dpsql[plot]"')


def draw_comparison(found: Sequence[Compared], path: Path) -> None:
    """The same bars as a PNG."""
    import matplotlib  # type: ignore[import-not-found]

    matplotlib.use("agg")
    from matplotlib import pyplot

    shown = [one for one in found if one.parts]
    figure, axes = pyplot.subplots(figsize=(6, 1 + 0.5 * len(shown)))
    axes.barh([one.method for one in shown], [one.parts[0].mean for one in shown])
    axes.invert_yaxis()
    axes.set_xlabel("mean error on the workload, in counts of the true rows")
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
