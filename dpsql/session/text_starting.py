"""The first touch of a text column: its frequent keys are selected, then counted with noise of their own."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dpsql.accounting import Plan
from dpsql.engine.protocol import Engine
from dpsql.errors import InternalError
from dpsql.hypothesis import Axis, Measurement
from dpsql.ledger.protocol import Ledger
from dpsql.mechanism import Entropy, measure, select_keys
from dpsql.query import Counts, Key
from dpsql.session.payload import CONTINGENCY, DISTINCT, KEYS, encode_measurements
from dpsql.session.starting import Starter, Step
from dpsql.session.table_state import TableState
from dpsql.session.text_plan import HEAVY, TextStart
from dpsql.session.text_progress import TextProgress

PURPOSE = TextProgress.purpose


class TextStarter:
    """Releases what the plan says of a text column before its first answer."""

    def __init__(
        self,
        plan: Plan,
        engine: Engine,
        ledger: Ledger,
        entropy: Entropy,
        starter: Starter,
        delta_spent: Callable[[], Fraction],
    ) -> None:
        self._delta_spent = delta_spent
        self._plan = plan
        self._engine = engine
        self._ledger = ledger
        self._entropy = entropy
        self._starter = starter

    def run(self, state: TableState, text_columns: tuple[str, ...]) -> float:
        """Make the first touch of a lone text column if nobody has; what that charged, in epsilon.

        Tuples of several text columns have none. OperationalError when another session takes too long over the same.
        """
        texts = state.texts
        if texts is None or len(text_columns) != 1:
            return 0.0
        (column,) = text_columns

        def next_step() -> Step | None:
            start = texts.pending(column)
            return None if start is None else Step(start.units, lambda: self._touch(state.table.name, texts, start))

        return self._starter.run(state.table.name, next_step, lambda: texts.others_at_work(column))

    def _touch(self, table: str, texts: TextProgress, start: TextStart) -> float:
        """One reservation and its release; what was charged, 0.0 when another session was faster."""
        found = self._engine.key_counts(table, start.column)
        payload = {"purpose": PURPOSE, "table": table, "columns": [[start.column]], "delta": str(start.delta)}
        reservation = self._starter.reserve_first(start.units, payload, texts.opened_before)
        if reservation is None:
            return 0.0
        if self._delta_spent() > self._plan.delta_purse:  # the shares in the code are no longer the ledger's
            self._ledger.free(reservation)
            raise InternalError("the ledger's delta does not cover this selection of keys", hint="ask without it")
        text = (start.column,)
        with self._ledger.drawing(reservation):
            shown = select_keys(found, start.select_sigma, start.threshold, self._entropy)
            number = found.map(lambda f: np.array(len(f.keys), dtype=np.int64))
            distinct = measure(number, start.distinct_sigma, self._entropy)
            keys: tuple[Key, ...] = (*((k,) for k in shown), (None,))
            counts = measure(self._engine.keyed_counts(table, text, keys, ()), start.count_sigma, self._entropy)
            released = [
                (DISTINCT, Measurement(table, (), distinct, float(start.distinct_sigma), text)),
                (KEYS, Measurement(table, (), counts, float(start.count_sigma), text, keys)),
            ]
            released += self._pairs(table, start, keys, counts)
            self._ledger.release(reservation, encode_measurements(released))
        self._starter.follow()
        return self._plan.epsilon_share(start.units)

    def _pairs(
        self, table: str, start: TextStart, keys: tuple[Key, ...], counts: Counts
    ) -> list[tuple[str, Measurement]]:
        """The keys that the released counts show to be heavy, by each finite column."""
        least = HEAVY * float(start.pair_sigma)
        heavy = tuple(key for key, count in zip(keys, counts.tolist(), strict=True) if count >= least)
        out = []
        for column in start.paired if heavy else ():
            private = self._engine.keyed_counts(table, (start.column,), heavy, (column,))
            cells = measure(private, start.pair_sigma, self._entropy)
            axis = Axis.cells((column,), cells.shape[1:])
            found = Measurement(table, (axis,), cells, float(start.pair_sigma), (start.column,), heavy)
            out.append((CONTINGENCY, found))
        return out
