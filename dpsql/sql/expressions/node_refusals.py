"""Why a node or a function over private rows is not answered, and what to write instead."""

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp


def node_refusal(node: exp.Expr) -> tuple[str, str]:
    """Reason and hint for a node that has no meaning over private rows."""
    if isinstance(node, exp.Any):
        return "ANY of these values is not answered", _instead_of_any(node)
    unknown = (f"{plain(node)} is not answered here", "docs/sql.md lists what is; simplify the expression")
    return _REASONS.get(type(node), unknown)


def _instead_of_any(node: exp.Any) -> str:
    """What to write for a comparison with any of several values that is not read as IN."""
    if not isinstance(node.parent, exp.EQ):
        return "compare with each value: x > 1 OR x > 2"
    if isinstance(node.this.unnest(), exp.Array):  # of more than literals
        return "write IN, which takes NULL and columns, too: x IN (1, 2, NULL)"
    return "write = ANY (['a', 'b']), or IN ('a', 'b')"


def plain(node: exp.Expr) -> str:
    """What a refusal calls a node."""
    return type(node).__name__.upper()


def cast_refusal(to: exp.Expr) -> tuple[str, str]:
    """Reason and hint for a cast to a type that no cast may name."""
    if to.this in _ZONED:
        return "a cast to a type with a time zone is not answered", _IN_UTC
    if to.this == exp.DataType.Type.UUID:
        return "a cast to UUID is not answered", "UUIDs are strings here: write the string alone"
    return "a cast to this type is not answered", "cast to a number, string or date"


_IN_UTC = "moments are in UTC, without a zone: write TIMESTAMP '2024-01-31 10:00:00'"
_ZONED = (exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPLTZ, exp.DataType.Type.TIMETZ)
_REASONS: dict[type, tuple[str, str]] = {
    exp.Window: (
        "a window function cannot run over private rows",
        "GROUP BY first: it runs on the released counts",
    ),
    exp.Tuple: ("a list in parentheses is not answered", "compare one by one, joined by AND"),
    exp.AtTimeZone: ("AT TIME ZONE is not answered", _IN_UTC),
    exp.ArrayOverlaps: ("&& is not answered", "write AND"),
    exp.Bracket: (
        "a part in brackets is not answered",
        "write substr(text, 2, 1) for text[2], and substr(text, 2, 3) for text[2:4]",
    ),
    exp.Dot: ("a field of a struct is not answered", "name declared columns"),
    exp.RawString: ("a string between dollar signs is not answered", "write it between single quotes"),
    exp.ByteString: ("a string with escapes is not answered", "write it between single quotes, or as a parameter"),
    exp.Placeholder: (
        "a placeholder has no value",
        "write $name, and pass {'name': 30}; at the command line -p name=30",
    ),
    exp.Star: ("* selects whole rows", "count rows: SELECT COUNT(*), with GROUP BY for a breakdown"),
    exp.Filter: ("an aggregate cannot stand inside this expression", "aggregate in the SELECT list"),
    exp.Lambda: ("lambda functions are not answered", "write the condition with AND, OR and CASE"),
    exp.Collate: ("COLLATE is not answered", "compare with lower(...) on declared categories"),
    exp.CurrentDate: ("the current date depends on the clock", "write the date as a literal or a parameter"),
    exp.CurrentTimestamp: ("the current time depends on the clock", "write the time as a literal or a parameter"),
    exp.CurrentTime: ("the current time depends on the clock", "write the time as a literal or a parameter"),
}

_STRFTIME = "write strftime(date, '%Y-%m')"
_STRPTIME = "write strptime(text, '%Y-%m-%d'), or DATE '2024-01-31'"
_CLOCK = "write the date as a literal or pass it as a parameter"
_GEOMETRIC = "write exp(avg(ln(x))), of a number column WHERE x >= a bound well above 0, near which ln has no end"
_WEIGHTED = "write sum(x * weight) / sum(weight)"
_NO_LAMBDA = "write the condition with AND, OR and CASE"

INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "average": "write avg(x)",
        "bool": "write CAST(x AS BOOLEAN)",
        "charindex": "write strpos(text, part)",
        "convert": "write CAST(x AS type)",
        "count_big": "write count(*)",
        "curdate": _CLOCK,
        "date_add_interval": "write date + INTERVAL 1 DAY",
        "date_format": _STRFTIME,
        "dateadd": "write date + INTERVAL 1 DAY",
        "decode": "write CASE WHEN x = 1 THEN 'one' END",
        "format_date": _STRFTIME,
        "geomean": _GEOMETRIC,
        "geometric_mean": _GEOMETRIC,
        "getdate": _CLOCK,
        "iif": "write if(condition, one, other)",
        "isnull": "write x IS NULL, or coalesce(x, other)",
        "list_filter": _NO_LAMBDA,
        "list_reduce": _NO_LAMBDA,
        "list_transform": _NO_LAMBDA,
        "nvl": "write coalesce(x, other)",
        "nvl2": "write CASE WHEN x IS NULL THEN other ELSE one END",
        "percentile": "write quantile_cont(x, 0.5)",
        "overlay": "write substr() and || of its parts",
        "regexp_like": "write regexp_matches(text, pattern)",
        "regexp_substr": "write regexp_extract(text, pattern)",
        "rand": "an equal question must get an equal answer; remove it",
        "stdev": "write stddev_samp(x) or stddev_pop(x)",
        "stdevp": "write stddev_pop(x)",
        "str_to_date": _STRPTIME,
        "sysdate": _CLOCK,
        "to_char": _STRFTIME,
        "to_date": _STRPTIME,
        "to_number": "write CAST(x AS DOUBLE)",
        "to_timestamp": _STRPTIME,
        "truncate": "write trunc(x)",
        "var": "write var_samp(x) or var_pop(x)",
        "varp": "write var_pop(x)",
        "wavg": _WEIGHTED,
        "weighted_avg": _WEIGHTED,
        "width_bucket": "write floor((x - low) / width)",
    }
)
"""By the name of a function that DuckDB does not have, or that is a macro, or needs a lambda: what says the same."""
