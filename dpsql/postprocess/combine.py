"""From answers to the numbers of an aggregate: affine forms and ratios, with their error bounds. Post-processing.

Errors of combined numbers are easily forgotten or added up wrongly. They are worked out here, where the terms of an
aggregate are still known, and travel with the value.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from math import hypot, inf, sqrt
from typing import NamedTuple

import numpy as np

from dpsql.confidence import least_end
from dpsql.query import Form, LinearQuery, Term
from dpsql.result import Answer, ErrorKind, Source

Lookup = Callable[[LinearQuery], Answer]
_LEAST_CERTAIN_FIRST: tuple[Source, ...] = ("hypothesis", "measurement", "public")


def combine(form: Form, lookup: Lookup, *, integer: bool, sign: int = 1) -> Answer:
    """The value of an affine form, in the aggregate's own unit; public and exact when it has no terms.

    ``sign``: 1 where no row adds less than 0 and -1 where none adds more, so that the interval ends at 0.

    The error is the sum of |coefficient| * error. Parts whose errors are (discrete) Gaussians keep their 95 %, however
    they depend on each other, because the sd of a sum is at most the sum of the sds. A certified part fails with
    probability at most .05 / planned_queries, so a number that mixes Gaussians with m certified parts fails with
    probability at most .05 + m * .05 / planned_queries, and one of certified parts alone with the second term.
    """
    if integer and (counted := form.counted) is not None:
        return lookup(counted)
    if form.is_public:
        value = round(form.constant) if integer else form.constant
        return Answer(value, 0.0, (float(value), float(value)), "exact", "public", True, 0.0)
    total = charged = 0.0
    error: float | None = 0.0
    bound: float | None = 0.0
    kind: ErrorKind = "exact"
    certified, sources = True, set()
    for term in form.terms:
        part, weight = lookup(term.query), abs(term.coefficient)
        total += 0.0 if part.value is None else term.coefficient * float(part.value)
        error = added(error, weight, term.doubt, part.value, part.error)
        bound = added(bound, weight, term.doubt, part.value, part.certified_bound)
        kind = "calibrated" if part.error_kind == "calibrated" or term.doubt else kind
        certified = certified and part.certified
        charged += part.charged
        sources.add(part.source)
    value = form.constant + total
    if integer:  # parts of rows are guessed where a condition cuts a bin
        value, off = round(value), abs(value - round(value))
        error, bound = (None if known is None else known + off for known in (error, bound))
    interval = _interval(float(value), error, sign=sign if sign * form.constant >= 0 else 0)
    return Answer(value, error, interval, kind, merged_source(sources), certified, bound, charged)


class Line(NamedTuple):
    """``scale`` times the sum of distances from ``origin``, in shares of a range; ``query``: the sum of the shares."""

    query: LinearQuery
    scale: float
    origin: float


def line_in(form: Form) -> Line | None:
    """A sum ``a * N + r * S`` of N rows whose values have the shares S of a range, as one line; ``None`` for others."""
    counts = [t for t in form.terms if t.query.value is None]
    values = sum_in(Form(0.0, tuple([t for t in form.terms if t.query.value is not None])))
    if values is None or form.constant or len(counts) != 1 or counts[0].doubt:
        return None
    same = are_rows_of(counts[0].query, values.query)
    return values._replace(origin=-counts[0].coefficient / values.scale) if same else None


def are_rows_of(counted: LinearQuery, summed: LinearQuery) -> bool:
    """Whether a query counts the rows whose values another one adds up, NULL aside."""
    if summed.value is None:
        return _are_weighted_in(counted, summed)
    beside = [{f.digest for f in q.factors if summed.value not in f.columns} for q in (counted, summed)]
    # NULL, the last cell, adds nothing whether it is in or out
    rows, own = (
        [f.weights.reshape(-1)[:-1] for f in q.factors if summed.value in f.columns] for q in (counted, summed)
    )
    whole = not own and all(w.all() for w in rows)
    alike = whole or [w.tobytes() for w in rows] == [w.tobytes() for w in own]
    return alike and beside[0] == beside[1] and counted.intervals == summed.intervals and counted.keyed is None


def _are_weighted_in(counted: LinearQuery, summed: LinearQuery) -> bool:
    """The same of a sum of what the cells of one column count, of which one may count 0."""
    own = [f for f in summed.factors if f.unit > 1]
    if len(own) != 1 or counted.intervals != summed.intervals or counted.keyed is not None or summed.keyed is not None:
        return False
    beside = [{f.digest for f in q.factors if f.columns != own[0].columns} for q in (counted, summed)]
    there = [f.weights != 0 for f in counted.factors if f.columns == own[0].columns]
    adds = own[0].weights != 0
    rows = there[0] if there else np.ones_like(adds)
    return beside[0] == beside[1] and not (adds & ~rows).any() and int((rows & ~adds).sum()) <= 1


def sum_in(form: Form) -> Line | None:
    """A multiple of one sum of values, as a line from the least of them; ``None`` for other forms."""
    match form.terms:
        case (Term(scale, LinearQuery(value=str(), keyed=None) as query, 0),) if form.constant == 0 and scale:
            return Line(query, scale, 0.0)
    return None


def narrowed(answer: Answer, error: float, low: float | None = None, high: float | None = None) -> Answer:
    """The same with a bar that is known otherwise, where it is narrower, between ``low`` and ``high``."""
    if answer.value is None or (answer.error is not None and answer.error <= error):
        return answer
    ends = answer.value - error, answer.value + error
    interval = max(ends[0], -inf if low is None else low), min(ends[1], inf if high is None else high)
    return replace(answer, error=error, interval=interval, error_kind="calibrated")


def added(error: float | None, weight: float, doubt: float, rows: float | None, of_part: float | None) -> float | None:
    """``error`` and that of a part, taken ``weight`` times, in the form's unit; with a ``doubt`` for each of the part's
    ``rows``, of which there may be ``of_part`` more. Public; ``None`` where one of them is not known."""
    if error is None or of_part is None:
        return None
    return error + weight * of_part + doubt * (max(0.0, float(rows or 0)) + of_part)


def shown_count(answer: Answer, sign: int = 1, most: int | None = None) -> Answer:
    """A released count as it is shown: 0 where noise took it below. Its interval is cut at 0 as it is, and goes on to
    ``LEAST_END`` where nothing of it would be left.

    ``most``: how many rows there may be: a count of some of them and its interval are cut at that.

    ``sign``: as in ``combine``; where it is -1, noise takes a sum above.

    What is computed from counts takes them as they were released: sums of many that were cut would be too large.

    >>> shown_count(Answer(-3, 10.0, (0.0, 7.0), "exact", "measurement", True)).value
    0
    """
    if answer.value is not None and sign * answer.value < 0:
        answer = replace(answer, value=0, interval=_opened(answer, sign))
    if answer.value is None or most is None:
        return answer
    low, high = answer.interval or (0.0, 0.0)
    interval = None if answer.interval is None else (min(low, float(most)), min(high, float(most)))
    return replace(answer, value=min(answer.value, most), interval=interval)


def _opened(answer: Answer, sign: int) -> tuple[float, float] | None:
    """The interval of a value on the wrong side of 0."""
    if answer.interval is None or not answer.error:
        return answer.interval
    least = least_end(answer.error, whole=isinstance(answer.value, int))
    low, high = answer.interval
    return (low, max(high, least)) if sign > 0 else (min(low, -least), high)


def divide(
    numerator: Answer,
    denominator: Answer,
    low: float | None = None,
    high: float | None = None,
    center: float = 0.0,
    *,
    independent: bool = True,
    apart: bool = False,
) -> Answer:
    """``center + numerator / denominator`` (AVG) within the public range [``low``, ``high``] of what is averaged.

    NULL when the denominator is not above its error: there may be no row. The error is the farther end of Fieller's
    interval (1954): at the true quotient q, top - q * bottom is a Gaussian around 0 whose sd is at most
    sd(top) + |q| sd(bottom), so |top - q * bottom| <= e_top + |q| e_bottom with 95 %, however the two depend on each
    other. Every such q has |q - top / bottom| <= (e_top + |top / bottom| e_bottom) / (bottom - e_bottom). Where a part
    is ``calibrated``, whose error is an estimate anyhow, the two are taken as ``independent``: both count the same
    rows, and what they are wrong about alike cancels in the quotient; so they are where noise was drawn for each
    ``apart``. The error is unknown (``None``) when a part's is.
    With certified parts see :func:`combine`.

    An average lies between the extremes of its values: value and interval are clipped to them, and the error becomes
    the distance to the clipped interval's farther end, which is never more than before unless the interval misses the
    range, as one in twenty may: then the range itself is the interval.
    """
    top, bottom = numerator.value, denominator.value
    charged = numerator.charged + denominator.charged
    source = merged_source([numerator.source, denominator.source])
    kind: ErrorKind = "calibrated" if "calibrated" in (numerator.error_kind, denominator.error_kind) else "exact"
    certified = numerator.certified and denominator.certified
    if top is None or bottom is None or bottom <= (denominator.error or 0.0):
        return Answer(None, None, None, kind, source, False, None, charged)
    value = top / bottom
    alone = apart or (independent and kind == "calibrated")
    ratio_error = _independent_ratio_error if alone else _ratio_error
    error = ratio_error(value, bottom, numerator.error, denominator.error)
    bound = _ratio_error(value, bottom, numerator.certified_bound, denominator.certified_bound)
    value += center
    interval = _interval(value, error, sign=0)
    inside = interval is not None and low is not None and high is not None and low <= interval[0] <= interval[1] <= high
    if low is not None and high is not None and not inside:
        certain = _within(_interval(value, bound, sign=0), low, high)
        interval = _within(interval, low, high)
        value = min(max(value, low), high)
        error = _farther(value, interval)
        bound = None if bound is None else _farther(value, certain)
    return Answer(value, error, interval, kind, source, certified and bound is not None, bound, charged)


def merged_source(sources: Collection[Source]) -> Source:
    """The least certain source among the parts.

    >>> merged_source(["public", "measurement", "hypothesis"])
    'hypothesis'
    """
    for source in _LEAST_CERTAIN_FIRST:
        if source in sources:
            return source
    return "public"


def _within(interval: tuple[float, float] | None, low: float, high: float) -> tuple[float, float]:
    """The part of the interval in [low, high]; all of [low, high] when there is none."""
    if interval is None or interval[0] > high or interval[1] < low:
        return low, high
    return max(interval[0], low), min(interval[1], high)


def _farther(value: float, interval: tuple[float, float]) -> float:
    return max(value - interval[0], interval[1] - value)


def _ratio_error(value: float, bottom: float, top_error: float | None, bottom_error: float | None) -> float | None:
    if top_error is None or bottom_error is None or bottom - bottom_error <= 0:
        return None
    return (top_error + abs(value) * bottom_error) / (bottom - bottom_error)


def _independent_ratio_error(
    value: float, bottom: float, top_error: float | None, bottom_error: float | None
) -> float | None:
    """The farther of the two q with (top - q * bottom)^2 = e_top^2 + q^2 e_bottom^2 (Fieller 1954)."""
    if top_error is None or bottom_error is None or bottom - bottom_error <= 0:
        return None
    share = (bottom_error / bottom) ** 2
    half = hypot(top_error / bottom * sqrt(1.0 - share), value * bottom_error / bottom)
    return (abs(value) * share + half) / (1.0 - share)


def _interval(value: float, error: float | None, *, sign: int) -> tuple[float, float] | None:
    if error is None:
        return None
    low, high = value - error, value + error
    if sign == 0:
        return low, high
    return (max(0.0, low), max(0.0, high)) if sign > 0 else (min(0.0, low), min(0.0, high))


__all__ = [
    "Line",
    "Lookup",
    "are_rows_of",
    "combine",
    "divide",
    "line_in",
    "merged_source",
    "narrowed",
    "shown_count",
    "sum_in",
]
