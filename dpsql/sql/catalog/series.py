"""Table functions that make rows of constants: ``range``, ``generate_series`` and ``unnest``, as their SELECTs."""

from datetime import date

from sqlglot import exp

from dpsql.sql.expressions.operators import unwrap
from dpsql.sql.text.position import refusal

MAX_SERIES = 1 << 20
"""Rows of a series: it is made at once."""

SERIES = frozenset({"range", "generate_series"})
UNNEST = "unnest"
_COARSE = frozenset({"DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY"})
_HINT = "write numbers, or dates and an interval of days or more: generate_series(DATE '2024-01-01', ...)"


def series_entry(text: str, entry: exp.Expr) -> exp.Expr:
    """An entry of FROM; a subquery of constants where it is one of these functions. Raises UnsupportedQuery."""
    if isinstance(entry, exp.Unnest):
        if entry.args.get("offset") or len(entry.expressions) != 1:
            raise refusal(text, entry, "this form of UNNEST is not answered", "write unnest([1, 2]) AS t(x)")
        call, name = exp.Anonymous(this=UNNEST, expressions=[entry.expressions[0].copy()]), UNNEST
    elif isinstance(entry, exp.Table) and _called(entry.this) in (*SERIES, UNNEST):
        name = _called(entry.this)
        made = entry.this.copy()
        call = made if name == UNNEST else exp.Anonymous(this=UNNEST, expressions=[made])
    else:
        return entry
    alias = entry.args.get("alias")
    shown = exp.Select(expressions=[exp.alias_(call, name, quoted=True)])
    named = exp.TableAlias(this=exp.to_identifier(name)) if alias is None else alias.copy()
    if alias is not None and not named.columns and named.this is not None:
        named.set("columns", [named.this.copy()])  # the column has the alias' name too
    rows = exp.Subquery(this=shown, alias=named)
    rows.set("joins", entry.args.get("joins"))
    return rows


def check_series(text: str, node: exp.Expr) -> None:
    """Raises for rows that are no constants or too many, and for ``unnest`` where it would repeat other rows."""
    if _called(node) == UNNEST:
        item = node.parent.parent if isinstance(node.parent, exp.Alias) else node.parent
        if not isinstance(item, exp.Select) or item.args.get("from_") is not None or len(node.expressions) != 1:
            raise refusal(text, node, "unnest() beside other rows is not answered", "write FROM unnest([1, 2]) AS t(x)")
        return
    if len(node.expressions) == 3 and _is_zero(unwrap(node.expressions[2])):
        raise refusal(text, node, f"the step of {_called(node)}() cannot be 0", "write a step that leads to the end")
    if _length(node.expressions) > MAX_SERIES:
        raise refusal(text, node, f"{_called(node)}() of more than {MAX_SERIES:,} rows, or of no constants", _HINT)


def _called(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""


def _length(arguments: list[exp.Expr]) -> int:
    """At most so many rows; more than ``MAX_SERIES`` for what is not known."""
    unknown = MAX_SERIES + 1
    numbers = [_number(unwrap(a)) for a in arguments]
    known = [n for n in numbers if n is not None]
    if len(known) == len(arguments) and 1 <= len(known) <= 3:
        start, stop, step = [(0, known[0], 1), (*known, 1), tuple(known)][len(known) - 1]
        return abs(stop - start) // max(1, abs(step)) + 1
    if len(arguments) != 3 or not isinstance(unwrap(arguments[2]), exp.Interval):
        return unknown
    dates = [_date(unwrap(a)) for a in arguments[:2]]
    unit = unwrap(arguments[2]).args.get("unit")
    coarse = unit is not None and unit.name.upper().rstrip("S") in _COARSE
    first, last = dates
    return abs((last - first).days) + 1 if coarse and first is not None and last is not None else unknown


def _is_zero(step: exp.Expr) -> bool:
    """A number or the number of an interval, which the parser keeps as a string."""
    if isinstance(step, exp.Interval):
        return isinstance(step.this, exp.Literal) and not step.this.name.strip("0 ")
    return _number(step) == 0


def _number(node: exp.Expr) -> int | None:
    if isinstance(node, exp.Neg):
        inner = _number(unwrap(node.this))
        return None if inner is None else -inner
    whole = isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit() and len(node.this) < 19
    return int(node.this) if whole else None


def _date(node: exp.Expr) -> date | None:
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
        return None
    try:
        return date.fromisoformat(node.this.name[:10])
    except ValueError:
        return None
