"""The budget as a bar and a few lines.

An owner's first question is how much is left; it should be answered by looking.
"""

from dataclasses import asdict
from typing import Any

from dpsql.interface.render.layout import pairs
from dpsql.interface.render.number import epsilon, error
from dpsql.interface.render.style import Style, escape, width
from dpsql.result import Budget, TableOutlook

BAR = 40
"""Columns of the bar where there is room; one stands for 2.5 % of epsilon."""
PURSE_BAR = 20
SHORTEST_BAR = 10
WHOLE = 1 - 1e-6
"""Shares are cut to whole units: a purse of which more is spent is empty."""


def render_budget(budget: Budget, style: Style) -> list[str]:
    """What is spent and what is left of epsilon, and what the session has answered for it."""
    share = budget.spent_epsilon / budget.epsilon if budget.epsilon > 0 else 1.0
    spent = f"  epsilon {epsilon(budget.spent_epsilon)} of {epsilon(budget.epsilon)} spent"
    words = f"{spent}, {epsilon(budget.remaining_epsilon)} left"
    lines = [bar(share, style, _fitting(BAR, width(words), style)) + words, ""]
    delta = f"{budget.delta:g}".replace("e-0", "e-")
    free = f", {budget.queries_free:,} of them free but for first looks" if budget.queries_answered else ""
    items = [
        ("guarantee", f"({epsilon(budget.epsilon)}, {delta})-differential privacy for the whole session"),
        ("answered", f"{budget.queries_answered:,} {'query' if budget.queries_answered == 1 else 'queries'}{free}"),
        _left(budget),
    ]
    lines += pairs(items, style)
    if budget.purses:
        lines += ["", *pairs(_purses(budget, style), style)]
    if budget.tables:
        lines += ["", *pairs([(escape(t.table), _table(t, style)) for t in budget.tables], style)]
    return lines


def _left(budget: Budget) -> tuple[str, str]:
    if budget.questions_left is not None:
        return "questions", f"{budget.questions_left:,} left, each with noise of its own"
    return "hard rounds", f"{budget.hard_rounds_left:,} left: so often may the model still prove wrong"


def _purses(budget: Budget, style: Style) -> list[tuple[str, str]]:
    words = [_planned(spent, planned) for _, spent, planned in budget.purses]
    taken = max(width(name) for name, _, _ in budget.purses) + max(map(width, words)) + 2
    size = _fitting(PURSE_BAR, taken, style)
    return [
        (escape(name), bar(_share(spent, planned), style, size) + text)
        for (name, spent, planned), text in zip(budget.purses, words, strict=True)
    ]


def _planned(spent: float, planned: float) -> str:
    return f"  {epsilon(spent)}" + (f" of {epsilon(planned)} planned" if planned > 0 else ", which no purse foresaw")


def _share(spent: float, planned: float) -> float:
    share = spent / planned if planned > 0 else 1.0
    return 1.0 if share > WHOLE else share


def _fitting(columns: int, taken: int, style: Style) -> int:
    """Columns of a bar beside ``taken`` others on this terminal."""
    return min(columns, max(style.columns - taken, SHORTEST_BAR)) if style.columns else columns


def _table(table: TableOutlook, style: Style) -> str:
    if table.error is None:
        return escape(table.strategy)
    within = f"{style.plus_minus}{error(table.error, 0)}"
    return f"{escape(table.strategy)}; noise of a typical answer {within} (95 %, foreseen)"


def bar(share: float, style: Style, columns: int = BAR) -> str:
    """``share`` of 0 to 1 as a bar; anything spent shows, and only a full one looks full.

    >>> from dpsql.interface.render.style import PLAIN
    >>> bar(0.5, PLAIN, 8), bar(0.001, PLAIN, 8), bar(0.999, PLAIN, 8)
    ('████░░░░', '█░░░░░░░', '███████░')
    """
    full = round(min(max(share, 0.0), 1.0) * columns)
    if share > 0:
        full = max(full, 1)
    if share < 1:
        full = min(full, columns - 1)
    on, off = ("█", "░") if style.unicode else ("#", ".")
    paint = style.green if share < 0.5 else style.yellow if share < 0.9 else style.red
    return paint(on * full) + style.dim(off * (columns - full))


def budget_object(budget: Budget) -> dict[str, Any]:
    """The budget for ``--json``; ``purses`` by name."""
    out = asdict(budget)
    out["purses"] = {name: {"spent": spent, "planned": planned} for name, spent, planned in budget.purses}
    return out
