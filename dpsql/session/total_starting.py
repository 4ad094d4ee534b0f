"""The row count of a table: measured once, before anything else is answered."""

from dpsql.accounting import Plan
from dpsql.engine.protocol import Engine
from dpsql.errors import BudgetExhausted
from dpsql.hypothesis import Measurement
from dpsql.ledger.protocol import Ledger
from dpsql.mechanism import Entropy, measure
from dpsql.policy import Policy
from dpsql.session.payload import TOTAL, encode_measurement
from dpsql.session.planning import total_sigma
from dpsql.session.starting import Starter, Step
from dpsql.session.table_state import TableState
from dpsql.session.total_progress import TotalProgress

PURPOSE = TotalProgress.purpose


class TotalStarter:
    """Measures row counts that are private, in turn with other sessions."""

    def __init__(
        self, policy: Policy, plan: Plan, engine: Engine, ledger: Ledger, entropy: Entropy, starter: Starter
    ) -> None:
        self._policy = policy
        self._plan = plan
        self._engine = engine
        self._ledger = ledger
        self._entropy = entropy
        self._starter = starter

    def check(self, state: TableState) -> None:
        """BudgetExhausted when the row count is unknown, nobody is measuring it and it cannot be paid any more."""
        total = state.total
        if total is not None and not self._starter.can_pay(total.pending_units):
            raise self._exhausted(state, total)

    def run(self, state: TableState) -> float:
        """Measure the row count unless it is known; what that charged, in epsilon.

        BudgetExhausted when it cannot be paid any more, OperationalError when another session takes too long over it.
        """
        total = state.total
        if total is None:
            return 0.0

        def next_step() -> Step | None:
            units = total.pending_units()
            return Step(units, lambda: self._measure(state, total)) if units else None

        charged = self._starter.run(state.table.name, next_step, total.others_at_work)
        if total.pending_units():
            raise self._exhausted(state, total)
        return charged

    def _measure(self, state: TableState, total: TotalProgress) -> float:
        """One reservation and its release; what was charged, 0.0 when another session was faster."""
        name = state.table.name
        rows = self._engine.contingency(name, ())  # an engine that fails charges nothing
        reservation = self._starter.reserve_first(total.cost, {"purpose": PURPOSE, "table": name}, total.opened_before)
        if reservation is None:
            return 0.0
        sigma = total_sigma(self._plan, self._policy, state.table)
        with self._ledger.drawing(reservation):
            measurement = Measurement(name, (), measure(rows, sigma, self._entropy), float(sigma))
            self._ledger.release(reservation, encode_measurement(TOTAL, measurement))
        self._starter.follow()
        return self._plan.epsilon_share(total.cost)

    def _exhausted(self, state: TableState, total: TotalProgress) -> BudgetExhausted:
        return BudgetExhausted(
            f"the privacy budget does not cover the row count of {state.table.name}",
            requested=self._plan.epsilon_share(total.cost),
            remaining=self._plan.epsilon_share(self._starter.affordable()),
        )
