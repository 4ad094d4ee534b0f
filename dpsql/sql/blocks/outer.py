"""The allow-list of the outer statement: what DuckDB may run over released and public tables.

Post-processing may be any SQL, but it runs in our process: functions that see files, settings or the clock are not on
the list.
"""

from collections.abc import Collection

from sqlglot import exp

from dpsql.sql.catalog import SERIES, UNNEST, check_series
from dpsql.sql.expressions.functions import OF_DUCKDB, RELEASED, function_refusal
from dpsql.sql.expressions.names import unknown
from dpsql.sql.expressions.node_refusals import cast_refusal
from dpsql.sql.expressions.types import type_name
from dpsql.sql.text.position import refusal

_NODES: frozenset[type] = frozenset(
    {
        # queries
        exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Subquery, exp.With, exp.CTE, exp.From, exp.Join,
        exp.Where, exp.Group, exp.Having, exp.Qualify, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Distinct,
        exp.Values, exp.Tuple, exp.Table, exp.TableAlias, exp.Alias, exp.Star, exp.Identifier, exp.Column,
        exp.LimitOptions, exp.Rollup, exp.Cube, exp.GroupingSets,
        # expressions
        exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Neg, exp.BitwiseNot, exp.And, exp.Or, exp.Not, exp.Is,
        exp.In, exp.Between, exp.Exists, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.Extract, exp.Interval, exp.Var,
        exp.Escape, exp.Anonymous, exp.Filter, exp.Window, exp.WindowSpec, exp.WithinGroup, exp.IgnoreNulls,
        exp.RespectNulls, exp.DataType, exp.DataTypeParam, exp.Any, exp.All,
        exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow, exp.DPipe, exp.BitwiseAnd, exp.BitwiseOr,
        exp.BitwiseLeftShift, exp.BitwiseRightShift,
        exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Like, exp.ILike,
        exp.Array, exp.Struct, exp.PropertyEQ, exp.ToMap,
        exp.Glob, exp.SimilarTo, exp.StartsWith, exp.RegexpLike, exp.RegexpFullMatch,
    }
)  # fmt: skip
_NESTED = frozenset({"list_value", "row", "struct_pack"})
"""Functions that put values into one."""
_REASONS: dict[type, tuple[str, str]] = {
    exp.TableSample: ("sampling is not answered", "it is random: an equal question must get an equal answer"),
    exp.Lateral: ("LATERAL is not answered", "join the released block with JOIN ... ON"),
    exp.Dot: ("a field of a struct is not answered", "name declared columns"),
    exp.RawString: ("a string between dollar signs is not answered", "write it between single quotes"),
    exp.ByteString: ("a string with escapes is not answered", "write it between single quotes, or as a parameter"),
    exp.CurrentUser: ("the current user is not answered", "remove it"),
    exp.Lambda: ("lambda functions are not answered", "use CASE"),
    exp.CurrentDate: ("the current date depends on the clock", "write the date as a literal or a parameter"),
    exp.CurrentTimestamp: ("the current time depends on the clock", "write the time as a literal or a parameter"),
    exp.CurrentTime: ("the current time depends on the clock", "write the time as a literal or a parameter"),
}
_BAD_ARGS: dict[type, tuple[str, ...]] = {
    exp.Table: ("laterals", "pivots", "hints", "system_time", "version", "pattern", "ordinality", "when", "only",
                "partition", "changes", "rows_from", "sample", "indexed", "joins"),
    exp.Select: ("hint", "into", "match", "laterals", "connect", "pivots", "prewhere", "distribute", "sort", "cluster",
                 "locks", "sample", "settings", "format", "options", "for_", "exclude"),
    exp.With: ("search", "cycle", "udfs", "recursive"),
    exp.Cast: ("format", "action", "default"),
    exp.Join: ("match_condition", "nearest", "pivots", "hint"),
    exp.Subquery: ("pivots", "sample", "laterals", "for_", "match", "connect"),
}  # fmt: skip


def check_outer(text: str, tree: exp.Expr, tables: Collection[str]) -> None:
    """Raises for any node, function, type or table that is not on the list. ``tables``: lower-cased known names."""
    known = set(tables)
    for cte in tree.find_all(exp.CTE):
        known.add(cte.alias.lower())
    for node in tree.walk():
        kind = type(node)
        if kind not in _NODES:
            reason, hint = _REASONS.get(
                kind, (f"{kind.__name__.upper()} is not answered", "docs/sql.md lists what is; simplify the statement")
            )
            raise refusal(text, node, reason, hint)
        for key in _BAD_ARGS.get(kind, ()):
            if node.args.get(key):
                raise refusal(text, node, f"{key.strip('_').upper()} is not answered", "docs/sql.md lists what is")
        if kind is exp.Anonymous:
            name = node.name.lower()
            if name in SERIES or name == UNNEST:
                check_series(text, node)
            elif name not in RELEASED and name not in OF_DUCKDB and name not in _NESTED:
                raise refusal(text, node, *function_refusal(name, private=False))
        elif kind is exp.Table:
            if not isinstance(node.this, exp.Identifier):
                raise refusal(
                    text,
                    node,
                    "table functions and file readers are not answered",
                    "ask the owner to declare a public table",
                )
            if node.name.lower() not in known or node.args.get("db") is not None:
                raise unknown(text, node, "table", node.name, sorted(known))
        elif kind is exp.DataType and isinstance(node.parent, (exp.Cast, exp.TryCast)) and type_name(node) is None:
            raise refusal(text, node, *cast_refusal(node))
