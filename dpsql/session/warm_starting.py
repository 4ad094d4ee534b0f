"""The warm start's durable steps: reservation, noise, release, one chunk of contingencies after another."""

from collections.abc import Callable
from itertools import accumulate

from dpsql.accounting import Plan
from dpsql.domain import TableDomain
from dpsql.engine.protocol import Engine
from dpsql.hypothesis import Measurement, PlannedContingency
from dpsql.ledger.protocol import Ledger
from dpsql.mechanism import Entropy, measure
from dpsql.policy import Policy
from dpsql.session.parts import counted_parts
from dpsql.session.payload import CONTINGENCY, encode_measurements
from dpsql.session.planning import contingency_l2_squared, is_narrow
from dpsql.session.starting import Starter, Step
from dpsql.session.table_state import TableState
from dpsql.session.warm_progress import WarmProgress

PURPOSE = WarmProgress.purpose

Progress = Callable[[str, str, int, int], None]
"""Called with a table's name, what is being done, how much of it so far, and how much there will be."""


class WarmStarter:
    """Measures what a table's plan says before its first answer; whatever is lost on the way is done without."""

    def __init__(
        self,
        policy: Policy,
        plan: Plan,
        engine: Engine,
        ledger: Ledger,
        entropy: Entropy,
        starter: Starter,
    ) -> None:
        self._policy = policy
        self._plan = plan
        self._engine = engine
        self._ledger = ledger
        self._entropy = entropy
        self._starter = starter
        self.progress: Progress | None = None

    def run(self, state: TableState, asked: tuple[str, ...]) -> float:
        """Measure what a question about ``asked`` waits for; what that charged, in epsilon.

        OperationalError when another session takes too long over the same.
        """
        warm = state.warm
        if warm is None:
            return 0.0

        def next_step() -> Step | None:
            pending = warm.pending(asked)
            if not pending:
                return None
            left = self._starter.affordable()
            # after a loss not all of them may be: as many as are, or a step that waits
            fits = sum(whole <= left for whole in accumulate(units for _, units in pending))
            pending = pending[:fits] or pending
            return Step(sum(units for _, units in pending), lambda: self._chunk(state.table, warm, asked, pending))

        return self._starter.run(state.table.name, next_step, lambda: warm.others_at_work(asked))

    def _chunk(
        self,
        table: TableDomain,
        warm: WarmProgress,
        asked: tuple[str, ...],
        pending: list[tuple[PlannedContingency, int]],
    ) -> float:
        """One reservation and its release; what was charged, 0.0 when another session was faster."""
        if self.progress is not None:
            self.progress(table.name, "contingencies", *warm.count(asked))
        name, cost = table.name, sum(units for _, units in pending)
        axes = [warm.axes(p) for p, _ in pending]
        if is_narrow(table):  # counted once; every contingency is then a sum over it
            self._engine.contingency(name, tuple(c.name for c in table.finite))
        counts = [counted_parts(self._engine, name, a) for a in axes]
        columns = [list(p.columns) for p, _ in pending]
        payload = {"purpose": PURPOSE, "table": name, "columns": columns}
        reservation = self._starter.reserve_first(cost, payload, warm.opened_before)
        if reservation is None:
            return 0.0
        l2_squared = contingency_l2_squared(self._policy, table)
        with self._ledger.drawing(reservation):
            released = []
            for (_, units), parts, private in zip(pending, axes, counts, strict=True):
                sigma = self._plan.release_sigma(units, l2_squared)
                values = measure(private, sigma, self._entropy)
                released.append((CONTINGENCY, Measurement(name, parts, values, float(sigma))))
            self._ledger.release(reservation, encode_measurements(released))
        self._starter.follow()
        return self._plan.epsilon_share(cost)
