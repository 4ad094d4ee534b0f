"""What is spent, kept back and left: the ledger's totals seen through the plan's shares. Public."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from dpsql.accounting import Accountant, Plan
from dpsql.errors import BudgetExhausted
from dpsql.ledger.event import Totals
from dpsql.ledger.protocol import Ledger
from dpsql.policy import Policy
from dpsql.session.first_touch import FirstTouch
from dpsql.session.planning import question_cost
from dpsql.session.table_state import TableState
from dpsql.session.text_progress import TextProgress
from dpsql.session.total_progress import TotalProgress
from dpsql.session.warm_progress import WarmProgress


class Purses:
    """Units and shares of one session; ``own``, 0 or 1, are hard rounds that the session itself keeps in reserve."""

    def __init__(self, policy: Policy, plan: Plan, ledger: Ledger, states: Mapping[str, TableState]) -> None:
        self._policy = policy
        self._plan = plan
        self._accountant = Accountant.of(plan)
        self._ledger = ledger
        self._states = states

    def check(self, totals: Totals, cost: int, *, kept: int = 0, tests: int = 0) -> None:
        """BudgetExhausted unless ``cost`` fits beside what the ledger holds and ``kept`` units of noise.

        ``tests``: 1 when ``cost`` is that of a hard round.
        """
        tested = totals.tested + totals.testing
        self._accountant.check(totals.spent, totals.reserved + kept, cost, tested=tested, tests=tests)

    def covers(self, totals: Totals, cost: int, *, kept: int = 0, tests: int = 0) -> bool:
        """Whether ``check`` would let it pass."""
        try:
            self.check(totals, cost, kept=kept, tests=tests)
        except BudgetExhausted:
            return False
        return True

    def noise_left(self, totals: Totals) -> int:
        """Units that are left for noise beside what the ledger holds."""
        return self._accountant.noise_left(totals.spent + totals.reserved, totals.tested + totals.testing)

    def pending(self) -> int:
        """Units kept back for row counts and first measurements that nobody has begun."""
        return sum(touch.pending_units() for touch in self._first_touches())

    def unmeasured(self) -> int:
        """Units for row counts and first measurements that are not made, those under way included."""
        return self.pending() + sum(touch.under_way_units() for touch in self._first_touches())

    def _first_touches(self) -> Iterator[FirstTouch]:
        return (touch for state in self._states.values() for touch in state.first_touches)

    def hard_rounds_left(self, own: int) -> int:
        """Hard rounds that the budget still covers, the one held in reserve included."""
        if self._plan.hard_rounds == 0:
            return 0
        totals = self._without(own)
        return max(
            0,
            min(self._free(totals) // self._plan.measure_cost, self._plan.hard_rounds - totals.tested - totals.testing),
        )

    def questions_left(self) -> int:
        """Questions that the budget still gives noise of their own; 0 in a plan with models."""
        cost = question_cost(self._plan, self._policy)
        if cost == 0:
            return 0
        return max(0, min(self._free(self._ledger.totals()) // cost, self._plan.questions))

    def _free(self, totals: Totals) -> int:
        """Units for noise that are left beside first measurements, made or not; reserved twice, they count once."""
        twice = sum(touch.charged - touch.spent - touch.under_way_units() for touch in self._first_touches())
        return self.noise_left(totals) + twice - self.pending()

    def _without(self, own: int) -> Totals:
        """The ledger's totals as if the session kept no hard round in reserve."""
        totals = self._ledger.totals()
        reserved = totals.reserved - own * self._plan.hard_cost
        return replace(totals, reserved=reserved, testing=totals.testing - own)

    def first_share(self, table: str, scopes: Iterable[tuple[str, ...]], text_columns: Iterable[str] = ()) -> float:
        """What questions about ``scopes`` and text charge at most for what is measured first, in epsilon."""
        state = self._states[table]
        cost = 0 if state.model is not None or state.total is None else state.total.cost
        if state.warm is not None:
            units = [state.warm.next_units(scope) for scope in scopes]
            # pairs that two scopes share are counted twice: it is a bound
            cost += min(state.warm.pending_units(), sum(units))
        if state.texts is not None:
            starts = (state.texts.pending(column) for column in set(text_columns))
            cost += sum(start.units for start in starts if start is not None)
        return self._plan.epsilon_share(cost)

    def remaining_share(self, own: int) -> float:
        """Epsilon not spent yet, reservations of other processes taken off."""
        totals = self._without(own)
        return self._plan.epsilon_share(max(0, self._plan.total_units - totals.spent - totals.reserved))

    def shares(self) -> tuple[tuple[str, float, float], ...]:
        """(name, spent, planned) of each purse, both in epsilon."""
        share, plan = self._plan.epsilon_share, self._plan
        planned_warm = sum(s.warm.units for s in self._states.values() if s.warm is not None)
        planned_text = sum(s.texts.units for s in self._states.values() if s.texts is not None)
        totals, warm, text = (self._spent_on(kind) for kind in (TotalProgress, WarmProgress, TextProgress))
        hard = max(0, self._ledger.totals().spent - totals - warm - text)
        questions = plan.questions * question_cost(plan, self._policy)
        rows = [("hard rounds", share(hard), share(plan.hard_rounds * plan.hard_cost))]
        if plan.questions:
            rows = [("questions", share(hard), share(questions))]
        if planned_text:
            rows.insert(0, ("text columns", share(text), share(planned_text)))
        if planned_warm:
            rows.insert(0, ("warm start", share(warm), share(planned_warm)))
        planned_totals = plan.release_budget - planned_warm - planned_text - questions
        rows.append(("row counts", share(totals), share(planned_totals)))
        return tuple(rows)

    def _spent_on(self, kind: type[FirstTouch]) -> int:
        """Units that first measurements of one kind have cost so far, those under way excluded."""
        return sum(touch.spent for touch in self._first_touches() if isinstance(touch, kind))
