"""How each table is going to be answered, and how well: the plan in words, from public and released numbers.

What ``explain``, the budget and ``init`` say of a strategy comes from here, so that they say the same.
"""

from dpsql.accounting import Plan
from dpsql.confidence import error_bound
from dpsql.planning.forecast import NOMINAL_ROWS, Forecast, half_width
from dpsql.planning.paper import distance
from dpsql.planning.table_plan import TablePlan, plan_tables
from dpsql.planning.ways import Way
from dpsql.policy import Policy
from dpsql.result import TableOutlook

HISTOGRAM = "one histogram"
"""Contingencies where one of all columns is all that is measured: that depends on the number of rows."""


def forecast(plan: TablePlan, row_count: float | None = None) -> Forecast | None:
    """Errors foreseen from what the warm start measures; ``None`` for tables without one.

    ``row_count``: the released or public number of rows, if it is known.
    """
    if not plan.measured_columns:
        return None
    rows = NOMINAL_ROWS if row_count is None else row_count
    rules = plan.rules
    return Forecast(
        plan.table,
        plan.precision,
        rows,
        differences=plan.differences,
        beside=rules.whole_tables,
        triples=rules.coarse_triples,
        calendar=rules.calendar,
    )


def outlook(plan: TablePlan, foreseen: Forecast | None) -> TableOutlook:
    """The table's strategy and the 95 % error of a typical answer in counts.

    ``foreseen``: the table's ``forecast``. Of a table with strings and several finite columns it is about the latter,
    of one with less about a frequent string.
    """
    match plan.way:
        case Way.OWN:
            error = float(error_bound(float(plan.question.sigma)))
        case Way.CONTINGENCIES | Way.LOCAL if foreseen is not None:
            return TableOutlook(plan.name, _words(plan, foreseen), float(half_width(foreseen.typical_sd)))
        case Way.KEYS:
            error = float(max(half_width(float(s.count_sigma)) for s in plan.texts.values()))
        case Way.NET | Way.CONTINGENCIES | Way.LOCAL:
            return TableOutlook(plan.name, _guarded(plan), float(plan.bound) if plan.net.hard_rounds else None)
    return TableOutlook(plan.name, plan.way.value, error)


def paper_notices(plan: Plan, policy: Policy) -> tuple[str, ...]:
    """For each table how far the papers' constants are from usable, where the policy takes them; else nothing.

    Against the number of rows that they were planned for: the true one is not known before the first question.
    """
    if policy.mechanism.calibration == "tight":
        return ()
    rows = f"{policy.mechanism.planned_rows:,} planned rows"
    found = (distance_words(table, policy, rows) for table in plan_tables(plan, policy).values())
    return tuple(words for words in found if words is not None)


def distance_words(plan: TablePlan, policy: Policy, rows: str | None) -> str | None:
    """``paper.distance`` of one table; ``None`` without the papers' constants."""
    construction = plan.strategy.construction
    if plan.paper is None or construction is None:
        return None
    return distance(policy.privacy, plan.table, construction, plan.paper, rows)


def _guarded(plan: TablePlan) -> str:
    """What the test guards where nothing is measured first."""
    construction = plan.strategy.construction
    if construction is None:
        return plan.way.value
    words = f"{construction.words} + {plan.way.value}"
    return words if plan.paper is None else f"{words}, with the papers' constants"


def _words(plan: TablePlan, foreseen: Forecast) -> str:
    whole = len(foreseen.planned) == 1 and len(foreseen.planned[0].columns) > 1
    words = HISTOGRAM if whole else plan.way.value
    return f"{words.removesuffix(' + net')}, {Way.KEYS.value}" if plan.texts else words
