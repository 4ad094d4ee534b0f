"""The interface that every hypothesis keeps: what the session may ask of a public estimate, whatever makes it.

It is the iterative database construction of Gupta, Roth and Ullman 2011 (Iterative constructions and private data
release, Definition 2), read as an object: the database D^t is the state, a query is answered from it, and an update
(D^t, q, released answer) -> D^(t+1) is ``absorb`` of a measurement. Two things differ from the paper. What is absorbed
is a whole noisy contingency with its sigma, not one number, so an update carries more; and a hypothesis is a function
of all measurements, not of the last state, so that replaying a ledger gives it again bit by bit. The paper's bound
B(alpha) on the number of updates is no part of the interface: the plan fixes the number of hard rounds before any data
are seen, privacy rests on that number alone, and a fit that shrinks what may be noise has no such theorem.

It stands below every hypothesis and sees none of them; ``dpsql.hypothesis.registry`` lists those that there are, and
tests/contracts/hypothesis_contract.py says in tests what is asked of each.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from dpsql.domain import TableDomain
from dpsql.errors import InternalError
from dpsql.hypothesis.measurement import Axis, Measurement
from dpsql.hypothesis.rules import ModelRules
from dpsql.query import Estimates, LinearQuery


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

    def contingency(self, columns: tuple[str, ...]) -> Estimates:
        """Estimated counts over the cells of ``columns`` (any order), float64, read-only, sum = ``row_count``.

        Mirrors ``Engine.contingency``: the shape is the columns' sizes, and a query is weights times either.
        """

    def coarse_axes(self, columns: tuple[str, ...], sigma: float) -> tuple[Axis, ...] | None:
        """The parts of ``columns`` on which a hard round should measure what this hypothesis is to keep.

        ``sigma``: the noise sd of each part's count. ``None`` where it learns from whatever answers the question: then
        one measurement does both.
        """


class MakeByRules(Protocol):
    """As ``MakeHypothesis``, by the rules of a ledger; a hypothesis that chooses no numbers may ignore them."""

    def __call__(self, table: TableDomain, row_count: float, rules: ModelRules = ..., /) -> Hypothesis: ...


MakeHypothesis = Callable[[TableDomain, float], Hypothesis]
"""(table, row_count) to a hypothesis that has absorbed nothing: uniform, with ``row_count`` rows."""


def check_finite(measurement: Measurement) -> None:
    """InternalError for a measurement of strings: it is about keys, which a hypothesis of finite columns has not.

    >>> import numpy as np
    >>> check_finite(Measurement("t", (), np.array(7), 1.0))
    """
    if measurement.text_columns:
        raise InternalError("a measurement of strings given to a hypothesis of finite columns")
