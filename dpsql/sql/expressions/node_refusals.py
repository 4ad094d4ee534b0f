"""Why a node of an expression over private rows is not answered, and what to write instead."""

from sqlglot import exp


def node_refusal(node: exp.Expr) -> tuple[str, str]:
    """Reason and hint for a node that has no meaning over private rows."""
    unknown = (f"{plain(node)} is not answered here", "docs/sql.md lists what is; simplify the expression")
    return _REASONS.get(type(node), unknown)


def plain(node: exp.Expr) -> str:
    """What a refusal calls a node."""
    return type(node).__name__.upper()


_REASONS: dict[type, tuple[str, str]] = {
    exp.Exists: ("EXISTS over private rows is not answered", "use IN (SELECT ... FROM a public table)"),
    exp.Window: (
        "a window function cannot run over private rows",
        "GROUP BY first: it runs on the released counts",
    ),
    exp.Tuple: ("a list in parentheses is not answered", "compare one by one, joined by AND"),
    exp.Dot: ("a field of a struct is not answered", "name declared columns"),
    exp.RawString: ("a string between dollar signs is not answered", "write it between single quotes"),
    exp.ByteString: ("a string with escapes is not answered", "write it between single quotes, or as a parameter"),
    exp.Star: ("* selects whole rows", "count rows: SELECT COUNT(*), with GROUP BY for a breakdown"),
    exp.Filter: ("an aggregate cannot stand inside this expression", "aggregate in the SELECT list"),
    exp.Lambda: ("lambda functions are not answered", "write the condition with AND, OR and CASE"),
    exp.Collate: ("COLLATE is not answered", "compare with lower(...) on declared categories"),
    exp.CurrentDate: ("the current date depends on the clock", "write the date as a literal or a parameter"),
    exp.CurrentTimestamp: ("the current time depends on the clock", "write the time as a literal or a parameter"),
    exp.CurrentTime: ("the current time depends on the clock", "write the time as a literal or a parameter"),
}
