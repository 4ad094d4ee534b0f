"""The interface that every hypothesis keeps: what the session may ask of a public estimate, whatever makes it.

It is the iterative database construction of Gupta, Roth and Ullman 2011 (Iterative constructions and private data
release, Definition 3.2), read as an object: the database D^t is the state, a query is answered from it, and an update
(D^t, q, released answer) -> D^(t+1) is ``absorb`` of a measurement. A ``Hypothesis`` differs from the paper in two
things. What it absorbs is a whole noisy contingency with its sigma, not one number, so an update carries more; and it
is a function of all measurements, not of the last state. ``IterativeConstruction`` is the paper's own: one released
answer at a time, and the bound B(alpha) on the number of updates, which a fit that shrinks what may be noise has not.
Privacy rests on neither: the plan fixes the number of hard rounds before any data are seen.

It stands below every hypothesis and sees none of them; ``dpsql.hypothesis.registry`` lists those that there are, and
tests/contracts/hypothesis_contract.py says in tests what is asked of each.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from dpsql.domain import TableDomain
from dpsql.errors import InternalError
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import ModelRules
from dpsql.query import Choices, Estimates, LinearQuery


class Hypothesis(Protocol):
    """The public estimate of one table over its finite columns: a pure function of (table, row_count, measurements).

    Text columns have sparse weights of their own (``dpsql.hypothesis.strings``), which ask this one for the rest.
    """

    @property
    def table(self) -> TableDomain: ...

    @property
    def row_count(self) -> float:
        """Rows, at least 1: a released or public number."""

    @property
    def measurements(self) -> Sequence[Measurement]:
        """What was absorbed, in its order: another hypothesis that absorbs it again is equal bit by bit."""

    def absorb(self, measurement: Measurement) -> None:
        """Take in released counts; fitting may wait for the next question. InternalError for text columns."""

    def answer(self, query: LinearQuery) -> float:
        """The estimate of a query without text columns, in counts (real, at least 0)."""

    def answers(self, asked: Choices) -> Estimates:
        """``answer`` of each product of factors, float64, shape (products,): the same but for the order of sums."""

    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        """Estimated counts over the cells of ``columns`` (any order), float64, read-only, sum = ``row_count``.

        Mirrors ``Engine.contingency``: the shape is the columns' sizes, and a query is weights times either.
        """

    def coarse_axes(self, columns: tuple[str, ...], sigma: float) -> tuple[Axis, ...] | None:
        """The parts of ``columns`` on which a hard round should measure what this hypothesis is to keep.

        ``sigma``: the noise sd of each part's count. ``None`` where it learns from whatever answers the question: then
        one measurement does both.
        """


class IterativeConstruction(Hypothesis, Protocol):
    """The paper's construction: one update per released answer, and a theorem that bounds how many there can be.

    ``absorb`` of a measurement that is the answer to one query (``Measurement.query``) is ``update``; all others, such
    as a second row count, it only keeps. State is the fold of ``measurements`` in their order. ``answer`` takes queries
    with text columns where the construction is made for them. ``contingency`` is an estimate of each cell alone: where
    the state is no distribution (sparse weights, sums of cuts, a median) cells need not add up to ``row_count``.
    """

    @property
    def alpha(self) -> float:
        """The accuracy that updates are made for, in counts: each assumes that the answer was at least so far off."""

    @property
    def remark(self) -> str | None:
        """What a reader of its answers must know, in words; ``None`` for most."""

    def update(self, query: LinearQuery, released: float) -> None:
        """(D^t, q, released answer) -> D^(t+1): ``released`` in counts; only whether it is below matters to most."""

    def update_bound(self, alpha: float) -> float:
        """B(alpha): the length of any update sequence of accuracy ``alpha`` (counts, above 0), Definition 3.2."""


class MakeConstruction(Protocol):
    """(table, row_count, alpha, planned) to a construction before its first update.

    ``alpha``: counts; ``planned``: k, the number of queries that accuracy is to hold for.
    """

    def __call__(
        self, table: TableDomain, row_count: float, alpha: float, planned: int, /
    ) -> IterativeConstruction: ...


class UpdateBound(Protocol):
    """B(alpha) in public numbers: (table, row_count, alpha, planned), all but the table above 0, to updates."""

    def __call__(self, table: TableDomain, row_count: float, alpha: float, planned: int, /) -> float: ...


class MakeByRules(Protocol):
    """As ``MakeHypothesis``, by the rules of a ledger; a hypothesis that chooses no numbers may ignore them."""

    def __call__(self, table: TableDomain, row_count: float, rules: ModelRules = ..., /) -> Hypothesis: ...


MakeHypothesis = Callable[[TableDomain, float], Hypothesis]
"""(table, row_count) to a hypothesis that has absorbed nothing: uniform, with ``row_count`` rows."""


def one_by_one(hypothesis: Hypothesis, asked: Choices) -> Estimates:
    """``answers`` of a hypothesis that answers each question by itself."""
    table = hypothesis.table.name
    return np.array([hypothesis.answer(LinearQuery(table, asked.product(k))) for k in range(len(asked))], dtype=float)


def check_finite(measurement: Measurement) -> None:
    """InternalError for a measurement of strings: it is about keys, which a hypothesis of finite columns has not.

    >>> import numpy as np
    >>> check_finite(Measurement("t", (), np.array(7), 1.0))
    """
    if measurement.text_columns:
        raise InternalError("a measurement of strings given to a hypothesis of finite columns")
