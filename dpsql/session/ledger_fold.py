"""What the ledger says of every table: the session's state is a fold of its events, and nothing else. Public."""

from fractions import Fraction

from dpsql.accounting import Plan
from dpsql.ledger.event import Event, Payload
from dpsql.ledger.protocol import Ledger
from dpsql.policy import Policy
from dpsql.session.first_touch import FirstTouch
from dpsql.session.payload import decode_release
from dpsql.session.table_state import TableState
from dpsql.session.total_progress import NO_COLUMNS


class LedgerFold:
    """One ``TableState`` for each private table, kept up with the ledger in the ledger's order."""

    def __init__(self, policy: Policy, plan: Plan, ledger: Ledger) -> None:
        self._policy, self._plan, self._ledger = policy, plan, ledger
        self.states: dict[str, TableState] = {}
        self.restart()

    def restart(self) -> None:
        """Begin again with no event taken in: after an interrupt nobody knows how far the last one had come."""
        self._seen = 0
        self._deltas: dict[int, tuple[tuple[str, str], Fraction]] = {}
        self._hard: set[int] = set()
        for table in self._policy.tables:
            before = self.states.get(table.name)
            self.states[table.name] = TableState.make(table, self._plan, self._policy, self._ledger)
            if before is not None:
                self.states[table.name].progress = before.progress

    def delta_spent(self) -> Fraction:
        """Delta of all selections of keys, those under way and those that were lost included.

        Each is made once: what several sessions reserve for it at the same time is freed by all but the first.
        """
        largest: dict[tuple[str, str], Fraction] = {}
        for what, delta in self._deltas.values():
            largest[what] = max(delta, largest.get(what, delta))
        return sum(largest.values(), Fraction(0))

    def follow(self) -> None:
        """Take in the events since the last call, of this and of other sessions."""
        for event in self._ledger.events(self._seen):
            self._seen = max(self._seen, event.sequence)
            self._take(event)

    def _take(self, event: Event) -> None:
        if event.kind == "free":
            self._deltas.pop(event.reservation, None)
        if event.kind == "reserve":
            if "delta" in event.payload:
                what = event.payload["table"], str(event.payload["columns"])
                self._deltas[event.reservation] = what, Fraction(event.payload["delta"])
            touch = self._touch_of(event.payload)
            if touch is not None:
                touch.reserved(event.reservation, event.cost, event.payload.get("columns", [NO_COLUMNS]))
            return
        if event.kind == "hard":
            self._hard.add(event.reservation)
            return
        touch = self._touch_under(event.reservation)
        if event.kind == "release":
            measurements = decode_release(event.payload)
            if touch is not None:
                touch.released(event.reservation, [m for _, m in measurements])
            for kind, measurement in measurements:
                self.states[measurement.table].absorb(kind, measurement)
            if event.reservation in self._hard:
                self._hard.discard(event.reservation)
                self.states[measurements[0][1].table].repaired([m for _, m in measurements])
        elif touch is not None and event.kind == "free":
            touch.freed(event.reservation)
        elif touch is not None and event.kind == "burn":
            touch.burnt(event.reservation)

    def _touch_of(self, payload: Payload) -> FirstTouch | None:
        purpose, table = payload.get("purpose"), payload.get("table")
        touches = () if table is None else self.states[table].first_touches
        return next((t for t in touches if t.purpose == purpose), None)

    def _touch_under(self, reservation: int) -> FirstTouch | None:
        touches = (t for s in self.states.values() for t in s.first_touches)
        return next((t for t in touches if t.is_open(reservation)), None)
