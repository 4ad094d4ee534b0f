"""Error bars of numbers that the outer statement computes from released ones. Public.

What one row's arithmetic makes of its inputs is followed to the ends of their intervals, which is Fieller's interval
(1954) for a quotient; what sums, windows and joins of many make of them is learned from draws of all released tables
together. One run of the outer statement over all variants serves both.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from math import inf, isfinite
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpsql.confidence import DEVIATIONS
from dpsql.dialect.types import is_number
from dpsql.errors import Error
from dpsql.postprocess import merged_source
from dpsql.postprocess.matching import matched
from dpsql.postprocess.multiples import Multiple, multiples
from dpsql.postprocess.spread import Cells, Floats, Spread, Unknown, factor, spread, turning, widened
from dpsql.postprocess.variants import (
    ReleasedColumn,
    at_corners,
    at_extremes,
    between,
    count_key,
    drawn,
    extreme_signs,
    given_whole,
    number_of_extremes,
    standard_draws,
    variants_table,
)
from dpsql.query import LinearQuery, is_part
from dpsql.result import Answer, Note
from dpsql.session.results.numbers import as_number, floats
from dpsql.sql.public_sql import PublicSql
from dpsql.sql.statement import DRAW, DRAWS, HIGH, LOW, Dependence, Redraw, Statement

NUMBER_OF_DRAWS = 128
FEWEST_DRAWS = 32
"""With fewer a spread is known to more than 12 % only, and nothing is said."""
MOST_NUMBERS = 1 << 22
"""Room for the released numbers of all variants together."""
MOST_AT_CORNERS = 4
"""Inputs of one row's arithmetic that go to the ends of their intervals together; for more there are draws."""
INSIDE = 32
"""Variants with all inputs inside their intervals, for arithmetic of one row that turns or jumps between the ends."""
ROUNDING = 1e-9
"""How far a number that reads ends of intervals may move, of its size, and be known all the same."""
Column = tuple[str, str]
"""A released table and its aggregate column."""
_BECAUSE = {
    Unknown.DENOMINATOR: "a denominator's interval reaches 0, or it is no finite number",
    Unknown.INPUT: "it is computed from a number whose own error is not known",
    Unknown.ROW: "released numbers within their errors would drop the row",
    Unknown.KEY: "rows look alike: select what tells them apart",
    Unknown.LARGE: "it is too large a number within the errors of what it is computed from",
    Unknown.WORK: "computing it many times over is not possible",
}


@dataclass(frozen=True, eq=False)
class Inputs:
    """A statement's released tables, as Arrow tables by name and as columns of answers.

    ``error_of``: the 95 % half-width that a count would have that was not asked; ``None`` when nothing is known.
    """

    tables: Mapping[str, pa.Table]
    columns: Mapping[Column, ReleasedColumn]
    error_of: Callable[[LinearQuery], float | None]


class Computed(NamedTuple):
    """By position of an output column its answers, one per row; and what a reader must know."""

    answers: dict[int, tuple[Answer, ...]]
    notes: tuple[Note, ...]


NOTHING = Computed({}, ())


def computed_answers(statement: Statement, inputs: Inputs, result: pa.Table, public: PublicSql) -> Computed:
    """Answers for the columns of ``result`` (row number included) that are computed from released numbers.

    Values that are text, dates, booleans or ranks stay without a bar: a note says what they depend on. So do ends of
    intervals, which are known, and what reads them and stays as it is wherever the truth may be, as ``n - low`` does.
    """
    redraw = statement.redraw
    if redraw is None or result.num_rows == 0:
        return NOTHING
    shown = result.columns[statement.row_column is not None :]
    names = result.column_names[statement.row_column is not None :]
    unchanged = statement.outer_columns or (None,) * len(shown)
    depending = [i for i, d in enumerate(redraw.outputs) if d.sources and unchanged[i] is None and d.ends != "all"]
    numbers = [i for i in depending if is_number(shown[i].type) and not redraw.outputs[i].rank]
    notes = [_labels_note([names[i] for i in depending if i not in numbers])] if len(numbers) < len(depending) else []
    if not numbers:
        return Computed({}, tuple(notes))
    cells = _cells(statement, redraw, _planned(redraw, numbers, inputs), inputs, result, public)
    answers: dict[int, tuple[Answer, ...]] = {}
    rows = result.column(0).to_pylist() if statement.outer_columns else None
    for i in numbers:
        own = redraw.outputs[i]
        sources = [inputs.columns[s] for s in sorted(own.sources)]
        found, reasons = _answers(shown[i], cells.get(i), sources, rows, own)
        if not own.ends or any(a.error is None or a.error > ROUNDING * max(1.0, abs(a.value or 0)) for a in found):
            answers[i] = found
        unknown = f"the error of {names[i]} is not known where"
        notes += [Note("computed", f"{unknown} {_BECAUSE[r]}") for r in sorted(reasons)]
    return Computed(answers, tuple(notes))


class _Corner(NamedTuple):
    """A variant of the columns that one output is made of: the sides that they go to, and what follows from these."""

    sides: Mapping[Column, int]
    ties: Mapping[Column, Multiple]


@dataclass(frozen=True)
class _Variants:
    """Which variants there are: 0 is as released, then corners, draws, extremes, ``inside``; and which of them a column
    looks at.

    ``ties``: what multiples of other columns move with. ``looks_at``: by position of an output column; one that is
    not there gets no bar. ``factors``: see :func:`spread`. ``wholes``: see :func:`_whole`.

    ``bounds``: the keys of numbers that draws are made of and that may all be off by their whole error together.
    """

    corners: tuple[_Corner, ...]
    ties: Mapping[Column, Multiple]
    draws: int
    inside: int
    looks_at: Mapping[int, slice]
    factors: Mapping[int, float | None]
    wholes: Mapping[Column, tuple[LinearQuery, float] | None]
    bounds: frozenset[Hashable]

    @property
    def number(self) -> int:
        extremes = number_of_extremes(len(self.bounds)) if self.bounds else 0
        return 1 + len(self.corners) + self.draws + extremes + self.inside


def _planned(redraw: Redraw, numbers: Sequence[int], inputs: Inputs) -> _Variants:
    """Corners for arithmetic of one row, draws for the rest, as many as there is room for."""
    corners: list[_Corner] = []
    first: dict[tuple[Column, ...], slice] = {}
    for i in numbers:
        sources = tuple(sorted(redraw.outputs[i].sources))
        if redraw.outputs[i].local and len(sources) <= MOST_AT_CORNERS and sources not in first:
            ties = multiples(sources, inputs.columns)
            free = [s for s in sources if s not in ties]
            first[sources] = slice(1 + len(corners), 1 + len(corners) + 2 ** len(free))
            corners += [_Corner(dict(zip(free, c, strict=True)), ties) for c in product((-1, 1), repeat=len(free))]
    each = sum(t.num_rows * t.num_columns for t in inputs.tables.values())
    room = MOST_NUMBERS // max(each, 1) - 1 - len(corners)
    inside = INSIDE if corners and room >= INSIDE else 0
    room -= inside
    draws = min(NUMBER_OF_DRAWS, room) // 2 * 2
    looks_at: dict[int, slice] = {}
    factors: dict[int, float | None] = {}
    wholes: dict[Column, tuple[LinearQuery, float] | None] = {}
    bounds: set[Hashable] = set()
    for i in numbers:
        sources = tuple(sorted(redraw.outputs[i].sources))
        own = first.get(sources) if redraw.outputs[i].local else None
        if own is not None and room >= 0:
            looks_at[i], factors[i] = own, None
        elif own is None and draws >= FEWEST_DRAWS:
            looks_at[i] = slice(1 + len(corners), 1 + len(corners) + draws)
            found = {s: _whole(inputs.columns[s], inputs) for s in sources}
            worse = {s: _times_alone(inputs.columns[s], w[1]) for s, w in found.items() if w is not None}
            wholes |= {s: None if worse.get(s, 0.0) > 1.0 else whole for s, whole in found.items()}
            known = all(wholes[s] is not None for s in sources)
            uncertain = _uncertain([inputs.columns[s] for s in sources])
            told = [times for s, times in worse.items() if times <= len(inputs.columns[s].answers)]
            factors[i] = factor(uncertain, max(told, default=1.0), known=known)
            bounds |= {key for key, is_bound in uncertain.items() if is_bound}
    drawn_from = any(f is not None for f in factors.values())
    draws = draws if drawn_from else 0
    tied = sorted({name for c in corners for column, tie in c.ties.items() for name in (column, tie.of)})
    return _Variants(
        tuple(corners), multiples(tied, inputs.columns), draws, inside, looks_at, factors, wholes, frozenset(bounds)
    )


def _uncertain(sources: Sequence[ReleasedColumn]) -> dict[Hashable, bool]:
    """The numbers that are not exact, by key: whether the error is a bound."""
    all_rows = (row for column in sources for row in zip(column.keys, column.answers, column.bounds, strict=True))
    return {key: bound for key, answer, bound in all_rows if answer.error}


def _cells(
    statement: Statement, redraw: Redraw, plan: _Variants, inputs: Inputs, result: pa.Table, sql: PublicSql
) -> dict[int, Spread | Unknown]:
    """The spread of each column that variants were computed for, or why there is none."""
    found = _run(statement, redraw, plan, inputs, sql)
    if found is None:
        return {}
    first = int(statement.row_column is not None)
    public = [i + first for i, d in enumerate(redraw.outputs) if not d.sources]
    keys = [0] if statement.outer_columns else [*range(first), *public]
    positions = matched(result.select(keys), found.select([k + 1 for k in keys]))
    if positions is None:
        return dict.fromkeys(plan.looks_at, Unknown.KEY)
    inside = positions >= 0
    variant, row = found.column(0).to_numpy()[inside], positions[inside]
    shape = plan.number, result.num_rows
    present = np.zeros(shape, dtype=bool)
    present[variant, row] = True
    out: dict[int, Spread | Unknown] = {}
    for i, chosen in plan.looks_at.items():
        values = np.full(shape, np.nan)
        values[variant, row] = floats(found.column(i + 1 + first))[inside]
        looked = np.r_[0, chosen]
        cells = Cells(values[looked], present[looked])
        nested = None
        if plan.factors[i] is None:
            sources = [inputs.columns[s] for s in sorted(redraw.outputs[i].sources)]
            rows = result.column(0).to_pylist() if statement.outer_columns else [0] * result.num_rows
            one_row = all(len(c.queries) == 1 for c in sources)
            nested = _nested(sources, rows) if statement.outer_columns or one_row else None
        own = floats(result.column(i + first))
        out[i] = found_spread = spread(own, cells, plan.factors[i], nested)
        last = plan.number - plan.inside
        if plan.factors[i] is None:
            out[i] = turning(found_spread, own, cells, Cells(values[last:], present[last:]))
        elif plan.bounds:
            looked = np.r_[0, 1 + len(plan.corners) + plan.draws : last]
            out[i] = widened(found_spread, spread(own, Cells(values[looked], present[looked]), None))
    return out


def _nested(sources: Sequence[ReleasedColumn], rows: Sequence[int]) -> npt.NDArray[np.bool_] | None:
    """In which rows one of two counts is a part of the other; ``rows`` are those of the released tables."""
    if len(sources) != 2 or max(rows) >= min(len(c.queries) for c in sources):
        return None
    pairs = [(sources[0].queries[row], sources[1].queries[row]) for row in rows]
    return np.array([a is not None and b is not None and (is_part(a, b) or is_part(b, a)) for a, b in pairs])


def _run(statement: Statement, redraw: Redraw, plan: _Variants, inputs: Inputs, public: PublicSql) -> pa.Table | None:
    """The outer statement over all variants; over positive numbers only where it fails on others."""
    draws = pa.table({DRAW: pa.array(range(plan.number), pa.int64())})
    for positive in (False, True):
        tables = _variants(redraw, plan, inputs, positive=positive) | {DRAWS: draws}
        try:
            return public.run(redraw.sql, tables, statement.public_tables)
        except Error:  # a bar is no reason to withhold an answer that has been paid for
            continue
    return None


def _variants(redraw: Redraw, plan: _Variants, inputs: Inputs, *, positive: bool) -> dict[str, pa.Table]:
    """The released tables, each once per variant."""
    noise, signs = _noise(redraw, plan, inputs) if plan.draws else ({}, {})
    replaced: dict[str, dict[str, Floats]] = {name: {} for name in inputs.tables}
    seeds = {column: i for i, column in enumerate(inputs.columns)}
    for (name, column), released in inputs.columns.items():
        if not is_number(inputs.tables[name].schema.field(column).type):
            continue
        parts = [released.values[np.newaxis], _at_corners((name, column), plan, inputs)]
        if plan.draws:
            parts.append(drawn(released, noise[name, column], positive=positive))
        if plan.bounds:
            parts.append(at_extremes(released, signs[name, column]))
        tie = plan.ties.get((name, column))
        if tie is None:
            parts.append(between(released, plan.inside, seeds[name, column]))
        else:
            parts.append(tie.values(between(inputs.columns[tie.of], plan.inside, seeds[tie.of])))
        values = np.concatenate(parts)
        replaced[name][column] = values
        moved = (np.rint(values) if released.integer else values) - released.values
        for end, ends in zip((LOW, HIGH), released.ends, strict=True):
            if column + end in inputs.tables[name].column_names:
                replaced[name][column + end] = ends + moved
    return {name: variants_table(table, DRAW, replaced[name]) for name, table in inputs.tables.items()}


def _at_corners(column: Column, plan: _Variants, inputs: Inputs) -> Floats:
    """A column at all corners; where it is a multiple of another one, where that one puts it."""
    out = at_corners(inputs.columns[column], [c.sides.get(column, 0) for c in plan.corners])
    for i, corner in enumerate(plan.corners):
        tie = corner.ties.get(column)
        if tie is not None:
            out[i] = tie.values(at_corners(inputs.columns[tie.of], [corner.sides[tie.of]])[0])
    return out


def _noise(redraw: Redraw, plan: _Variants, inputs: Inputs) -> tuple[dict[Column, Floats], dict[Column, Floats]]:
    """Standard noise for each column, and the ends that bounds go to, equal for equal numbers; functions of the
    statement's own text and questions.

    Where the counts of a column make up a count of which the error is known, theirs add up to that.
    """
    numbers: dict[object, int] = {}
    for released in inputs.columns.values():
        for key in released.keys:
            numbers.setdefault(key, len(numbers))
    for whole in plan.wholes.values():
        if whole is not None:
            numbers.setdefault(count_key(whole[0]), len(numbers))
    digest = sha256("\n".join([redraw.sql, *map(repr, numbers)]).encode())
    seed = int.from_bytes(digest.digest()[:8], "big")
    noise = standard_draws(plan.draws, len(numbers), seed)
    signs = extreme_signs(np.array([key in plan.bounds for key in numbers], dtype=np.bool_), seed)
    out, ends = {}, {}
    for column, released in inputs.columns.items():
        own, whole = noise[:, [numbers[k] for k in released.keys]], plan.wholes.get(column)
        if whole is not None:
            own = given_whole(own, released.sds, noise[:, numbers[count_key(whole[0])]], whole[1])
        out[column] = own
        ends[column] = signs[:, [numbers[k] for k in released.keys]]
    return out, ends


def _whole(released: ReleasedColumn, inputs: Inputs) -> tuple[LinearQuery, float] | None:
    """What the rows of a column count together, and its sd; ``None`` where that is no count of a known error."""
    if not released.sds.any() or any(a.error is None for a in released.answers) or released.whole is None:
        return None
    error = inputs.error_of(released.whole)
    return None if error is None else (released.whole, error / DEVIATIONS)


def _times_alone(released: ReleasedColumn, whole_sd: float) -> float:
    """The variance of a whole in that of its parts, were these independent. Above their number it tells nothing of
    them: it is of a model, where they were measured."""
    return whole_sd**2 / float(np.sum(released.sds**2))


def _answers(
    shown: pa.ChunkedArray,
    found: Spread | Unknown | None,
    sources: Sequence[ReleasedColumn],
    rows: Sequence[int] | None,
    own: Dependence,
) -> tuple[tuple[Answer, ...], set[Unknown]]:
    """One answer per row of a column, and why errors are not known where they are not.

    A row's arithmetic comes from the released numbers of its row, if ``rows`` numbers them; all else from all.
    """
    whole = [a for column in sources for a in column.answers]
    merged = merged_source({a.source for a in whole}), any(a.is_open for a in whole)
    out, reasons = [], set[Unknown]()
    for at, value in enumerate(shown.to_pylist()):
        source, is_open = merged
        if rows is not None and own.local:
            inputs = [column.answers[rows[at]] for column in sources]
            source, is_open = merged_source({a.source for a in inputs}), any(a.error is None for a in inputs)
        number = as_number(value)
        why = _why(value, found, at)
        why = Unknown.INPUT if is_open and why is not Unknown.NULL else why
        if number is None or why is not Unknown.NO or not isinstance(found, Spread):
            out.append(Answer(number, None, None, "computed", source, certified=False))
            reasons |= {why} & set(_BECAUSE)
            continue
        error = float(found.errors[at])
        least = min(0.0, float(number)) if found.nonnegative[at] else -inf  # what is shown lies in its interval
        interval = max(number - error, least), number + error
        out.append(Answer(number, error, interval, "computed", source, certified=False))
    return tuple(out), reasons


def _why(value: object, found: Spread | Unknown | None, row: int) -> Unknown:
    """Why a cell has no error; ``Unknown.NO`` when it has one."""
    if value is None:
        return Unknown.NULL
    if not isfinite(value):  # type: ignore[arg-type]
        return Unknown.DENOMINATOR
    match found:
        case None:
            return Unknown.WORK
        case Unknown():
            return found
        case Spread():
            return Unknown(int(found.unknown[row]))


def _labels_note(names: Sequence[str]) -> Note:
    verb = "depends" if len(names) == 1 else "depend"
    text = f"{', '.join(names)} {verb} on released numbers and can differ where these are off"
    return Note("computed", text)
