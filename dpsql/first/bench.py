"""What every release is made with: the plan, the engine that counts, the ledger and the source of noise.

One value in place of five arguments; whoever holds it can draw noise, so it goes only where something is released.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import prod

import numpy as np

from dpsql.accounting import Plan
from dpsql.domain import FIXED_POINT
from dpsql.engine.partition import Partition
from dpsql.engine.protocol import WHOLE_RANGE, Engine
from dpsql.errors import InternalError
from dpsql.hypothesis import Axis, Measurement, coarsen
from dpsql.ledger.protocol import Ledger
from dpsql.mechanism import Entropy, measure, rounded_by_chance
from dpsql.planning.measured_axes import MOST_FINE_CELLS, MOST_PARTS, own_axes, told_apart
from dpsql.private import Private, together
from dpsql.query import MOST_CHOICES, Counts, Crosstab, Interval, Key, LinearQuery, floors, floors_of_parts

GRID_CELLS = 1 << 20
"""Counts over parts of a larger grid are made without it, if each part has PART_CELLS cells or more on average."""
PART_CELLS = 16


@dataclass
class Tally:
    """Units that the releases of one session have spent so far; never less than before. Public."""

    units: int = 0


@dataclass(frozen=True)
class Bench:
    """Plan, engine, ledger and entropy of one session; ``paid``: what its releases have spent."""

    plan: Plan
    engine: Engine
    ledger: Ledger
    entropy: Entropy
    paid: Tally = field(default_factory=Tally)

    @contextmanager
    def drawing(self, reservation: int, cost: int) -> Iterator[None]:
        """Around the coins drawn under a reservation of so many units. They are paid from here on: what fails inside
        leaves a reservation that can only be burnt."""
        with self.ledger.drawing(reservation):
            self.paid.units += cost
            yield

    @contextmanager
    def tossing(self, reservation: int, cost: int) -> Iterator[None]:
        """Around a coin that may cost nothing: only what fails inside is paid from here on."""
        with self.ledger.drawing(reservation):
            try:
                yield
            except BaseException:
                self.paid.units += cost
                raise

    def counted(
        self,
        table: str,
        axes: tuple[Axis, ...],
        text: tuple[str, ...] = (),
        keys: tuple[Key, ...] = (),
        intervals: tuple[Interval, ...] = (),
    ) -> Private[Counts]:
        """Counts over the parts of ``axes``, int64 of shape ``([keys,] *axis sizes)``, in rows. Private.

        With ``text`` columns, for each of the listed ``keys``; with ``intervals``, of the rows in them. Raises
        EngineError.
        """
        scope = tuple(c for a in axes for c in a.columns)
        engine = self.engine
        if not text and (intervals or _is_large(axes)):
            return engine.part_counts(table, _partitions(axes), intervals)
        counts = engine.keyed_counts(table, text, keys, scope) if text else engine.contingency(table, scope)
        return counts.map(lambda cells: np.asarray(coarsen(cells, axes, bool(text)), dtype=np.int64))

    def floors(self, queries: Sequence[LinearQuery]) -> Private[Counts]:
        """``floor(q(D))`` of counts of finite columns, all of one scope; int64, shape (queries,), in rows. Private.

        A grid that is too large is never made: the parts that the queries tell apart are counted, or where these are
        too many, the parts of each query by itself. Raises EngineError.
        """
        first = queries[0]
        if first.cells <= GRID_CELLS and not any(q.intervals for q in queries):
            counts = self.engine.contingency(first.table, first.scope)
            return counts.map(lambda cells: floors(queries, cells))
        if self.counts_at_once(queries):
            axes = told_apart(queries)
            parts = self.counted(first.table, tuple(axes), intervals=first.intervals)
            return parts.map(lambda rows: floors_of_parts(queries, [a.coarse_weights for a in axes], rows))
        return together([self._by_parts(query) for query in queries]).map(np.array)

    def counts_at_once(self, queries: Sequence[LinearQuery]) -> bool:
        """Whether ``floors`` of these queries looks at the rows once."""
        if queries[0].cells <= GRID_CELLS and not any(q.intervals for q in queries):
            return True
        if len({q.outline for q in queries}) > 1:
            return False
        fewer = prod(map(len, Crosstab.of(queries).choices.factors)) <= MOST_CHOICES
        return fewer and prod(a.size for a in told_apart(queries)) <= MOST_PARTS

    def _by_parts(self, query: LinearQuery) -> Private[int]:
        axes, weights = _weighted_parts(query)
        counted = self.counted(query.table, axes, intervals=query.intervals)
        return counted.map(lambda rows: int((weights * rows).sum()) // query.unit)

    def shares(
        self, table: str, axes: tuple[Axis, ...], number: str, intervals: tuple[Interval, ...] = ()
    ) -> Private[Counts]:
        """Where each row's ``number`` stands between min and max, summed over the parts of ``axes``; int64, in 1 /
        FIXED_POINT of a row. Of the rows in all ``intervals``. Private. Raises EngineError."""
        if _is_large(axes):
            return self.in_reach(table, axes, number, intervals).map(lambda both: both[..., 1])
        sums = self.engine.sums(table, number, tuple(c for a in axes for c in a.columns), intervals)
        return sums.map(partial(coarsen, axes=axes))

    def in_reach(
        self,
        table: str,
        axes: tuple[Axis, ...],
        number: str,
        intervals: tuple[Interval, ...] = (),
        reach: tuple[int, int] = WHOLE_RANGE,
    ) -> Private[Counts]:
        """Rows over the parts of ``axes`` and where their values stand in ``reach``, of one look: ``Engine.part_sums``.

        int64, shape (*axis sizes, 2). Private. Raises EngineError.
        """
        return self.engine.part_sums(table, number, _partitions(axes), intervals, reach)

    def floor_of_sum(self, query: LinearQuery) -> Private[int]:
        """``floor(q(D))`` of a sum of values, in rows. Private. Raises EngineError, and InternalError for a count."""
        if query.value is None:
            raise InternalError("a count where a sum of values was to be")
        if query.cells <= MOST_FINE_CELLS:  # kept by the engine: the groups of a statement ask for the same ones
            return self.engine.sums(query.table, query.value, query.scope, query.intervals).map(query.floor)
        axes, weights = _weighted_parts(query)
        # Python's whole numbers: weighted, the sums of many rows leave 64 bits
        sums = self.shares(query.table, axes, query.value, query.intervals)
        whole = query.unit * FIXED_POINT
        return sums.map(lambda parts: int((weights.astype(object) * parts).sum()) // whole)

    def floor_of_listed(self, query: LinearQuery) -> Private[int]:
        """The same of rows with listed strings. Private. Raises EngineError, InternalError where none are listed."""
        keyed, told = query.keyed, query.intervals
        if keyed is None:
            raise InternalError("no strings are listed where some were to be")
        counts = self.engine.keyed_counts(query.table, keyed.text_columns, keyed.strings, query.scope, told)
        return counts.map(query.floor)

    def positions(self, table: str, axes: tuple[Axis, ...], number: str) -> Private[Counts]:
        """The same of where it stands between the edges of its bin, by bin. Raises EngineError."""
        return _whole_rows(self.engine.positions(table, number).map(partial(coarsen, axes=axes)))

    def measured(
        self,
        counts: Private[Counts],
        sigma: Fraction,
        table: str,
        axes: tuple[Axis, ...] = (),
        text: tuple[str, ...] = (),
        keys: tuple[Key, ...] = (),
        value: str | None = None,
        intervals: tuple[Interval, ...] = (),
    ) -> Measurement:
        """``counted`` parts with discrete Gaussian noise of sd ``sigma`` (counts) on each: draws. Public once released.

        Only under a reservation that pays for it, inside ``Ledger.drawing`` or after a durable hard outcome.
        """
        return Measurement(table, axes, self.noisy(counts, sigma), float(sigma), text, keys, value, None, intervals)

    def measured_sums(
        self,
        shares: Private[Counts],
        sigma: Fraction,
        table: str,
        axes: tuple[Axis, ...],
        value: str,
        intervals: tuple[Interval, ...] = (),
    ) -> Measurement:
        """``measured`` of ``shares`` (int64, in 1 / FIXED_POINT of a row), in whole rows: draws. Public once released.

        Rounded by chance, for many sums that are rounded to the nearest all go the same way. One row moves a part by 0
        or 1, as it does a count. Only where ``measured`` may be called.
        """
        size = prod(a.size for a in axes)
        whole = rounded_by_chance(shares, size, FIXED_POINT.bit_length() - 1, self.entropy)
        return self.measured(whole, sigma, table, axes, value=value, intervals=intervals)

    def noisy(self, counts: Private[Counts], sigma: Fraction) -> Counts:
        """Any private whole numbers with such noise on each: draws, as ``measured`` does."""
        return measure(counts, sigma, self.entropy)


def _whole_rows(shares: Private[Counts]) -> Private[Counts]:
    return shares.map(lambda parts: np.asarray((parts + FIXED_POINT // 2) // FIXED_POINT, dtype=np.int64))


def _partitions(axes: Sequence[Axis]) -> tuple[Partition, ...]:
    return tuple(Partition(a.columns, a.labels, a.size) for a in axes)


def _weighted_parts(query: LinearQuery) -> tuple[tuple[Axis, ...], Counts]:
    """The coarsest parts on which the query is constant, and its weight on each."""
    axes = own_axes([query])
    nothing = np.zeros([a.size for a in axes], dtype=np.int64)
    weights = Measurement(query.table, axes, nothing, 0.0, value=query.value, intervals=query.intervals).weights_of(
        query
    )
    if weights is None:
        raise InternalError("parts on which their own query is not constant")
    return axes, weights


def _is_large(axes: tuple[Axis, ...]) -> bool:
    cells, parts = prod(a.labels.size for a in axes), prod(a.size for a in axes)
    return cells > GRID_CELLS and cells >= PART_CELLS * parts and not any(a.difference for a in axes)
