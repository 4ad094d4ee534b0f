"""Noise for one question alone: reserve, draw, release; no test.

Where the plan foresees few questions, each gets an equal share of the budget, for no model is worth what it costs.
Beside local models some are kept back: spare releases, for questions that a model's pairs of columns say too little of.
"""

from collections.abc import Callable, Mapping, Sequence
from math import hypot, inf
from typing import Any

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.errors import InternalError
from dpsql.first import Bench, Turns
from dpsql.first.payload import CONTINGENCY, ONE_COUNT, RESIDUAL, SEVERAL, encode_measurement
from dpsql.first.payment import Drawn, pay
from dpsql.hypothesis import Measurement
from dpsql.planning.measured_axes import own_axes, own_sd
from dpsql.planning.table_plan import Share
from dpsql.private import together
from dpsql.query import Counts, LinearQuery
from dpsql.result import Answer
from dpsql.session.answers import completed, from_measurement, with_charge
from dpsql.session.own.by_value.about_middle import beside_told, from_middle
from dpsql.session.own.by_value.measured_beside import BESIDE
from dpsql.session.own.in_common import are_alike, moved_together
from dpsql.session.own.own_noise import LISTED_TIMES, Part
from dpsql.session.own.residual import Residual
from dpsql.session.own.weighing import weighed
from dpsql.session.table_state import TableState

KEPT_CELLS = 1 << 16
"""The partition of a larger grid is not kept with the spare release of one question."""
LESSONS = ("columns", "lessons")
"""What a residual's payload says beside its measurement, of a question that is released alone."""
PURPOSE, SPARE = "question", "spare"
"""Of reservations: for one of the planned questions, or for one that a model could answer badly."""


def release_own(
    state: TableState,
    queries: Sequence[LinearQuery],
    bench: Bench,
    turns: Turns,
    charged: float = 0.0,
    *,
    spare: bool = False,
) -> list[Answer] | None:
    """Answers to queries of one outline from one new release, the first of them with its charge and ``charged``.

    ``None`` when nothing was released: no question is left, or another session has just released a table that answers
    them all, or asked the same.
    """
    table = queries[0].table
    share = state.own.spare_share(queries) if spare else state.plan.question
    payload: dict[str, Any] = {"purpose": PURPOSE, "table": table, "burn": share.units}
    if spare:
        payload |= {"purpose": SPARE, "spares": state.own.spares_for(queries), **state.own.said(queries)}
    for q in queries:
        q.check_sensitivity()
    if queries[0].keyed is not None:
        draw = _listed(state, queries[0], bench, share)
    else:
        parts, certain = state.own.parts(queries, spare=spare), state.plan.certain_of(len(queries))
        draws = [_part(state, part, bench, spare, certain) for part in parts]
        draw = draws[0] if len(parts) == 1 else _one_by_one(queries, parts, draws)

    def reserve() -> int | None:
        reservation = turns.reserve_beside(share.units, payload)
        if spare and reservation is not None:
            state.own.told()
        return reservation

    def is_late(_: int) -> bool:
        if spare and state.own.spares_left() < 0:
            return True
        return all(bench.ledger.lookup(q.digest) or state.measured(q) for q in queries)

    def drawn() -> Drawn:
        answers, released = draw({})
        answers = with_charge(answers, charged + bench.plan.as_epsilon(share.units))
        return Drawn(released, [(q.digest, a) for q, a in zip(queries, answers, strict=True)])

    paid = pay(share.units, bench, turns, reserve, is_late, drawn)
    return None if paid is None else [answer for _, answer in paid.answers]


_Draw = Callable[[Mapping[str, Answer]], tuple[list[Answer], dict[str, Any]]]
"""Adds the noise: answers and what is released, beside what was drawn before in the same release, by digest. Only under
a reservation that pays for it."""


def _part(state: TableState, part: Part, bench: Bench, spare: bool, certain: float) -> _Draw:
    if part.alone:
        return _alone(state, part, bench, certain)
    if part.residual is None:
        return _whole(state, part, bench, spare, certain)
    return _rest(state, part.residual, part.units, bench, None if spare else certain)


def _one_by_one(queries: Sequence[LinearQuery], parts: Sequence[Part], draws: Sequence[_Draw]) -> _Draw:
    """All parts in one release, each paid with its own units of it: costs add up."""

    def draw(_: Mapping[str, Answer]) -> tuple[list[Answer], dict[str, Any]]:
        told: dict[str, Answer] = {}
        payloads = []
        for part, one in zip(parts, draws, strict=True):
            answers, payload = one(told)
            told |= zip([q.digest for q in part.queries], answers, strict=True)
            payloads.append(payload)
        beside = [names for payload in payloads for names in payload.get(BESIDE, ())]
        kept = [{k: v for k, v in payload.items() if k not in (*LESSONS, BESIDE)} for payload in payloads]
        released = {"kind": SEVERAL, "measurements": kept} | ({BESIDE: beside} if beside else {})
        return [told[query.digest] for query in queries], released

    return draw


def _whole(state: TableState, part: Part, bench: Bench, spare: bool, certain: float) -> _Draw:
    """The parts that the queries tell apart, counted; a failure is free."""
    queries = part.queries
    first, axes = queries[0], own_axes(queries)
    table, value, intervals = first.table, first.value, first.intervals
    if value is None:
        counts = bench.counted(table, axes, intervals=intervals)
    else:
        counts = bench.shares(table, axes, value, intervals)
    sigma = bench.plan.release_sigma(part.units, state.plan.l2_squared)

    def draw(_: Mapping[str, Answer]) -> tuple[list[Answer], dict[str, Any]]:
        if value is None:
            measurement = bench.measured(counts, sigma, table, axes, intervals=intervals)
        else:
            measurement = bench.measured_sums(counts, sigma, table, axes, value, intervals)
        answers = _answers(measurement, queries, certain)
        if spare:
            return answers, _of_spare(measurement, queries)
        if state.plan.rules.in_common and are_alike(queries):
            answers = moved_together(answers, [own_sd([q], float(sigma)) for q in queries])
        return answers, encode_measurement(CONTINGENCY, measurement)

    return draw


def _alone(state: TableState, part: Part, bench: Bench, certain: float) -> _Draw:
    """Sums of values, in whole rows: a row is in one of them at most, and changes it by one at most, as it does a
    count."""
    rows = [bench.floor_of_sum(q).map(lambda found: np.array(found, dtype=np.int64)) for q in part.queries]
    sigma = bench.plan.release_sigma(part.units, state.plan.l2_squared)

    def draw(_: Mapping[str, Answer]) -> tuple[list[Answer], dict[str, Any]]:
        measured = [bench.measured(each, sigma, state.plan.name) for each in rows]
        both = zip(part.queries, measured, strict=True)
        answers = [from_measurement(q, int(m.values), float(sigma), certain) for q, m in both]
        payloads = [encode_measurement(ONE_COUNT, m) for m in measured]
        return answers, payloads[0] if len(payloads) == 1 else {"kind": SEVERAL, "measurements": payloads}

    return draw


def _listed(state: TableState, query: LinearQuery, bench: Bench, share: Share) -> _Draw:
    """Twice the rows of the listed strings, less all rows: what the row count leaves open, weighed with the model."""
    table = state.plan.name
    known, model, bar = state.rows_known(), state.model, state.error_bar(query)
    if known is None or model is None:
        raise InternalError("strings are listed of a table whose rows were never counted")
    inside = bench.floor_of_listed(query)
    whole = bench.engine.contingency(table, ())
    rest = together([inside.map(int), whole.map(int)]).map(_inside_less_outside)
    sigma = bench.plan.release_sigma(share.units, state.plan.weighted_l2_squared(-1, 1))
    sd = inf if bar is None else bar / DEVIATIONS / LISTED_TIMES
    modelled, unsure = np.full(1, model.estimate(query)), np.full(1, sd)

    def draw(_: Mapping[str, Answer]) -> tuple[list[Answer], dict[str, Any]]:
        measurement = bench.measured(rest, sigma, table)
        measured = np.full(1, (float(measurement.values) + known[0]) / 2.0)
        noise = np.full(1, hypot(float(sigma), known[1]) / 2.0)
        (estimate,), (error,) = weighed(measured, noise, modelled, unsure)
        payload = encode_measurement(RESIDUAL, measurement) | {"columns": 0, "lessons": []}
        return [completed(float(estimate), float(error))], payload

    return draw


def _inside_less_outside(rows: tuple[int, ...]) -> Counts:
    inside, whole = rows
    return np.array(2 * inside - whole, dtype=np.int64)


def _rest(state: TableState, residual: Residual, units: int, bench: Bench, certain: float | None) -> _Draw:
    """What released estimates leave open of the queries, counted; its noise is scaled to what a row can change.

    ``certain``: sds of the certified bound, where noise is all that the estimates are off by.
    """
    table, axes = state.plan.name, residual.axes[: residual.leading]
    counts = residual.counted(bench)
    change = state.plan.weighted_l2_squared(residual.low, residual.high)
    sigma, times = bench.plan.release_sigma(units, change), state.misfit.times(len(residual.queries[0].touched))
    rules = state.plan.rules
    learns = rules.variances and residual.stretch is None
    variance = state.misfit.variance if learns and certain is None else None

    def draw(told: Mapping[str, Answer]) -> tuple[list[Answer], dict[str, Any]]:
        measurement = bench.measured(counts, sigma, table, axes)
        whole = beside_told(residual, told)
        found = whole.found(measurement)
        lessons_told = found.lessons(times, own=learns) if residual.stretch is None else []
        lessons: dict[str, Any] = dict(zip(LESSONS, (found.columns, lessons_told), strict=True))
        if whole.beside:
            lessons[BESIDE] = [from_middle(whole, measurement).payload]
        answers = found.answers(mixed=rules.mixed, variance=variance, times=times)
        shown = [completed(*a, certain, fractional=found.fractional, fine=rules.fine) for a in answers]
        return shown, encode_measurement(RESIDUAL, measurement) | lessons

    return draw


def _answers(measurement: Measurement, queries: Sequence[LinearQuery], certain: float) -> list[Answer]:
    answers = []
    for query in queries:
        found = measurement.answer(query)
        if found is None:
            raise InternalError("a release that does not determine its own query")
        answers.append(from_measurement(query, *found, certain))
    return answers


def _of_spare(measurement: Measurement, queries: Sequence[LinearQuery]) -> dict[str, Any]:
    """What is kept of a spare release beside its answers. No model is fitted to it, which would have to be as fine as
    all of them together, and it is too noisy to answer others. One question's parts of a large grid are left out.
    """
    found = measurement.answer(queries[0]) if len(queries) == 1 else None
    if found is not None and sum(a.labels.size for a in measurement.axes) > KEPT_CELLS:
        value, sd = found
        measurement = Measurement(measurement.table, (), np.array(value, dtype=np.int64), sd)
    return encode_measurement(ONE_COUNT, measurement)
