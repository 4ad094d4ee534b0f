"""Aggregates that are no sums: extremes, quantiles, distinct values, variances, correlations.

Each is a function of counting questions. Variances and their like are functions of a few sums; all others are read from
the counts of the values that an expression can have, which are public, so that nothing of a single row is looked at.
"""

from typing import get_args

from sqlglot import exp

from dpsql.domain import DateDomain, FiniteDomain, IntegerDomain, NumberDomain
from dpsql.errors import UnsupportedQuery
from dpsql.query.summary import LISTS, MomentsKind
from dpsql.sql.aggregates.aggregation import CellsAsked, DistinctAsked, MomentsAsked, Summand
from dpsql.sql.aggregates.distinct import asked_distinct
from dpsql.sql.expressions.bind import Binder
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.functions import AGGREGATE, SUMMARIES
from dpsql.sql.expressions.names import quoted, steps_of
from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.text.limits import MAX_COUNTED_VALUES
from dpsql.sql.text.parse import to_sql
from dpsql.sql.text.position import refusal

PAIRED: frozenset[MomentsKind] = frozenset(
    {"corr", "covar_pop", "covar_samp", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy"}
)
HIGHER: frozenset[MomentsKind] = frozenset({"skewness", "kurtosis", "kurtosis_pop"})
_QUANTILES = frozenset({"quantile_cont", "quantile_disc"})
_OF_VALUES = {"distinct": "a count of distinct values", "sum_distinct": "a sum of distinct values"}
_MOMENTS = frozenset(get_args(MomentsKind))


def asked_moments(kind: MomentsKind, binder: Binder, arguments: list[exp.Expr]) -> MomentsAsked:
    """``VAR_SAMP(x)``, ``SKEWNESS(x)``, ``CORR(y, x)``: rows count in which no argument is NULL."""
    columns = [unwrap(a) for a in arguments]
    bounds = [binder.bind(c) for c in columns]
    centers = tuple(_center(binder, b) for b in bounds)
    present = [binder.conjuncts(exp.Not(this=exp.Is(this=exp.paren(c.copy()), expression=exp.null()))) for c in columns]
    conjuncts = tuple(b for found in present for b in found)
    moved = [_moved(c, center) for c, center in zip(columns, centers, strict=True)]
    sums = [(Summand(1.0, conjuncts),)]
    for m in moved:
        sums.append((Summand(1.0, conjuncts, binder.bind(unwrap(m))),))
        sums.append((Summand(1.0, conjuncts, binder.bind(_product(m, m))),))
    if len(moved) == 2:
        sums.append((Summand(1.0, conjuncts, binder.bind(_product(*moved))),))
    if kind in HIGHER:
        (m,) = moved
        cube = _product(_product(m, m), m)
        sums.append((Summand(1.0, conjuncts, binder.bind(cube)),))
        sums.append((Summand(1.0, conjuncts, binder.bind(_product(cube, m))),))
    domain = _column(binder, bounds[0]) if len(bounds) == 1 else None
    return MomentsAsked(kind, tuple(sums), centers, domain.name if isinstance(domain, NumberDomain) else None)


def _center(binder: Binder, bound: Bound) -> float:
    """About the middle of a column's range: squares of distances from it are smaller, and so is their noise."""
    domain = _column(binder, bound)
    if isinstance(domain, IntegerDomain):
        return float((domain.low + domain.high) // 2)
    if isinstance(domain, NumberDomain):
        return float(round(domain.edges[0] / 2 + domain.edges[-1] / 2))
    return 0.0


def _moved(node: exp.Expr, center: float) -> exp.Expr:
    """``node - center``."""
    inner: exp.Expr = exp.paren(node.copy())
    return inner if center == 0 else exp.paren(exp.Sub(this=inner, expression=_literal(center)))


def _product(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    sides = [exp.Cast(this=s.copy(), to=exp.DataType.build("DOUBLE")) for s in (left, right)]
    return exp.Mul(this=sides[0], expression=sides[1])


def _literal(value: float) -> exp.Expr:
    number: exp.Expr = exp.Literal.number(repr(abs(value)) if value % 1 else str(int(abs(value))))
    return exp.paren(exp.Neg(this=number)) if value < 0 else number


def asked_cells(
    binder: Binder, call: exp.Expr, name: str, arguments: list[exp.Expr], level: float
) -> CellsAsked | DistinctAsked:
    """``MAX(x)``, ``MEDIAN(x)``, ``COUNT(DISTINCT x)``: what is asked of the counts of the values of x."""
    kind = SUMMARIES.get(name, "sum_distinct")
    found = asked_distinct(binder, arguments[0]) if kind == "distinct" else None
    if found is not None:
        return found
    name = _OF_VALUES.get(kind, f"{name}()")
    if kind in _MOMENTS:
        raise refusal(binder.text, call, f"{name} cannot stand here", "write it of one column")
    (node,) = arguments
    bound = binder.bind(unwrap(node))
    if bound.outside and (bound.text is None or kind in _OF_VALUES or kind in _QUANTILES):
        raise _text_refusal(binder, call, name, kind, bound)
    domain = _column(binder, bound)
    if (kind in _OF_VALUES or kind in LISTS) and isinstance(domain, NumberDomain | DateDomain) and domain.is_binned:
        reason = f"{domain.name} has more values than can be counted one by one"
        step = steps_of(domain, to_sql(unwrap(node)))
        steps = f"COUNT(DISTINCT {step})" if kind in _OF_VALUES else f"histogram({step})"
        raise refusal(binder.text, call, reason, f"count steps of it, as in {steps}")
    return CellsAsked(kind, bound, level, domain)  # type: ignore[arg-type]


def _text_refusal(binder: Binder, call: exp.Expr, name: str, kind: str, bound: Bound) -> UnsupportedQuery:
    if kind in _QUANTILES:
        reason, hint = f"{name} of text is not answered", "take it of numbers"
    else:
        reason, hint = f"{name} of an expression of text is not answered", "take it of the column itself"
    return refusal(binder.text, call, reason, hint)


def _column(binder: Binder, bound: Bound) -> FiniteDomain | None:
    """The domain of the column that an expression is."""
    if len(bound.columns) != 1 or bound.outside:
        return None
    (name,) = bound.columns
    return binder.scope.table.finite_domain(name) if bound.sql == quoted(name) else None


def summarised(binder: Binder, call: exp.Expr) -> MomentsAsked | CellsAsked | DistinctAsked | None:
    """What an aggregate asks that is no sum; ``None`` for a sum, and for what is not known."""
    ordered = None
    if isinstance(call, exp.WithinGroup):
        ordered, call = call.args["expression"], call.this
    if not isinstance(call, exp.Anonymous):
        return None
    name, arguments = call.name.lower(), list(call.expressions)
    if ordered is not None:
        return _within_group(binder, call, name, arguments, ordered)
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        arguments = _distinct(binder, call, name, arguments[0])
        if name == "sum":
            return asked_cells(binder, call, name, _checked(binder, call, name, arguments, 1), 0.5)
        name = "approx_count_distinct" if name == "count" else name
    kind = SUMMARIES.get(name)
    if kind is None:
        return None
    if kind in _MOMENTS:
        wanted = pair(binder, call) if kind in PAIRED else _checked(binder, call, name, arguments, 1)
        return asked_moments(kind, binder, list(wanted))  # type: ignore[arg-type]
    if name == "percentile_cont" or name == "percentile_disc":
        raise refusal(binder.text, call, f"{name}() needs WITHIN GROUP", f"write {name}(0.5) WITHIN GROUP (ORDER BY x)")
    level = 0.5
    if kind in _QUANTILES and name != "median":
        arguments = _checked(binder, call, name, arguments, 2)
        level = _level(binder, call, arguments.pop())
    elif name == "approx_top_k":
        arguments = _checked(binder, call, name, arguments, 2)
        level = _how_many(binder, call, arguments.pop())
    return asked_cells(binder, call, name, _checked(binder, call, name, arguments, 1), level)


def _within_group(
    binder: Binder, call: exp.Anonymous, name: str, arguments: list[exp.Expr], ordered: exp.Expr
) -> CellsAsked | DistinctAsked:
    """``PERCENTILE_CONT(.5) WITHIN GROUP (ORDER BY x)``."""
    keys = ordered.expressions
    if name not in ("percentile_cont", "percentile_disc", "mode") or len(keys) != 1:
        raise refusal(
            binder.text,
            call,
            f"{name}() WITHIN GROUP is not answered",
            "write percentile_cont(0.5), ordered by one column",
        )
    level = 0.5 if name == "mode" else _level(binder, call, _checked(binder, call, name, arguments, 1)[0])
    descending = bool(keys[0].args.get("desc"))
    if descending and name == "percentile_disc":
        raise refusal(binder.text, call, f"{name}() of a descending order is not answered", "order by x, level 1 - p")
    return asked_cells(binder, call, name, [keys[0].this], 1.0 - level if descending else level)


def _distinct(binder: Binder, call: exp.Anonymous, name: str, node: exp.Distinct) -> list[exp.Expr]:
    """The arguments behind DISTINCT, of an aggregate that has a meaning with it here."""
    if name in ("min", "max", "bool_and", "bool_or", "approx_count_distinct", "count", "sum"):
        if node.args.get("on") is not None or len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Star):
            raise refusal(binder.text, call, f"{name}(DISTINCT ...) takes one argument", f"write {name}(DISTINCT x)")
        return list(node.expressions)
    return [node]


def pair(binder: Binder, call: exp.Anonymous) -> tuple[exp.Expr, exp.Expr]:
    """The two arguments of ``CORR(y, x)`` and its like."""
    y, x = _checked(binder, call, call.name.lower(), list(call.expressions), 2)
    return y, x


def _checked(binder: Binder, call: exp.Expr, name: str, arguments: list[exp.Expr], number: int) -> list[exp.Expr]:
    """The arguments, so many, none of them with DISTINCT, ORDER BY or an aggregate inside."""
    words = {1: "one argument", 2: "two arguments"}[number]
    if len(arguments) != number or any(isinstance(a, (exp.Star, exp.Distinct, exp.Order)) for a in arguments):
        raise refusal(binder.text, call, f"{name}() takes {words}", "write it of declared columns, without DISTINCT")
    if any(isinstance(n, exp.Anonymous) and n.name.lower() in AGGREGATE for a in arguments for n in a.walk()):
        raise refusal(binder.text, call, "an aggregate inside an aggregate", "aggregate in a subquery first")
    return arguments


def _level(binder: Binder, call: exp.Expr, node: exp.Expr) -> float:
    bare = unwrap(node)
    bound = None if isinstance(bare, (exp.Array, exp.Anonymous)) else binder.bind(bare).constant
    if bound is None or not 0 <= bound <= 1:
        raise refusal(
            binder.text, call, "a quantile needs one number from 0 to 1", "write quantile_cont(x, 0.5), once for each"
        )
    return bound


def _how_many(binder: Binder, call: exp.Expr, node: exp.Expr) -> float:
    bare = unwrap(node)
    known = isinstance(bare, exp.Literal) and not bare.is_string and bare.this.isdigit()
    if not known or not 1 <= int(bare.this) <= MAX_COUNTED_VALUES:
        reason = f"approx_top_k() needs a whole number from 1 to {MAX_COUNTED_VALUES:,}"
        raise refusal(binder.text, call, reason, "write approx_top_k(x, 3)")
    return float(bare.this)
