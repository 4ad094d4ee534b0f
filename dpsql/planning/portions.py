"""How a first look is cut into reservations, so that whatever burns one leaves enough to measure it again. Public.

A killed process loses what it had reserved. So a reservation takes a small share of its purse, never more than half of
what is left of it, and one large contingency is measured in several releases, which are averaged. What was lost waits
again; when the purse has become too small for all that waits, everything gets the same share of its precision. Sizes
and order follow from the plan and from what the ledger holds, never from the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

AT_STAKE = 25
"""A reservation takes at most this part of its purse (1/25), if one contingency's portion is not more than that."""
PORTIONS = 6
"""A contingency that is worth more is measured in at most so many portions, equal ones but for the last."""
LEAST = Fraction(1, 64)
"""What waits is given up when the purse covers a smaller share of it: that would be noise alone."""


@dataclass(frozen=True)
class Want:
    """What is to be measured: ``need`` of ``whole`` planned units are missing; both as if nothing had been lost."""

    columns: tuple[str, ...]
    whole: int
    need: int
    divisible: bool = True


@dataclass(frozen=True)
class Portion:
    """The next part of a want: ``units`` it costs, and ``rest`` planned units that are missing after it."""

    columns: tuple[str, ...]
    units: int
    rest: int


@dataclass(frozen=True)
class Purse:
    """Units of a first look: ``planned`` in all, ``left`` now, ``needed`` for all that is missing."""

    planned: int
    left: int
    needed: int

    def scaled(self, units: int) -> int:
        """What ``units`` of the plan cost now: as planned, or less where more was lost than the purse can replace.

        >>> Purse(100, 90, 100).scaled(50), Purse(100, 100, 80).scaled(50)
        (45, 50)
        """
        return units if self.left >= self.needed else units * max(self.left, 0) // self.needed

    @property
    def is_empty(self) -> bool:
        """Whether so little is left that nothing more is measured."""
        return self.needed > 0 and self.left < LEAST * self.needed

    @property
    def room(self) -> int:
        """Units of one reservation: what it leaves must be able to replace it."""
        return min(self.planned // AT_STAKE, self.left // 2)


def portions(wanted: Sequence[Want], purse: Purse) -> list[Portion]:
    """The next reservation: as many of ``wanted``, in their order, as it has room for, or a portion of the first.

    >>> three = [Want((c,), 20, 20) for c in "abc"]
    >>> [p.columns for p in portions(three, Purse(1000, 1000, 60))]
    [('a',), ('b',)]
    >>> portions([Want(("a", "b"), 600, 600)], Purse(1000, 1000, 600))
    [Portion(columns=('a', 'b'), units=100, rest=500)]
    """
    out: list[Portion] = []
    room = purse.room
    for want in wanted:
        cost = purse.scaled(want.need)
        if cost > room:
            break
        out.append(Portion(want.columns, cost, 0))
        room -= cost
    return out or [_first_of(want, purse) for want in wanted[:1]]


def part_of(want: Want, planned: int, purse: Purse) -> Portion:
    """The portion of ``want`` that ``planned`` of its units make, or all of it."""
    part = min(planned, want.need)
    return Portion(want.columns, purse.scaled(part), want.need - part)


def _first_of(want: Want, purse: Purse) -> Portion:
    """One portion: equal ones, as few as leave none above the room, or as PORTIONS allows."""
    if not want.divisible:
        return part_of(want, want.need, purse)
    most = max(purse.room, purse.scaled(-(-want.whole // PORTIONS)), 1)
    number = -(-purse.scaled(want.need) // most)
    return part_of(want, -(-want.need // max(number, 1)), purse)
