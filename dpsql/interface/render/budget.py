"""The budget as a bar and a few lines.

An owner's first question is how much is left; it should be answered by looking.
"""

from dataclasses import asdict
from typing import Any

from dpsql.interface.render.layout import pairs
from dpsql.interface.render.number import epsilon, error
from dpsql.interface.render.style import Style, escape
from dpsql.result import Budget, TableOutlook

BAR = 40
"""Columns of the bar; one stands for 2.5 % of epsilon."""
PURSE_BAR = 20
WHOLE = 1 - 1e-6
"""Shares are cut to whole units: a purse of which more is spent is empty."""


def render_budget(budget: Budget, style: Style) -> list[str]:
    """What is spent and what is left of epsilon, and what the session has answered for it."""
    share = budget.spent_epsilon / budget.epsilon if budget.epsilon > 0 else 1.0
    lines = [
        f"{bar(share, style)}  epsilon {epsilon(budget.spent_epsilon)} of {epsilon(budget.epsilon)} spent,"
        f" {epsilon(budget.remaining_epsilon)} left",
        "",
    ]
    delta = f"{budget.delta:g}".replace("e-0", "e-")
    free = f", {budget.queries_free:,} of them free" if budget.queries_answered else ""
    items = [
        ("guarantee", f"({epsilon(budget.epsilon)}, {delta})-differential privacy for the whole session"),
        ("answered", f"{budget.queries_answered:,} {'query' if budget.queries_answered == 1 else 'queries'}{free}"),
        _left(budget),
    ]
    lines += pairs(items, style)
    if budget.purses:
        purses = [(escape(name), _purse(spent, planned, style)) for name, spent, planned in budget.purses]
        lines += ["", *pairs(purses, style)]
    if budget.tables:
        lines += ["", *pairs([(escape(t.table), _table(t, style)) for t in budget.tables], style)]
    return lines


def _left(budget: Budget) -> tuple[str, str]:
    if budget.questions_left is not None:
        return "questions", f"{budget.questions_left:,} left, each with noise of its own"
    return "hard rounds", f"{budget.hard_rounds_left:,} left: so often may the model still prove wrong"


def _purse(spent: float, planned: float, style: Style) -> str:
    if planned <= 0:
        return f"{bar(1.0, style, PURSE_BAR)}  {epsilon(spent)}, which no purse foresaw"
    share = spent / planned
    share = 1.0 if share > WHOLE else share
    return f"{bar(share, style, PURSE_BAR)}  {epsilon(spent)} of {epsilon(planned)} planned"


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


def prompt_budget(budget: Budget) -> str:
    """The few characters of the prompt: what is left of epsilon, in per cent.

    >>> prompt_budget(Budget(1.0, 1e-6, 0.25, 0.75, 9, 10, 8))
    '75 %'
    """
    share = 100 * budget.remaining_epsilon / budget.epsilon if budget.epsilon > 0 else 0.0
    return f"{share:.0f} %" if share >= 1 or share == 0 else "<1 %"
