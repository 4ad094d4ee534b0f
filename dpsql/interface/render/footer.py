"""The lines under a result: how good its numbers are, where they came from, what they cost."""

from dpsql.interface.render.number import epsilon, error
from dpsql.interface.render.style import Style
from dpsql.result import Answer, Budget, Result

_WORDS = {"public": "public", "hypothesis": "from the model", "measurement": "measured", "cache": "answered before"}


def footer(result: Result, budget: Budget | None, seconds: float | None, style: Style) -> list[str]:
    """Rows and time; one line per kind of answer, bounds in the words of docs/accuracy.md; the charge."""
    rows = result.table.num_rows
    count = f"{rows:,} row{'' if rows == 1 else 's'}"
    lines = [f"({count})" if seconds is None else f"({count}, {duration(seconds)})"]
    answers = result.answers
    kinds: dict[tuple[str, str, bool], list[Answer]] = {}
    for answer in answers:
        if answer.source != "public" or answer.error != 0:
            kinds.setdefault((answer.source, answer.error_kind, answer.certified), []).append(answer)
    exact = len(answers) - sum(len(k) for k in kinds.values())
    alone = len(answers) == 1
    lines += [(f"{_label(k)}: " if alone else f"{len(k):,} {_label(k)}: ") + bounds(k, style) for k in kinds.values()]
    if exact:
        lines.append(f"{exact:,} public, exact: no row of the table can change {'it' if exact == 1 else 'them'}")
    if answers:
        lines.append(_charge(result, budget))
    return [style.dim(line) for line in lines]


def bounds(answers: list[Answer], style: Style) -> str:
    """The error bounds of answers of one kind.

    >>> from dpsql.interface.render.style import PLAIN
    >>> model = Answer(1234, 96.0, (1138.0, 1330.0), "calibrated", "hypothesis", True, 752.0)
    >>> bounds([model], PLAIN)
    '±96 (about 95 %, model estimate; certified <= 752)'
    """
    sign = style.plus_minus
    known = [a.error for a in answers if a.error is not None]
    if known:
        low, high = _bound(min(known), answers), _bound(max(known), answers)
        size = f"{sign}{high}" if low == high else f"{sign}{low} to {sign}{high}"
        notes = ["95 %"] if answers[0].error_kind == "exact" else ["about 95 %", "model estimate"]
    else:
        size, notes = f"{sign}?", ["error not known"]
    text = ", ".join(notes)
    certified = [a.certified_bound for a in answers if a.certified_bound is not None]
    if not answers[0].certified:
        text += "; not certified: no test left"
    elif certified and answers[0].error_kind == "calibrated":
        text += f"; certified <= {_bound(max(certified), answers)}"
    return f"{size} ({text})"


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(0.0412), duration(3.21)
    ('41 ms', '3.2 s')
    """
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _label(answers: list[Answer]) -> str:
    mark = "" if answers[0].certified else "~ "
    return mark + _WORDS[answers[0].source]


def _bound(value: float, answers: list[Answer]) -> str:
    whole = all(isinstance(a.value, int) or a.value is None for a in answers)
    return error(value, 0 if whole or value >= 100 else None if value == 0 else 2)


def _charge(result: Result, budget: Budget | None) -> str:
    charged = result.charged
    left = "" if budget is None else f", {epsilon(budget.remaining_epsilon)} left"
    if charged > 0:
        total = "" if budget is None else f" of {epsilon(budget.epsilon)}"
        return f"* paid: epsilon {epsilon(charged)}{total}{left}"
    return "free" if budget is None else f"free: epsilon {epsilon(budget.remaining_epsilon)} left"
