"""Noise for each question alone, where the plan foresees few questions: reserve, draw, release; no test.

For some hundred questions no model is worth what it costs; each gets an equal share of the budget instead.
"""

from collections.abc import Sequence

from dpsql.errors import InternalError
from dpsql.first import Bench, Turns
from dpsql.first.payload import CONTINGENCY, encode_measurement
from dpsql.hypothesis import Measurement
from dpsql.ledger import interrupts_held
from dpsql.planning.measured_axes import own_axes
from dpsql.query import LinearQuery
from dpsql.result import Answer
from dpsql.session.answers import from_measurement, with_charge
from dpsql.session.table_state import TableState

PURPOSE = "question"


def release_own(
    state: TableState, queries: Sequence[LinearQuery], bench: Bench, turns: Turns, charged: float = 0.0
) -> list[Answer] | None:
    """Answers to queries of one outline from one new release, the first of them with its charge and ``charged``.

    ``None`` when nothing was released: no question is left, or another session has just released what answers them all.
    """
    table, share, ledger = queries[0].table, state.plan.question, bench.ledger
    for q in queries:
        q.check_sensitivity()
    axes = own_axes(queries)
    value = queries[0].value
    counts = bench.counted(table, axes) if value is None else bench.summed(table, axes, value)  # a failure is free
    with interrupts_held():
        reservation = turns.reserve_beside(share.units, {"purpose": PURPOSE, "table": table, "burn": share.units})
        if reservation is None:
            return None
        turns.follow()
        if all(state.measured(q) is not None for q in queries):
            ledger.free(reservation)
            return None
        with ledger.drawing(reservation):
            measurement = bench.measured(counts, share.sigma, table, axes, value=value)
            answers = with_charge(
                _answers(measurement, queries, state.plan.certain), charged + bench.plan.as_epsilon(share.units)
            )
            payload = encode_measurement(CONTINGENCY, measurement)
            ledger.release(reservation, payload, [(q.digest, a) for q, a in zip(queries, answers, strict=True)])
            bench.paid.units += share.units
    turns.follow()
    return answers


def _answers(measurement: Measurement, queries: Sequence[LinearQuery], certain: float) -> list[Answer]:
    answers = []
    for query in queries:
        found = measurement.answer(query)
        if found is None:
            raise InternalError("a release that does not determine its own query")
        answers.append(from_measurement(query, *found, certain))
    return answers
