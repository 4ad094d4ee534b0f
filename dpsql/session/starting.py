"""First measurements, one reservation after another: whatever several sessions begin at once, one of them does."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from dpsql.accounting import Accountant, Plan
from dpsql.errors import BudgetExhausted, Error, OperationalError
from dpsql.ledger.protocol import Ledger
from dpsql.session.purses import check_covered, noise_left

WAIT_SECONDS = 20.0
"""For another session that is measuring the same table."""
CROWD_SECONDS = 1.0
"""For a budget that is reserved several times over."""
_PAUSE_SECONDS = 0.02


@dataclass(frozen=True)
class Step:
    """What can be reserved and measured next, for ``cost`` units; ``make`` does it and returns epsilon charged."""

    cost: int
    make: Callable[[], float]


class Starter:
    """Makes first measurements in turn with other sessions; whatever is lost on the way is done without."""

    def __init__(self, plan: Plan, ledger: Ledger, follow: Callable[[], None]) -> None:
        self._plan = plan
        self._accountant = Accountant.of(plan)
        self._ledger = ledger
        self._follow = follow

    def run(self, table: str, next_step: Callable[[], Step | None], others_at_work: Callable[[], bool]) -> float:
        """Make every step that is left and affordable; what that charged, in epsilon.

        Waits while another session is measuring the same: an answer now would be needlessly bad for good.
        OperationalError when that takes too long.
        """
        charged, begin = 0.0, monotonic()
        while True:
            step = next_step()
            if step is not None and step.cost <= self.affordable():
                charged += step.make()
                continue
            if step is not None:
                self._follow()
            crowded = step is not None and self._is_crowded(step.cost, begin)
            if not others_at_work() and not crowded:
                return charged  # measured, or burnt reservations have taken its share: the net has to do without
            if monotonic() > begin + WAIT_SECONDS:
                raise OperationalError(
                    f"another session is measuring {table} for the first time",
                    hint="ask again in a moment; if that session has died, open a new connection",
                )
            sleep(_PAUSE_SECONDS)
            self._follow()

    def reserve(self, cost: int, payload: dict[str, Any], is_late: Callable[[int], bool]) -> int | None:
        """A reservation for a first measurement; ``None`` when the budget has gone to others or they were earlier.

        ``is_late``: whether the ledger holds an earlier reservation for the same measurement.
        """
        try:
            reservation = self._ledger.reserve(
                cost,
                lambda totals: check_covered(self._accountant, totals, cost),
                {**payload, "burn": cost},
            )
        except BudgetExhausted:
            return None  # affordable a moment ago: others reserve at the same time
        try:
            self._follow()
            late = is_late(reservation)
        except BaseException:
            with suppress(Error):  # nothing was drawn under it; left open, it would keep this very session waiting
                self._ledger.free(reservation)
            raise
        if late:
            self._ledger.free(reservation)
            self._follow()
            return None
        return reservation

    def can_pay(self, units: Callable[[], int]) -> bool:
        """Whether ``units()`` fit beside what is spent and reserved; waits a moment where others only reserve them."""
        begin = monotonic()
        while units() > self.affordable():
            self._follow()
            if not self._is_crowded(units(), begin):
                return units() <= self.affordable()
            sleep(_PAUSE_SECONDS)
        return True

    def affordable(self) -> int:
        """Units that are left for noise beside what is spent and reserved."""
        return noise_left(self._accountant, self._ledger.totals())

    def _is_crowded(self, cost: int, begin: float) -> bool:
        """Whether it is worth waiting: ``cost`` fits beside what is spent and the hard round that a session keeps in
        reserve, and what several sessions reserve at once is freed again by all but one of them."""
        totals = self._ledger.totals()
        fits = self._plan.measure_cost + cost <= self._accountant.noise_left(totals.spent, totals.tested)
        return fits and monotonic() < begin + CROWD_SECONDS
