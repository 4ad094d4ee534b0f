"""Noise for each question alone, where the plan foresees few questions: reserve, draw, release; no test."""

from collections.abc import Sequence
from math import ceil

from dpsql.accounting import Plan
from dpsql.engine.protocol import Engine
from dpsql.errors import InternalError
from dpsql.hypothesis import Measurement, TableModel
from dpsql.ledger.protocol import Ledger
from dpsql.mechanism import Entropy, measure
from dpsql.policy import Policy
from dpsql.query import LinearQuery
from dpsql.result import Answer
from dpsql.session.answers import from_measurement, untested
from dpsql.session.parts import counted_parts
from dpsql.session.payload import CONTINGENCY, encode_measurement
from dpsql.session.planning import question_cost
from dpsql.session.starting import Starter
from dpsql.session.table_state import TableState, own_axes

PURPOSE = "question"


class Payer:
    """Releases the parts that queries of one shape need, each with an equal share of the budget."""

    def __init__(
        self,
        policy: Policy,
        plan: Plan,
        engine: Engine,
        ledger: Ledger,
        entropy: Entropy,
        starter: Starter,
    ) -> None:
        self._plan = plan
        self._engine = engine
        self._ledger = ledger
        self._entropy = entropy
        self._starter = starter
        self._cost = question_cost(plan, policy)

    def pay(self, state: TableState, queries: Sequence[LinearQuery]) -> list[Answer] | None:
        """Answers from one new release, the first of them with its charge; ``None`` when nothing was released.

        That is when no question is left, or when another session has just released what answers all queries.
        """
        query, sigma = queries[0], state.own_sigma
        for q in queries:
            q.check_sensitivity()
        axes = own_axes(queries)
        counts = counted_parts(self._engine, query.table, axes)  # an engine that fails charges nothing
        payload = {"purpose": PURPOSE, "table": query.table, "burn": self._cost}
        reservation = self._starter.reserve_beside(self._cost, payload)
        if reservation is None:
            return None
        self._starter.follow()
        if all(state.measured(q) is not None for q in queries):
            self._ledger.free(reservation)
            return None
        with self._ledger.drawing(reservation):
            measurement = Measurement(query.table, axes, measure(counts, sigma, self._entropy), float(sigma))
            answers = self._answers(measurement, queries)
            payload = encode_measurement(CONTINGENCY, measurement)
            self._ledger.release(reservation, payload, [(q.key, a) for q, a in zip(queries, answers, strict=True)])
        self._starter.follow()
        return answers

    def _answers(self, measurement: Measurement, queries: Sequence[LinearQuery]) -> list[Answer]:
        answers, charged = [], self._plan.epsilon_share(self._cost)
        for query in queries:
            found = measurement.answer(query)
            if found is None:
                raise InternalError("a release that does not determine its own query")
            answers.append(from_measurement(query, *found, charged=charged))
            charged = 0.0  # one release, one charge
        return answers


def unpaid(state: TableState, model: TableModel, query: LinearQuery) -> Answer:
    """When no question is left: a measurement that says anything, whatever its noise, else the bare model."""
    found = state.measured(query) or model.measured(query)
    return untested(query, round(model.estimate(query)), found, ceil(model.total), 0.0)
