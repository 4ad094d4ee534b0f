"""The first touch of a text column: its frequent keys are selected, then counted with noise of their own.

The fold over the ledger's events comes first; below it stands what draws noise. A selection spends delta: one that was
lost is made again with a part of what is left of the column's delta, and it never comes to an end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dpsql.errors import InternalError
from dpsql.first.bench import Bench
from dpsql.first.payload import COMPARED, CONTINGENCY, DISTINCT, KEYS, encode_measurements
from dpsql.first.payment import Drawn, pay, pay_first
from dpsql.first.portioned import Portioned
from dpsql.first.touch import Columns, Released
from dpsql.first.turns import Step, Turns
from dpsql.hypothesis import Axis, Measurement
from dpsql.hypothesis.strings.compared import with_compared
from dpsql.ledger.event import Payload
from dpsql.mechanism import compared_counts, drawn_alone, select_keys
from dpsql.planning import TablePlan, TextStart
from dpsql.planning.portions import AT_STAKE, Portion, part_of
from dpsql.planning.strings import Selection
from dpsql.private import Private
from dpsql.query import Counts, Key

COUNTS = ""
"""Beside a text column's name: the counts of its keys. Else a finite column stands beside it; alone it is selected."""


class Compared(NamedTuple):
    """Of a selection that was released: what it compared of the keys that it showed, and its threshold in counts."""

    counts: Measurement
    threshold: int


class TextStarts(Portioned):
    """The first touches of one table's text columns: measured, under way in some session, or missing.

    Of each column, in this order: the selection of its keys with the number of strings and a first portion of their
    counts; the rest of the counts; heavy keys by each finite column. In earlier versions all was one reservation, and
    its selection spent all of delta: lost there, it stays lost. Tables without any have an empty one. Public.
    """

    purpose = "text start"

    def __init__(self, plan: TablePlan) -> None:
        super().__init__()
        self.plan = plan
        self.starts = plan.texts
        self._attempts: dict[int, tuple[str, Payload]] = {}
        self._lost: dict[str, int] = {}
        self._listed: dict[str, tuple[Key, ...]] = {}
        self._hidden: dict[str, float] = {}
        self._compared: dict[str, Compared] = {}
        self._shown: dict[str, Measurement] = {}
        self._gone: set[str] = set()
        self._heavy: dict[str, tuple[Key, ...]] = {}

    # --- the fold ----------------------------------------------------------------------------------------------

    def reserved(self, reservation: int, cost: int, payload: Payload) -> None:
        super().reserved(reservation, cost, payload)
        if "delta" in payload:
            self._attempts[reservation] = payload["columns"][0][0], payload

    def freed(self, reservation: int) -> None:
        super().freed(reservation)
        self._attempts.pop(reservation, None)

    def burnt(self, reservation: int) -> None:
        column, payload = self._attempts.pop(reservation, ("", {}))
        if column and column not in self._listed:
            if "try" in payload:
                self._lost[column] = max(payload["try"], self._lost.get(column, 0))
            else:
                self._gone.add(column)
        super().burnt(reservation)

    def _learn(self, reservation: int, released: Sequence[Released]) -> None:
        if reservation in self._attempts:
            column, payload = self._attempts[reservation]
            if "hidden" in payload:
                self._hidden[column] = payload["hidden"]
            for _, measurement in [one for one in released if one[0] == COMPARED]:
                self._compared[column] = Compared(measurement, payload["threshold"])
        counted = [(kind, measurement) for kind, measurement in released if kind != COMPARED]
        super()._learn(reservation, counted)
        for kind, measurement in counted:
            if kind == KEYS:
                (column,) = measurement.text_columns
                self._listed[column] = measurement.keys

    def _whole(self, columns: Columns, portions: Sequence[Measurement]) -> Measurement:
        found = self._compared.get(columns[0]) if columns[1:] == (COUNTS,) else None
        if found is None:
            return super()._whole(columns, portions)
        return with_compared(portions, found.counts, found.threshold, shown=True)

    def _named(self, kind: str, measurement: Measurement) -> Columns:
        (column,) = measurement.text_columns
        return (column,) if kind == DISTINCT else (column, COUNTS) if kind == KEYS else (column, *measurement.scope)

    def _know(self, columns: Columns, measurement: Measurement) -> None:
        if columns[1:] == (COUNTS,):
            self._shown[columns[0]] = measurement
            self._heavy.pop(columns[0], None)

    def _changed(self) -> None:
        """Nothing is kept."""

    # --- what is left to do ------------------------------------------------------------------------------------

    def opened_before(self, reservation: int) -> bool:
        """Also for a try that was lost meanwhile: its delta is spent, and the next one has less."""
        column, payload = self._attempts.get(reservation, ("", {}))
        late = "try" in payload and payload["try"] <= self._lost.get(column, 0)
        return late or super().opened_before(reservation)

    @property
    def planned_units(self) -> int:
        return sum(start.units for start in self.starts.values())

    def others_at_work(self, column: str) -> bool:
        """Whether a part of the column's first touch is under way."""
        start = self.starts.get(column)
        return start is not None and any(self._is_under_way(columns) for columns, _ in self._parts(start))

    def unbegun(self, column: str) -> TextStart | None:
        """The column's first touch when nobody has begun it."""
        return None if self._is_begun((column,)) else self.starts.get(column)

    def waiting_portions(self, column: str) -> list[Portion]:
        """The next reservation of what is missing of the column and nobody has begun; none when that is all."""
        start, purse = self.starts.get(column), self.purse()
        if start is None or purse.is_empty or self._is_under_way((column,)):
            return []
        wants = [self._want(columns, units) for columns, units in self._parts(start)]
        if not self._is_done((column,)):
            selection, counts = wants[:2]
            least = max(1, purse.planned // AT_STAKE)
            return [part_of(selection, selection.need, purse), part_of(counts, least, purse)]
        if not self._is_done((column, COUNTS)):
            return self._next_portions(wants[1:2])
        return self._next_portions(wants[2:])

    def next_units(self, column: str) -> int:
        """Units that a question about the column would spend on it."""
        start = self.starts.get(column)
        return 0 if start is None else self.purse().scaled(self._missing_of(start))

    def keys(self, column: str) -> tuple[str, ...] | None:
        """The column's released keys, in a fixed order; ``None`` before its first touch. Empty when that was lost."""
        if column in self._listed:
            return tuple(k for (k,) in self._listed[column] if k is not None)
        return () if self._is_done((column,)) else None

    def all_keys(self, column: str) -> tuple[Key, ...]:
        """The released keys as they are counted, NULL among them."""
        return self._listed[column]

    def heavy_keys(self, column: str) -> tuple[Key, ...]:
        """The keys that their complete counts show to be heavy."""
        if column not in self._heavy:
            counts, least = self._shown[column], self.starts[column].heavy
            self._heavy[column] = tuple([counts.keys[i] for i in np.flatnonzero(counts.values >= least).tolist()])
        return self._heavy[column]

    def counted(self, column: str) -> Measurement | None:
        """The complete counts of the released keys; ``None`` before, and where they were lost."""
        return self._shown.get(column)

    def count_sigmas(self, column: str) -> tuple[float, ...]:
        """Noise (counts) of each portion of these."""
        return self.sigmas((column, COUNTS))

    def compared(self, column: str) -> "Compared | None":
        """What the selection compared of the shown keys; ``None`` before, and where that is no part of their counts."""
        return self._compared.get(column)

    def selection(self, column: str, sigma: Fraction) -> Selection:
        """The next try to select the column's keys, with noise ``sigma`` (counts)."""
        return self.starts[column].selection(sigma, self._lost.get(column, 0) + 1)

    def most_hidden(self, column: str) -> float:
        """Counts: a key that the selection did not show has hardly ever more rows than this."""
        return self._hidden.get(column, self.starts[column].most_hidden)

    def _parts(self, start: TextStart) -> list[tuple[Columns, int]]:
        """What the first touch consists of, with planned units; heavy keys only while there may be some."""
        column = start.column
        parts: list[tuple[Columns, int]] = [
            ((column,), start.select_units + start.distinct_units),
            ((column, COUNTS), start.count_units),
        ]
        if column in self._shown and not self.heavy_keys(column):
            return parts
        return parts + [((column, paired), start.pair_units) for paired in start.paired]

    def _missing_of(self, start: TextStart) -> int:
        return sum(self._missing(columns, units) for columns, units in self._parts(start))

    def _needed(self) -> int:
        return sum(self._missing_of(start) for start in self.starts.values())

    def _is_done(self, columns: Columns) -> bool:
        return super()._is_done(columns) or columns[0] in self._gone


# --- measuring -----------------------------------------------------------------------------------------------------


def measure_strings(
    touch: TextStarts, text_columns: tuple[str, ...], bench: Bench, turns: Turns, delta_spent: Callable[[], Fraction]
) -> float:
    """Make what is missing of the first touches of the text columns; what that charged, in epsilon.

    ``delta_spent``: what the ledger says of all selections.
    """
    columns = touch.plan.touched_first(text_columns) if touch.starts else ()
    return sum(_measure_column(touch, column, bench, turns, delta_spent) for column in columns)


def _measure_column(
    touch: TextStarts, column: str, bench: Bench, turns: Turns, delta_spent: Callable[[], Fraction]
) -> float:
    counted: dict[Columns, _Counted] = {}

    def next_step() -> Step | None:
        chosen = touch.waiting_portions(column)

        def make() -> float:
            if chosen[0].columns == (column,):
                return _select(touch, column, chosen, bench, turns, delta_spent)
            for portion in chosen:
                if portion.columns not in counted:  # once for all of its portions
                    counted[portion.columns] = _counted(touch, portion.columns, bench)
            return _measure(touch, chosen, [counted[p.columns] for p in chosen], bench, turns)

        return Step(sum(p.units for p in chosen), make) if chosen else None

    return turns.take(f"{touch.plan.name} for the first time", next_step, lambda: touch.others_at_work(column))


def _select(
    touch: TextStarts,
    column: str,
    chosen: list[Portion],
    bench: Bench,
    turns: Turns,
    delta_spent: Callable[[], Fraction],
) -> float:
    """Select the keys and begin to count them; what was charged, 0.0 when another session was faster."""
    table, text, start = touch.plan.name, (column,), touch.starts[column]
    (first, count), cost = chosen, sum(p.units for p in chosen)
    distinct_units = first.units * start.distinct_units // (start.select_units + start.distinct_units)
    selected, distinct_sigma, count_sigma = (
        bench.plan.release_sigma(units, touch.plan.l2_squared)
        for units in (first.units - distinct_units, distinct_units, count.units)
    )
    selection = touch.selection(column, selected)
    found = bench.engine.key_counts(table, column, drawn_alone(selection.sigma, selection.threshold))
    payload = {"purpose": touch.purpose, "table": table} | touch.portions_payload(chosen)
    payload |= {"delta": str(selection.delta), "try": selection.attempt, "hidden": selection.most_hidden}
    if start.compares:
        payload["threshold"] = selection.threshold

    def is_late(reservation: int) -> bool:
        if touch.opened_before(reservation):
            return True
        if delta_spent() > bench.plan.delta_purse:  # the shares in the code are no longer the ledger's
            raise InternalError("the ledger's delta does not cover this selection of keys", hint="ask without it")
        return False

    def draw() -> Drawn:
        shown = select_keys(found, selection.sigma, selection.threshold, bench.entropy)
        number = found.map(lambda f: np.array(f.number, dtype=np.int64))
        distinct = bench.measured(number, distinct_sigma, table, text=text)
        keys: tuple[Key, ...] = (*((k,) for k in shown), (None,))
        counted = bench.engine.keyed_counts(table, text, keys, ())
        counts = bench.measured(counted, count_sigma, table, text=text, keys=keys)
        if not start.compares:
            return Drawn(encode_measurements([(DISTINCT, distinct), (KEYS, counts)]))
        strings = compared_counts(
            counted.map(lambda c: c[:-1]), selection.sigma, selection.threshold, bench.entropy, shown=True
        )
        null = bench.noisy(counted.map(lambda c: c[-1:]), selection.sigma)  # which no selection compares
        compared = replace(counts, values=np.concatenate([strings, null]), sigma=float(selection.sigma))
        return Drawn(encode_measurements([(DISTINCT, distinct), (COMPARED, compared), (KEYS, counts)]))

    drawn = pay(cost, bench, turns, lambda: turns.reserve_first(cost, payload), is_late, draw)
    return 0.0 if drawn is None else bench.plan.as_epsilon(cost)


@dataclass(frozen=True, eq=False)
class _Counted:
    """What is about to be measured: the released keys, or the heavy ones by a finite column. Private."""

    kind: str
    counts: Private[Counts]
    axes: tuple[Axis, ...]
    text: tuple[str, ...]
    keys: tuple[Key, ...]


def _counted(touch: TextStarts, columns: Columns, bench: Bench) -> _Counted:
    column, other = columns
    name, text = touch.plan.name, (column,)
    if other == COUNTS:
        keys = touch.all_keys(column)
        return _Counted(KEYS, bench.engine.keyed_counts(name, text, keys, ()), (), text, keys)
    heavy, axes = touch.heavy_keys(column), (Axis.cells((other,), touch.plan.table.shape((other,))),)
    return _Counted(CONTINGENCY, bench.engine.keyed_counts(name, text, heavy, (other,)), axes, text, heavy)


def _measure(
    touch: TextStarts, chosen: list[Portion], counted: Sequence[_Counted], bench: Bench, turns: Turns
) -> float:
    """One reservation and its release; what was charged, 0.0 when another session was faster."""
    table, l2_squared = touch.plan.name, touch.plan.l2_squared

    def draw() -> dict[str, Any]:
        sigmas = [bench.plan.release_sigma(portion.units, l2_squared) for portion in chosen]
        both = zip(counted, sigmas, strict=True)
        return encode_measurements(
            [(c.kind, bench.measured(c.counts, sigma, table, c.axes, c.text, c.keys)) for c, sigma in both]
        )

    return pay_first(touch, table, sum(p.units for p in chosen), draw, bench, turns, touch.portions_payload(chosen))
