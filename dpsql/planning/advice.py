"""Advice for an owner who writes a policy: which error each epsilon buys, from the declared domains alone. Public.

The hardest line of a policy is epsilon; a table of errors says what it means before any data are touched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.domain import TableDomain
from dpsql.errors import PolicyError
from dpsql.planning.outlook import forecast, outlook
from dpsql.planning.plans import make_plan
from dpsql.planning.table_plan import plan_tables
from dpsql.policy import Policy
from dpsql.result import TableOutlook

EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2))
TYPICAL_ROWS = 10_000
"""For errors in per cent, where the owner says nothing about the number of rows."""
_MOST_QUESTIONS = 1 << 12


def advice(policy: Policy, rows: Mapping[str, int] | None = None) -> list[str]:
    """Lines for the policy's comments: a table of epsilons and errors for each table, how tables share, few questions.

    ``rows``: rows per table where the owner has looked at the data; they are cut to one digit.
    """
    known = {} if rows is None else rows
    lines = ["What epsilon buys with these domains: the 95 % error of a typical count, foreseen from noise alone."]
    for table in policy.tables:
        lines += _table_lines(policy, table, known.get(table.name))
    number = len(policy.tables)
    if number > 1:
        lines.append(f"The {number} tables share epsilon evenly, whatever is asked: leave out what nobody asks about.")
    few = few_questions(policy)
    if few:
        lines.append(f"With planned_queries = {few} or less each question gets noise of its own instead.")
    return lines


def few_questions(policy: Policy) -> int:
    """The largest ``planned_queries`` that gives each question noise of its own, at most 4,096; 0 when none does.

    Monotone: what is foreseen for the models hardly depends on it, and noise of one's own grows with it.
    """
    low, high = 0, _MOST_QUESTIONS
    while low < high:
        middle = (low + high + 1) // 2
        if make_plan(replace(policy, privacy=replace(policy.privacy, planned_queries=middle))).questions:
            low = middle
        else:
            high = middle - 1
    return low


def _table_lines(policy: Policy, table: TableDomain, rows: int | None) -> list[str]:
    found = [_outlook(policy, table, epsilon) for epsilon in EPSILONS]
    strategies = dict.fromkeys(f.strategy for f in found if f is not None)
    lines = [f"{_printable(table.name)}: {' or '.join(strategies) or 'no plan'}"]
    errors = [None if f is None else f.error for f in found]
    if all(e is None for e in errors):
        return lines
    number = TYPICAL_ROWS if rows is None else about(rows)
    whose = "of 10,000 rows" if rows is None else f"of about {number:,} rows (FROM THE DATA)"
    return [
        *lines,
        _row("epsilon", [f"{float(e):g}" for e in EPSILONS]),
        _row("error", ["-" if e is None else f"±{e:,.0f}" for e in errors]),
        _row("", [_per_cent(e, number) for e in errors]) + f"  {whose}",
    ]


def _outlook(policy: Policy, table: TableDomain, epsilon: Fraction) -> TableOutlook | None:
    """``None`` where epsilon is too small for any plan."""
    rules = replace(policy, privacy=replace(policy.privacy, epsilon=epsilon))
    try:
        plan = plan_tables(make_plan(rules), rules)[table.name]
    except PolicyError:
        return None
    return outlook(plan, forecast(plan))


def _row(name: str, cells: Sequence[str]) -> str:
    return f"  {name:<8}" + "".join(f"{c:>9}" for c in cells)


def _per_cent(error: float | None, rows: int) -> str:
    if error is None:
        return "-"
    return f"{100 * error / rows:.2g} %" if error < rows else "all"


def about(rows: int) -> int:
    """One significant digit: how a draft, which may be handed on, tells numbers of rows.

    >>> about(48_842), about(7)
    (50000, 7)
    """
    step: int = 10 ** max(0, len(str(rows)) - 1)
    return round(rows / step) * step


def _printable(name: str) -> str:
    return name if name.isprintable() else ascii(name)
