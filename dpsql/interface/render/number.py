"""Released numbers as people read them: thousands, digits that the error bound justifies, small counts as intervals.

Seven digits of a number that is known to fifty are a lie of precision, so digits follow the error.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from math import ceil, floor, isfinite, log10

from dpsql.interface.render.style import Style, escape
from dpsql.result import Answer

NULL = "NULL"
SEEN = 0.05
"""Of an error: what an interval that ends so much before it is shown by its ends for."""


@dataclass(frozen=True)
class AnswerCell:
    """The parts of a printed answer, aligned part by part: ``~8,213 ± 96 *`` or ``0 to 96``."""

    mark: str
    low: str
    sign: str
    high: str
    paid: bool


def answer_cell(value: object, answer: Answer, style: Style, digits: int | None = 0) -> AnswerCell:
    """``value`` is the cell of the result, in the answer's unit; ``digits`` are those of its column.

    >>> from dpsql.interface.render.style import PLAIN
    >>> cell = answer_cell(3, Answer(3, 96.0, (0.0, 99.0), "exact", "measurement", certified=True), PLAIN)
    >>> cell.low, cell.sign, cell.high
    ('0', 'to', '99')
    """
    mark = "" if answer.certified else "~"
    paid = answer.charged > 0
    value = natural(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return AnswerCell(mark, plain(value), "", "", paid)
    if answer.error is None:
        return AnswerCell(mark, number(value, digits), style.plus_minus, "?", paid)
    if answer.error == 0:
        return AnswerCell(mark, number(value, digits), "", "", paid)
    if answer.interval is not None and value == answer.value and _is_cut(value, answer.error, answer.interval):
        low, high = answer.interval  # "8 ± 96" would claim that -88 were possible
        if high <= low:
            return AnswerCell(mark, number(low, digits), "", "", paid)
        return AnswerCell(mark, number(low, digits), "to", error(high, digits), paid)
    return AnswerCell(mark, number(value, digits), style.plus_minus, error(answer.error, digits), paid)


def _is_cut(value: float, error: float, interval: tuple[float, float]) -> bool:
    """Whether an end is where nothing can be beyond it: the lower one by anything, the upper one by what is seen."""
    low, high = interval
    return low > value - error or value + error - high > SEEN * error


def natural(value: object) -> object:
    """A DECIMAL without digits after the point as a whole number, any other as a float; all else as it is.

    >>> natural(Decimal("48840")), natural(Decimal("1.50"))
    (48840, 1.5)
    """
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def number(value: float, digits: int | None) -> str:
    """Thousands separated by commas, ``digits`` after the point (None: as many as make sense).

    >>> number(8213, 0), number(-4.25, 1), number(0.125, None)
    ('8,213', '-4.2', '0.125')
    """
    if not isfinite(value):
        return str(value)
    if digits is None:
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text


def error(value: float, digits: int | None) -> str:
    """A bound, rounded up, so that the printed interval still covers.

    >>> error(95.2, 0), error(0.211, 2), error(12.0, 0)
    ('96', '0.22', '12')
    """
    if not isfinite(value):
        return "?"
    if digits is None:
        return number(value, None)
    return number(ceil(round(value * 10**digits, 6)) / 10**digits, digits)


def plain(value: object) -> str:
    """A public cell, escaped: numbers without separators (17, 2018), dates in ISO form, NULL as NULL, lists and maps as
    DuckDB shows them.

    >>> plain({"Female": 12, None: [1, 2.5]})
    '{Female=12, NULL=[1, 2.5]}'
    """
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{plain(k)}={plain(v)}' for k, v in value.items())}}}"
    return escape(str(value))


def epsilon(value: float) -> str:
    """A privacy loss with three significant digits, never in scientific notation above one millionth.

    >>> epsilon(1.0), epsilon(0.01234), epsilon(0.00002), epsilon(0.0)
    ('1', '0.0123', '0.00002', '0')
    """
    if value == 0:
        return "0"
    if not 1e-6 <= abs(value) < 1e6:
        return f"{value:.3g}"
    places = max(0, 2 - floor(log10(abs(value))))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def column_digits(values: Sequence[object], answers: Iterable[Answer]) -> int | None:
    """Digits after the point for a whole column, so that points align: two significant ones of the smallest bound.

    0 for a column of whole numbers; None when no bound is known.

    >>> averages = [Answer(38.6, 0.21, None, "exact", "measurement", certified=True)]
    >>> column_digits([38.6], averages), column_digits([8213], averages), column_digits([None], [])
    (2, 0, None)
    """
    known = [natural(v) for v in values]
    if not any(isinstance(v, float) for v in known):
        return 0 if any(isinstance(v, int) for v in known) else None
    bounds = [a.error for a in answers if a.error is not None and a.error > 0 and isfinite(a.error)]
    return max(0, min(9, 1 - floor(log10(min(bounds))))) if bounds else None
