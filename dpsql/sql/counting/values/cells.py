"""Neighbouring values of a column counted together, where they are too many to be counted one by one. Public."""

from datetime import date, datetime
from itertools import pairwise
from math import ceil

from dpsql.domain import DateDomain, FiniteDomain, IntegerDomain, NumberDomain, Value
from dpsql.sql.expressions.bound import Bound
from dpsql.sql.expressions.changes.steps import NO_STEPS, UNKNOWN, Steps
from dpsql.sql.expressions.names import quoted

Ends = tuple[tuple[Value, Value], ...]
"""The first and the last value of each cell, in order."""


def joined_values(domain: FiniteDomain | None, most: int) -> Ends | None:
    """The cells of a column whose values cannot be counted one by one, at most so many; ``None`` for any other."""
    match domain:
        case NumberDomain():
            if not domain.is_binned:
                return None
            edges = _thinned(domain.edges, most)
            return tuple(pairwise(edges))
        case IntegerDomain() if domain.high - domain.low >= most:
            width = ceil((domain.high - domain.low + 1) / most)
            starts = range(domain.low, domain.high + 1, width)
            return tuple((s, min(s + width - 1, domain.high)) for s in starts)
        case DateDomain() if domain.is_binned or len(domain.values) > most:
            starts_of = _thinned(tuple(domain.values), most)
            if domain.step is not None:
                lasts = [s - domain.step for s in starts_of[1:] if isinstance(s, datetime)]
                return tuple(zip(starts_of, (*lasts, starts_of[-1]), strict=True))
            days = [d.toordinal() for d in (*starts_of[1:], domain.end)]  # type: ignore[union-attr]
            return tuple((s, type(s).fromordinal(d - 1)) for s, d in zip(starts_of, days, strict=True))  # type: ignore[union-attr]
    return None


def _thinned(values: tuple[Value, ...] | tuple[float, ...], most: int) -> tuple[Value, ...]:
    """Every second, third ... of the values where they are too many; the last one stays."""
    step = ceil((len(values) - 1) / most) or 1
    kept = values[:-1:step]
    return (*kept, values[-1])


def cell_number(domain: FiniteDomain, ends: Ends) -> Bound:
    """A column as the number of the cell that its value is in."""
    name, starts = quoted(domain.name), [low for low, _ in ends[1:]]
    if isinstance(domain, IntegerDomain):
        width = int(ends[0][1]) - int(ends[0][0]) + 1  # type: ignore[arg-type]
        return Bound(f"(({name} - ({domain.low})) // {width})", frozenset([domain.name]))
    cases = " ".join(f"WHEN {name} < {_written(start)} THEN {i}" for i, start in enumerate(starts))
    steps: Steps = NO_STEPS
    if isinstance(domain, NumberDomain):
        steps = {domain.name: frozenset(float(s) for s in starts)}  # type: ignore[arg-type]
    elif isinstance(domain, DateDomain) and domain.is_binned:
        steps = {domain.name: UNKNOWN}
    return Bound(
        f"CASE WHEN {name} IS NULL THEN NULL {cases} ELSE {len(starts)} END", frozenset([domain.name]), steps=steps
    )


def _written(value: Value) -> str:
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value}'"
    return f"DATE '{value}'" if isinstance(value, date) else f"CAST({value!r} AS DOUBLE)"
