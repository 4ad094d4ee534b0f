"""Aggregates over private rows, as sums of parts: a coefficient, an indicator and perhaps a number per row.

``COUNT(x)`` counts ``x IS NOT NULL``; ``SUM(CASE WHEN p THEN 1 ELSE 0 END)`` counts ``p``; a SUM over no row is 0.
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from dpsql.domain import BooleanDomain, IntegerDomain, NumberDomain
from dpsql.sql.aggregates.aggregation import Aggregation, Summand
from dpsql.sql.aggregates.chosen import also, branches, only_where
from dpsql.sql.aggregates.days import days_apart
from dpsql.sql.aggregates.distinct import indicator
from dpsql.sql.aggregates.summaries import pair, summarised
from dpsql.sql.aggregates.units import counted_units
from dpsql.sql.expressions.bind import Binder
from dpsql.sql.expressions.bound import Bound, compose
from dpsql.sql.expressions.dates import NUMBERS_OF_DATES
from dpsql.sql.expressions.functions import AGGREGATE, LOWERED, REGRESSION, aggregate_refusal
from dpsql.sql.expressions.operations import null_only
from dpsql.sql.expressions.operators import LOGICAL, unwrap, written
from dpsql.sql.expressions.remarks import null_remarks
from dpsql.sql.expressions.string_predicates import null_test
from dpsql.sql.text.position import refusal

_NOT_NULL = "IS NOT NULL"


def is_aggregate(node: exp.Expr) -> bool:
    """Whether the node is an aggregate call, perhaps with FILTER."""
    kind = type(node)
    if kind is exp.Filter or kind is exp.WithinGroup:
        return True
    return kind is exp.Anonymous and node.name.lower() in AGGREGATE


def aggregation(binder: Binder, node: exp.Expr, *, distances: bool = False) -> Aggregation:
    """What an aggregate node asks. Raises UnsupportedQuery for one that is no function of counting questions.

    ``distances``: as in ``ModelRules``.
    """
    call = node
    shared: tuple[Bound, ...] = ()
    if isinstance(node, exp.Filter):
        call = node.this
        shared = tuple(binder.conjuncts(node.args["expression"].this))
    made = _of_branches(binder, node, counted_units(binder, call), distances)
    return _selected(made, shared) if shared else made


def _of_branches(binder: Binder, node: exp.Expr, call: exp.Expr, distances: bool) -> Aggregation:
    """An aggregate without FILTER; of values that conditions choose it is that of each, where it is a sum.

    Averages of several are not asked as ``distances``: each would have an end of its own, over its own rows.
    """
    inside = any(is_aggregate(n) for n in call.find_all(exp.Anonymous) if n is not call and n is not call.this)
    chosen = [] if inside else branches(binder, call)
    found = []
    for branch in chosen:
        with also(binder, branch.names):
            found.append(_of_branches(binder, node, branch.call, distances and len(chosen) == 1))
    if len(found) == 1:
        return _selected(found[0], chosen[0].conjuncts)
    if not found or any(a.summary is not None for a in found):
        return _read(binder, node, call, distances)
    for i, branch in enumerate(chosen):
        numerator = tuple(only_where(s, branch.conjuncts) for s in found[i].numerator)
        found[i] = _times(replace(found[i], numerator=numerator), branch.times)
    made = added(found, [branch.conjuncts for branch in chosen])
    numerator = tuple(s for s in made.numerator if s.coefficient != 0.0) or made.numerator[:1]
    return replace(made, numerator=numerator, constants=None, values_are="unknown")


def _times(made: Aggregation, times: float) -> Aggregation:
    """The same of rows that count so often."""
    if times == 1.0:
        return made
    numerator = tuple(replace(s, coefficient=times * s.coefficient) for s in made.numerator)
    denominator = tuple(replace(s, coefficient=times * s.coefficient) for s in made.denominator or ())
    return replace(made, numerator=numerator, denominator=denominator or None)


def _read(binder: Binder, node: exp.Expr, call: exp.Expr, distances: bool) -> Aggregation:
    found = summarised(binder, call)
    if found is not None:
        return Aggregation(node, (), integral=False, summary=found)
    if not isinstance(call, exp.Anonymous):
        raise refusal(binder.text, node, "this aggregate is not answered", "use COUNT, SUM or AVG")
    return _linear(binder, node, call, distances)


def _selected(made: Aggregation, shared: tuple[Bound, ...]) -> Aggregation:
    """The same over the rows where ``shared`` is TRUE."""
    if made.summary is not None:
        return replace(made, summary=made.summary.within(shared))
    denominator = None if made.denominator is None else _within(made.denominator, shared)
    numerator = tuple(only_where(s, shared) for s in made.numerator)
    return replace(made, numerator=_within(numerator, shared), denominator=denominator)


def _linear(binder: Binder, node: exp.Expr, call: exp.Anonymous, distances: bool) -> Aggregation:
    """An aggregate that is a sum over rows, or a quotient of two."""
    name = call.name.lower()
    if name in REGRESSION:
        return _regression(binder, node, call, name)
    if name not in LOWERED:
        raise refusal(binder.text, call, *aggregate_refusal(name))
    argument = _argument(binder, call, name)
    match LOWERED[name]:
        case "count":
            return Aggregation(node, (Summand(1.0, () if argument is None else _not_null(binder, argument)),))
        case "count_if" if argument is not None:
            return Aggregation(node, (Summand(1.0, tuple(binder.conjuncts(argument))),))
        case "sum" if argument is not None:
            numerator, integral = _sum(binder, argument)
            return Aggregation(node, numerator, integral=integral)
        case "avg" if argument is not None:
            numerator, denominator = _sum(binder, argument)[0], (Summand(1.0, _not_null(binder, argument)),)
            if distances:
                numerator = tuple(map(_from_nearest, numerator))
            made = Aggregation(node, numerator, denominator, integral=False, constants=_constants(argument))
            of_sides = _sides_of(binder, _multiple_of_sides(binder, argument)[1]) is not None
            return replace(made, values_are="all") if of_sides else made
        case _:
            raise refusal(binder.text, call, *aggregate_refusal(name))


def _from_nearest(part: Summand) -> Summand:
    """A sum of values as one of distances; that of a number column is made of its bins and distances in them anyhow,
    and a product of them is summed as it is."""
    if part.value is None or part.value.straight is not None or part.value.product:
        return part
    return Summand(part.coefficient, part.conjuncts, part.value._replace(distance=True))


def added(found: Sequence[Aggregation], conditions: Sequence[tuple[Bound, ...]]) -> Aggregation:
    """The same aggregate over several selections of rows: its sums are added, those of each under its condition."""
    tops = [_within(a.numerator, c) for a, c in zip(found, conditions, strict=True)]
    bottoms = [_within(a.denominator or (), c) for a, c in zip(found, conditions, strict=True)]
    known = [a.constants for a in found if a.constants is not None]
    return Aggregation(
        found[0].node,
        tuple(s for top in tops for s in top),
        None if found[0].denominator is None else tuple(s for bottom in bottoms for s in bottom),
        all(a.integral for a in found),
        tuple(v for values in known for v in values) if len(known) == len(found) else None,
        values_are="one" if all(a.values_are == "one" for a in found) else "unknown",
    )


def _within(parts: tuple[Summand, ...], shared: tuple[Bound, ...]) -> tuple[Summand, ...]:
    return tuple(Summand(p.coefficient, shared + p.conjuncts, p.value) for p in parts)


def _regression(binder: Binder, node: exp.Expr, call: exp.Anonymous, name: str) -> Aggregation:
    """``REGR_COUNT(y, x)``, ``REGR_AVGX`` and ``REGR_AVGY``: rows count in which neither is NULL."""
    y, x = pair(binder, call)
    present = (*_not_null(binder, y), *_not_null(binder, x))
    if name == "regr_count":
        return Aggregation(node, (Summand(1.0, present),))
    value = binder.bind(unwrap(x if name == "regr_avgx" else y))
    return Aggregation(node, (Summand(1.0, present, value),), (Summand(1.0, present),), integral=False)


def _argument(binder: Binder, call: exp.Anonymous, name: str) -> exp.Expr | None:
    """The only argument; ``None`` for COUNT(*) and COUNT()."""
    arguments = call.expressions
    if name in ("count", "count_star") and (not arguments or type(arguments[0]) is exp.Star):
        star = arguments[0] if arguments else None
        if len(arguments) > 1 or (star is not None and any(star.args.values())):
            raise refusal(binder.text, call, "this form of COUNT(*) is not answered", "write COUNT(*)")
        return None
    if len(arguments) != 1 or name == "count_star":
        raise refusal(binder.text, call, f"{name}() takes one argument", f"write {name}(column)")
    argument: exp.Expr = arguments[0]
    if isinstance(argument, exp.Distinct):
        hint = "write SUM(DISTINCT x) / COUNT(DISTINCT x)" if name == "avg" else "write it without DISTINCT"
        raise refusal(binder.text, call, f"{name}(DISTINCT ...) is not a sum over rows", hint)
    if isinstance(argument, exp.Order):
        raise refusal(binder.text, call, f"{name}(... ORDER BY ...) is not answered", "remove the ORDER BY")
    if any(is_aggregate(n) for n in argument.walk()):
        raise refusal(binder.text, call, "an aggregate inside an aggregate", "aggregate in a subquery first")
    return days_apart(binder, argument)


def _condition(node: exp.Expr) -> exp.Expr | None:
    """The predicate ``p`` of ``p``, ``(p)`` and ``p::INT``."""
    node = unwrap(node)
    if type(node) is exp.Cast and _is_integer(node.args["to"]):
        node = unwrap(node.this)
    return node if isinstance(node, LOGICAL) else None


def _is_integer(to: exp.Expr) -> bool:
    return isinstance(to, exp.DataType) and to.this in exp.DataType.INTEGER_TYPES


def _not_null(binder: Binder, argument: exp.Expr) -> tuple[Bound, ...]:
    """Conjuncts of ``argument IS NOT NULL``."""
    node = unwrap(argument)
    if isinstance(node, (exp.Literal, exp.Boolean)):
        return ()
    case = indicator(node)
    if case is not None and isinstance(case[1], (exp.Literal, exp.Boolean)):
        if case[2] is None:
            return tuple(binder.conjuncts(case[0]))
        if isinstance(case[2], (exp.Literal, exp.Boolean)):
            binder.remarks += null_remarks(binder.scope.table, (binder.bind(case[0]),))
            return ()
    node = unwrap(_multiple_of_sides(binder, node)[1])
    sides = _sides_of(binder, node)
    if sides is not None:
        return _not_null(binder, sides[0]) + _not_null(binder, sides[1])
    bound = binder.bind(node)
    binder.remarks += null_remarks(binder.scope.table, (bound,))
    return tuple(map(_present, bound.product or (bound,)))  # a product is NULL where something in it is


def _present(bound: Bound) -> Bound:
    """``bound IS NOT NULL``."""
    decided = null_test(f"{bound.sql} {_NOT_NULL}", bound, negated=True)
    if decided is not None:
        return decided
    if not bound.columns and bound.sql == "NULL":
        return Bound("FALSE")
    return null_only(compose(f"({bound.sql}) {_NOT_NULL}", (bound,)), bound)


def _sum(binder: Binder, argument: exp.Expr) -> tuple[tuple[Summand, ...], bool]:
    """Parts of SUM(argument), and whether their coefficients are whole numbers (values decide for the rest)."""
    constant = written(argument)
    if constant is not None:
        return (Summand(constant),), _whole(argument)
    case = indicator(argument)
    if case is not None:
        then = written(case[1])
        otherwise = 0.0 if case[2] is None else written(case[2])
        if then is not None and otherwise is not None:
            parts = [Summand(then - otherwise, tuple(binder.conjuncts(case[0])))]
            if otherwise:
                parts.append(Summand(otherwise))
                binder.remarks += null_remarks(binder.scope.table, (binder.bind(case[0]),))
            whole = _whole(case[1]) and (case[2] is None or _whole(case[2]))
            return tuple(parts), whole
    predicate = _condition(argument)
    if predicate is not None:
        return (Summand(1.0, tuple(binder.conjuncts(predicate))),), True
    times, of, whole_times = _multiple_of_sides(binder, argument)
    if of is not argument:
        found, whole = _sum(binder, of)
        return tuple([replace(s, coefficient=times * s.coefficient) for s in found]), whole and whole_times
    sides = _sides_of(binder, argument)
    if sides is not None:  # each side over the rows in which the other is not NULL either
        (left, right), sign = sides, -1.0 if isinstance(unwrap(argument), exp.Sub) else 1.0
        (first, whole), (second, also) = _sum(binder, left), _sum(binder, right)
        negated = tuple(Summand(sign * s.coefficient, s.conjuncts, s.value) for s in second)
        return _within(first, _not_null(binder, right)) + _within(negated, _not_null(binder, left)), whole and also
    return (Summand(1.0, (), binder.bind(unwrap(argument))),), True


def _multiple_of_sides(binder: Binder, argument: exp.Expr) -> tuple[float, exp.Expr, bool]:
    """How many times which sum or difference it is, as ``(x + y) / 2`` is half of one, and whether that is a whole
    number; once itself where it is none."""
    times, node, whole = 1.0, unwrap(argument), True
    while True:
        match node:
            case exp.Neg():
                times, node = -times, unwrap(node.this)
            case exp.Mul() if (by := written(node.this)) is not None:
                times, node, whole = times * by, unwrap(node.expression), whole and _whole(node.this)
            case exp.Mul() if (by := written(node.expression)) is not None:
                times, node, whole = times * by, unwrap(node.this), whole and _whole(node.expression)
            case exp.Div() if by := written(node.expression):
                times, node, whole = times / by, unwrap(node.this), False
            case _:
                break
    return (times, node, whole) if times != 0.0 and _sides_of(binder, node) is not None else (1.0, argument, True)


def _sides_of(binder: Binder, argument: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """The sides of a sum or difference that share no column, and each have one: what is summed of each is enough."""
    node = unwrap(argument)
    if not isinstance(node, (exp.Add, exp.Sub)):
        return None
    sides = node.this, node.expression
    left, right = (binder.bind(unwrap(side)) for side in sides)
    apart = left.columns and right.columns and left.columns.isdisjoint(right.columns)
    plain = not (left.outside or right.outside or left.times or right.times or left.span or right.span)
    numbers = all(_is_number(binder, side, b) for side, b in zip(sides, (left, right), strict=True))
    return sides if apart and plain and numbers else None


def _is_number(binder: Binder, node: exp.Expr, bound: Bound) -> bool:
    """Whether an expression of columns of numbers, or of years and their like, is one: dates that are subtracted, and
    joined strings, are not."""
    found = [binder.scope.table.by_name[c.lower()] for c in bound.columns]
    return all(isinstance(c, (IntegerDomain, NumberDomain, BooleanDomain)) for c in found) or _is_part(node)


def _is_part(node: exp.Expr) -> bool:
    """Whether a node is a part of a date that is a number, or made of these and of written numbers."""
    match unwrap(node):
        case exp.Extract():
            return True
        case exp.Anonymous() as call:
            return call.name.lower() in NUMBERS_OF_DATES
        case (exp.Add() | exp.Sub() | exp.Mul() | exp.Div()) as made:
            return _is_part(made.this) and _is_part(made.expression)
        case literal:
            return written(literal) is not None


def _constants(argument: exp.Expr) -> tuple[float, ...] | None:
    """The values other than NULL of an argument that ``_sum`` writes without a value per row."""
    constant = written(argument)
    if constant is not None:
        return (constant,)
    case = indicator(argument)
    if case is not None:
        values = [written(n) for n in case[1:] if n is not None]
        if None not in values:
            return tuple(v for v in values if v is not None)
    return None if _condition(argument) is None else (0.0, 1.0)


def _whole(node: exp.Expr) -> bool:
    return "." not in unwrap(node).sql() and "e" not in unwrap(node).sql().lower()


def aggregates_itself(node: exp.Select) -> bool:
    """Whether the SELECT itself aggregates: outside its subqueries and not only as a window function."""
    stack: list[exp.Expr] = list(node.expressions)
    for key in ("having", "qualify", "order"):
        if node.args.get(key) is not None:
            stack.append(node.args[key])
    while stack:
        child = stack.pop()
        if isinstance(child, exp.Query):
            continue
        if isinstance(child, exp.Window):
            function = child.this
            while isinstance(function, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
                function = function.this
            stack.extend(c for c in child.iter_expressions() if c is not child.this)
            stack.extend(function.iter_expressions())
            continue
        if is_aggregate(child) or isinstance(child, exp.Having):
            return True
        stack.extend(child.iter_expressions())
    return False
