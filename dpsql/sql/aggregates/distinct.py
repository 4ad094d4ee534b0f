"""``COUNT(DISTINCT x)`` of what has no declared values: the privacy unit, and strings.

They are counted by the engine as they are: their groups could not be listed.
"""

from sqlglot import exp

from dpsql.sql.aggregates.aggregation import DistinctAsked
from dpsql.sql.expressions.bind import Binder
from dpsql.sql.expressions.operators import unwrap


def indicator(node: exp.Expr) -> tuple[exp.Expr, exp.Expr, exp.Expr | None] | None:
    """(condition, then, else) of ``CASE WHEN condition THEN then [ELSE else] END``."""
    node = unwrap(node)
    if type(node) is not exp.Case or node.args.get("this") is not None or len(node.args["ifs"]) != 1:
        return None
    branch = node.args["ifs"][0]
    otherwise = node.args.get("default")
    return branch.this, branch.args["true"], None if isinstance(otherwise, exp.Null) else otherwise


def asked_distinct(binder: Binder, node: exp.Expr) -> DistinctAsked | None:
    """What ``COUNT(DISTINCT node)`` asks where node is the unit or a text column, perhaps under a condition.

    ``None`` for all other expressions: the counts of their values say how many there are.
    """
    node = unwrap(node)
    case = indicator(node)
    if case is not None and case[2] is None:
        found = asked_distinct(binder, case[1])
        return None if found is None else found.within(tuple(binder.conjuncts(case[0])))
    table = binder.scope.table
    if binder.scope.is_unit(node):
        return None if table.unit is None else DistinctAsked(table.name, table.unit)
    if not isinstance(node, (exp.Column, exp.Anonymous)):
        return None
    text = binder.bind(node).text
    known = text is not None and text.keyed_by in table.text_names
    return DistinctAsked(table.name, text.keyed_by) if text is not None and known else None
