"""Binding: an expression over private columns becomes DuckDB text, by structural recursion; the last branch refuses.

Text is printed with the analyst's own parentheses and operators, so DuckDB's precedence decides what it means. Where
sqlglot's reading of comparisons without parentheses could differ from DuckDB's, the expression is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from sqlglot import exp

from dpsql.errors import UnsupportedQuery
from dpsql.sql.expressions import dates, number_predicates, string_predicates
from dpsql.sql.expressions.bound import Bound, Outside, compose, conjunction, decided, disjunction, negation
from dpsql.sql.expressions.changes.placed import moved
from dpsql.sql.expressions.changes.steps import merged
from dpsql.sql.expressions.changes.straight import arithmetic
from dpsql.sql.expressions.functions import NARROW, SCALAR, STEADY, function_refusal
from dpsql.sql.expressions.names import Scope, unknown_column
from dpsql.sql.expressions.node_refusals import cast_refusal, node_refusal, plain
from dpsql.sql.expressions.operations import (
    about,
    against,
    between,
    calculated,
    called,
    cases,
    converted,
    null_only,
    number_of,
    opposite,
    ordered,
)
from dpsql.sql.expressions.operators import (
    ARITHMETIC,
    COMPARISON,
    LOGICAL,
    ORDERED,
    PARTS,
    UNITS,
    flatten,
    unwrap,
)
from dpsql.sql.expressions.remarks import Remarked, called_remarks, chosen_remarks, condition_remarks, null_remarks
from dpsql.sql.expressions.types import cast_constant, type_name
from dpsql.sql.text.exists import existing
from dpsql.sql.text.limits import MAX_EXPANDED_BYTES, MAX_LIST_ITEMS
from dpsql.sql.text.position import refusal

Lookup = Callable[[exp.Expr], list[exp.Expr]]
"""Values of the only column of a query over public tables, as literals."""

_LONG = 200  # characters: longer expressions behind names add up, up to the length of a statement


class Binder:
    """Binds expressions of one block. ``aliases`` are the select list's, tried after the columns.

    ``remarks``: what was asked beyond the declared values, or may have been, in the order of binding.
    """

    __slots__ = ("_lookup", "_open", "_substituted", "aliases", "remarks", "scope", "text")

    def __init__(self, text: str, scope: Scope, aliases: Mapping[str, exp.Expr], lookup: Lookup) -> None:
        self.text = text
        self.scope = scope
        self.aliases = aliases
        self._lookup = lookup
        self._open: list[str] = []
        self._substituted = 0
        self.remarks: list[Remarked] = []

    def bind(self, node: exp.Expr) -> Bound:
        """The bound form of ``node``. Raises UnsupportedQuery or UnknownName at its position."""
        kind = type(node)
        symbol = COMPARISON.get(kind)
        if symbol is not None:
            left, right = self._operand(node.args["this"]), self._operand(node.args["expression"])
            return self._condition(node, symbol, self._comparison(node, symbol, left, right), (left, right))
        handler = self._HANDLERS.get(kind)
        if handler is not None:
            return handler(self, node)
        symbol = ARITHMETIC.get(kind)
        if symbol is not None:
            left, right = self._operand(node.this), self._operand(node.args["expression"])
            made = compose(f"{left.sql} {symbol} {right.sql}", (left, right))
            return calculated(kind, dates.met(self.text, node, self.scope.table, made), left, right)
        raise self.refuse(node)

    def conjuncts(self, node: exp.Expr) -> list[Bound]:
        """Bound predicates that are all TRUE exactly where ``node`` is: AND chains are split, NOT goes through OR."""
        out: list[Bound] = []
        stack = [(node, False)]
        while stack:
            top, negated = stack.pop()
            inner = unwrap(top)
            kind = type(inner)
            if kind is exp.Not:
                stack.append((inner.this, not negated))
            elif kind is (exp.Or if negated else exp.And):
                stack.append((inner.args["expression"], negated))
                stack.append((inner.this, negated))
            else:
                bound = self.bind(inner)
                out.append(negation(f"NOT ({bound.sql})", bound) if negated else bound)
        return out

    def refuse(self, node: exp.Expr) -> UnsupportedQuery:
        """The refusal of a node that has no handler."""
        return refusal(self.text, node, *node_refusal(node))

    def _only(self, node: exp.Expr, *known: str) -> None:
        for key, value in node.args.items():
            if value and key not in known:
                raise refusal(self.text, node, f"{plain(node)} with {key} is not answered", "write it in another way")

    def _operand(self, node: exp.Expr) -> Bound:
        if type(node) in LOGICAL:
            raise refusal(
                self.text, node, "a comparison inside an expression is ambiguous", "put the comparison in parentheses"
            )
        return self.bind(node)

    def _column(self, node: exp.Expr) -> Bound:
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            raise self.refuse(node)
        found = self.scope.resolve(self.text, node)
        if (found is None and self.scope.is_unit(node)) or (found is not None and found[1].unit):
            reason = f"{node.name} tells units apart, and no condition or group may"
            raise refusal(self.text, node, reason, f"count them: COUNT(DISTINCT {node.name})")
        bound = self._alias(node) if found is None else found[1]
        if len(bound.sql) > _LONG:
            self._substituted += len(bound.sql)
            if self._substituted > MAX_EXPANDED_BYTES:
                raise refusal(self.text, node, "the names here stand for too much text", "use fewer names within names")
        return bound

    def _alias(self, node: exp.Column) -> Bound:
        """What an alias of the select list stands for."""
        alias = node.name.lower()
        target = self.aliases.get(alias)
        if target is None or alias in self._open:
            raise unknown_column(self.text, node, self.scope)
        self._open.append(alias)
        try:
            bound = self.bind(target)
        finally:
            self._open.pop()
        return bound._replace(sql=f"({bound.sql})")

    def _literal(self, node: exp.Expr) -> Bound:
        value = node.this
        if node.args.get("is_string"):
            return Bound("'" + value.replace("'", "''") + "'", literal=value)
        return Bound(value, number=number_predicates.number(value), constant=about(value))

    def _constant(self, node: exp.Expr) -> Bound:
        if isinstance(node, exp.Null):
            return Bound("NULL")
        return Bound("TRUE" if node.this else "FALSE")

    def _paren(self, node: exp.Expr) -> Bound:
        inner = self.bind(node.this)
        if inner.literal is not None:
            return inner
        return inner._replace(sql=f"({inner.sql})")

    def _unary(self, node: exp.Expr) -> Bound:
        inner = self._operand(node.this)
        if isinstance(node, exp.Neg) and inner.number is not None:
            return Bound(f"- {inner.sql}", number=-inner.number, constant=float(-inner.number))
        made = compose(f"{'-' if isinstance(node, exp.Neg) else '~'} {inner.sql}", (inner,))
        if not isinstance(node, exp.Neg):
            return made
        straight, pieces = arithmetic(exp.Mul, inner.line, -1.0), moved(exp.Mul, inner.known, -1.0)
        constant = None if inner.constant is None else -inner.constant
        made = made._replace(straight=straight, pieces=pieces, constant=constant, voids=inner.emptied)
        return made._replace(product=opposite(inner), monotone=inner.monotone)

    def _and(self, node: exp.Expr) -> Bound:
        parts = [self.bind(n) for n in flatten(node, exp.And)]
        return conjunction(" AND ".join(p.sql for p in parts), parts)

    def _or(self, node: exp.Expr) -> Bound:
        operands = flatten(node, exp.Or)
        parts = [self.bind(n) for n in operands]
        return disjunction(" OR ".join(p.sql for p in parts), parts)

    def _not(self, node: exp.Expr) -> Bound:
        inner = self.bind(node.this)
        return negation(f"NOT {inner.sql}", inner)

    def _condition(self, node: exp.Expr, symbol: str, made: Bound, parts: Sequence[Bound]) -> Bound:
        self.remarks += condition_remarks(self.scope.table, node, symbol, made, parts)
        return made

    def _comparison(self, node: exp.Expr, symbol: str, left: Bound, right: Bound) -> Bound:
        args = node.args
        if type(node) in (exp.Like, exp.ILike) and args.get("negate"):
            symbol = f"NOT {symbol}"
        elif len(args) > 2:
            self._only(node, "this", "expression")
        sql = f"{left.sql} {symbol} {right.sql}"
        if left.strings is not None or right.strings is not None:
            decided = string_predicates.comparison(self.text, node, sql, left, right)
            if decided is not None:
                return decided
        if left.outside or right.outside:
            return compose(sql, (left, right))
        columns = left.columns | right.columns if left.columns and right.columns else left.columns or right.columns
        compared = number_predicates.comparison(
            type(node), left.numeric, right.numeric, right.number if left.numeric else left.number
        )
        voids = merged((left.emptied, right.emptied))
        found = Bound(sql, columns, compared=compared, steps=merged((left.steps, right.steps)), voids=voids)
        return ordered(type(node), found, left, right) if type(node) in ORDERED else found

    def _is(self, node: exp.Expr) -> Bound:
        left = self._operand(node.this)
        right = node.args["expression"]
        self._only(node, "this", "expression", "negate")
        if not isinstance(right, (exp.Null, exp.Boolean)):
            raise self.refuse(node)
        word = "IS NOT" if node.args.get("negate") else "IS"
        sql = f"{left.sql} {word} {self.bind(right).sql}"
        self.remarks += null_remarks(self.scope.table, (left,))
        decided = (
            string_predicates.null_test(sql, left, negated=word == "IS NOT") if isinstance(right, exp.Null) else None
        )
        if decided is None:
            decided = compose(sql, (left,))
            decided = null_only(decided, left) if isinstance(right, exp.Null) else decided
        return decided

    def _between(self, node: exp.Expr) -> Bound:
        self._only(node, "this", "low", "high")
        parts = [self._operand(node.args[k]) for k in ("this", "low", "high")]
        sql = f"{parts[0].sql} BETWEEN {parts[1].sql} AND {parts[2].sql}"
        compared = number_predicates.listed("BETWEEN", parts[0].numeric, [p.number for p in parts[1:]])
        made = between(compose(sql, parts)._replace(compared=compared), *parts)
        return self._condition(node, "BETWEEN", made, parts)

    def _in(self, node: exp.Expr) -> Bound:
        left = self._operand(node.this)
        query = node.args.get("query")
        self._only(node, "this", "expressions", "query")
        items = node.expressions if query is None else self._lookup(query)
        if len(items) > MAX_LIST_ITEMS:
            raise refusal(self.text, node, f"more than {MAX_LIST_ITEMS:,} list items", "ask in several parts")
        if not items:
            if query is None:
                raise self.refuse(node)
            return Bound("FALSE", left.columns, dict.fromkeys(left.outside, Outside.FALSE), left.candidates)
        listed = [self.bind(n) for n in items]
        sql = f"{left.sql} IN ({', '.join([b.sql for b in listed])})"
        decided = string_predicates.membership(self.text, node, sql, left, listed)
        if decided is None and left.numeric is not None:
            compared = number_predicates.listed("IN", left.numeric, [b.number for b in listed])
            decided = compose(sql, (left, *listed))._replace(compared=compared)
        made = against(compose(sql, (left, *listed)) if decided is None else decided, left, listed)
        return self._condition(node, "IN", made, (left, *listed))

    def _case(self, node: exp.Expr) -> Bound:
        self._only(node, "this", "ifs", "default")
        parts, decides, values = list[Bound](), list[Bound](), list[Bound]()

        def add(n: exp.Expr) -> str:
            parts.append(self.bind(n))
            return parts[-1].sql

        sql, compared = "CASE", None
        if node.args.get("this") is not None:
            sql += " " + add(node.this)
            compared = parts[-1]
        for branch in node.args["ifs"]:
            self._only(branch, "this", "true")
            sql += f" WHEN {add(branch.this)}"
            decides.append(parts[-1])
            sql += f" THEN {add(branch.args['true'])}"
            values.append(parts[-1])
        if node.args.get("default") is not None:
            sql += " ELSE " + add(node.args["default"])
            values.append(parts[-1])
            self.remarks += chosen_remarks(self.scope.table, parts[: compared is not None] + decides, values[-1])
        made, told = compose(sql + " END", parts), decides
        if compared is not None and made.outside:
            told = [self.bind(exp.EQ(this=node.this.copy(), expression=b.this.copy())) for b in node.args["ifs"]]
        return cases(decided(made, told, values), decides, values, compared)

    def _cast(self, node: exp.Expr) -> Bound:
        self._only(node, "this", "to", "safe")
        to = type_name(node.args["to"])
        if to is None:
            raise refusal(self.text, node, *cast_refusal(node.args["to"]))
        inner = self.bind(node.this)
        cast = compose(f"{'TRY_CAST' if isinstance(node, exp.TryCast) else 'CAST'}({inner.sql} AS {to})", (inner,))
        cast = converted(node, dates.cast(self.text, node, self.scope.table, to, inner, cast), inner)
        constant = inner.constant if inner.literal is None or to != "DOUBLE" else about(inner.literal)
        if constant is not None:
            return cast._replace(constant=cast_constant(to, constant))
        return number_of(to, cast, inner)

    def _extract(self, node: exp.Expr) -> Bound:
        self._only(node, "this", "expression")
        part = node.this.name.upper()
        if part not in PARTS:
            raise refusal(self.text, node, f"EXTRACT of {part[:40]} is not answered", "extract year, month or day")
        inner = self.bind(node.args["expression"])
        made = compose(f"EXTRACT({part} FROM {inner.sql})", (inner,))
        made = dates.asked(self.text, node, self.scope.table, made, dates.part_fineness(part), part)
        return dates.settled(self.scope.table, part, (inner,), made)

    def _interval(self, node: exp.Expr) -> Bound:
        self._only(node, "this", "unit", "fraction_in_string")
        unit = node.args.get("unit")
        name = unit.name.upper() if isinstance(unit, exp.Expr) else ""  # sqlglot says None or, once, False
        if name and name.rstrip("S") not in UNITS and name not in UNITS:
            raise refusal(self.text, node, "this interval unit is not answered", "use days, months or years")
        inner = self.bind(node.this)
        made = compose(f"INTERVAL {inner.sql} {name}".rstrip(), (inner,))
        return made._replace(span=dates.span_fineness(inner, name))

    def _escape(self, node: exp.Expr) -> Bound:
        if type(node.this) not in (exp.Like, exp.ILike):
            raise self.refuse(node)
        like = node.this
        pattern, mark = self._operand(like.args["expression"]), self.bind(node.args["expression"])
        if mark.literal is None:
            raise self.refuse(node)
        if pattern.literal is not None and mark.literal not in pattern.literal and len(mark.literal.encode()) == 1:
            inner = self.bind(like)
            return inner._replace(sql=f"{inner.sql} ESCAPE {mark.sql}")
        left = self._operand(like.this)
        word = f"{'NOT ' if like.args.get('negate') else ''}{'LIKE' if type(like) is exp.Like else 'ILIKE'}"
        return compose(f"{left.sql} {word} {pattern.sql} ESCAPE {mark.sql}", (left, pattern))

    def _function(self, node: exp.Expr) -> Bound:
        name = node.name.lower()
        if name not in SCALAR:
            raise refusal(self.text, node, *function_refusal(name, private=True))
        parts = [self.bind(n) for n in node.expressions]
        if name in NARROW and len(parts) == 1 and parts[0].columns and parts[0].strings is None:
            sql = f"{name}(CAST({parts[0].sql} AS INTEGER))"
        else:
            sql = f"{name}({', '.join([p.sql for p in parts])})"
        if parts and parts[0].text is not None:
            decided = string_predicates.first_characters(name, sql, parts)
            if decided is None and name in ("starts_with", "prefix") and len(parts) == 2:
                decided = string_predicates.starts_with(sql, parts[0], parts[1])
            if decided is not None:
                return decided
        made = dates.function(self.text, node, self.scope.table, name, parts, compose(sql, parts))
        made = dates.settled(self.scope.table, name, parts, made)
        made = made._replace(voids=merged(p.emptied for p in parts) if name in STEADY else None)
        made = called(name, made, parts)
        self.remarks += called_remarks(self.scope.table, node, name, made, parts)
        return made

    def _subquery(self, node: exp.Expr) -> Bound:
        values = self._lookup(node)
        if len(values) > 1:
            raise refusal(self.text, node, "a scalar subquery returned several rows", "use IN, or aggregate it")
        return self.bind(values[0]) if values else Bound("NULL")

    def _exists(self, node: exp.Expr) -> Bound:
        key, query = existing(self.text, node, self.scope.qualifier)
        if key is None:
            query.set("limit", exp.Limit(expression=exp.Literal.number(1)))
            return Bound("TRUE" if self._lookup(query) else "FALSE")
        known = exp.Not(this=exp.Is(this=exp.paren(key.copy()), expression=exp.null()))
        among = exp.In(this=exp.paren(key), query=exp.Subquery(this=query))
        return self.bind(exp.Paren(this=exp.And(this=known, expression=among)))

    _HANDLERS: ClassVar[dict[type, Callable[[Any, exp.Expr], Bound]]] = {
        exp.Column: _column,
        exp.Literal: _literal,
        exp.Boolean: _constant,
        exp.Null: _constant,
        exp.Paren: _paren,
        exp.Neg: _unary,
        exp.BitwiseNot: _unary,
        exp.And: _and,
        exp.Or: _or,
        exp.Not: _not,
        exp.Is: _is,
        exp.Between: _between,
        exp.In: _in,
        exp.Case: _case,
        exp.Cast: _cast,
        exp.TryCast: _cast,
        exp.Exists: _exists,
        exp.Extract: _extract,
        exp.Interval: _interval,
        exp.Escape: _escape,
        exp.Anonymous: _function,
        exp.Subquery: _subquery,
    }
