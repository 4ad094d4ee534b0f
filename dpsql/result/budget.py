"""What the session has spent, for display; the guarantee itself is the plan's and is fixed. Public.

Owners read what is left as purses, of hard rounds, of row counts; whoever expects a share of epsilon finds that, too.
"""

from dataclasses import dataclass
from typing import NamedTuple


class Purse(NamedTuple):
    """What a part of the budget is kept for, and what of it is ``spent``; this and ``planned`` are in epsilon."""

    name: str
    spent: float
    planned: float


@dataclass(frozen=True)
class TableOutlook:
    """How a table is answered, from the policy and released numbers: ``strategy`` in words.

    ``error``: the 95 % error foreseen for a typical answer, in counts; ``None`` when nothing can be said beforehand.
    """

    table: str
    strategy: str
    error: float | None


@dataclass(frozen=True)
class Budget:
    """``epsilon`` and ``delta`` hold for the whole session. ``spent_epsilon + remaining_epsilon == epsilon``.

    ``spent_epsilon`` is the spent share of the ledger's scalar budget times epsilon (an odometer, not a guarantee of
    its own). ``hard_rounds_left`` counts tests that may still fail; ``queries_free`` of ``queries_answered`` charged
    nothing but what first looks at their tables and strings may have. ``purses``: what it was kept for. ``tables``: how
    each is answered.
    ``questions_left``: how many questions still get noise of their own; ``None`` in plans with models.

    >>> print(Budget(1.0, 1e-6, 0.626, 0.374, 3, 21, 19))
    epsilon 0.626 of 1 spent, 0.374 left; 19 of 21 answers free but for first looks
    """

    epsilon: float
    delta: float
    spent_epsilon: float
    remaining_epsilon: float
    hard_rounds_left: int
    queries_answered: int
    queries_free: int
    purses: tuple[Purse, ...] = ()
    tables: tuple[TableOutlook, ...] = ()
    questions_left: int | None = None

    def __str__(self) -> str:
        spent = f"epsilon {self.spent_epsilon:.3g} of {self.epsilon:.3g} spent, {self.remaining_epsilon:.3g} left"
        return f"{spent}; {self.queries_free:,} of {self.queries_answered:,} answers free but for first looks"
