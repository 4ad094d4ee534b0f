"""Aligned columns of text, as every listing of the command line shows them.

Terminal columns are not characters: wide letters and colours take part in the alignment, in this one place.
"""

from collections.abc import Sequence
from typing import Literal

from dpsql.interface.render.style import Style, left, right, width

Align = Literal["left", "right"]


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], aligns: Sequence[Align], style: Style) -> list[str]:
    """Lines of a table: bold header, a rule, one line per row; two spaces between columns, no trailing blanks.

    >>> from dpsql.interface.render.style import PLAIN
    >>> print("\\n".join(grid(("sex", "n"), [("Female", "8"), ("Male", "12")], ("left", "right"), PLAIN)))
    sex      n
    ──────  ──
    Female   8
    Male    12
    """
    sizes = [max([width(h), *(width(r[i]) for r in rows)]) for i, h in enumerate(header)]
    lines = [style.bold(_line(header, sizes, aligns)), style.dim("  ".join(style.rule * s for s in sizes))]
    return lines + [_line(r, sizes, aligns) for r in rows]


def pairs(items: Sequence[tuple[str, str]], style: Style) -> list[str]:
    """Lines ``name  text`` with the names aligned."""
    size = max((width(name) for name, _ in items), default=0)
    return [f"{style.bold(left(name, size))}  {text}" for name, text in items]


def _line(cells: Sequence[str], sizes: Sequence[int], aligns: Sequence[Align]) -> str:
    return "  ".join(
        (left if align == "left" else right)(cell, size) for cell, size, align in zip(cells, sizes, aligns, strict=True)
    ).rstrip()
