"""How many spare releases a question is paid as, so that they last for the planned questions and none is left. Public.

A plan keeps spare releases for .6 of the planned questions, and nobody knows before how many will need one: between a
tenth and a half of them on six tables. How many have needed one so far says how many of the rest will; where more are
left than that, each question gets several, and so less noise. The ledger's accountant adds up whatever is spent.
"""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager

from dpsql.errors import LedgerError
from dpsql.ledger.event import Event, Payload

MOST_TIMES = 3
"""Spare releases for one question in place of one. What it is measured beside has noise of its own."""
FORESEEN = 0.1
"""Of the planned questions: for so many the plan's guess counts beside what was needed."""
FEWEST_FORESEEN = 20.0
"""Questions: for so many at least; as many are the last ones, which may need more than those before."""
LAST = 0.1
"""Of the planned questions: so many are always taken to be still to come."""


class Pace:
    """Of a plan with so many ``spares`` for so many ``planned`` questions: what was spent of them, and for how many.

    A fold of reservations, but for the questions that this session was asked since its last spare release: the next
    one says how many, and no process knows what another was asked since then.

    >>> pace = Pace(600, 1000)
    >>> pace.times()
    1
    >>> for question in range(400):
    ...     pace.ask()
    >>> pace.times()
    3
    """

    def __init__(self, spares: int, planned: int) -> None:
        self._spares, self._planned = spares, planned
        self._unsaid = 0
        self._held: tuple[int, float] | None = None
        self.restart()

    def restart(self) -> None:
        """Forget the ledger's events, which are taken in anew."""
        self._taken: dict[int, tuple[int, int, int]] = {}  # after how many questions, how many, and at one for each
        self._after: list[int] = []
        self._needed = [0]  # by all before
        self._asked = 0
        self.used = 0
        """Spare releases that were begun and not given back, those that were lost included."""

    def ask(self) -> None:
        """One more question, or the groups of one statement, that nobody had been answered before."""
        self._unsaid += 1

    def said(self, times: int) -> Payload:
        """What a reservation for a question says beside the number of spare releases that it is paid as."""
        return {"times": times, "asked": self._unsaid}

    def told(self) -> None:
        """A reservation has said it."""
        self._unsaid = 0

    def take(self, event: Event) -> None:
        """A reservation for spare releases; LedgerError when it does not say for how many."""
        number, times, asked = (event.payload.get(key, least) for key, least in _SAID)  # earlier rules: one for each
        if type(number) is not int or type(times) is not int or type(asked) is not int:
            raise _unreadable()
        if min(number, times) < 1 or asked < 0 or number % times:
            raise _unreadable()
        self._asked += asked
        self._taken[event.reservation] = self._asked, number, number // times
        self._count(*self._taken[event.reservation])

    def free(self, reservation: int) -> None:
        """It was given back."""
        if self._taken.pop(reservation, None) is not None:
            self._after, self._needed, self.used = [], [0], 0
            for taken in self._taken.values():
                self._count(*taken)

    def _count(self, after: int, number: int, needed: int) -> None:
        self._after.append(after)
        self._needed.append(self._needed[-1] + needed)
        self.used += number

    def times(self) -> int:
        """How many to pay in place of one: what is left for each that is going to be needed, rounded."""
        return self._times() if self._held is None else self._held[0]

    def need(self) -> float:
        """How many of those that are left are going to be needed, at one for each question; 1 at least."""
        return self._need() if self._held is None else self._held[1]

    def _need(self) -> float:
        """As many of the questions to come as of those before, or as of the last ones: subjects change."""
        asked = self._asked + self._unsaid
        guessed = max(FORESEEN * self._planned, FEWEST_FORESEEN)
        needed = self._needed[-1]
        last = needed - self._needed[bisect_right(self._after, asked - guessed)]
        rate = max((needed + guessed * self._spares / self._planned) / (guessed + asked), last / guessed)
        return max(1.0, rate * max(self._planned - asked, LAST * self._planned))

    def _times(self) -> int:
        return max(1, min(MOST_TIMES, int((self._spares - self.used) / self.need() + 0.5)))

    @contextmanager
    def held(self, times: int | None = None) -> Iterator[None]:
        """So many for each question while this lasts, as many as now by default, and as many that are needed as now:
        what was explained is what is paid."""
        before, self._held = self._held, (self.times() if times is None else times, self.need())
        try:
            yield
        finally:
            self._held = before


_SAID = (("spares", 1), ("times", 1), ("asked", 0))


def _unreadable() -> LedgerError:
    return LedgerError("a spare release in the ledger cannot be read")
