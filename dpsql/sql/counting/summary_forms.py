"""What aggregates that are no sums ask of each group, as affine forms of linear queries."""

from collections.abc import Sequence
from datetime import date, datetime, time
from itertools import islice
from math import ceil, floor, log10
from typing import Any

from sqlglot import exp

from dpsql.dialect.types import INTEGERS, is_number, released_type
from dpsql.domain import IntegerDomain, Value
from dpsql.errors import DataError, InternalError, UnsupportedQuery
from dpsql.query import DistinctCount, Form, regions_of
from dpsql.query.summary import LISTS, Cell, Cells, CellsKind, Distinct, Moments
from dpsql.sql.aggregates.aggregation import Aggregation, CellsAsked, DistinctAsked, MomentsAsked, Summand
from dpsql.sql.aggregates.summaries import HIGHER
from dpsql.sql.counting.lower import Lowering
from dpsql.sql.counting.pieces import TooLarge
from dpsql.sql.counting.values.cells import Ends, cell_number, joined_values
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.public_sql import COUNT_TEXT
from dpsql.sql.statement import Aggregate
from dpsql.sql.text.limits import LARGEST_VALUE, MAX_COUNTED_VALUES
from dpsql.sql.text.parse import to_sql

MOST_VALUES = 1_024
"""Values of a column that a quantile or an extreme counts one by one; of more, neighbours are counted together."""
MOST_COUNTS = 4_096
"""Counts of values in all groups of a statement together, before neighbours are counted together."""
TINY = 1e-300
"""No number that somebody wrote: what comes after 0."""
FEWEST_VALUES = 16
"""In less cells than these nothing is summarised: with so many groups the statement is refused."""


def summarised(
    column: str, aggregation: Aggregation, lowering: Lowering, numbered: Sequence[tuple[int, Summand]]
) -> Aggregate:
    """The aggregate of a block. ``numbered``: its summands, with their numbers among those of the block.

    Raises UnsupportedQuery where there are too many values.
    """
    nothing, asked = tuple(Form(0.0) for _ in lowering.groups), aggregation.summary
    if asked is None:
        raise InternalError("an aggregate that is a sum has no summary")
    if isinstance(asked, CellsAsked):
        return _of_cells(column, asked, lowering, nothing, to_sql(aggregation.node, normalize_functions="lower"))
    if isinstance(asked, DistinctAsked):
        return Aggregate(column, "BIGINT", nothing, summary=_distinct(asked, lowering, numbered))
    left = iter(numbered)
    try:
        sums = [lowering.forms(list(islice(left, len(parts)))) for parts in asked.sums]
    except TooLarge as error:
        raise _divided(aggregation.node, asked, lowering) or error from None
    summary = Moments(asked.kind, asked.centers, tuple(zip(*sums, strict=True)), asked.column)
    return Aggregate(column, "DOUBLE", nothing, summary=summary)


def _divided(call: exp.Expr, asked: MomentsAsked, lowering: Lowering) -> UnsupportedQuery | None:
    """The refusal of powers that are too large, with what to divide by; ``None`` where that is not known."""
    power = 4 if asked.kind in HIGHER else 2
    divided, found = call.copy(), []
    arguments = list((divided.this if isinstance(divided, exp.Filter) else divided).expressions)
    for argument, (part,), center in zip(arguments, asked.sums[1::2], asked.centers, strict=False):
        low, high = lowering.numbers.range(part)
        if low is not None and high is not None and max(abs(low), abs(high)) > LARGEST_VALUE ** (1 / power):
            digits = ceil(log10(max(abs(low + center), abs(high + center)))) - floor(log10(LARGEST_VALUE)) // power
            found.append(to_sql(argument))
            inner = argument.copy() if isinstance(argument, exp.Column) else exp.paren(argument.copy())
            argument.replace(exp.Div(this=inner, expression=exp.Literal.number(f"{10.0**digits:.15g}")))
    if not found:
        return None
    several, name = len(found) > 1, "square" if power == 2 else "fourth power"
    words = f"the {name}{'s' if several else ''} of {' and '.join(found)} {'go' if several else 'goes'}"
    hint = f"divide what is too large: {to_sql(divided, normalize_functions=False)}"
    return UnsupportedQuery(f"{words} beyond {LARGEST_VALUE:.0e}, which cannot be summed", hint=hint)


def _distinct(asked: DistinctAsked, lowering: Lowering, numbered: Sequence[tuple[int, Summand]]) -> Distinct:
    forms = lowering.forms(numbered)
    if any(abs(t.coefficient) != 1 and not t.doubt for form in forms for t in form.terms):
        reason = "different values of rows that a join counts several times are not counted"
        raise UnsupportedQuery(reason, hint="join a table in which each key stands once")
    regions_of([form for form in forms if form.terms])  # refuses what cannot be counted
    return Distinct(tuple([DistinctCount(asked.table, asked.column, f) if f.terms else None for f in forms]))


def by_cells(asked: CellsAsked, groups: int, name: str) -> tuple[Bound, Ends | None]:
    """By what values are counted in so many groups, and the ends of its cells where these are not values themselves."""
    most = max(FEWEST_VALUES, min(MOST_VALUES, MOST_COUNTS // groups))
    each = asked.kind in ("distinct", "sum_distinct") or asked.kind in LISTS
    if each:
        most = max(MAX_COUNTED_VALUES // groups, 1)
    ends = joined_values(asked.column, most)
    if ends is not None and each:
        reason = f"{name} would count more than {MAX_COUNTED_VALUES:,} values one by one"
        raise UnsupportedQuery(reason, hint="count steps of it, as in x // 10, in fewer groups")
    return (asked.value, ends) if ends is None or asked.column is None else (cell_number(asked.column, ends), ends)


def _of_cells(column: str, asked: CellsAsked, lowering: Lowering, nothing: tuple[Form, ...], name: str) -> Aggregate:
    value, ends = by_cells(asked, max(len(lowering.groups), 1), name)
    inner = lowering.by(value, asked.conjuncts)
    if len(inner.groups) > MAX_COUNTED_VALUES:
        reason = f"{name} would count {len(inner.groups):,} values in all groups, more than {MAX_COUNTED_VALUES:,}"
        raise UnsupportedQuery(reason, hint="summarise steps of it, as in x // 10, in fewer groups")
    of_values = inner.group_type(-1) if asked.column is None else asked.column.sql_type
    if asked.kind == "sum_distinct" and not is_number(released_type(of_values)):
        hint = COUNT_TEXT if of_values == "VARCHAR" else "cast the expression to a number"
        raise DataError(f"SUM and AVG need numbers, not {of_values}", hint=hint)
    sql_type = _result_type(asked.kind, of_values)
    found: dict[tuple[Value, ...], list[Cell]] = {group: [] for group in lowering.groups}
    for (*group, shown), rows in zip(inner.groups, inner.counts(), strict=True):
        if shown is not None and tuple(group) in found:
            low, high = (shown, shown) if ends is None else _left(asked, rows, ends[int(str(shown))])
            if sql_type == "TIMESTAMP":
                low, high = _as_time(low), _as_time(high)
            found[tuple(group)].append(Cell(low, high, rows))
    cells = tuple(tuple(sorted(found[group], key=_low)) for group in lowering.groups)
    summary = Cells(asked.kind, asked.level, cells, name)
    return Aggregate(column, sql_type, nothing, summary=summary, matched=inner.matched)


def _left(asked: CellsAsked, rows: Form, cell: tuple[Value, Value]) -> tuple[Value, Value]:
    """What the conditions leave of a cell of numbers, by the intervals or the factors of its queries."""
    name = None if asked.column is None else asked.column.name
    if isinstance(asked.column, IntegerDomain):
        kept = [f.support for t in rows.terms for f in t.query.factors if f.columns == (name,)]
        if not kept or len(kept) < len(rows.terms):
            return cell
        first = asked.column.low
        return first + min(int(k.min()) for k in kept), first + max(int(k.max()) for k in kept)
    found = [i for t in rows.terms for i in t.query.intervals if i.column == name]
    if not found or len(found) < len(rows.terms):
        return cell
    low, high = min(i.low for i in found), max(i.high for i in found)
    return max(float(str(cell[0])), _short(low)), min(float(str(cell[1])), _short(high))


def _short(end: float) -> float:
    """An end of a condition: that of ``x < 1`` is the number before 1, that of ``x > 0`` the one after 0."""
    return 0.0 if abs(end) < TINY else float(f"{end:.15g}")


def _as_time(value: Value) -> Value:
    return datetime.combine(value, time()) if type(value) is date else value


def _result_type(kind: CellsKind, of_values: str) -> str:
    """The type of a summary of values, without its size. A place between two days is a time, as in DuckDB."""
    if kind == "distinct":
        return "BIGINT"
    if kind in LISTS:
        one = _result_type("mode", of_values)
        return f"MAP({one}, UBIGINT)" if kind == "histogram" else f"{one}[]"
    if not is_number(released_type(of_values)):
        return "TIMESTAMP" if kind == "quantile_cont" and of_values == "DATE" else of_values
    return "BIGINT" if of_values in INTEGERS and kind != "quantile_cont" else "DOUBLE"


def _low(cell: Cell) -> Any:
    return cell.low
