"""What a hard round measures once its record is durable: its query's scope, with noise. The caller releases it.

A whole contingency costs what one count costs, so the round that a wrong answer forces teaches the model its scope.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf, prod
from typing import Any

import numpy as np

from dpsql.first import Bench
from dpsql.first.payload import ANSWER, CONTINGENCY, ONE_COUNT, UPDATE, encode_measurement, encode_measurements
from dpsql.hypothesis import Axis, Measurement, TableModel
from dpsql.planning.measured_axes import MOST_PARTS, hard_round_axes
from dpsql.private import Private
from dpsql.query import Counts, Crosstab, Key, LinearQuery, most_counted, sort_key
from dpsql.session.model.beside_model import is_weighed
from dpsql.session.table_state import TableState

MOST_WAITING = 2048
MANY_KEYS = 8
"""Where a first touch or the owner's word teaches the keys, a question that lists more of them is paid as one count: a
sum over its keys would add up their noise."""

Reading = tuple[int, float]
"""``(value, sd)`` in counts."""
Found = Callable[[Sequence[LinearQuery]], list[Reading | None]]
"""For each of some queries of one outline its reading where a hard round determines it, else ``None``."""


class HardRound:
    """Draws the noise of hard rounds; every measurement is paid for by the plan's ``measure_cost``.

    A vector of keys costs the same however many keys it has: a row is in one of them. So a hard round on strings also
    measures those that were asked for before and were never measured (at most 2,048 that wait, the latest).
    """

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._waiting: dict[tuple[str, tuple[str, ...]], dict[Key, None]] = {}

    def note(self, model: TableModel, query: LinearQuery) -> None:
        """Remember the keys of a question that no measurement knows yet."""
        keyed = query.keyed
        if keyed is None or model.construction is not None:
            return
        waiting = self._waiting.setdefault((query.table, keyed.text_columns), {})
        sparse = model.sparse(keyed.text_columns)
        for key in keyed.strings:
            if not sparse.knows(key):
                waiting[key] = None
        while len(waiting) > MOST_WAITING:
            del waiting[next(iter(waiting))]

    def measure(
        self, state: TableState, model: TableModel, query: LinearQuery, same: Sequence[LinearQuery]
    ) -> tuple[dict[str, Any], Found]:
        """A release's payload, and what in it determines ``query`` and ``same`` (of equal shape)."""
        if model.construction is not None:
            return self._update(state, model, query)
        if query.is_by_value and query.keyed is not None:
            return self._listed(state, model, query, same)
        if query.is_by_value:
            summed = self._sums(query, same, state.plan.net.sigma)
            return encode_measurement(ANSWER, summed), partial(_read, summed)
        if query.keyed is None:
            sigma = self._half(state)
            coarse = model.hypothesis.coarse_axes(query.scope, float(sigma))
            alone = state.plan.rules.rounds_beside and is_weighed(query, same)
            if coarse is not None and (alone or prod(a.size for a in coarse) > MOST_PARTS):  # two of each are too many
                return self._one_answer(query, same, state.plan.net.sigma)
            if coarse is not None:
                payload, measurement = self._in_two(query, same, coarse, sigma)
                return payload, partial(_read, measurement)
        many = query.keyed is not None and len(query.keyed.strings) > MANY_KEYS
        learns = bool(state.plan.texts or state.plan.most_rows)
        if many and learns and all(q is query for q in same):
            return self._many_keys(state, model, query)
        measurement = self._scope(state, model, query, same, state.plan.net.sigma)
        return encode_measurement(CONTINGENCY, measurement), partial(_read, measurement)

    def _update(self, state: TableState, model: TableModel, query: LinearQuery) -> tuple[dict[str, Any], Found]:
        """The answer to the one query, as in the papers: it answers, and the construction is updated with it."""
        sigma = state.plan.net.sigma
        value = self.value(query).map(lambda n: np.array(n, dtype=np.int64))
        released = replace(self._bench.measured(value, sigma, query.table), query=model.by_cells(query))
        found = int(released.values), float(sigma)
        return encode_measurement(UPDATE, released), partial(_only, query, found)

    def _listed(
        self, state: TableState, model: TableModel, query: LinearQuery, same: Sequence[LinearQuery]
    ) -> tuple[dict[str, Any], Found]:
        """The query and ``same``, each as one number, at the price of one where a row counts in one of them at most.

        Half of the precision measures their cells, which stay in the model, where not all strings have any.
        """
        asked, bench, cost = {q.digest: q for q in (query, *same)}, self._bench, self._bench.plan.measure_cost
        learns = not self._knows_cells(model, query, list(asked.values()))
        times, spent = most_counted(list(asked.values())), cost // 2 if learns else cost
        sigma = state.plan.net.sigma
        if times > 1 or learns:
            sigma = bench.plan.release_sigma(spent, times * state.plan.l2_squared)
        values = [self.value(q).map(lambda n: np.array(n, dtype=np.int64)) for q in asked.values()]
        measured = [bench.measured(value, sigma, query.table) for value in values]
        found = {digest: (int(m.values), float(sigma)) for digest, m in zip(asked, measured, strict=True)}
        payloads = [(ONE_COUNT, m) for m in measured]
        if learns:
            payloads.append((CONTINGENCY, self._scope(state, model, query, same, self._half(state))))
        payload = encode_measurement(*payloads[0]) if len(payloads) == 1 else encode_measurements(payloads)
        return payload, partial(_of_digest, found)

    def _knows_cells(self, model: TableModel, query: LinearQuery, asked: Sequence[LinearQuery]) -> bool:
        """Whether a first touch, or an earlier round, has counted all strings of these by their one finite column."""
        keyed = query.keyed
        if keyed is None or len(query.scope) > 1:
            return False
        sparse = model.sparse(keyed.text_columns)
        return all(sparse.has_cells(key, query.scope) for q in asked if q.keyed for key in q.keyed.strings)

    def _many_keys(self, state: TableState, model: TableModel, query: LinearQuery) -> tuple[dict[str, Any], Found]:
        """Half of the precision answers the query as one count, half measures its keys."""
        sigma = self._half(state)
        value = self.value(query).map(lambda n: np.array(n, dtype=np.int64))
        answering = self._bench.measured(value, sigma, query.table)
        kept = self._scope(state, model, query, (), sigma)
        payload = encode_measurements([(ONE_COUNT, answering), (CONTINGENCY, kept)])
        found = int(answering.values), float(sigma)
        return payload, partial(_only, query, found)

    def _half(self, state: TableState) -> Fraction:
        """The noise of two Gaussian releases that share a round's measurement evenly."""
        # half the cost each (docs/privacy.md, step 3 and composition)
        plan = self._bench.plan
        return plan.release_sigma(plan.measure_cost // 2, state.plan.l2_squared)

    def value(self, query: LinearQuery) -> Private[int]:
        """``floor(q(D))``, in counts: what a test or one count is about. Not released."""
        if query.value is not None:
            return self._bench.floor_of_sum(query)
        if query.keyed is not None:
            return self._bench.floor_of_listed(query)
        return self.floors([query]).map(lambda floors: int(floors[0]))

    def floors(self, queries: Sequence[LinearQuery]) -> Private[Counts]:
        """``value`` of each of these counts of finite columns; int64, shape (queries,). Not released."""
        return self._bench.floors(queries)

    def counts_at_once(self, queries: Sequence[LinearQuery]) -> bool:
        """Whether these queries of one outline are counts over a grid, which are looked at together."""
        first = queries[0]
        return first.value is None and first.keyed is None and self._bench.counts_at_once(queries)

    def values(self, queries: Sequence[LinearQuery]) -> Iterator[Private[int]]:
        """``value`` of each of these queries of one outline, none before the first is wanted: counts over a grid are
        then made all at once."""
        if not self.counts_at_once(queries):
            yield from map(self.value, queries)
            return
        floors = self.floors(queries)
        yield from (floors.map(partial(_number, i)) for i in range(len(queries)))

    def _scope(
        self, state: TableState, model: TableModel, query: LinearQuery, same: Sequence[LinearQuery], sigma: Fraction
    ) -> Measurement:
        """Every part of the query's scope."""
        axes = hard_round_axes(query, same, model.row_count, float(sigma), state.plan.bound)
        keyed = query.keyed
        text: tuple[str, ...] = ()
        keys: tuple[Key, ...] = ()
        if keyed is not None:
            text, keys = keyed.text_columns, _all_keys(query, same)
            if not axes:
                waiting = self._waiting.pop((query.table, text), {})
                unknown = (k for k in waiting if not model.sparse(text).knows(k))
                keys = tuple(sorted({*keys, *unknown}, key=sort_key))
        return self._parts(query.table, axes, sigma, text, keys)

    def _sums(self, query: LinearQuery, same: Sequence[LinearQuery], sigma: Fraction) -> Measurement:
        """The sums of values, or the rows in intervals of them, on the coarsest parts that answer all these queries."""
        axes = hard_round_axes(query, same, 0.0, float(sigma), 0.0)
        table, value, intervals, bench = query.table, query.value, query.intervals, self._bench
        if value is None:
            parts = bench.counted(table, axes, intervals=intervals)
            return bench.measured(parts, sigma, table, axes, intervals=intervals)
        return bench.measured_sums(bench.shares(table, axes, value, intervals), sigma, table, axes, value, intervals)

    def _one_answer(
        self, query: LinearQuery, same: Sequence[LinearQuery], sigma: Fraction
    ) -> tuple[dict[str, Any], Found]:
        """All of the precision answers the query; nothing of it stays in the model."""
        answering = self._told_apart(query, same, sigma)
        return encode_measurement(ANSWER, answering), partial(_read, answering)

    def _told_apart(self, query: LinearQuery, same: Sequence[LinearQuery], sigma: Fraction) -> Measurement:
        return self._parts(query.table, hard_round_axes(query, same, 0.0, float(sigma), 0.0), sigma)

    def _in_two(
        self, query: LinearQuery, same: Sequence[LinearQuery], coarse: tuple[Axis, ...], sigma: Fraction
    ) -> tuple[dict[str, Any], Measurement]:
        """Half of the precision answers the query, half measures coarse parts of its scope, which stay in the model."""
        answering = self._told_apart(query, same, sigma)
        kept = self._parts(query.table, coarse, sigma)
        return encode_measurements([(ANSWER, answering), (CONTINGENCY, kept)]), answering

    def _parts(
        self,
        table: str,
        axes: tuple[Axis, ...],
        sigma: Fraction,
        text: tuple[str, ...] = (),
        keys: tuple[Key, ...] = (),
    ) -> Measurement:
        parts = self._bench.counted(table, axes, text, keys)
        return self._bench.measured(parts, sigma, table, axes, text, keys)


def _all_keys(query: LinearQuery, siblings: Sequence[LinearQuery]) -> tuple[Key, ...]:
    keys = {k for q in (query, *siblings) if q.keyed is not None for k in q.keyed.strings}
    return tuple(sorted(keys, key=sort_key))


def _read(measurement: Measurement, queries: Sequence[LinearQuery]) -> list[Reading | None]:
    values, sds = measurement.answers(Crosstab.of(queries))
    return [None if sd == inf else (value, sd) for value, sd in zip(values.tolist(), sds.tolist(), strict=True)]


def _only(query: LinearQuery, found: Reading, queries: Sequence[LinearQuery]) -> list[Reading | None]:
    return [found if q is query else None for q in queries]


def _of_digest(found: Mapping[str, Reading], queries: Sequence[LinearQuery]) -> list[Reading | None]:
    return [found.get(q.digest) for q in queries]


def _number(place: int, counts: Counts) -> int:
    return int(counts[place])
