"""What the session has spent, for display; the guarantee itself is the plan's and is fixed. Public.

What owners read are purses: hard rounds and row counts left. A share of epsilon is made from them for people who expect
one.
"""

from dataclasses import dataclass


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
    nothing. ``purses`` maps a purse's name to (spent, planned), both in epsilon. ``tables``: how each is answered.
    ``questions_left``: how many questions still get noise of their own; ``None`` in plans with models.
    """

    epsilon: float
    delta: float
    spent_epsilon: float
    remaining_epsilon: float
    hard_rounds_left: int
    queries_answered: int
    queries_free: int
    purses: tuple[tuple[str, float, float], ...] = ()
    tables: tuple[TableOutlook, ...] = ()
    questions_left: int | None = None
