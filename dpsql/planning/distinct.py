"""What a count of different values may spend: about what makes it as exact as the table's number of rows. Public.

No model knows how many units are in some rows, so each such question has noise of its own. It is paid like a spare
release where the plan has these, else like a part of a hard round or a planned question.
"""

from dataclasses import dataclass

from dpsql.accounting import Plan
from dpsql.planning.sensitivity import distinct_l2_squared
from dpsql.planning.shares import Payment
from dpsql.planning.table_plan import TablePlan

MOST_SPARES_EACH = 20
"""Spare releases that one count of different values is paid as, at most."""


@dataclass(frozen=True)
class DistinctShare:
    """``units`` of the plan; ``spares``: as how many spare releases they count, 0 where they are paid as questions."""

    units: int
    spares: int = 0


def distinct_share(
    plan: Plan, table: TablePlan, payment: Payment, column: str, spares_left: int, most: int = 1
) -> DistinctShare:
    """For one release of counts of different values of ``column``; no units where nothing is left that pays for it.

    ``most``: each set has so many numbers. Their sum is then as exact as one number alone would be, for so many times
    its price, as far as one question may be paid.
    """
    alone = distinct_l2_squared(table.neighbors, table.table, column, 1)
    wanted = -(-table.row_count.units * alone // table.l2_squared)
    if plan.spares:
        number = min(most * max(1, -(-wanted // plan.spare_units)), MOST_SPARES_EACH, spares_left)
        return DistinctShare(number * plan.spare_units, number)
    if payment.number == 0:
        return DistinctShare(0)
    if payment.tests == 0 or wanted == 0:
        return DistinctShare(payment.noise_units)
    return DistinctShare(min(most * wanted, payment.noise_units))
