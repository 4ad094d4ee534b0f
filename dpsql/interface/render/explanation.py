"""The public plan of a statement.

An analyst decides by it whether to ask: what is touched, from where it would be answered, how good, how dear.
"""

from collections.abc import Sequence
from math import isclose
from textwrap import wrap

from dpsql.interface.render.layout import Align, broken, fitted, pairs
from dpsql.interface.render.number import epsilon, error
from dpsql.interface.render.style import Style, escape, shorten
from dpsql.result import Explanation, QueryPlan, sources

LONGEST_SCOPE = 34
LONGEST_LINE = 92
_PLANNED = "planned from the policy and from released numbers; no row was read, nothing was charged"
_ALIGNS: tuple[Align, ...] = ("left", "left", "right", "right", "right", "left", "right", "right")
SHORT = {
    sources.MODEL: "model",
    sources.TESTED: "model, if it passes",
    sources.UNTESTED: "model, uncertified",
    sources.MEASURED: "measurement",
    sources.OWN: "new measurement",
    sources.SPARE: "new measurement",
    sources.ON_DEMAND: "new measurement",
    sources.FIRST_TOUCH: "first touch",
    sources.OWNERS_WORD: "owner's word",
    sources.KNOWN: "given before",
    sources.RELEASED: "given before",
}
"""Words for a column of a table."""
_SURELY_PAID = frozenset((sources.OWN, sources.ON_DEMAND))


def render_explanation(explanation: Explanation, style: Style) -> list[str]:
    """One line per scope, the outer SQL, the charge at most and how often the budget pays it."""
    lines: list[str] = []
    if explanation.plans:
        keys = any(p.support is not None for p in explanation.plans)
        header = ["table", "columns", "queries", "cells", "keys", "answered from", "error", "costs at most"]
        rows = [_row(p, style) for p in explanation.plans]
        shown = [i for i, name in enumerate(header) if keys or name != "keys"]
        lines += fitted(_take(header, shown), [_take(r, shown) for r in rows], [_ALIGNS[i] for i in shown], style)
    elif explanation.worst_charge == 0:
        lines.append("reads no private table: nothing is charged")
    if explanation.outer is not None:
        lines += ["", style.bold("then, over the released numbers"), *_indented(explanation.outer)]
    said: list[tuple[str, str]] = []
    if explanation.plans or explanation.worst_charge > 0:
        lines.append("")
        said += _charge(explanation)
    if any(p.foreseen for p in explanation.plans):
        said.append(("error ", "foreseen from the plan's noise; the answer will come with its own"))
    said += [("note  ", escape(n.text)) for n in explanation.notes]
    return [*lines, *pairs(said, style), *(style.dim(line) for line in broken([_PLANNED], style))]


def _row(plan: QueryPlan, style: Style) -> list[str]:
    return [
        escape(plan.table),
        shorten(", ".join(escape(c) for c in plan.scope) or "(every row)", LONGEST_SCOPE, style),
        f"{plan.queries:,}",
        f"{plan.cells:,}",
        "" if plan.support is None else f"{plan.support:,}",
        SHORT.get(plan.source, escape(plan.source)),
        _error(plan, style),
        epsilon(plan.worst_charge),
    ]


def _error(plan: QueryPlan, style: Style) -> str:
    if plan.error is None:
        return "?"
    return f"{'about ' if plan.foreseen else ''}{style.plus_minus}{error(plan.error, 0)}"


def _charge(explanation: Explanation) -> list[tuple[str, str]]:
    left = f"epsilon {epsilon(explanation.remaining)}"
    count = explanation.statements_left
    if count == 0:
        return [("charge", _worst(explanation)), ("left  ", f"{left}: less than it may need")]
    if explanation.worst_charge == 0:
        return [("charge", "free, however often such a statement is asked"), ("left  ", left)]
    text = _worst(explanation)
    if explanation.worst_charge > explanation.remaining:
        left += ": less than it may need"
    elif count is None:
        left += "; once this is paid, such statements are free"
    else:
        left += f": enough for {count:,} such statement{'' if count == 1 else 's'} at least"
    return [("charge", text), ("left  ", left)]


def _worst(explanation: Explanation) -> str:
    """What it costs at most, how much of that for what is measured first, and whether a right model spares the rest."""
    charged = [p for p in explanation.plans if p.worst_charge > 0]
    kinds, whole = {p.source for p in charged}, explanation.worst_charge
    later = sum(p.worst_charge for p in charged)
    amount = f"{'' if kinds and kinds <= _SURELY_PAID else 'at most '}epsilon {epsilon(whole)}"
    tested = kinds == {sources.TESTED}
    if isclose(later, whole, rel_tol=1e-6):
        return f"{amount}, nothing where the model is right" if tested else amount
    if later > whole or not explanation.plans:  # without a plan it is more than a first look: groups not yet known
        return amount
    rest = ", the rest only where the model is wrong" if tested else ""
    return f"{amount}: {epsilon(whole - later)} for what is measured first{rest}"


def _take(cells: Sequence[str], positions: Sequence[int]) -> list[str]:
    return [cells[i] for i in positions]


def _indented(sql: str) -> list[str]:
    lines = [part for line in sql.splitlines() for part in wrap(escape(line), LONGEST_LINE, break_long_words=False)]
    return ["  " + line for line in lines]
