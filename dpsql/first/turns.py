"""Reservations in turn with other sessions: whatever several sessions begin at once, one of them does.

Every first measurement and every payment waits here and nowhere else.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from dpsql.accounting import Plan
from dpsql.errors import BudgetExhausted, Error
from dpsql.first.bench import Tally
from dpsql.first.purses import Purses
from dpsql.ledger.event import Totals
from dpsql.ledger.protocol import Ledger

CROWD_SECONDS = 1.0
"""For a budget that is reserved several times over."""
_PAUSE_SECONDS = 0.02


@dataclass(frozen=True)
class Step:
    """What can be reserved and measured next, for ``cost`` units; ``make`` does it and returns epsilon charged."""

    cost: int
    make: Callable[[], float]


class Turns:
    """Reserves first measurements and payments, in turn with other sessions.

    ``paid``: what this session's releases have spent. ``follow`` takes in what is new in the ledger; ``settle`` also
    closes what nobody works under any more, in this session or in one that has died. ``on_wait`` is told what another
    session is measuring, and how many seconds it has been waited for.
    """

    def __init__(
        self,
        plan: Plan,
        ledger: Ledger,
        purses: Purses,
        paid: Tally,
        follow: Callable[[], None],
        settle: Callable[[], None],
    ) -> None:
        self.follow = follow
        self.on_wait: Callable[[str, int], None] | None = None
        self._plan = plan
        self._ledger = ledger
        self._purses = purses
        self._paid = paid
        self._settle = settle
        self._most: int | None = None
        self.held_back = False
        """Whether something was done without since there is a limit: what is answered then is not kept."""

    @contextmanager
    def limited(self, epsilon: float | None) -> Iterator[None]:
        """So much at most is spent while this lasts, whatever other sessions do meanwhile; ``None``: no limit."""
        before = self._most, self.held_back
        self._most = None if epsilon is None else self._paid.units + self._plan.units_within(float(epsilon))
        self.held_back = False
        try:
            yield
        finally:
            self._most, self.held_back = before

    def allowance(self) -> int | None:
        """Units that are left of the limit; ``None``: there is none."""
        return None if self._most is None else self._most - self._paid.units

    def allows(self, cost: int) -> bool:
        """Whether so many units are within the limit, if there is one."""
        if self._most is None or self._paid.units + cost <= self._most:
            return True
        self.go_without()
        return False

    def go_without(self) -> None:
        """Note that something is done without, if there is a limit: whoever asks without one may be given more."""
        self.held_back = self._most is not None

    def take(self, what: str, next_step: Callable[[], Step | None], others_at_work: Callable[[], bool]) -> float:
        """Make every step that is left and affordable; what that charged, in epsilon.

        Waits for as long as another session lives that is measuring the same: an answer now would be needlessly bad for
        good. Where it dies, its lock tells, and this one goes on. Whatever is lost on the way is done without.
        """
        try:
            return self._take(what, next_step, others_at_work)
        except BaseException:
            with suppress(Error):  # a reservation left open would keep others waiting, and this very session
                self._settle()
            raise

    def _take(self, what: str, next_step: Callable[[], Step | None], others_at_work: Callable[[], bool]) -> float:
        charged, begin = 0.0, monotonic()
        while True:
            step = next_step()
            if step is not None and step.cost <= self.affordable() and self.allows(step.cost):
                charged += step.make()
                continue
            if step is not None:
                self.follow()
            crowded = step is not None and self._is_crowded(step.cost, begin)
            if not others_at_work() and not crowded:
                return charged  # measured, or burnt reservations have taken its share: the net has to do without
            if self.on_wait is not None:
                self.on_wait(what, int(monotonic() - begin))
            sleep(_PAUSE_SECONDS)
            self._settle()

    def reserve_first(self, cost: int, payload: dict[str, Any]) -> int | None:
        """A reservation for a first measurement; ``None`` when the budget has gone to others."""
        try:
            return self._ledger.reserve(cost, lambda t: self._purses.check(t, cost), {**payload, "burn": cost})
        except BudgetExhausted:
            return None  # affordable a moment ago: others reserve at the same time

    def reserve_beside(
        self, cost: int, payload: dict[str, Any], tests: int = 0, *, only_row_counts: bool = False
    ) -> int | None:
        """A reservation beside what is kept for first measurements; ``None`` when the budget does not cover it.

        ``tests``: 1 for a hard round. ``only_row_counts``: what is kept for other first measurements may be spent.
        """
        begin = monotonic()
        while self.allows(cost):
            self.follow()  # what was kept may be reserved by now, or given back
            kept = self._purses.unbegun(only_row_counts=only_row_counts)

            def check(totals: Totals, kept: int = kept) -> None:
                self._purses.check(totals, cost, kept=kept, tests=tests)

            try:
                return self._ledger.reserve(cost, check, payload)
            except BudgetExhausted:
                self.follow()
            unmeasured = self._purses.unmeasured(only_row_counts=only_row_counts)
            if not self._is_crowded(cost, begin, kept=unmeasured, tests=tests):
                return None
            sleep(_PAUSE_SECONDS)
            self._settle()
        return None

    def can_pay(self, units: Callable[[], int]) -> bool:
        """Whether ``units()`` fit beside what is spent and reserved; waits a moment where others only reserve them."""
        return self._comes_true(lambda: units() <= self.affordable(), lambda: self._is_paid(units()))

    def can_pay_beside(self, fits: Callable[[], bool], cost: int, tests: int = 0) -> bool:
        """Whether ``fits()`` is true, or comes true a moment later because others only reserve what is in its way.

        ``cost``: units that it is about, beside what is kept for first measurements; ``tests``: tests among them.
        """
        return self._comes_true(fits, lambda: self._is_paid(cost, kept=self._purses.unmeasured(), tests=tests))

    def _comes_true(self, fits: Callable[[], bool], may_wait: Callable[[], bool]) -> bool:
        """Whether ``fits()``, tried again for a moment while ``may_wait()``."""
        begin = monotonic()
        while not fits():
            self._settle()
            if not may_wait() or monotonic() >= begin + CROWD_SECONDS:
                return fits()
            sleep(_PAUSE_SECONDS)
        return True

    def affordable(self) -> int:
        """Units that are left for noise beside what is spent and reserved."""
        return self._purses.noise_left(self._ledger.totals())

    def affordable_beside(self, *, only_row_counts: bool = False) -> int:
        """The same beside what is kept for first measurements that nobody has begun, as in ``reserve_beside``."""
        return max(0, self.affordable() - self._purses.unbegun(only_row_counts=only_row_counts))

    def _is_crowded(self, cost: int, begin: float, *, kept: int = 0, tests: int = 0) -> bool:
        """Whether it is worth waiting: all that is in the way are reservations for first measurements and questions."""
        return self._is_paid(cost, kept=kept, tests=tests) and monotonic() < begin + CROWD_SECONDS

    def _is_paid(self, cost: int, *, kept: int = 0, tests: int = 0) -> bool:
        """Whether what is spent, and the hard rounds that are reserved, leave ``cost`` units.

        Of other reservations, what several sessions make at once is freed again by all but one.
        """
        totals = self._ledger.totals()
        standing = Totals(totals.spent, totals.testing * self._plan.hard_cost, totals.tested, totals.testing)
        return self.allows(cost) and self._purses.covers(standing, cost, kept=kept, tests=tests)
