"""What the ledger says of every table: the session's state is a fold of its events, and nothing else. Public.

So a restart, another process and the session itself cannot disagree on what is known or spent.
"""

from collections.abc import Mapping
from fractions import Fraction

from dpsql.first import Touches, Used
from dpsql.first.payload import RESIDUAL, KeyLists, decode_release
from dpsql.first.touch import FirstTouch
from dpsql.ledger.event import Event, Payload
from dpsql.ledger.protocol import Ledger
from dpsql.planning import TablePlan
from dpsql.session.distinct.numbers import Numbers
from dpsql.session.own.by_value.measured_beside import BESIDE
from dpsql.session.own.pace import Pace
from dpsql.session.own.release import SPARE
from dpsql.session.table_state import TableState
from dpsql.session.terms.demands import Demands
from dpsql.synthesis import Runs
from dpsql.synthesis.runs import PURPOSE


class LedgerFold:
    """One ``TableState`` for each private table, kept up with the ledger in the ledger's order.

    ``touches``: the same states' first touches, by table. ``runs``: the recorded steps of synthetic tables.
    ``demands``: what was released with noise that analysts chose. ``numbers``: counts of different values. ``pace``: of
    spare releases.
    """

    def __init__(self, plans: Mapping[str, TablePlan], ledger: Ledger) -> None:
        self._plans, self._ledger = plans, ledger
        some = next(iter(plans.values()))  # all tables share the spare releases
        self.pace = Pace(some.spares, some.planned)
        self.states: dict[str, TableState] = {}
        self.touches: dict[str, Touches] = {}
        self.restart()

    def restart(self) -> None:
        """Begin again with no event taken in: after an interrupt nobody knows how far the last one had come."""
        self._seen = 0
        self._deltas: dict[int, tuple[tuple[str, str, int], Fraction]] = {}
        self._hard: set[int] = set()
        self.pace.restart()
        self.runs = Runs()
        self.demands = Demands()
        self.numbers = Numbers()
        self._lists = KeyLists()
        for name, plan in self._plans.items():
            before = self.states.get(name)
            state = self.states[name] = TableState(plan, self._ledger, self.pace)
            self.touches[name] = state.touches
            if before is not None:
                state.on_progress = before.on_progress

    def delta_spent(self) -> Fraction:
        """Delta of all selections of keys, those under way and those that were lost included.

        Each try is made once: what several sessions reserve for it at the same time is freed by all but the first.
        """
        largest: dict[tuple[str, str, int], Fraction] = {}
        for what, delta in self._deltas.values():
            largest[what] = max(delta, largest.get(what, delta))
        return sum(largest.values(), Fraction(0))

    def spares_used(self) -> int:
        """Spare releases of all tables that were begun and not given back, those that were lost included.

        One for several numbers may be paid as several.
        """
        return self.pace.used

    def used(self) -> Used:
        """What was begun and not given back, beside first touches and payments."""
        return Used(self.runs.spent, self.spares_used(), self.demands.used)

    def follow(self) -> None:
        """Take in the events since the last call, of this and of other sessions."""
        for event in self._ledger.events(self._seen):
            self._seen = max(self._seen, event.sequence)
            self._take(event)

    def _take(self, event: Event) -> None:
        self.demands.take(event)
        if event.kind == "free":
            self._deltas.pop(event.reservation, None)
            self.pace.free(event.reservation)
        if event.kind == "reserve":
            if event.payload.get("purpose") == SPARE:
                self.pace.take(event)
            if "delta" in event.payload:
                what = event.payload["table"], str(event.payload["columns"][0]), event.payload.get("try", 1)
                self._deltas[event.reservation] = what, Fraction(event.payload["delta"])
            if event.payload.get("purpose") == PURPOSE:
                self.runs.reserved(event)
            touch = self._touch_of(event.payload)
            if touch is not None:
                touch.reserved(event.reservation, event.cost, event.payload)
            return
        if event.kind == "hard":
            self._hard.add(event.reservation)
            return
        if self.runs.is_open(event.reservation):
            self.runs.ended(event)
            return
        touch = self._touch_under(event.reservation)
        if event.kind == "release":
            measurements = decode_release(event.payload, self._lists)
            self.numbers.take(event.payload)
            for kind, measurement in measurements:
                self.numbers.take_measurement(kind, measurement)
            if touch is not None:
                touch.released(event.reservation, measurements)
            for kind, measurement in measurements if touch is None else touch.completed():
                self.states[measurement.table].absorb(kind, measurement)
            if event.payload.get("kind") == RESIDUAL:
                self.states[measurements[0][1].table].misfit.take(event.payload)
            if BESIDE in event.payload:
                self.states[measurements[0][1].table].beside.take(event.payload)
            if event.reservation in self._hard:
                self._hard.discard(event.reservation)
                self.states[measurements[0][1].table].note_hard_round([m for _, m in measurements])
        elif touch is not None and event.kind == "free":
            touch.freed(event.reservation)
        elif touch is not None and event.kind == "burn":
            touch.burnt(event.reservation)
            for kind, measurement in touch.completed():  # what is given up now is known as far as it goes
                self.states[measurement.table].absorb(kind, measurement)

    def _touch_of(self, payload: Payload) -> FirstTouch | None:
        purpose, table = payload.get("purpose"), payload.get("table")
        touches = () if table is None else self.touches[table]
        return next((t for t in touches if t.purpose == purpose), None)

    def _touch_under(self, reservation: int) -> FirstTouch | None:
        touches = (t for found in self.touches.values() for t in found)
        return next((t for t in touches if t.is_open(reservation)), None)
