"""Where the value of an expression may change as a binned column runs through its values. Public.

A cell of a binned column stands for many values, and a condition may hold for some of them only. Most expressions are
constant between a few numbers that are written out, so that looking at these and between them is looking everywhere.
Where nothing is known, an expression is taken to change anywhere: then no cell of the column is settled by it.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from math import ceil, floor, isfinite
from typing import NamedTuple

from dpsql.sql.expressions.changes.straight import Straight

MOST_STEPS = 10_000
"""Steps of lattices inside a column's range; with more an expression is taken to change anywhere."""


class Lattice(NamedTuple):
    """The numbers ``offset + k * step`` for all whole k; ``step`` > 0. ``passed``: those of them between which a
    constant is passed, where an expression is compared with some alone."""

    offset: float
    step: float
    passed: tuple[float, ...] | None = None

    def inside(self, low: float, high: float) -> list[float] | None:
        """Those from ``low`` to ``high``; ``None`` when they are too many.

        >>> Lattice(0.5, 2.0).inside(0.0, 5.0)
        [0.5, 2.5, 4.5]
        """
        first, last = (low - self.offset) / self.step, (high - self.offset) / self.step
        if not (isfinite(first) and isfinite(last)) or last - first > MOST_STEPS:
            return None
        return [self.offset + k * self.step for k in range(ceil(first), floor(last) + 1)]


class Anywhere(Enum):
    """``ANYWHERE``: nothing is known of where an expression changes."""

    ANYWHERE = 0


ANYWHERE = Anywhere.ANYWHERE
Breaks = frozenset[float | Lattice | Anywhere]
"""Where an expression may change along one column."""
Steps = Mapping[str, Breaks]
"""Breaks along each binned column that an expression mentions."""
NO_STEPS: Steps = {}
UNKNOWN: Breaks = frozenset([ANYWHERE])


def merged(parts: Iterable[Steps]) -> Steps:
    """Steps of an expression made of parts with these.

    >>> merged([{"x": frozenset([1.0])}, {"x": frozenset([2.0]), "y": UNKNOWN}])["x"] == {1.0, 2.0}
    True
    """
    out: dict[str, Breaks] = {}
    for steps in parts:
        for column, breaks in steps.items():
            out[column] = out[column] | breaks if column in out else breaks
    return out


def compared(line: Straight, values: Iterable[float | None]) -> Breaks:
    """Where comparisons of a straight line with constants may change."""
    found = [None if v is None else line.passed(v) for v in values]
    return UNKNOWN if None in found else frozenset(x for at in found if at is not None for x in at if isfinite(x))


def rounded(line: Straight, *, half: bool, unit: float = 1.0) -> Breaks:
    """Where a straight line, rounded to whole units, may change: at these, or (``half``) half way between them.

    >>> rounded(Straight("x", 0.1), half=False)
    frozenset({Lattice(offset=0.0, step=10.0, passed=None)})
    """
    step = abs(unit / line.scale)
    offset = line.solved(unit / 2 if half else 0.0)
    return frozenset([Lattice(offset, step)]) if isfinite(step) and isfinite(offset) and step > 0.0 else UNKNOWN
