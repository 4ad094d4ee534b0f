"""One statement asked, with what it took: time and budget."""

import time
from dataclasses import dataclass

from dpsql.domain import Parameters
from dpsql.interface.dbapi.session_view import SessionView
from dpsql.result import NO_TERMS, Budget, Result, Terms


@dataclass(frozen=True, eq=False)
class Asked:
    """``seconds`` of wall time."""

    result: Result
    seconds: float
    session: SessionView

    @property
    def charged(self) -> float:
        """Epsilon that the statement charged."""
        return self.result.charged

    @property
    def budget(self) -> Budget:
        """The budget as it is now; only some formats show it, so it is not looked up before."""
        return self.session.budget()


def ask(session: SessionView, text: str, parameters: Parameters = None, terms: Terms = NO_TERMS) -> Asked:
    """Execute ``text`` on the analyst's terms. Raises ``dpsql.Error``."""
    start = time.perf_counter()
    result = session.execute(text, parameters, terms)
    return Asked(result, time.perf_counter() - start, session)


def price(session: SessionView, text: str, parameters: Parameters, terms: Terms) -> str | None:
    """What the terms of a statement cost, before it is asked; ``None`` without a bound, and where asking will refuse.
    Raises ``dpsql.Error``."""
    if terms.within is None:
        return None
    found = session.explain(text, parameters, terms)
    if found.statements_left == 0:  # whose refusal says it, with what to do
        return None
    words = [note.text for note in found.notes if note.kind == "plan"]
    return ": ".join([f"within {terms.within:g}", *words[:1]])
