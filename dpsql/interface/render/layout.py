"""Aligned columns of text, as every listing of the command line shows them.

Terminal columns are not characters: wide letters and colours take part in the alignment, in this one place.
"""

from collections.abc import Iterable, Sequence
from textwrap import TextWrapper
from typing import Literal

from dpsql.interface.render.style import Style, left, right, width

Align = Literal["left", "right"]
_LEAST = 16
"""Columns in which words can still be read; in fewer the terminal may break lines itself."""


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], aligns: Sequence[Align], style: Style) -> list[str]:
    """Lines of a table: bold header, a rule, one line per row; two spaces between columns, no trailing blanks.

    >>> from dpsql.interface.render.style import PLAIN
    >>> print("\\n".join(grid(("sex", "n"), [("Female", "8"), ("Male", "12")], ("left", "right"), PLAIN)))
    sex      n
    ──────  ──
    Female   8
    Male    12
    """
    sizes = _sizes(header, rows)
    lines = [style.bold(_line(header, sizes, aligns)), style.dim("  ".join(style.rule * s for s in sizes))]
    return lines + [_line(r, sizes, aligns) for r in rows]


def fitted(header: Sequence[str], rows: Sequence[Sequence[str]], aligns: Sequence[Align], style: Style) -> list[str]:
    r"""A grid; where it is wider than the terminal, a block per row, as psql's ``\x auto`` has it: a number that a line
    end breaks is misread. In files and pipes every table fits.

    >>> print("\n".join(fitted(("sex", "n"), [("Female", " 8")], ("left", "right"), Style(columns=9))))
    ── record 1 ──
    sex  Female
    n    8
    """
    needed = sum(_sizes(header, rows)) + 2 * (len(header) - 1)
    if not style.columns or needed <= style.columns or len(header) < 2 or not rows:
        return grid(header, rows, aligns, style)
    lines = []
    for number, row in enumerate(rows, start=1):
        lines.append(style.dim(f"{style.rule * 2} record {number:,} {style.rule * 2}"))
        lines += pairs([(name.strip(), cell.strip()) for name, cell in zip(header, row, strict=True)], style)
    return lines


def pairs(items: Sequence[tuple[str, str]], style: Style) -> list[str]:
    """Lines ``name  text`` with the names aligned."""
    size = max((width(name) for name, _ in items), default=0)
    lines = []
    for name, text in items:
        first, *more = broken([text], style, indent=size + 2, first=size + 2) or [""]
        lines += [f"{style.bold(left(name, size))}  {first.lstrip() if more else text}", *more]
    return lines


def broken(lines: Iterable[str], style: Style, *, indent: int = 2, first: int = 0) -> list[str]:
    """Sentences broken between words where they are wider than the terminal; what follows is indented.

    ``first``: columns that are taken already on the first line. A line with colours in it stays as it is.

    >>> broken(["free: epsilon 0.374 left"], Style(columns=20))
    ['free: epsilon 0.374', '  left']
    """
    out = []
    for line in lines:
        fits = not style.columns or first + width(line) <= style.columns
        if fits or "\x1b" in line or style.columns < indent + _LEAST:
            out.append(line)
        else:
            start, go_on = " " * first, " " * indent
            made = TextWrapper(style.columns, start, go_on, break_long_words=False, break_on_hyphens=False)
            out += made.wrap(line)
    return out


def _sizes(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max([width(h), *(width(r[i]) for r in rows)]) for i, h in enumerate(header)]


def _line(cells: Sequence[str], sizes: Sequence[int], aligns: Sequence[Align]) -> str:
    return "  ".join(
        (left if align == "left" else right)(cell, size) for cell, size, align in zip(cells, sizes, aligns, strict=True)
    ).rstrip()
