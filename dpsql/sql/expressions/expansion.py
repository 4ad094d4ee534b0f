"""What could grow without bound from a short text: padding, formats, replacements, and names that stand for names.

Neither DuckDB's time limit nor its memory limit stops a single call of a function that makes a huge string.
"""

import re
from collections.abc import Mapping
from math import prod

from sqlglot import exp

from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.text.position import refusal

MAX_PADDING = 10_000
MAX_REPLACEMENT_GROWTH = 1_000
MAX_EXPANDED_NODES = 100_000

_PADDING = ("lpad", "rpad")
_FORMATS = ("format", "printf")
_REPLACEMENTS = ("replace", "regexp_replace")
_GROWING = re.compile("|".join((*_PADDING, *_FORMATS, "replace")), re.IGNORECASE)
_WIDE_FORMAT = re.compile(r"\d{5}|\*|\{[^}]*\{")


def check_growth(text: str, tree: exp.Expr) -> None:
    """Raises UnsupportedQuery for what would grow out of proportion. ``tree`` is parsed, its parameters bound."""
    for select in tree.find_all(exp.Select):
        aliases = {i.alias.lower(): i.this for i in select.expressions if isinstance(i, exp.Alias)}
        if aliases:
            _check_names(text, select, aliases)
    if _GROWING.search(text) is None:
        return
    factors = []
    for call in tree.find_all(exp.Anonymous):
        name, arguments = call.name.lower(), [unwrap(a) for a in call.expressions]
        if name in _PADDING and len(arguments) > 1:
            length = arguments[1]
            if not isinstance(length, exp.Literal) or not length.this.isdigit() or int(length.this) > MAX_PADDING:
                reason = f"{name}() needs its length as a number of at most {MAX_PADDING:,}"
                raise refusal(text, call, reason, f"write {name}(text, 10, '0')")
        elif name in _FORMATS and arguments:
            pattern = _string(arguments[0])
            if pattern is None or _WIDE_FORMAT.search(pattern) is not None:
                reason = f"{name}() needs a format in quotes, with widths of at most four digits"
                raise refusal(text, call, reason, "write the width into the format, such as '%5d' or '{:5d}'")
        elif name in _REPLACEMENTS and len(arguments) > 2:
            factors.append(_replacement_growth(arguments[1], arguments[2]))
            if prod(factors) > MAX_REPLACEMENT_GROWTH:
                reason = f"{name}() may make a string more than {MAX_REPLACEMENT_GROWTH:,} times as long"
                raise refusal(text, call, reason, "replace by shorter strings, or with fewer calls")


def _replacement_growth(pattern: exp.Expr, replacement: exp.Expr) -> int:
    """How many times as long a string can become, rounded up; what is no literal counts as the most that is allowed."""
    found, put = _string(pattern), _string(replacement)
    if put is None:
        return MAX_REPLACEMENT_GROWTH
    return max(1, -(-len(put) // max(1, len(found or ""))))


def _string(node: exp.Expr) -> str | None:
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


def _check_names(text: str, select: exp.Select, aliases: Mapping[str, exp.Expr]) -> None:
    """Bounds the SELECT's size once every alias is replaced by what it stands for."""
    sizes: dict[str, int] = {}

    def size(name: str) -> int:
        known = sizes.get(name)
        if known is None:
            sizes[name] = 1  # a name inside its own meaning is a column
            known = sum(1 + (size(n.name.lower()) if _refers(n, aliases) else 0) for n in aliases[name].walk())
            sizes[name] = known = min(known, 2 * MAX_EXPANDED_NODES)
        return known

    whole = sum(size(n.name.lower()) for n in select.find_all(exp.Column) if _refers(n, aliases))
    if whole > MAX_EXPANDED_NODES:
        raise refusal(text, select, "the names of the select list stand for too much", "use fewer names within names")


def _refers(node: exp.Expr, aliases: Mapping[str, exp.Expr]) -> bool:
    return isinstance(node, exp.Column) and node.args.get("table") is None and node.name.lower() in aliases
