"""Where the value of an expression may change as a binned column runs through its values. Public.

A cell of a binned column stands for many values, and a condition may hold for some of them only. Most expressions are
constant between a few numbers that are written out, so that looking at these and between them is looking everywhere.
Where nothing is known, an expression is taken to change anywhere: then no cell of the column is settled by it.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from math import ceil, floor, isfinite
from typing import NamedTuple

from sqlglot import exp

MOST_STEPS = 10_000
"""Steps of one lattice inside a column's range; with more an expression is taken to change anywhere."""


class Straight(NamedTuple):
    """The expression ``scale * column + shift`` of a number column; ``scale`` is not 0."""

    column: str
    scale: float = 1.0
    shift: float = 0.0

    def solved(self, value: float) -> float:
        """Where the expression has this value, up to rounding.

        >>> Straight("x", 2.0, 1.0).solved(5.0)
        2.0
        """
        return (value - self.shift) / self.scale + 0.0  # -0.0 is 0.0: equal questions are written alike


class Lattice(NamedTuple):
    """The numbers ``offset + k * step`` for all whole k; ``step`` > 0."""

    offset: float
    step: float

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
_FLOORS = frozenset({"floor", "ceil", "ceiling", "trunc"})


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


def arithmetic(kind: type, left: Straight | float | None, right: Straight | float | None) -> Straight | None:
    """``left op right`` as a straight line; each side is one, a constant, or (``None``) something else.

    >>> arithmetic(exp.Sub, 1.0, Straight("x"))
    Straight(column='x', scale=-1.0, shift=1.0)
    """
    line: Straight | None = None
    if isinstance(left, Straight) and isinstance(right, float):
        if kind in (exp.Add, exp.Sub):
            line = left._replace(shift=left.shift + (right if kind is exp.Add else -right))
        elif kind is exp.Mul or (kind is exp.Div and right != 0.0):
            by = right if kind is exp.Mul else 1.0 / right
            line = Straight(left.column, left.scale * by, left.shift * by)
    elif isinstance(right, Straight) and isinstance(left, float):
        if kind is exp.Add:
            line = right._replace(shift=right.shift + left)
        elif kind is exp.Sub:
            line = Straight(right.column, -right.scale, left - right.shift)
        elif kind is exp.Mul:
            line = Straight(right.column, right.scale * left, right.shift * left)
    return line if line is not None and line.scale != 0.0 and isfinite(line.scale) and isfinite(line.shift) else None


def compared(line: Straight, values: Iterable[float | None]) -> Breaks:
    """Where comparisons of a straight line with constants may change."""
    found = [None if v is None else line.solved(v) for v in values]
    return UNKNOWN if None in found else frozenset(v for v in found if v is not None and isfinite(v))


def rounded(line: Straight, *, half: bool) -> Breaks:
    """Where a straight line, rounded to whole numbers, may change: at these, or (``half``) half way between them.

    >>> rounded(Straight("x", 0.1), half=False)
    frozenset({Lattice(offset=0.0, step=10.0)})
    """
    step = abs(1.0 / line.scale)
    offset = line.solved(0.5 if half else 0.0)
    return frozenset([Lattice(offset, step)]) if isfinite(step) and isfinite(offset) and step > 0.0 else UNKNOWN


def function(name: str, lines: list[Straight | None]) -> Breaks:
    """Where a function of straight lines, of one column alone, may change."""
    if len(lines) == 1 and lines[0] is not None and (name in _FLOORS or name == "round"):
        return rounded(lines[0], half=name == "round")
    return UNKNOWN
