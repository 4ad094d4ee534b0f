"""The public plan of a statement: what it would ask, from where it would be answered, what it could charge at most.

An analyst can ask what a question would cost before asking it. The answer is public and made without data; a type of
its own keeps it apart from released numbers.
"""

from dataclasses import dataclass

from dpsql.result.note import Note


@dataclass(frozen=True)
class QueryPlan:
    """One scope that a statement touches.

    ``queries`` linear queries share it; ``scope`` its columns; ``cells`` of the finite part; ``support`` keys listed
    (None without text columns); ``source`` where the answers are expected from; ``error`` expected 95 % bound in
    counts (None: unknown); ``worst_charge`` in epsilon. ``foreseen``: nothing is measured yet, and ``error`` is
    what the plan's noise alone lets expect.
    """

    table: str
    scope: tuple[str, ...]
    cells: int
    support: int | None
    queries: int
    source: str
    error: float | None
    worst_charge: float
    foreseen: bool = False


@dataclass(frozen=True)
class Explanation:
    """``plans`` in asking order; ``outer`` the SQL over released tables (None: no outer SQL).

    ``worst_charge``, ``remaining``: epsilon. ``statements_left``: how many such statements the remaining budget pays in
    the worst case, first measurements aside (None: any number, they are free; 0: not even this one). ``notes``: how
    it is answered, then those that its result will have.
    """

    plans: tuple[QueryPlan, ...]
    outer: str | None
    worst_charge: float
    remaining: float
    notes: tuple[Note, ...] = ()
    statements_left: int | None = None
