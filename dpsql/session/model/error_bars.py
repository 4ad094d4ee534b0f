"""Calibrated error bars of one table's model, learned when first needed. Public.

Learning costs seconds (the model is fitted again to simulated measurements), so it is done once, on the warm start
alone, whatever has been measured since: the same for every session on the ledger, which keeps what the first learned.
What it learned is a regression on features of a query, which are taken from the model as it is now; a hard round needs
no new lesson.
"""

from collections.abc import Callable, Sequence
from math import ceil
from typing import Protocol

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis import (
    Calibration,
    Hypothesis,
    Measurement,
    TableModel,
    learn_calibration,
    lesson_name,
)
from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.memo import Memo
from dpsql.planning import TablePlan
from dpsql.query import Crosstab

FIRST_PAIRS = 8
KEPT_BARS = 1 << 15
"""Of one model: a statement's groups are looked at twice, to choose a route and to answer."""


class Memory(Protocol):
    """Keeps public texts that can be worked out again (the ledger does)."""

    def recall(self, name: str) -> str | None: ...

    def keep(self, name: str, text: str) -> None: ...


class ErrorBars:
    """95 % half-widths of model answers, in counts. ``row_count``: sigma 0 where it is public.

    ``on_step`` is told (done, of) while a lesson is learned.
    """

    def __init__(self, plan: TablePlan, row_count: Measurement, *, growing: bool, memory: Memory | None = None) -> None:
        self.on_step: Callable[[int, int], None] = lambda done, of: None
        self._memory = memory
        self._plan = plan
        self._table = plan.table
        self._row_count = max(float(row_count.values), 1.0)
        self._total_noise = row_count.sigma
        self._growing = growing
        self._learned: tuple[int, Calibration] | None = None
        self._current: tuple[int, Coverage, Calibration] | None = None
        self._bounds: Memo[list[int]] = Memo(KEPT_BARS)

    def bounds(self, model: TableModel, warm: Sequence[Measurement], asked: Crosstab) -> list[int | None]:
        """The half-width of each; ``None`` when some two columns of the queries were never measured together.

        ``warm``: the contingencies of the warm start, in the ledger's order.
        """
        scope = asked[0].scope
        coverage, bars = self._bars(model, warm) if scope else (None, None)
        if coverage is None or bars is None or not coverage.covers(scope):
            return [None] * len(asked)
        known = self._bounds.get(asked.choices.identity)
        if known is None:
            known = self._bounds.put(asked.choices.identity, self._of(model, bars, asked), len(asked))
        return list(known)

    def _of(self, model: TableModel, bars: Calibration, asked: Crosstab) -> list[int]:
        found = bars.bounds(asked, self._plan.error_factor)
        if None in found:  # too few tables to learn from: the noise of those that cover the query
            noise = np.atleast_1d(bars.noise(asked.choices)).tolist()
            found = [max(1, ceil(DEVIATIONS * sd)) if f is None else f for f, sd in zip(found, noise, strict=True)]
        # the row count is known to the simulations: its own noise reaches an answer in proportion
        shares = np.maximum(model.estimates(asked), 0.0) / self._row_count
        spread = DEVIATIONS * self._total_noise * np.minimum(shares, 1.0)
        whole = np.ceil(np.hypot(np.array(found, dtype=np.float64), spread)) + ~asked.indicators
        out: list[int] = whole.astype(np.int64).tolist()
        return out

    def _bars(self, model: TableModel, warm: Sequence[Measurement]) -> tuple[Coverage, Calibration]:
        if self._current is not None and self._current[0] == model.version:
            return self._current[1], self._current[2]
        known = lesson(warm, growing=self._growing)
        if self._learned is None or self._learned[0] != len(known):
            self._learned = len(known), self._recalled(known, model) or self._lesson(known)
        coverage = self._coverage(model.hypothesis.measurements)
        self._bounds.clear()
        self._current = (
            model.version,
            coverage,
            self._learned[1].on(coverage, model.of_products, model.hypothesis.contingency),
        )
        return self._current[1], self._current[2]

    def _coverage(self, known: Sequence[Measurement]) -> Coverage:
        return Coverage(self._table, self._row_count, known, self._plan.rules)

    def _recalled(self, known: Sequence[Measurement], model: TableModel) -> Calibration | None:
        text = None if self._memory is None else self._memory.recall(f"{self._table.name}: {lesson_name(known)}")
        if text is None:
            return None
        coverage = self._coverage(known)
        answers, contingency = model.of_products, model.hypothesis.contingency
        return Calibration.from_json(text, coverage, answers, contingency)

    def _lesson(self, known: Sequence[Measurement]) -> Calibration:
        made = learn_calibration(
            self._table,
            self._row_count,
            known,
            self._fitted,
            rules=self._plan.rules,
            on_step=self.on_step,
        )
        if self._memory is not None:
            self._memory.keep(f"{self._table.name}: {lesson_name(known)}", made.to_json())
        return made

    def _fitted(self, measurements: Sequence[Measurement]) -> Hypothesis:
        out = self._plan.hypothesis(self._table, self._row_count)
        for m in measurements:
            out.absorb(m)
        return out


def lesson(warm: Sequence[Measurement], *, growing: bool) -> list[Measurement]:
    """The measurements to learn from: all, or, while pairs are ``growing`` one by one, the first 8, 16, 32, .. pairs.

    Each lesson then serves for as many pairs as it was learned from, in every session alike.
    """
    pairs = [i for i, m in enumerate(warm) if len(m.axes) > 1]
    if not growing:
        return list(warm)
    number = 0 if len(pairs) < FIRST_PAIRS else 1 << (len(pairs).bit_length() - 1)
    kept = set(pairs[:number])
    return [m for i, m in enumerate(warm) if i in kept or len(m.axes) == 1]
