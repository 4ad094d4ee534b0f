"""From an owner's SQL for a derived column to the operations it is made of; everything else is refused.

Only operations that give a value, or NULL, for every row: casts that can fail, functions of the clock, of other rows or
of chance have no place in it.
"""

import re
from collections.abc import Callable
from datetime import datetime
from math import isfinite

from sqlglot import exp

from dpsql.domain.derived import FIXED, Constant, Expression
from dpsql.errors import Error, PolicyError
from dpsql.sql.expressions.node_refusals import plain
from dpsql.sql.text.parse import parse

LONGEST = 4_000
"""Characters of an expression."""
MOST_PARTS = 500
DEEPEST = 60

_BINARY: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.And: "and", exp.Or: "or",
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.DPipe: "||", exp.Like: "like",
    exp.ILike: "ilike",
}  # fmt: skip
_OTHER_NAMES = {
    "ceiling": "ceil", "len": "length", "prefix": "starts_with", "suffix": "ends_with", "dayofmonth": "day",
}  # fmt: skip
_READ = frozenset(
    ("this", "expression", "expressions", "low", "high", "ifs", "default", "true", "to", "safe", "typed", "negate")
)
"""Parts of a node that are read; whatever else is written would change what it means."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?")
"""A day or a moment as DuckDB reads it in quotes; Python's reader takes other forms, too."""
_VARIADIC = {"coalesce": (1, 50), "nullif": (2, 2)}
_HINT = "compare, add, LIKE, CASE, lower(...), year(...) and the like; put anything else into a view of the owner's"


def derived_expression(sql: str) -> Expression:
    """The operations of one expression. PolicyError for anything that is no function of one row, or could fail on it.

    >>> derived_expression("age BETWEEN 13 AND 19").parts[0].operation
    '>='
    """
    if len(sql) > LONGEST or "\0" in sql:
        raise PolicyError(f"an expression has at most {LONGEST:,} characters, none of them NUL", hint=_HINT)
    try:
        query = parse(f"SELECT {sql}")
    except Error as error:
        raise PolicyError(f"is no SQL expression: {error.message}", hint=_HINT) from None
    whole = isinstance(query, exp.Select) and {k for k, v in query.args.items() if v} == {"expressions"}
    if not whole or len(query.expressions) != 1 or isinstance(query.expressions[0], (exp.Alias, exp.Star)):
        raise PolicyError("is not one expression", hint="write sql = \"species LIKE '%Mix%'\"")
    read = _Reader()
    try:
        found = read.expression(query.expressions[0], 0)
    except RecursionError:
        raise PolicyError("is nested too deeply", hint=_HINT) from None
    if not any(found.columns):
        raise PolicyError("says nothing of a column", hint="write sql = \"species LIKE '%Mix%'\"")
    return found


class _Reader:
    def __init__(self) -> None:
        self._parts = 0

    def expression(self, node: exp.Expr, depth: int) -> Expression:
        self._parts += 1
        if self._parts > MOST_PARTS or depth > DEEPEST:
            raise PolicyError("is too long or nested too deeply", hint=_HINT)

        def read(inner: exp.Expr) -> Expression:
            return self.expression(inner, depth + 1)

        beyond = sorted(key for key, value in node.args.items() if value and key not in _READ)
        if beyond and not isinstance(node, exp.Column | exp.Literal):
            raise PolicyError(f"{plain(node)} with {beyond[0].upper()} cannot be part of a derived column", hint=_HINT)
        if isinstance(node, exp.Paren):
            return read(node.this)
        operation = _BINARY.get(type(node))
        if operation is not None:
            out = Expression(operation, (read(node.this), read(node.expression)))
            if operation in ("like", "ilike") and out.parts[1].operation != "constant":
                raise PolicyError("LIKE needs a pattern in quotes", hint=_HINT)
        else:
            out = _constant(node) or _column(node) or _test(node, read) or _function(node, read)
        return _not(out) if node.args.get("negate") else out


def _not(part: Expression) -> Expression:
    return Expression("not", (part,))


def _constant(node: exp.Expr) -> Expression | None:
    value: Constant
    match node:
        case exp.Null():
            value = None
        case exp.Boolean():
            value = bool(node.this)
        case exp.Literal() if node.is_string:
            value = str(node.this)
        case exp.Literal():
            value = _finite(str(node.this))
        case exp.Neg() if isinstance(node.this, exp.Literal) and not node.this.is_string:
            value = -_finite(str(node.this.this))
        case exp.Cast() if not isinstance(node, exp.TryCast) and isinstance(node.this, exp.Literal):
            value = _moment(node)
        case _:
            return None
    return Expression("constant", (), value)


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise PolicyError(f"the number {text[:20]} is too large", hint=_HINT)
    return value


def _moment(node: exp.Cast) -> datetime:
    kinds = (exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ)
    wanted = node.to.this in kinds and not node.to.expressions
    try:
        text = str(node.this.this)
        found = datetime.fromisoformat(text) if wanted and _DAY.fullmatch(text) else None
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None:
        raise PolicyError(
            "is a cast that may fail", hint="days are DATE '2020-01-31'; numbers in text TRY_CAST(x AS DOUBLE)"
        )
    return found


def _column(node: exp.Expr) -> Expression | None:
    if not isinstance(node, exp.Column):
        return None
    if node.args.get("table") is not None or not isinstance(node.this, exp.Identifier):
        raise PolicyError("columns are named alone", hint="leave the table's name out")
    return Expression("column", (), node.name)


def _test(node: exp.Expr, read: Callable[[exp.Expr], Expression]) -> Expression | None:
    match node:
        case exp.Not():
            return _not(read(node.this))
        case exp.Neg():
            return Expression("negative", (read(node.this),))
        case exp.Between():
            x = read(node.this)
            return Expression(
                "and", (Expression(">=", (x, read(node.args["low"]))), Expression("<=", (x, read(node.args["high"]))))
            )
        case exp.In() if node.expressions and not node.args.get("query") and not node.args.get("unnest"):
            return Expression("in", (read(node.this), *map(read, node.expressions)))
        case exp.Is() if isinstance(node.expression, exp.Null):
            return Expression("is null", (read(node.this),))
        case exp.Case():
            return _case(node, read)
        case exp.TryCast() if node.to.this == exp.DataType.Type.DOUBLE and not node.to.expressions:
            return Expression("number", (read(node.this),))
        case exp.Extract():
            return _call(str(node.this.name).lower(), [node.expression], read)
    return None


def _case(node: exp.Case, read: Callable[[exp.Expr], Expression]) -> Expression:
    parts: list[Expression] = []
    for branch in node.args["ifs"]:
        condition = read(branch.this)
        if node.this is not None:
            condition = Expression("=", (read(node.this), condition))
        parts += [condition, read(branch.args["true"])]
    if node.args.get("default") is not None:
        parts.append(read(node.args["default"]))
    return Expression("case", tuple(parts))


def _function(node: exp.Expr, read: Callable[[exp.Expr], Expression]) -> Expression:
    if not isinstance(node, exp.Anonymous) or not isinstance(node.this, str):
        raise _refused(type(node).__name__)
    return _call(node.this.lower(), node.expressions, read)


def _call(name: str, given: list[exp.Expr], read: Callable[[exp.Expr], Expression]) -> Expression:
    name = _OTHER_NAMES.get(name, name)
    if name == "if" and len(given) == 3:
        return Expression("case", tuple(map(read, given)))
    if name in _VARIADIC:
        least, most = _VARIADIC[name]
    elif (
        name in FIXED
        and name.isidentifier()
        and name not in ("and", "or", "not", "negative", "number", "like", "ilike")
    ):
        least = most = len(FIXED[name][0])
    else:
        raise _refused(f"{name}(...)")
    if not least <= len(given) <= most:
        raise PolicyError(f"{name}(...) takes {least if least == most else f'{least} to {most}'} arguments", hint=_HINT)
    return Expression(name, tuple(map(read, given)))


def _refused(what: str) -> PolicyError:
    return PolicyError(f"{what} cannot be part of a derived column", hint=_HINT)
