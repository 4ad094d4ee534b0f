"""Aggregates of values that conditions choose: ``AVG(CASE WHEN p THEN x END)`` is ``AVG(x) FILTER (WHERE p)``.

A CASE of a binned column is no line of it, and nobody knows where inside of its bins it is NULL. Which rows each of its
branches takes is a condition like any other, and the branch's own value is summed by values.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from sqlglot import exp

from dpsql.sql.aggregates.aggregation import Summand
from dpsql.sql.expressions.bind import Binder
from dpsql.sql.expressions.bound import Bound, Chosen, compose
from dpsql.sql.expressions.changes.steps import UNKNOWN
from dpsql.sql.expressions.operations import cases
from dpsql.sql.expressions.operators import unwrap, written

MOST_SELECTIONS = 32


class Branch(NamedTuple):
    """The aggregate of one branch's value, over the rows where every conjunct is TRUE, which count ``times``.

    ``names``: what columns stand for that it alone has.
    """

    call: exp.Expr
    times: float
    conjuncts: tuple[Bound, ...]
    names: tuple[tuple[str, Bound], ...] = ()


class _Choice(NamedTuple):
    """A value that stands where ``condition`` is TRUE and no earlier one is; ``otherwise``: TRUE where it is not."""

    condition: exp.Expr | None
    otherwise: exp.Expr | None
    value: exp.Expr


class _Selection(NamedTuple):
    times: float
    conjuncts: tuple[Bound, ...]
    value: exp.Expr
    names: tuple[tuple[str, Bound], ...] = ()


def choices_of(binder: Binder, node: exp.Expr) -> tuple[Chosen, ...]:
    """The values that an expression is one of, if conditions choose it and it mentions a binned column; else none."""
    out = []
    for found in _values(binder, node):
        with also(binder, found.names):
            value = binder.bind(found.value)
            value = value._replace(choices=value.choices or choices_of(binder, found.value))
        out.append(Chosen(found.times, found.conjuncts, value))
    return () if any(c.value.literal is not None for c in out) else tuple(out)


def branches(binder: Binder, call: exp.Expr) -> list[Branch]:
    """Those of an aggregate whose argument is chosen by conditions and mentions a binned column; else none."""
    argument = _argument(call)
    found = [] if argument is None else _values(binder, argument)
    return [Branch(_with(call, s.value), s.times, s.conjuncts, s.names) for s in found]


def _values(binder: Binder, node: exp.Expr) -> list[_Selection]:
    """The values of an expression, or of a column of a subquery, with what stands around it around each of them."""
    inner, around, known = _core(binder, node)
    out = [] if known else _selections(binder, inner)
    for i, choice in enumerate(known):
        constant, name = choice.value.constant, f"{inner.name} {i}\n"  # which nobody writes
        value = exp.column(exp.to_identifier(name, quoted=True)) if constant is None else _literal(constant)
        names = () if constant is not None else ((name.lower(), choice.value),)
        out.append(_Selection(choice.times, choice.conjuncts, value, names))
    return [s._replace(value=around(s.value)) for s in out]


def _is_unit(binder: Binder, node: exp.Column) -> bool:
    """Whether it is the column of privacy units, which is counted and no more."""
    found = binder.scope.resolve(binder.text, node)
    return binder.scope.is_unit(node) if found is None else found[1].unit


@contextmanager
def also(binder: Binder, names: Sequence[tuple[str, Bound]]) -> Iterator[None]:
    """With these columns in the binder's scope, too."""
    scope = binder.scope
    if names:
        binder.scope = replace(scope, names={**scope.names, **{name: (name, bound) for name, bound in names}})
    try:
        yield
    finally:
        binder.scope = scope


def only_where(part: Summand, conjuncts: Sequence[Bound]) -> Summand:
    """The part of a sum over rows where ``conjuncts`` are TRUE, with a value that is looked at there alone: a logarithm
    has none at 0. Of lines, and of listed columns, nothing changes."""
    if part.value is None:
        return part
    return Summand(part.coefficient, part.conjuncts, _looked_at_where(part.value, conjuncts))


def _looked_at_where(value: Bound, conjuncts: Sequence[Bound]) -> Bound:
    if value.straight is not None or not value.steps:
        return value
    own = [c for c in conjuncts if c.columns and c.columns <= value.columns and not c.outside and not c.times]
    known = [c for c in own if not any(breaks >= UNKNOWN for breaks in c.steps.values())]
    if not known:
        return value
    sql = f"CASE WHEN {' AND '.join(f'({c.sql})' for c in known)} THEN {value.sql} END"
    made = cases(compose(sql, [*known, value]), known, [value])
    multiplied = tuple([_looked_at_where(v, conjuncts) for v in value.product])
    return made._replace(distance=value.distance, chooses=value.chooses, product=multiplied)


def _argument(call: exp.Expr) -> exp.Expr | None:
    """What an aggregate is about."""
    if isinstance(call, exp.WithinGroup):
        keys = call.args["expression"].expressions
        return unwrap(keys[0].this) if len(keys) == 1 else None
    return unwrap(call.expressions[0]) if isinstance(call, exp.Anonymous) and call.expressions else None


class _Core(NamedTuple):
    """What signs, casts to DOUBLE and arithmetic stand ``around``, with a written number or beside a value that nothing
    chooses. ``known``: what it is, of a column of a subquery that conditions choose."""

    inner: exp.Expr
    around: Callable[[exp.Expr], exp.Expr]
    known: tuple[Chosen, ...] = ()

    @property
    def is_chosen(self) -> bool:
        return bool(self.known or _choices(self.inner))


def _core(binder: Binder, node: exp.Expr) -> _Core:
    node = unwrap(node)
    match node:
        case exp.Column() if not _is_unit(binder, node):
            return _Core(node, _itself, binder.bind(node).choices)
        case exp.Neg():
            return _beside(node, "this", _core(binder, node.this))
        case exp.Cast() if type(node) is exp.Cast and node.args["to"].this is exp.DataType.Type.DOUBLE:
            return _beside(node, "this", _core(binder, node.this))
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            sides = {key: node.args[key] for key in ("this", "expression") if written(node.args[key]) is None}
            found = {key: _core(binder, side) for key, side in sides.items()}
            chosen = found if len(sides) == 1 else {key: core for key, core in found.items() if core.is_chosen}
            if len(chosen) == 1 and ("this" in chosen or len(sides) == 2 or not isinstance(node, exp.Div)):
                ((key, core),) = chosen.items()
                return _beside(node, key, core)
    return _Core(node, _itself)


def _itself(value: exp.Expr) -> exp.Expr:
    return value


def _beside(node: exp.Expr, key: str, core: _Core) -> _Core:
    """``node``, whose argument ``key`` is ``core``."""

    def around(value: exp.Expr) -> exp.Expr:
        out = node.copy()
        out.set(key, exp.paren(core.around(value).copy()))
        return out

    return core._replace(around=around)


def _with(call: exp.Expr, value: exp.Expr) -> exp.Expr:
    """The same aggregate of another value."""
    out = call.copy()
    if isinstance(out, exp.WithinGroup):
        out.args["expression"].expressions[0].set("this", value.copy())
    else:
        out.set("expressions", [value.copy(), *out.expressions[1:]])
    return out


def _selections(binder: Binder, node: exp.Expr) -> list[_Selection]:
    """Rows by which value they have; none of an expression that is not chosen so, or has too many.

    Where a condition on strings that are not listed one by one is not TRUE nobody knows: what an earlier one of these
    takes is counted, and taken off.
    """
    choices = _choices(node)
    if all(isinstance(c.value, exp.Null | exp.Literal | exp.Boolean) for c in choices) or not binder.bind(node).steps:
        return []  # of constants the conditions are all that there is
    out: list[_Selection] = []
    left: list[tuple[float, tuple[Bound, ...]]] = [(1.0, ())]  # rows that no earlier choice takes
    for choice in choices:
        taken = left
        if choice.condition is not None:
            own = tuple(binder.conjuncts(choice.condition))
            taken = [(times, (*conjuncts, *own)) for times, conjuncts in left]
        if not isinstance(choice.value, exp.Null):
            out += [_Selection(times, conjuncts, choice.value) for times, conjuncts in taken]
        if choice.condition is not None and choice.otherwise is not None and choice is not choices[-1]:
            if binder.bind(choice.condition).outside:
                left = left + [(-times, conjuncts) for times, conjuncts in taken]
            else:
                other = tuple(binder.conjuncts(choice.otherwise))
                left = [(times, (*conjuncts, *other)) for times, conjuncts in left]
        if len(out) + len(left) > MOST_SELECTIONS:
            return []
    return out


def _choices(node: exp.Expr) -> list[_Choice]:
    """What CASE, ``if``, ``nullif``, ``coalesce`` and ``ifnull`` choose from, in their order; nothing of others."""
    if type(node) is exp.Case:
        return list(_of_case(node))
    if not isinstance(node, exp.Anonymous):
        return []
    match node.name.lower(), node.expressions:
        case "if", [condition, then, other]:
            return [_Choice(condition, _not_true(condition), unwrap(then)), _Choice(None, None, unwrap(other))]
        case "nullif", [value, constant] if isinstance(unwrap(constant), exp.Literal):
            equal, other = (kind(this=value.copy(), expression=constant.copy()) for kind in (exp.EQ, exp.NEQ))
            return [_Choice(equal, other, exp.null()), _Choice(None, None, unwrap(value))]
        case (("coalesce" | "ifnull"), [*values, last]) if values:
            known = [_Choice(_null_test(v, negate=True), _null_test(v, negate=False), unwrap(v)) for v in values]
            return [*known, _Choice(None, None, unwrap(last))]
        case _:
            return []


def _of_case(node: exp.Case) -> Iterator[_Choice]:
    operand = node.args.get("this")
    for branch in node.args["ifs"]:
        condition = branch.this if operand is None else exp.EQ(this=operand.copy(), expression=branch.this.copy())
        yield _Choice(condition, _not_true(condition), unwrap(branch.args["true"]))
    if node.args.get("default") is not None:
        yield _Choice(None, None, unwrap(node.args["default"]))


def _not_true(condition: exp.Expr) -> exp.Expr:
    return exp.Is(this=exp.paren(condition.copy()), expression=exp.true(), negate=True)


def _null_test(value: exp.Expr, *, negate: bool) -> exp.Expr:
    return exp.Is(this=exp.paren(value.copy()), expression=exp.null(), negate=negate)


def _literal(value: float) -> exp.Expr:
    number: exp.Expr = exp.Literal.number(str(int(abs(value))) if value.is_integer() else repr(abs(value)))
    return exp.Neg(this=number) if value < 0 else number
