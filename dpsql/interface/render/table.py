"""``--format table``: released numbers with their error bounds, beside plain values, then a footer.

People read it, so errors stand beside the values that they belong to, and long cells are cut.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dpsql.dialect.types import written_column
from dpsql.interface.render.footer import footer
from dpsql.interface.render.layout import Align, fitted
from dpsql.interface.render.number import AnswerCell, answer_cell, column_digits, plain
from dpsql.interface.render.style import Style, escape, right, shorten, width
from dpsql.result import Budget, Result

LONGEST_CELL = 60
"""Columns of a terminal that one plain cell may take."""


def render_table(
    result: Result,
    style: Style,
    *,
    budget: Budget | None = None,
    seconds: float | None = None,
    charged: float | None = None,
    beside: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[str]:
    """Lines. ``*`` marks numbers that were paid for, ``~`` numbers that no test certifies.

    ``beside``: more columns, title to one text per row, that are no part of the result.
    """
    cells: list[list[str]] = []
    aligns: list[Align] = []
    header: list[str] = []
    for i, name in enumerate(result.names):
        values = written_column(result.table.column(i))
        answers = result.column_answers.get(i)
        title = shorten(escape(name), LONGEST_CELL, style)
        if answers is None:
            numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values if v is not None)
            aligns.append("right" if numeric and any(v is not None for v in values) else "left")
            cells.append([shorten(plain(v), LONGEST_CELL, style) for v in values])
        else:
            aligns.append("left")
            digits = column_digits(values, answers)
            texts, end = _aligned([answer_cell(v, a, style, digits) for v, a in zip(values, answers, strict=True)])
            cells.append(texts)
            title = right(title, max(end, width(title)))
        header.append(title)
    for extra, column in beside.items():
        header.append(extra)
        aligns.append("right")
        cells.append(list(column))
    rows = list(zip(*cells, strict=True))
    return fitted(header, rows, aligns, style) + footer(result, budget, seconds, style, charged)


def _aligned(cells: Sequence[AnswerCell]) -> tuple[list[str], int]:
    """One text per answer: numbers, signs and bounds below one another; and where the numbers end."""
    low = max((width(c.mark + c.low) for c in cells), default=0)
    sign = max((width(c.sign) for c in cells), default=0)
    high = max((width(c.high) for c in cells), default=0)
    out = []
    for c in cells:
        text = right(c.mark + c.low, low)
        if sign:
            text += f" {right(c.sign, sign)} {right(c.high, high)}"
        out.append(text + (" *" if c.paid else ""))
    return out, low
