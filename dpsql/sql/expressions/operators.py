"""Operators and units of expressions, as tables; walking through chains and parentheses.

What DuckDB writes for a node of sqlglot's is a fact about the two of them, and is looked up, never decided.
"""

from sqlglot import exp

ARITHMETIC: dict[type, str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "//",
    exp.Mod: "%",
    exp.Pow: "**",
    exp.DPipe: "||",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
}
COMPARISON: dict[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Like: "LIKE",
    exp.ILike: "ILIKE",
    exp.Glob: "GLOB",
    exp.SimilarTo: "SIMILAR TO",
    exp.StartsWith: "^@",
    exp.RegexpLike: "~",
    exp.RegexpFullMatch: "~",  # sqlglot's name for it up to 30.25
}
LOGICAL = (exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.Escape, *COMPARISON)
UNITS = frozenset(
    {
        "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "DECADE",
        "CENTURY", "MILLENNIUM",
    }
)  # fmt: skip
PARTS = UNITS | {"DOW", "ISODOW", "DOY", "ISOYEAR", "YEARWEEK", "ERA", "EPOCH", "JULIAN", "DAYOFWEEK", "WEEKDAY"}


ORDERED = frozenset({exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ})
"""Comparisons of two numbers by their order."""


def flatten(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """Operands of a chain of AND or OR, left to right, through parentheses; without recursion."""
    out: list[exp.Expr] = []
    stack = [node]
    while stack:
        top = stack.pop()
        inner = top
        while type(inner) is exp.Paren:
            inner = inner.this
        if type(inner) is kind:
            stack.append(inner.args["expression"])
            stack.append(inner.this)
        else:
            out.append(top)
    return out


def written(node: exp.Expr) -> float | None:
    """The number that is written out, with its sign; ``None`` for anything else.

    >>> written(exp.Neg(this=exp.paren(exp.Literal.number("0.5")))), written(exp.Literal.string("1"))
    (-0.5, None)
    """
    node = unwrap(node)
    if isinstance(node, exp.Neg):
        inner = written(node.this)
        return None if inner is None else -inner
    return float(node.this) if isinstance(node, exp.Literal) and not node.args.get("is_string") else None


def unwrap(node: exp.Expr) -> exp.Expr:
    """The node inside its parentheses."""
    while type(node) is exp.Paren:
        node = node.this
    return node
