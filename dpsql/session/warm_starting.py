"""The warm start's durable steps: reservation, noise, release, one chunk of contingencies after another."""

from collections.abc import Callable
from time import monotonic, sleep

import numpy as np

from dpsql.accounting import Accountant, Plan
from dpsql.engine.protocol import Engine
from dpsql.errors import BudgetExhausted, OperationalError
from dpsql.hypothesis import Axis, Measurement, PlannedContingency, coarsen
from dpsql.ledger.protocol import Ledger
from dpsql.mechanism import Entropy, measure
from dpsql.policy import Policy
from dpsql.private import Private
from dpsql.query import Counts
from dpsql.session.payload import CONTINGENCY, encode_measurements
from dpsql.session.planning import contingency_l2_squared, is_narrow
from dpsql.session.table_state import TableState

PURPOSE = "warm start"
WAIT_SECONDS = 20.0
"""For another session that is measuring the same table."""
CROWD_SECONDS = 1.0
"""For a budget that is reserved several times over."""
_PAUSE_SECONDS = 0.02

Progress = Callable[[str, int, int], None]
"""Called with a table's name, the contingencies measured so far, and how many there will be."""


class WarmStarter:
    """Measures what a table's plan says before its first answer; whatever is lost on the way is done without."""

    def __init__(
        self,
        policy: Policy,
        plan: Plan,
        engine: Engine,
        ledger: Ledger,
        entropy: Entropy,
        follow: Callable[[], None],
    ) -> None:
        self._policy = policy
        self._plan = plan
        self._accountant = Accountant.of(plan)
        self._engine = engine
        self._ledger = ledger
        self._entropy = entropy
        self._follow = follow
        self.progress: Progress | None = None

    def run(self, state: TableState, asked: tuple[str, ...]) -> float:
        """Measure what a question about ``asked`` waits for; what that charged, in epsilon.

        Waits while another session is measuring the same: an answer now would be needlessly bad for good.
        OperationalError when that takes too long.
        """
        warm, charged, begin = state.warm, 0.0, monotonic()
        while warm is not None:
            pending = warm.pending(asked)
            cost = sum(units for _, units in pending)
            if pending and self._affordable(cost):
                if self.progress is not None:
                    self.progress(state.table.name, *warm.count(asked))
                charged += self._chunk(state, pending, cost)
                continue
            if pending:
                self._follow()
            at_work = warm.others_at_work(asked)
            # what several sessions reserve at once is freed again by all but one of them
            crowded = bool(pending) and not self._is_spent(cost) and monotonic() < begin + CROWD_SECONDS
            if not at_work and not crowded:
                break  # measured, or burnt reservations have taken its share: the net has to do without
            if monotonic() > begin + WAIT_SECONDS:
                raise OperationalError(
                    f"another session is measuring {state.table.name} for the first time",
                    hint="ask again in a moment; if that session has died, open a new connection",
                )
            sleep(_PAUSE_SECONDS)
            self._follow()
        return charged

    def _affordable(self, cost: int) -> bool:
        totals = self._ledger.totals()
        return totals.spent + totals.reserved + cost <= self._plan.total_units

    def _is_spent(self, cost: int) -> bool:
        """Whether what is spent leaves no room for ``cost`` beside the hard round that a session keeps in reserve."""
        return self._ledger.totals().spent + self._plan.hard_cost + cost > self._plan.total_units

    def _chunk(self, state: TableState, pending: list[tuple[PlannedContingency, int]], cost: int) -> float:
        """One reservation and its release; what was charged, 0.0 when another session was faster."""
        warm, name = state.warm, state.table.name
        if warm is None:
            return 0.0
        axes = [warm.axes(p) for p, _ in pending]
        if is_narrow(state.table):  # counted once; every contingency is then a sum over it
            self._engine.contingency(name, tuple(c.name for c in state.table.finite))
        counts = [self._counts(name, p.columns, a) for (p, _), a in zip(pending, axes, strict=True)]
        columns = [list(p.columns) for p, _ in pending]
        try:
            reservation = self._ledger.reserve(
                cost,
                lambda totals: self._accountant.check(totals.spent, totals.reserved, cost),
                {"purpose": PURPOSE, "table": name, "columns": columns, "burn": cost},
            )
        except BudgetExhausted:
            return 0.0  # affordable a moment ago: others reserve at the same time
        self._follow()
        if warm.opened_before(reservation):
            self._ledger.free(reservation)
            self._follow()
            return 0.0
        l2_squared = contingency_l2_squared(self._policy, state.table)
        try:
            with self._ledger.drawing(reservation):
                released = []
                for (_, units), parts, private in zip(pending, axes, counts, strict=True):
                    sigma = self._plan.release_sigma(units, l2_squared)
                    values = measure(private, sigma, self._entropy)
                    released.append((CONTINGENCY, Measurement(name, parts, values, float(sigma))))
                self._ledger.release(reservation, encode_measurements(released))
        except BaseException:
            warm.burnt(reservation)  # it can be neither freed nor used again
            raise
        self._follow()
        return self._plan.epsilon_share(cost)

    def _counts(self, table: str, columns: tuple[str, ...], axes: tuple[Axis, ...]) -> Private[Counts]:
        return self._engine.contingency(table, columns).map(
            lambda cells: np.asarray(coarsen(cells, axes), dtype=np.int64)
        )
