"""``COUNT`` of a unit's column over a table of units: each row there is one."""

from sqlglot import exp

from dpsql.dialect.quoting import written
from dpsql.query import UnitTable
from dpsql.sql.expressions.bind import Binder
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.text.position import refusal

_COUNTS = ("count", "approx_count_distinct")


def counted_units(binder: Binder, call: exp.Expr) -> exp.Expr:
    """``COUNT(*)`` in place of ``COUNT(unit)`` and ``COUNT(DISTINCT unit)``; any other aggregate as it is."""
    table = binder.scope.table
    if not isinstance(table, UnitTable) or not isinstance(call, exp.Anonymous) or call.name.lower() not in _COUNTS:
        return call
    if len(call.expressions) != 1:
        return call
    argument = call.expressions[0]
    different = isinstance(argument, exp.Distinct) or call.name.lower() != "count"
    inner = argument.expressions[0] if isinstance(argument, exp.Distinct) and argument.expressions else argument
    if not binder.scope.is_unit(unwrap(inner)):
        return call
    if different and len(table.finite) > (table.most > 1):
        reason = "different units of several groups are not told from these counts: one may be in each"
        raise refusal(
            binder.text, call, reason, f"count them where no group stands beside: FROM {written(table.of.name)}"
        )
    return exp.Anonymous(this="count", expressions=[exp.Star()])
