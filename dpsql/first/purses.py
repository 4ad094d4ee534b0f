"""What is spent, kept back and left: the ledger's totals seen through the plan's shares. Public.

Every reservation is checked here, under the ledger's write lock: the one place that compares a cost with what is left.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from dpsql.accounting import Accountant, Plan
from dpsql.errors import BudgetExhausted
from dpsql.first.touch import FirstTouch
from dpsql.ledger.event import Totals
from dpsql.ledger.protocol import Ledger
from dpsql.planning import Payment
from dpsql.result import Purse


@dataclass(frozen=True)
class Used:
    """What was begun and not given back: units that synthetic ``tables`` have spent, ``spares`` (spare releases that
    were made), units for noise ``on_demand``.
    """

    tables: int = 0
    spares: int = 0
    on_demand: int = 0


class Purses:
    """Units and shares of one session; ``own``, 0 or 1, are hard rounds that the session itself keeps in reserve.

    ``touches``: the first touches of each table; ``payment``: what buys an answer that no model gives; ``used``: what
    the ledger says of releases that neither of them makes.
    """

    def __init__(
        self,
        plan: Plan,
        ledger: Ledger,
        touches: Mapping[str, Iterable[FirstTouch]],
        payment: Payment,
        used: Callable[[], Used] = Used,
    ) -> None:
        self.payment = payment
        self._plan = plan
        self._accountant = Accountant.of(plan)
        self._ledger = ledger
        self._touches = touches
        self._used = used

    # --- the check that every reservation passes ---------------------------------------------------------------

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

    # --- units -------------------------------------------------------------------------------------------------

    def noise_left(self, totals: Totals) -> int:
        """Units that are left for noise beside what the ledger holds."""
        return self._accountant.noise_left(totals.spent + totals.reserved, totals.tested + totals.testing)

    def unbegun(self, *, only_row_counts: bool = False) -> int:
        """Units kept back for row counts, and first measurements, that nobody has begun."""
        return sum(t.unbegun_units() for t in self._all() if not only_row_counts or t.purpose == _ROW_COUNT)

    def unmeasured(self, *, only_row_counts: bool = False) -> int:
        """Units for row counts, and first measurements, that are not made, those under way included."""
        under_way = sum(touch.under_way_units() for touch in self._all())
        return self.unbegun(only_row_counts=only_row_counts) + under_way

    def payments_left(self, own: int) -> int:
        """How many hard rounds or planned questions the budget still covers, the one held in reserve included."""
        payment = self.payment
        if payment.number == 0:
            return 0
        totals = self._without(own)
        left = payment.number - payment.tests * (totals.tested + totals.testing)
        return max(0, min(self._free(totals) // payment.noise_units, left))

    def spares_left(self) -> int:
        """How many spare releases the budget still covers: synthetic tables may have spent what was kept for them."""
        left = self._plan.spares - self._used().spares
        return max(0, min(self._free(self._ledger.totals()) // self._plan.spare_units, left)) if left > 0 else 0

    def on_demand_left(self) -> int:
        """Units left of what was set aside for demands: synthetic tables may have spent what was kept for them."""
        left = self._plan.on_demand_units - self._used().on_demand
        return max(0, min(self._free(self._ledger.totals()), left))

    def _all(self) -> Iterator[FirstTouch]:
        return (touch for touches in self._touches.values() for touch in touches)

    def _free(self, totals: Totals) -> int:
        """Units for noise that are left beside first measurements, made or not; reserved twice, they count once."""
        twice = sum(touch.charged_units - touch.spent - touch.under_way_units() for touch in self._all())
        return self.noise_left(totals) + twice - self.unbegun()

    def _without(self, own: int) -> Totals:
        """The ledger's totals as if the session kept no hard round in reserve."""
        totals = self._ledger.totals()
        reserved = totals.reserved - own * self._plan.hard_cost
        return replace(totals, reserved=reserved, testing=totals.testing - own)

    # --- as epsilon --------------------------------------------------------------------------------------------

    def remaining_epsilon(self, own: int) -> float:
        """Epsilon not spent yet, reservations of other processes taken off."""
        totals = self._without(own)
        return self._plan.as_epsilon(max(0, self._plan.total_units - totals.spent - totals.reserved))

    def shares(self) -> tuple[Purse, ...]:
        """Each purse, in epsilon; for synthetic tables, which no plan foresees, 0 is planned."""
        share, plan = self._plan.as_epsilon, self._plan
        spent = {p: sum(t.spent for t in self._all() if t.purpose == p) for p in _NAMES}
        planned = {p: sum(t.planned_units for t in self._all() if t.purpose == p) for p in _NAMES}
        payment = self.payment
        used, all_spares = self._used(), plan.spares * plan.spare_units
        tables, spares, demands = used.tables, used.spares * plan.spare_units, used.on_demand
        paid = max(0, self._ledger.totals().spent - sum(spent.values()) - tables - spares - demands)
        aside = all_spares + plan.on_demand_units
        # what rounding leaves counts with the row counts
        planned[_ROW_COUNT] += plan.total_units - payment.number * payment.units - sum(planned.values()) - aside
        rows = {name: (share(spent[p]), share(planned[p])) for p, name in _NAMES.items() if planned[p]}
        last = rows.pop(_NAMES[_ROW_COUNT], (share(spent[_ROW_COUNT]), 0.0))
        rows[payment.purse] = (share(paid), share(payment.number * payment.units))
        if all_spares:
            rows["spare releases"] = (share(spares), share(all_spares))
        if plan.on_demand_units:
            rows[ON_DEMAND] = (share(demands), share(plan.on_demand_units))
        if tables:
            rows["synthetic tables"] = (share(tables), 0.0)
        rows[_NAMES[_ROW_COUNT]] = last
        return tuple(Purse(name, *both) for name, both in rows.items())


_ROW_COUNT = "row count"
ON_DEMAND = "on demand"
"""What the purse of demands is called, and the purpose of its reservations."""
_NAMES = {"warm start": "warm start", "text start": "text columns", _ROW_COUNT: "row counts"}
"""What a purse is called, by the purpose of its reservations, in the order in which they are spent."""
