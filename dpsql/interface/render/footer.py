"""The lines under a result: how good its numbers are, where they came from, what they cost.

A table of numbers does not say which of them are certain; a line for each kind of answer does.
"""

from math import floor, isfinite, log10

from dpsql.interface.render.layout import broken
from dpsql.interface.render.number import epsilon, error
from dpsql.interface.render.style import Style, escape
from dpsql.result import Answer, Budget, ErrorKind, Result

_WORDS = {"public": "public", "hypothesis": "from the model", "measurement": "measured"}

_KINDS: dict[ErrorKind, tuple[str, ...]] = {
    "exact": ("95 %",),
    "calibrated": ("about 95 %", "model estimate"),
    "computed": ("about 95 %", "computed from released numbers"),
}
_BY_WORD = ("by the owner's word",)


def footer(
    result: Result, budget: Budget | None, seconds: float | None, style: Style, charged: float | None = None
) -> list[str]:
    """Rows and time; one line per kind of answer, bounds in the words of docs/accuracy.md; the charge."""
    rows = result.table.num_rows
    count = f"{rows:,} row{'' if rows == 1 else 's'}"
    lines = [f"({count})" if seconds is None else f"({count}, {duration(seconds)})"]
    answers = result.answers
    kinds: dict[tuple[str, str, str, bool], list[Answer]] = {}
    exact = 0
    for name, answer in _named(result):
        if answer.source == "public" and answer.error == 0:
            exact += 1
        else:
            kinds.setdefault((name, answer.source, answer.error_kind, answer.certified), []).append(answer)
    for (name, *_), alike in kinds.items():
        lines.append(f"{name}{_label(alike, len(answers))}: {bounds(alike, style)}")
    lines += [f"note: {escape(note.text)}" for note in result.notes]
    if exact:
        lines.append(f"{exact:,} public, exact: no row of the table can change {'it' if exact == 1 else 'them'}")
    if answers or charged:
        lines.append(_charge(result.charged, result.charged if charged is None else charged, budget))
    return [style.dim(line) for line in broken(lines, style)]


def bounds(answers: list[Answer], style: Style) -> str:
    """The error bounds of answers of one kind.

    >>> from dpsql.interface.render.style import PLAIN
    >>> model = Answer(1234, 96.0, (1138.0, 1330.0), "calibrated", "hypothesis", True, 752.0)
    >>> bounds([model], PLAIN)
    '±96 (about 95 %, model estimate; certified <= 752)'
    """
    sign = style.plus_minus
    known = [a.error for a in answers if a.error is not None and isfinite(a.error)]
    if known:
        least = min((e for e in known if e > 0), default=0.0)  # its digits are those of all, as in the table's column
        low, high = _bound(min(known), answers, least), _bound(max(known), answers, least)
        size = f"{sign}{high}" if low == high else f"{sign}{low} to {sign}{high}"
        notes = list(_BY_WORD if answers[0].source == "public" else _KINDS[answers[0].error_kind])
    else:
        size, notes = f"{sign}?", ["error not known"]
    text = ", ".join(notes)
    certified = [a.certified_bound for a in answers if a.certified_bound is not None]
    if not answers[0].certified:
        text += "; not certified"
    elif certified and answers[0].error_kind == "calibrated":
        text += f"; certified <= {_bound(max(certified), answers, max(certified))}"
    return f"{size} ({text})"


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(0.0412), duration(3.21)
    ('41 ms', '3.2 s')
    """
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _named(result: Result) -> list[tuple[str, Answer]]:
    """Answers with the name of their column; without it when there is only one column, or none of their own."""
    if result.block_answers or len(result.column_answers) < 2:
        return [("", a) for a in result.answers]
    return [
        (f"{escape(result.names[i])}: ", a) for i in sorted(result.column_answers) for a in result.column_answers[i]
    ]


def _label(alike: list[Answer], of: int) -> str:
    mark = "" if alike[0].certified else "~ "
    count = "" if of == 1 else f"{len(alike):,} "
    return mark + count + _WORDS[alike[0].source]


def _bound(value: float, answers: list[Answer], shown: float) -> str:
    """``value`` with the digits that make sense beside a bound of ``shown``."""
    whole = all(isinstance(a.value, int) or a.value is None for a in answers)
    digits = 0 if whole or shown <= 0 else max(0, 1 - floor(log10(shown)))
    return error(value, digits)


def _charge(marked: float, charged: float, budget: Budget | None) -> str:
    """``marked``: what the numbers shown were paid for; rows that an outer HAVING drops may have been paid for too."""
    left = "" if budget is None else f", {epsilon(budget.remaining_epsilon)} left"
    if charged > 0:
        total = "" if budget is None else f" of {epsilon(budget.epsilon)}"
        paid = "* paid" if marked > 0 else "paid, rows not shown included"
        return f"{paid}: epsilon {epsilon(charged)}{total}{left}"
    return "free" if budget is None else f"free: epsilon {epsilon(budget.remaining_epsilon)} left"
