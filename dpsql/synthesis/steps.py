"""The paid steps of a run: each is reserved, drawn and recorded before its result is used, or given again for nothing.

Only here does a method of synthesis meet the ledger. The steps come in an order that depends on recorded steps alone,
so the number of a step says what it is.
"""

from collections.abc import Callable
from typing import Any

from dpsql.errors import BudgetExhausted, LedgerError
from dpsql.first import Bench, Turns
from dpsql.ledger import interrupts_held
from dpsql.ledger.event import Payload
from dpsql.synthesis.runs import PURPOSE, Runs


class Steps:
    """The steps of one run on one table. ``run`` names all that the steps depend on: method, workload, options."""

    def __init__(self, run: str, table: str, bench: Bench, turns: Turns, runs: Callable[[], Runs]) -> None:
        self._run = run
        self._table = table
        self._bench = bench
        self._turns = turns
        self._runs = runs
        self._next = 0

    def pay(self, cost: int, draw: Callable[[], dict[str, Any]]) -> Payload:
        """The next step's result: recorded before, or drawn now for ``cost`` units.

        ``draw`` makes a JSON-able dictionary of what is released, and nothing else may leave it. Its names ``kind``,
        ``run`` and ``step`` are taken. An interrupt waits until the step is recorded. BudgetExhausted, at no charge,
        when the ledger does not cover it.
        """
        number, self._next = self._next, self._next + 1
        known = self._runs().recorded(self._run).get(number)
        if known is not None:
            return known
        named = {"run": self._run, "step": number}
        ledger = self._bench.ledger
        with interrupts_held():
            reserved = {"purpose": PURPOSE, "table": self._table, "burn": cost, **named}
            reservation = self._turns.reserve_beside(cost, reserved)
            if reservation is None:
                raise self._exhausted(cost)
            with ledger.drawing(reservation):
                ledger.release(reservation, {**draw(), "kind": PURPOSE, **named})
                self._bench.paid.units += cost
        self._turns.follow()
        known = self._runs().recorded(self._run).get(number)
        if known is None:
            raise LedgerError("a recorded step of a synthetic table is not in the ledger")
        return known

    def _exhausted(self, cost: int) -> BudgetExhausted:
        plan = self._bench.plan
        totals = self._bench.ledger.totals()
        left = max(0, plan.total_units - totals.spent - totals.reserved)
        return BudgetExhausted(
            "the privacy budget does not cover the next step of this synthetic table",
            requested=plan.as_epsilon(cost),
            remaining=plan.as_epsilon(left),
        )
