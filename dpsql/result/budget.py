"""What the session has spent, for display; the guarantee itself is the plan's and is fixed. Public."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """``epsilon`` and ``delta`` hold for the whole session. ``spent_epsilon + remaining_epsilon == epsilon``.

    ``spent_epsilon`` is the spent share of the ledger's scalar budget times epsilon (an odometer, not a guarantee of
    its own). ``hard_rounds_left`` counts tests that may still fail; ``queries_free`` of ``queries_answered`` charged
    nothing. ``purses`` maps a purse's name to (spent, planned), both in epsilon.
    """

    epsilon: float
    delta: float
    spent_epsilon: float
    remaining_epsilon: float
    hard_rounds_left: int
    queries_answered: int
    queries_free: int
    purses: tuple[tuple[str, float, float], ...] = ()
