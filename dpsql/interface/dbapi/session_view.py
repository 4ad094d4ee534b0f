"""A session as connections and the command line see it.

Interfaces are tested against a stand-in; this is all that they may ask of a session.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from dpsql.domain import Parameters, TableDomain
from dpsql.result import NO_TERMS, Budget, Explanation, Result, Terms

if TYPE_CHECKING:
    from dpsql.synthesis.released import SyntheticTable
    from dpsql.synthesis.wanted import RunForecast, Wanted


class SessionView(Protocol):
    """One policy, one ledger, one hypothesis. Every error is a ``dpsql.Error``; everything returned is public."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What the owner should know about how the session was opened, one sentence each."""
        ...

    def execute(self, text: str, parameters: Parameters = None, terms: Terms = NO_TERMS) -> Result:
        """The released table that answers one statement, on the analyst's terms; charged as its answers say."""
        ...

    def explain(self, text: str, parameters: Parameters = None, terms: Terms = NO_TERMS) -> Explanation:
        """The statement's public plan; charges nothing, touches no data."""
        ...

    def foresee(self, wanted: "Wanted") -> "RunForecast":
        """What making a synthetic table would do and charge; charges nothing, touches no data."""
        ...

    def synthesize(self, wanted: "Wanted") -> "SyntheticTable":
        """A synthetic table; charged as it says."""
        ...

    def budget(self) -> Budget:
        """What has been spent, over all processes that share the ledger."""
        ...

    def spent_epsilon(self) -> float:
        """``budget().spent_epsilon`` alone, which costs microseconds."""
        ...

    def tables(self) -> tuple[TableDomain, ...]:
        """The private tables as the policy declares them."""
        ...

    def public_tables(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Names and DuckDB types of the columns of each public table."""
        ...

    def on_progress(self, report: Callable[[str, str, int, int], None]) -> None:
        """Call ``report(table, what, done, of)`` while a table is looked at for the first time.

        With ``of`` = 0 another session is doing that, and has been waited for for ``done`` seconds.
        """
        ...

    def close(self) -> None:
        """Give unused reservations back, keep buffered answers; idempotent."""
        ...
