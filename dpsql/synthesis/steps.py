"""The paid steps of a run: each is reserved, drawn and recorded before its result is used, or given again for nothing.

Only here does a method of synthesis meet the ledger. The steps come in an order that depends on recorded steps alone,
so the number of a step says what it is.
"""

import json
from collections.abc import Callable
from typing import Any

from dpsql.errors import BudgetExhausted, InternalError
from dpsql.first import Bench, Turns
from dpsql.first.payment import Drawn, pay
from dpsql.first.turns import Step
from dpsql.ledger.event import Payload
from dpsql.synthesis.runs import DRAWN, PURPOSE, Runs


class Steps:
    """The steps of one run on one table. ``run`` names all that the steps depend on: method, workload, options.

    ``units``: what the whole run may charge, with what it charged before it was broken off. ``keeps_first_look``:
    whether what is kept for first looks at tables is left alone.
    """

    def __init__(
        self,
        run: str,
        table: str,
        units: int,
        bench: Bench,
        turns: Turns,
        runs: Callable[[], Runs],
        *,
        keeps_first_look: bool = True,
    ) -> None:
        self._run = run
        self._table = table
        self._left = units
        self._bench = bench
        self._turns = turns
        self._runs = runs
        self._next = 0
        self._only_row_counts = not keeps_first_look

    def pay(self, cost: int, draw: Callable[[], dict[str, Any]]) -> Payload:
        """The next step's result: recorded before, or drawn now for ``cost`` > 0 units.

        ``draw`` makes a JSON-able dictionary of what is released, and nothing else may leave it. An interrupt waits
        until the step is recorded; a failure inside ``draw`` charges the step, as a coin may have been drawn. While
        another session draws the same step it waits for it. BudgetExhausted, at no charge, when the ledger does not
        cover it; InternalError for a step beyond what the run was allowed.
        """
        if not 0 < cost <= self._left:
            raise InternalError("a method of synthesis asks for more than its run was allowed")
        number, self._next, self._left = self._next, self._next + 1, self._left - cost
        if self._known(number) is None:
            self._turns.take(
                f"the same step of a synthetic table of {self._table}",
                lambda: None if self._is_settled(number) else Step(cost, lambda: self._make(number, cost, draw)),
                lambda: self._known(number) is None and self._runs().is_under_way(self._run, number),
            )
        known = self._known(number)
        if known is None:
            raise self._exhausted(cost)
        return known

    @property
    def is_next_recorded(self) -> bool:
        """Whether the next step was drawn before: what would be worked out for it is in its result."""
        return self._known(self._next) is not None

    def _known(self, number: int) -> Payload | None:
        return self._runs().recorded(self._run).get(number)

    def _is_settled(self, number: int) -> bool:
        """Whether there is nothing to draw here: the step is recorded, or under way in another session."""
        return self._known(number) is not None or self._runs().is_under_way(self._run, number)

    def _make(self, number: int, cost: int, draw: Callable[[], dict[str, Any]]) -> float:
        """Reserve, draw, record; what that charged, in epsilon. Nothing where another session was earlier."""
        named = {"run": self._run, "step": number}
        payload = {"purpose": PURPOSE, "table": self._table, "burn": cost, **named}

        def reserve() -> int:
            reservation = self._turns.reserve_beside(cost, payload, only_row_counts=self._only_row_counts)
            if reservation is None:
                raise self._exhausted(cost)
            return reservation

        def is_late(reservation: int) -> bool:
            return self._known(number) is not None or self._runs().is_under_way(self._run, number, before=reservation)

        def recorded() -> Drawn:
            drawn = json.loads(json.dumps(draw()))  # what a ledger in memory holds is what a file would
            return Drawn({"kind": PURPOSE, **named, DRAWN: drawn})

        paid = pay(cost, self._bench, self._turns, reserve, is_late, recorded)
        return 0.0 if paid is None else self._bench.plan.as_epsilon(cost)

    def _exhausted(self, cost: int) -> BudgetExhausted:
        plan = self._bench.plan
        return BudgetExhausted(
            "the privacy budget does not cover the next step of this synthetic table",
            requested=plan.as_epsilon(cost),
            remaining=plan.as_epsilon(self._turns.affordable_beside(only_row_counts=self._only_row_counts)),
            hint="what was drawn is kept; see dpsql budget, and ask the owner for a new budget",
        )
