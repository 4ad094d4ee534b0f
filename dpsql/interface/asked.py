"""One statement asked, with what it took: time and budget.

What a statement charged shows in the budget before and after it, not in its rows: HAVING may drop the very row that was
paid for.
"""

import time
from dataclasses import dataclass

from dpsql.domain import Parameters
from dpsql.interface.dbapi.session_view import SessionView
from dpsql.result import NO_TERMS, Budget, Result, Terms

_ROUNDING = 1e-9
"""Differences of epsilon below this come from floating point: no charge is so small."""


@dataclass(frozen=True, eq=False)
class Asked:
    """``charged`` in epsilon; ``seconds`` of wall time.

    ``charged`` may exceed ``result.charged``: an outer HAVING or LIMIT can drop the very row that was paid for.
    """

    result: Result
    seconds: float
    charged: float
    session: SessionView

    @property
    def budget(self) -> Budget:
        """The budget as it is now; only some formats show it, so it is not looked up before."""
        return self.session.budget()


def ask(session: SessionView, text: str, parameters: Parameters = None, terms: Terms = NO_TERMS) -> Asked:
    """Execute ``text`` on the analyst's terms. Raises ``dpsql.Error``."""
    before = session.spent_epsilon()
    start = time.perf_counter()
    result = session.execute(text, parameters, terms)
    seconds = time.perf_counter() - start
    spent = session.spent_epsilon() - before
    return Asked(result, seconds, max(result.charged, spent if spent > _ROUNDING else 0.0), session)


def price(session: SessionView, text: str, parameters: Parameters, terms: Terms) -> str | None:
    """What the terms of a statement cost, before it is asked; ``None`` without a bound. Raises ``dpsql.Error``."""
    if terms.within is None:
        return None
    words = [note.text for note in session.explain(text, parameters, terms).notes if note.kind == "plan"]
    return ": ".join([f"within {terms.within:g}", *words[:1]])
