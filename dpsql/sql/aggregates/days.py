"""Days between two date columns as a difference of one number of each: what is summed of each date is enough."""

from sqlglot import exp

from dpsql.domain import DateDomain, truncate
from dpsql.sql.expressions.bind import Binder
from dpsql.sql.expressions.dates import is_column
from dpsql.sql.expressions.operators import unwrap, written

_DIFFERENCES = frozenset(["date_diff", "datediff"])
_PARTS = frozenset(["day", "days"])
"""Of weeks the difference is no difference of weeks from one day on."""


def days_apart(binder: Binder, node: exp.Expr) -> exp.Expr:
    """``exit - entry`` or ``date_diff('day', entry, exit)`` of two columns of days, perhaps times a constant, as the
    days of each from the first one on; anything else as it is.
    """
    inner = unwrap(node)
    if isinstance(inner, (exp.Mul, exp.Div)) and written(inner.expression):
        of = days_apart(binder, inner.this)
        if of is inner.this or not isinstance(of, exp.Sub):
            return node
        sides = [type(inner)(this=side, expression=inner.expression.copy()) for side in (of.this, of.expression)]
        return exp.Sub(this=sides[0], expression=sides[1])
    match inner:
        case exp.Sub():
            part, first, last = "day", inner.expression, inner.this
        case exp.Anonymous(expressions=[exp.Literal() as named, first, last]) if inner.name.lower() in _DIFFERENCES:
            part = named.name.lower()
        case _:
            return node
    columns = [_days(binder, side) for side in (first, last)]
    if part not in _PARTS or columns[0] is None or columns[1] is None or columns[0] is columns[1]:
        return node
    origin = str(min(truncate(c.low, c.unit) for c in columns if c is not None))

    def since(side: exp.Expr) -> exp.Expr:
        day = exp.Cast(this=exp.Literal.string(origin), to=exp.DataType.build("DATE"))
        return exp.Anonymous(this="date_diff", expressions=[exp.Literal.string("day"), day, side.copy()])

    return exp.Sub(this=since(last), expression=since(first))


def _days(binder: Binder, side: exp.Expr) -> DateDomain | None:
    """The column of days that an expression is."""
    if not isinstance(unwrap(side), (exp.Column, exp.Cast)):
        return None
    bound = binder.bind(side)
    if len(bound.columns) != 1:
        return None
    domain = binder.scope.table.by_name[next(iter(bound.columns)).lower()]
    if not isinstance(domain, DateDomain) or domain.step is not None or not is_column(bound, domain.name):
        return None
    return domain
