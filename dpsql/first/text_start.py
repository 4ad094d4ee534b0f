"""The first touch of a text column: its frequent keys are selected, then counted with noise of their own.

The fold over the ledger's events comes first; below it stands what draws noise. A selection spends delta, so it is made
once for good: its reservation, once opened and not freed, counts as spent.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from dpsql.domain import TableDomain
from dpsql.errors import InternalError
from dpsql.first.bench import Bench
from dpsql.first.payload import CONTINGENCY, DISTINCT, KEYS, encode_measurements
from dpsql.first.touch import Columns, FirstTouch
from dpsql.first.turns import Step, Turns
from dpsql.hypothesis import Axis, Measurement
from dpsql.mechanism import select_keys
from dpsql.planning import TablePlan, TextStart
from dpsql.planning.strings import HEAVY
from dpsql.query import Counts, Key


class TextStarts(FirstTouch):
    """The first touches of one table's text columns: made, under way in some session, or lost with a reservation.

    A first touch is made once for good: its delta is spent when its reservation is opened and not freed. Tables without
    any have an empty one. Public.
    """

    purpose = "text start"

    def __init__(self, plan: TablePlan) -> None:
        super().__init__()
        self.plan = plan
        self.starts = plan.texts
        self._shown: dict[str, Measurement] = {}
        self._gone: set[str] = set()

    @property
    def planned_units(self) -> int:
        return sum(start.units for start in self.starts.values())

    def _learn(self, measurements: Sequence[Measurement]) -> None:
        for keys in measurements:
            if keys.keys and not keys.axes:
                (column,) = keys.text_columns
                self._shown[column] = keys

    def _lose(self, columns: frozenset[Columns]) -> None:
        self._gone.update(column for (column,) in columns if column not in self._shown)

    def _is_done(self, columns: Columns) -> bool:
        (column,) = columns
        return column in self._shown or column in self._gone

    # --- what is left to do ------------------------------------------------------------------------------------

    def others_at_work(self, column: str) -> bool:
        """Whether the column's first touch is under way."""
        return self._is_under_way((column,))

    def unbegun(self, column: str) -> TextStart | None:
        """The column's first touch when nobody has begun it."""
        return None if self._is_begun((column,)) else self.starts.get(column)

    def unbegun_units(self) -> int:
        """Units that stay set aside for first touches that nobody has begun."""
        return sum(start.units for column, start in self.starts.items() if not self._is_begun((column,)))

    def keys(self, column: str) -> tuple[str, ...] | None:
        """The column's released keys, in a fixed order; ``None`` before its first touch. Empty when that was lost."""
        if column in self._shown:
            return tuple(k for (k,) in self._shown[column].keys if k is not None)
        return () if column in self._gone else None


# --- measuring -----------------------------------------------------------------------------------------------------


def measure_strings(
    touch: TextStarts, text_columns: tuple[str, ...], bench: Bench, turns: Turns, delta_spent: Callable[[], Fraction]
) -> float:
    """Make the first touch of a lone text column if nobody has; what that charged, in epsilon.

    Tuples of several text columns have none. ``delta_spent``: what the ledger says of all selections. OperationalError
    when another session takes too long over the same.
    """
    if not touch.starts or len(text_columns) != 1:
        return 0.0
    (column,) = text_columns

    def next_step() -> Step | None:
        start = touch.unbegun(column)
        return None if start is None else Step(start.units, lambda: _measure(touch, start, bench, turns, delta_spent))

    return turns.take(touch.plan.name, next_step, lambda: touch.others_at_work(column))


def _measure(
    touch: TextStarts, start: TextStart, bench: Bench, turns: Turns, delta_spent: Callable[[], Fraction]
) -> float:
    """One reservation and its release; what was charged, 0.0 when another session was faster."""
    table, ledger, text = touch.plan.name, bench.ledger, (start.column,)
    found = bench.engine.key_counts(table, start.column)
    payload = {"purpose": touch.purpose, "table": table, "columns": [[start.column]], "delta": str(start.delta)}
    reservation = turns.reserve_first(start.units, payload, touch.opened_before)
    if reservation is None:
        return 0.0
    if delta_spent() > bench.plan.delta_purse:  # the shares in the code are no longer the ledger's
        ledger.free(reservation)
        raise InternalError("the ledger's delta does not cover this selection of keys", hint="ask without it")
    with ledger.drawing(reservation):
        shown = select_keys(found, start.select_sigma, start.threshold, bench.entropy)
        number = found.map(lambda f: np.array(len(f.keys), dtype=np.int64))
        distinct = bench.measured(number, start.distinct_sigma, table, text=text)
        keys: tuple[Key, ...] = (*((k,) for k in shown), (None,))
        counted = bench.engine.keyed_counts(table, text, keys, ())
        counts = bench.measured(counted, start.count_sigma, table, text=text, keys=keys)
        released = [(DISTINCT, distinct), (KEYS, counts), *_pairs(bench, touch.plan.table, start, keys, counts.values)]
        ledger.release(reservation, encode_measurements(released))
        bench.paid.units += start.units
    turns.follow()
    return bench.plan.as_epsilon(start.units)


def _pairs(
    bench: Bench, table: TableDomain, start: TextStart, keys: tuple[Key, ...], counts: Counts
) -> list[tuple[str, Measurement]]:
    """The keys that the released counts show to be heavy, by each finite column."""
    least, text = HEAVY * float(start.pair_sigma), (start.column,)
    heavy = tuple(key for key, count in zip(keys, counts.tolist(), strict=True) if count >= least)
    out = []
    for column in start.paired if heavy else ():
        private = bench.engine.keyed_counts(table.name, text, heavy, (column,))
        axis = Axis.cells((column,), table.shape((column,)))
        out.append((CONTINGENCY, bench.measured(private, start.pair_sigma, table.name, (axis,), text, heavy)))
    return out
