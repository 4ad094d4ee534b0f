"""Answers to aggregates that are no sums: released counts and sums become a value, its interval, its note. Public."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from itertools import islice
from math import floor, inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpsql.domain import Value, truncate
from dpsql.postprocess import combine, merged_source
from dpsql.postprocess.combine import Lookup
from dpsql.postprocess.moments import confined, distances_of, moment
from dpsql.postprocess.places import (
    Counts,
    Extreme,
    Place,
    last,
    middle,
    most_frequent,
    number_of_values,
    quantile,
    sum_of_values,
)
from dpsql.postprocess.spread import DEPENDENT
from dpsql.query import DistinctCount, Factor, Form, LinearQuery, combination
from dpsql.query.summary import LISTS, Cell, Cells, Distinct, Moments
from dpsql.result import EXACT_ZERO, Answer, Note, Source
from dpsql.session.answers import exact
from dpsql.session.results.lists import list_note, listed
from dpsql.session.results.unasked import NOTHING_SAID, Unasked

LookupAny = Callable[[LinearQuery | DistinctCount], Answer]
ErrorOf = Callable[[LinearQuery], float | None]
TAILS = 2.0
"""A model's bars hold 95 % of the counts; beyond them its errors reach farther than a Gaussian's."""
LIKELY = 1.0
"""Of the 95 % bar of a model's rows behind a value: where they are more, some are likely to be there. Of measurements
only what is sure is shown: noise behind the last of a thousand values nearly always adds up to more somewhere."""
_MOST_NAME = 60
"""Characters of an aggregate's text in a note; a longer one is called by its kind."""


class Summarised(NamedTuple):
    """One answer per group, and what a reader must know."""

    answers: tuple[Answer, ...]
    notes: tuple[Note, ...]
    few: tuple[bool, ...]
    """Where nothing is said because there may be no row."""


def summarise(
    summary: Moments | Cells | Distinct, groups: int, lookup: LookupAny, unasked: Unasked = NOTHING_SAID, *, whole: bool
) -> Summarised:
    """The answers of all groups. ``whole``: the result is of an integer type."""
    if isinstance(summary, Distinct):
        counted = [EXACT_ZERO if count is None else _listed_at_most(count, lookup(count)) for count in summary.counts]
        return Summarised(tuple(counted), (), (False,) * groups)
    if isinstance(summary, Moments):
        return _of_moments(summary, groups, lookup, unasked)
    if summary.kind in LISTS:
        return _lists(summary, groups, lookup)
    found = [_of_cells(summary, group, lookup, unasked, whole=whole) for group in range(groups)]
    answers = tuple([answer for answer, _ in found])
    few = tuple([a.shown is None and a.source != "public" for a in answers])
    return Summarised(answers, _notes(summary, [f for _, f in found]), few)


def _listed_at_most(count: DistinctCount, answer: Answer) -> Answer:
    """No more different values than the conditions list: ``w IN ('a', 'b')`` leaves two."""
    most = count.most
    if most is None or answer.value is None or answer.interval is None:
        return answer
    low, high = (min(end, float(most)) for end in answer.interval)
    value = min(max(answer.value, round(low)), most)
    return replace(answer, value=value, interval=(low, high), error=max(value - low, high - value))


def _lists(summary: Cells, groups: int, lookup: Lookup) -> Summarised:
    """Several values for each group."""
    answers, all_parts = [], []
    for group in range(groups):
        parts = [combine(c.rows, lookup, integer=True) for c in summary.cells[group]]
        source, charged = merged_source({p.source for p in parts}), sum(p.charged for p in parts)
        answers.append(replace(_null(source, charged), label=listed(summary, group, parts)))
        all_parts += parts
    few = tuple([a.shown is None and a.source != "public" for a in answers])
    return Summarised(tuple(answers), list_note(summary, _called(summary), all_parts), few)


def _called(summary: Cells) -> str:
    """The aggregate, as a note names it."""
    return summary.name if len(summary.name) <= _MOST_NAME else summary.kind


def _of_moments(summary: Moments, groups: int, lookup: Lookup, unasked: Unasked) -> Summarised:
    """NULL where there may be no row, and where there is no spread."""
    parts = [[combine(form, lookup, integer=False) for form in summary.sums[group]] for group in range(groups)]
    sums = [[float(p.value or 0.0) for p in found] for found in parts]
    asked = [list(map(partial(_taken, summary.sums[g]), distances_of(sums[g]))) for g in range(groups)]
    said = iter(unasked.forms_of([form for forms in asked for form in forms]))
    answers, few = [], []
    for group, found in enumerate(parts):
        around = [None if s is None else s.error + abs(s.value) for s in islice(said, len(asked[group]))]
        value = moment(summary.kind, sums[group], [p.error for p in found], summary.centers, around)
        width = _width(summary.column, summary.sums[group][0])
        if value is not None and width is not None:
            value = confined(summary.kind, *value, width, sums[group][0] - (found[0].error or 0.0))
        paid = merged_source({p.source for p in found}), sum(p.charged for p in found)
        answers.append(_null(*paid) if value is None else _number(*value, *paid))
        rows = found[0]
        few.append(value is None and rows.source != "public" and (rows.value or 0.0) <= (rows.error or 0.0))
    return Summarised(tuple(answers), (), tuple(few))


def _width(column: str | None, rows: Form) -> float | None:
    """How wide a stretch of a number column conditions leave to ``rows``; ``None`` where they leave all of it."""
    left = [i for t in rows.terms for i in t.query.intervals if i.column == column]
    if not left or len(left) < len(rows.terms):
        return None
    return max(i.high for i in left) - min(i.low for i in left)


def _taken(forms: Sequence[Form], times: Sequence[float]) -> Form:
    return combination(zip(times, forms, strict=True))


class _Found(NamedTuple):
    """A place among a group's values, as a note says it: its first and last value, rows at most beyond it, and whether
    an extreme is one that is sure."""

    low: Value
    high: Value
    beyond: float | None
    steps: int
    cell: Cell
    sure: bool


def _of_cells(
    summary: Cells, group: int, lookup: Lookup, unasked: Unasked, *, whole: bool
) -> tuple[Answer, _Found | None]:
    cells = summary.cells[group]
    parts = [combine(c.rows, lookup, integer=True) for c in cells]
    source, charged = merged_source({p.source for p in parts}), sum(p.charged for p in parts)
    counts = _counts(cells, _as_released(cells, parts, unasked), unasked.error_of)
    if summary.kind == "distinct" or summary.kind == "sum_distinct":
        return _distinct(summary, group, counts, (source, charged), whole=whole), None
    place, beyond = _place(summary, cells, counts)
    if place is None:
        return _null(source, charged), None
    low, high = cells[place.low].low, cells[place.high].high
    value = _inside(cells[place.at], place.share, whole=whole, between=summary.kind == "quantile_cont")
    after = cells[place.after]
    if place.after > place.at and isinstance(value, float) and isinstance(after.low, (int, float)):
        value = cells[place.at].low + place.share * (after.low - cells[place.at].low)  # type: ignore[operator]
    sure = place.at == (place.high if summary.kind == "min" else place.low)
    found = _Found(low, high, beyond, max(place.at - place.low, place.high - place.at), cells[place.at], sure)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Answer(None, None, None, "computed", source, certified=False, charged=charged, label=value), found
    known = bool(np.isfinite(counts.errors).all())
    interval = (float(low), float(high)) if known else None  # type: ignore[arg-type]
    return _number(value, interval, source, charged), found


def _place(summary: Cells, cells: Sequence[Cell], counts: Counts) -> tuple[Place | None, float | None]:
    """Where the value stands; for an extreme, how many rows at most are beyond it."""
    match summary.kind:
        case "max" | "min":
            backwards = summary.kind == "min"
            found = _extreme(cells, counts, backwards=backwards)
            if found is None:
                return None, None
            end = len(counts) - 1 if found.behind > 0 else found.at
            ends = (len(counts) - 1 - end, len(counts) - 1 - found.sure) if backwards else (found.sure, end)
            at = len(counts) - 1 - found.at if backwards else found.at
            rows = max(float(counts.values[at]), 1.0)  # of numbers the first and the last of these in their cell
            share = (1.0 if backwards else rows) / (rows + 1.0) if isinstance(cells[at].low, float) else 0.5
            return Place(at, *ends, share, at), found.behind
        case "mode":
            return most_frequent(counts, np.array([c.low == c.high for c in cells])), None
        case _:
            return quantile(counts, summary.level, between=summary.kind == "quantile_cont"), None


def _extreme(cells: Sequence[Cell], counts: Counts, *, backwards: bool) -> Extreme | None:
    """What MAX says, or MIN of the values in descending order: nothing on the other side of the median."""
    half, end = middle(counts), len(counts) - 1
    least = 0 if half is None else end - half if backwards else half
    if cells and isinstance(cells[0].low, bool):  # nothing is between FALSE and TRUE
        counts, least = replace(counts, likely=inf), 0
    return last(counts.reversed if backwards else counts, least=least)


def _shown(cells: Sequence[Cell], counts: Counts) -> slice:
    """The values from MIN to MAX; all where these say nothing."""
    ends = [_extreme(cells, counts, backwards=backwards) for backwards in (True, False)]
    first, final = (None if e is None else e.at for e in ends)
    return slice(None) if first is None or final is None else slice(len(counts) - 1 - first, final + 1)


def _distinct(summary: Cells, group: int, counts: Counts, paid: tuple[Source, float], *, whole: bool) -> Answer:
    """How many values have rows, or what they add up to."""
    shown = _shown(summary.cells[group], counts)
    value, low, high = (float(n) for n in number_of_values(counts, shown))
    if summary.kind == "sum_distinct":
        numbers = np.array([float(c.low) for c in summary.cells[group]])  # type: ignore[arg-type]
        value, low, high = sum_of_values(counts, numbers, shown)
    known = bool(np.isfinite(counts.errors).all())
    return _number(round(value) if whole else value, (low, high) if known else None, *paid)


def _inside(cell: Cell, share: float, *, whole: bool, between: bool) -> Value:
    """The value so far into a cell; ``between``: it may stand between two values that rows hold."""
    low, high = cell.low, cell.high
    if low is None or high is None or isinstance(low, (str, bool)):
        return low
    if isinstance(low, datetime) and isinstance(high, datetime):
        found = low + share * (high - low)
        return found if between or low == high else truncate(found, "minute" if low.minute or high.minute else "hour")
    if isinstance(low, date):
        return date.fromordinal(low.toordinal() + floor(share * (high.toordinal() - low.toordinal())))  # type: ignore[union-attr]
    value = low + share * (high - low)  # type: ignore[operator]
    return floor(value) if whole else float(value)


def _null(source: Source, charged: float) -> Answer:
    return Answer(None, None, None, "computed", source, certified=False, charged=charged)


def _number(value: float, interval: tuple[float, float] | None, source: Source, charged: float) -> Answer:
    error = None if interval is None else max(value - interval[0], interval[1] - value)
    if error is not None and not isfinite(error):
        error, interval = None, None
    return Answer(value, error, interval, "computed", source, certified=False, charged=charged)


def _as_released(cells: Sequence[Cell], parts: Sequence[Answer], unasked: Unasked) -> Sequence[Answer]:
    """The counts as they were released, where all of those that were moved since can be read. What cells have in common
    moves empty ones above 0: many of them add up to rows that are not there."""
    if any(p.source == "hypothesis" for p in parts):
        return parts
    moved = [i for i, p in enumerate(parts) if p.source != "public" and p.error_kind != "exact"]
    queries = [q for i in moved if (q := cells[i].rows.counted) is not None]
    if not queries or len(queries) < len(moved) or len({q.outline for q in queries}) > 1:
        return parts
    found = unasked.as_released(queries, [parts[i].error or 0.0 for i in moved])
    if found is None:
        return parts
    released = {i: exact(value, parts[i].error or 0.0, "measurement") for i, value in zip(moved, found, strict=True)}
    return [released.get(i, part) for i, part in enumerate(parts)]


def _counts(cells: Sequence[Cell], parts: Sequence[Answer], error_of: ErrorOf) -> Counts:
    """The counts of the values. Measured ones have noise of their own, unless they were weighed with a model's; what a
    model's add up to it knows best."""
    values = np.array([float(p.value or 0.0) for p in parts])
    errors = np.array([inf if p.error is None else p.error for p in parts])
    hidden, known = np.isinf(errors), np.where(np.isinf(errors), 0.0, errors)
    sums, unknown = (np.concatenate([[0], np.cumsum(a)]) for a in (known**2, hidden))
    measured = all(p.source in ("measurement", "public") and p.error_kind == "exact" for p in parts)
    runs = None if measured else _Runs.of([c.rows for c in cells])

    def joint(i: int, j: int) -> float:
        told = None if runs is None or j - i < 2 else error_of(runs.query(i, j))
        dependent = 1.0 if measured else DEPENDENT
        if told is None and unknown[j] > unknown[i]:
            return inf
        return sqrt(dependent * (sums[j] - sums[i])) if told is None else told

    likely = LIKELY if all(p.source == "hypothesis" for p in parts) else inf
    return Counts(values, errors, joint, 1.0 if measured else TAILS, likely)


class _Runs(NamedTuple):
    """Queries that differ in one factor alone, which is disjoint from one to the next."""

    first: LinearQuery
    place: int
    below: npt.NDArray[np.int64]

    @staticmethod
    def of(forms: Sequence[Form]) -> "_Runs | None":
        queries = [q for f in forms if (q := f.counted) is not None]
        if len(queries) < 2 or len(queries) < len(forms):
            return None
        first = queries[0]
        if any(q.outline != first.outline or q.keyed is not None for q in queries):
            return None
        apart = [i for i in range(len(first.factors)) if len({q.factors[i].digest for q in queries}) > 1]
        if len(apart) != 1:
            return None
        weights = np.array([q.factors[apart[0]].weights for q in queries])
        below = np.concatenate([np.zeros_like(weights[:1]), np.cumsum(weights, axis=0)])
        return None if (below[-1] > 1).any() else _Runs(first, apart[0], below)

    def query(self, i: int, j: int) -> LinearQuery:
        """What those from ``i`` to ``j - 1`` count together."""
        joined = Factor(self.first.factors[self.place].columns, self.below[j] - self.below[i])
        factors = list(self.first.factors)
        factors[self.place : self.place + 1] = [joined] if (joined.weights < 1).any() else []
        return replace(self.first, factors=tuple(factors))


def _notes(summary: Cells, found: Sequence[_Found | None]) -> tuple[Note, ...]:
    """How many rows may lie beyond an extreme; between which values a label is."""
    places = [f for f in found if f is not None]
    name = _called(summary)
    if not places:
        return ()
    if summary.kind == "mode" and any(c.low != c.high for cells in summary.cells for c in cells):
        return (_elsewhere(name, places[0], len(found)),)
    beyond = [f.beyond for f in places if f.beyond is not None]
    if beyond:
        if max(beyond) > 0:
            return (_beyond(summary.kind, name, places, max(beyond), len(found)),)
        if max(f.steps for f in places) == 0:
            return _within_a_cell(name, places, len(found))
    if isinstance(places[0].low, (int, float)) and not isinstance(places[0].low, bool):
        return ()
    if len(found) == 1:
        if places[0].low == places[0].high:
            return ()
        return (Note("beyond", f"{name} is from {places[0].low} to {places[0].high} (95 %)"),)
    most = max(f.steps for f in places)
    return (Note("beyond", f"{name} is at most {most:,} of its values off in any group (95 %)"),) if most else ()


def _elsewhere(name: str, place: _Found, groups: int) -> Note:
    """That values which are counted together may hide the one with most rows."""
    middle = f"{name} is the middle of the values with most rows together"
    if groups > 1:
        return Note(
            "beyond", f"{middle} in its group, which are counted as one; a single value elsewhere may have more"
        )
    cell, span = f"{place.cell.low} to {place.cell.high}", f"from {place.low} to {place.high}"
    return Note("beyond", f"{middle}, {cell}; a single value anywhere {span} may be the one that has most (95 %)")


def _within_a_cell(name: str, places: Sequence[_Found], groups: int) -> tuple[Note, ...]:
    """That a label which is a place inside a cell says no more than the cell does; of numbers a bar says it."""
    wide = [f.cell for f in places if f.cell.low != f.cell.high and not isinstance(f.cell.low, (int, float))]
    if not wide:
        return ()
    where = f"from {wide[0].low} to {wide[0].high}{'' if groups == 1 else ' where it is first shown'}"
    return (Note("beyond", f"{name} is known by its cell alone, {where}"),)


def _beyond(kind: str, name: str, places: Sequence[_Found], rows: float, groups: int) -> Note:
    few = f"at most {rows:,.0f} rows"
    cell = places[0].cell
    shown = cell.high if kind == "max" else cell.low
    if isinstance(shown, bool):
        return Note("beyond", f"{name} is {str(shown).upper()} unless rows are surely not; {few} are not (95 %)")
    end, where = ("last", "after") if kind == "max" else ("first", "before")
    which = "it in any group" if groups > 1 else shown
    value = "value" if cell.low == cell.high else "value, or near it: its cell is the one"
    if groups == 1 and not isinstance(shown, (int, float)):
        span = f"{name} is from {places[0].low} to {places[0].high}"
        return Note("beyond", f"{span}, and {few} lie {where} {which} (95 %)")
    surely = "surely" if all(f.sure for f in places) else "probably"
    return Note("beyond", f"{name} is the {end} {value} that {surely} has rows; {few} lie {where} {which} (95 %)")


def few_rows_note(columns: Sequence[Sequence[bool]]) -> tuple[Note, ...]:
    """That averages and their like are NULL where there may be no row; for each aggregate, in which groups it is."""
    few = sum(any(nulls) for nulls in zip(*columns, strict=True))
    if few == 0:
        return ()
    groups = len(columns[0])
    if groups == 1:
        return (Note("few", "NULL stands where the rows' count is within its error"),)
    return (Note("few", f"NULL stands in {few:,} of {groups:,} groups, in which there may be no value"),)
