"""What a hard round measures once its record is durable: its query's scope, with noise. The caller releases it."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpsql.accounting import Plan
from dpsql.engine.protocol import Engine
from dpsql.hypothesis import Axis, Measurement, TableModel, WideHypothesis, coarsen
from dpsql.mechanism import Entropy, measure
from dpsql.policy import Policy
from dpsql.query import Key, LinearQuery, sort_key
from dpsql.session.payload import ANSWER, CONTINGENCY, encode_measurement, encode_measurements
from dpsql.session.planning import contingency_l2_squared
from dpsql.session.table_state import TableState, measurement_axes

MOST_WAITING = 2048


class Measurer:
    """Draws the noise of hard rounds; every measurement is paid for by the plan's ``measure_cost``.

    A vector of keys costs the same however many keys it has: a row is in one of them. So a hard round on strings also
    measures those that were asked for before and were never measured (at most 2,048 that wait, the latest).
    """

    def __init__(self, policy: Policy, plan: Plan, engine: Engine, entropy: Entropy) -> None:
        self._policy = policy
        self._plan = plan
        self._engine = engine
        self._entropy = entropy
        self._waiting: dict[tuple[str, tuple[str, ...]], dict[Key, None]] = {}

    def note(self, model: TableModel, query: LinearQuery) -> None:
        """Remember the keys of a question that no measurement knows yet."""
        keyed = query.keyed
        if keyed is None:
            return
        waiting = self._waiting.setdefault((query.table, keyed.text_columns), {})
        sparse = model.sparse(keyed.text_columns)
        for key in keyed.keys:
            if not sparse.knows(key):
                waiting[key] = None
        while len(waiting) > MOST_WAITING:
            del waiting[next(iter(waiting))]

    def measure(
        self, state: TableState, model: TableModel, query: LinearQuery, same: Sequence[LinearQuery]
    ) -> tuple[dict[str, Any], Measurement]:
        """A release's payload, and the measurement in it that determines ``query`` and ``same`` (of equal shape)."""
        if state.warmed(query) and isinstance(model.dense, WideHypothesis):
            return self._wide(state, model.dense, query, same)
        return self._scope(state, model, query, same)

    def _scope(
        self, state: TableState, model: TableModel, query: LinearQuery, same: Sequence[LinearQuery]
    ) -> tuple[dict[str, Any], Measurement]:
        """Every part of the query's scope, with the whole precision of the round."""
        sigma = state.net.sigma
        axes = measurement_axes(query, same, model.total, float(sigma), state.bound)
        keyed = query.keyed
        text: tuple[str, ...] = ()
        keys: tuple[Key, ...] = ()
        if keyed is not None:
            text, keys = keyed.text_columns, _all_keys(query, same)
            if not axes:
                waiting = self._waiting.pop((query.table, text), {})
                unknown = (k for k in waiting if not model.sparse(text).knows(k))
                keys = tuple(sorted({*keys, *unknown}, key=sort_key))
        measurement = self._parts(query.table, axes, sigma, text, keys)
        return encode_measurement(CONTINGENCY, measurement), measurement

    def _wide(
        self, state: TableState, model: WideHypothesis, query: LinearQuery, same: Sequence[LinearQuery]
    ) -> tuple[dict[str, Any], Measurement]:
        """Half of the precision answers the query, half measures coarse parts of its scope, which stay in the model."""
        # two Gaussian releases of half the cost each (docs/privacy.md, step 3 and composition)
        sigma = self._plan.release_sigma(
            self._plan.measure_cost // 2, contingency_l2_squared(self._policy, state.table)
        )
        answering = self._parts(query.table, measurement_axes(query, same, 0.0, float(sigma), 0.0), sigma)
        kept = self._parts(query.table, model.coarse_axes(query.scope, float(sigma)), sigma)
        return encode_measurements([(ANSWER, answering), (CONTINGENCY, kept)]), answering

    def _parts(
        self,
        table: str,
        axes: tuple[Axis, ...],
        sigma: Fraction,
        text: tuple[str, ...] = (),
        keys: tuple[Key, ...] = (),
    ) -> Measurement:
        scope = tuple(c for a in axes for c in a.columns)
        counts = self._engine.keyed_counts(table, text, keys, scope) if text else self._engine.contingency(table, scope)
        parts = counts.map(lambda c: np.asarray(coarsen(c, axes, bool(text)), dtype=np.int64))
        return Measurement(table, axes, measure(parts, sigma, self._entropy), float(sigma), text, keys)


def _all_keys(query: LinearQuery, siblings: Sequence[LinearQuery]) -> tuple[Key, ...]:
    keys = {k for q in (query, *siblings) if q.keyed is not None for k in q.keyed.keys}
    return tuple(sorted(keys, key=sort_key))
