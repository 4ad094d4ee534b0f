"""Answers to aggregates that are sums over rows, or quotients of two. Public."""

from collections.abc import Sequence
from dataclasses import replace
from math import floor, hypot, inf, log10

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.postprocess import combine, divide, line_in, narrowed, sum_in
from dpsql.postprocess.combine import Lookup
from dpsql.query import Form, LinearQuery, Term, combination
from dpsql.result import Answer
from dpsql.session.own.by_value.measured_beside import Distance
from dpsql.session.results.unasked import Said, Unasked
from dpsql.sql.statement import Aggregate

DIGITS = 4
"""Of a sum behind the first digit of the most that one row adds to it: the same each time, whatever its bar is."""


def summed(aggregate: Aggregate, lookup: Lookup, unasked: Unasked, rules: ModelRules = NEWEST) -> tuple[Answer, ...]:
    """One answer per group. ``rules``: the ledger's."""
    if aggregate.denominator is not None:
        return _averages(aggregate, aggregate.denominator, lookup, unasked, rules.independent)
    integer = aggregate.sql_type == "BIGINT"
    signs = [aggregate.sign(group, conditions=rules.signed) for group in range(len(aggregate.numerator))]
    answers = [
        combine(form, lookup, integer=integer, sign=sign) for form, sign in zip(aggregate.numerator, signs, strict=True)
    ]
    ends = [(0.0 if sign > 0 else -inf, 0.0 if sign < 0 else inf) for sign in signs]
    for i, form in enumerate(aggregate.numerator):
        found = _measured(form, lookup, unasked)
        if found is not None and answers[i].value is not None:
            if integer:
                found = Said(round(found.value), found.error + abs(found.value - round(found.value)))
            low, high = found.value - found.error, found.value + found.error
            low, high = (min(max(end, ends[i][0]), ends[i][1]) for end in (low, high))
            answers[i] = replace(answers[i], value=found.value, error=found.error, interval=(low, high))
    for i, form in enumerate(aggregate.numerator):
        line = line_in(form) or (sum_in(form) if unasked.lone else None)
        known = None if line is None else unasked.line_of(line.query, line.origin)
        if line is not None and known is not None:
            off = abs(line.scale) * known.error + abs(float(answers[i].value or 0) - line.scale * known.value)
            answers[i] = narrowed(answers[i], off, *ends[i])
    for i, said in _of_values(aggregate.numerator, unasked):
        answers[i] = narrowed(answers[i], said.error + abs(float(answers[i].value or 0) - said.value), *ends[i])
    if integer or not rules.fine:
        return tuple(answers)
    return tuple([_rounded(*each) for each in zip(answers, aggregate.numerator, ends, strict=True)])


def _rounded(answer: Answer, form: Form, ends: tuple[float, float]) -> Answer:
    """With ``DIGITS``; it lies between ``ends``."""
    largest = max((abs(t.coefficient) for t in form.terms), default=0.0)
    if not answer.error or answer.value is None or largest == 0.0:
        return answer
    value = round(float(answer.value), DIGITS - floor(log10(largest))) + 0.0  # -0.0 is nobody's sum
    off = abs(value - answer.value)
    low, high = (min(max(end, ends[0]), ends[1]) for end in (value - answer.error - off, value + answer.error + off))
    bound = None if answer.certified_bound is None else answer.certified_bound + off
    return replace(answer, value=value, error=answer.error + off, interval=(low, high), certified_bound=bound)


def _of_values(forms: Sequence[Form], unasked: Unasked) -> list[tuple[int, Said]]:
    """What is said of those that add up several sums over rows, and not counts alone, by place."""
    some = [i for i, form in enumerate(forms) if len(form.terms) > 1 and not all(t.counts for t in form.terms)]
    said = unasked.forms_of([forms[i] for i in some]) if some else []
    return [(i, s) for i, s in zip(some, said, strict=True) if s is not None]


def _averages(
    aggregate: Aggregate, below: Sequence[Form], lookup: Lookup, unasked: Unasked, independent: bool
) -> tuple[Answer, ...]:
    bottoms = [combine(form, lookup, integer=False, sign=0) for form in below]
    answers, apart, groups = [], [], []
    for group, bottom in enumerate(bottoms):
        distance = _distance(aggregate.numerator[group], below[group], unasked)
        answer = _average(aggregate, group, bottom, lookup, unasked, independent, distance)
        answers.append(answer)
        if answer.value is not None and bottom.error is not None:
            off = answer.value - _center(aggregate, group)
            apart.append(combination([(1.0, aggregate.numerator[group]), (-off, below[group])]))
            groups.append(group)
    for i, said in _of_values(apart, unasked):
        group = groups[i]
        bottom, span = bottoms[group], _span(aggregate, group)
        rows = float(bottom.value or 0.0) - float(bottom.error or 0.0)
        # the true mean is off by as much as distances from what is shown sum to, for each row
        answers[group] = narrowed(answers[group], (said.error + abs(said.value)) / rows, *span)
    return tuple(answers)


def _average(
    aggregate: Aggregate,
    group: int,
    bottom: Answer,
    lookup: Lookup,
    unasked: Unasked,
    independent: bool,
    distance: Distance | None,
) -> Answer:
    """A quotient of two sums; ``distance``: of the upper one, in place of it, where that was measured."""
    numerator, center = aggregate.numerator[group], _center(aggregate, group)
    top = combine(numerator, lookup, integer=False, sign=0)
    low, high = _span(aggregate, group)
    answer = divide(top, bottom, low, high, center, independent=independent)
    if distance is not None:
        own = replace(top, value=distance.total, error=DEVIATIONS * abs(distance.sd))
        found = divide(own, bottom, low, high, center + distance.middle, apart=True)
        # of a handful of rows, whose count noise has made larger, the middle would be all that is shown
        answer = answer if found.interval == (low, high) else found
    line = sum_in(numerator) if center or (low, high) != (aggregate.low, aggregate.high) else None
    if line is None or line.query.unit > 1 or answer.value is None or bottom.value is None or bottom.error is None:
        return answer
    known = unasked.line_of(line.query, (answer.value - center) / line.scale)
    if known is None:
        return answer
    # as in _averages
    off = abs(line.scale) * (known.error + abs(known.value)) / (bottom.value - bottom.error)
    return narrowed(answer, off, low, high)


def _measured(form: Form, lookup: Lookup, unasked: Unasked) -> Said | None:
    """A sum of values, or of them and their count, as finely as it was measured: in the ledger it is a whole number of
    ranges."""
    alone = sum_in(form)
    if alone is not None:
        found = unasked.sum_of(alone.query)
        return None if found is None else Said(alone.scale * found.value, abs(alone.scale) * found.error)
    match sorted(form.terms, key=lambda t: t.query.value is not None):
        case [Term(times, counted, 0), Term(scale, LinearQuery(value=str()) as summed, 0)] if counted.is_indicator:
            distance, rows = unasked.distance_of(summed, counted), lookup(counted)
            if distance is None or rows.value is None or rows.error is None:
                return None
            of_row = times + scale * distance.middle
            value = form.constant + of_row * rows.value + scale * distance.total
            return Said(value, hypot(of_row * rows.error, DEVIATIONS * scale * distance.sd))
    return None


def _distance(top: Form, below: Form, unasked: Unasked) -> Distance | None:
    """What was measured of a sum from the middle of its values, beside that very count, in the aggregate's unit."""
    if len(top.terms) != 1 or len(below.terms) != 1 or top.constant or below.constant:
        return None
    (term,), (counted,) = top.terms, below.terms
    if counted.coefficient != 1:
        return None
    found = unasked.distance_of(term.query, counted.query)
    return None if found is None else Distance(*(term.coefficient * number for number in found))


def _center(aggregate: Aggregate, group: int) -> float:
    return aggregate.centers[group] if aggregate.centers else 0.0


def _span(aggregate: Aggregate, group: int) -> tuple[float | None, float | None]:
    return aggregate.spans[group] if aggregate.spans else (aggregate.low, aggregate.high)
