"""Where the value of an expression may change as a binned column runs through its values. Public.

A cell of a binned column stands for many values, and a condition may hold for some of them only. Most expressions are
constant between a few numbers that are written out, so that looking at these and between them is looking everywhere.
Where nothing is known, an expression is taken to change anywhere: then no cell of the column is settled by it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from itertools import combinations
from math import ceil, floor, inf, isfinite, nextafter
from typing import NamedTuple

from sqlglot import exp

from dpsql.sql.expressions.changes.straight import Straight, arithmetic, whole

MOST_STEPS = 10_000
"""Steps of lattices inside a column's range; with more an expression is taken to change anywhere."""
_UNITS = {-float(digits): 10.0**digits for digits in range(16)}
"""What is rounded to, by the number of decimals that DuckDB's ``round`` takes."""
MOST_ALIKE = 256
"""Doubles next to each other that are looked at for where a logarithm or root takes another value."""
MOST_LINES = 32
"""Straight lines of one expression; with more nothing is known of where it changes."""


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
    frozenset({Lattice(offset=0.0, step=10.0)})
    """
    step = abs(unit / line.scale)
    offset = line.solved(unit / 2 if half else 0.0)
    return frozenset([Lattice(offset, step)]) if isfinite(step) and isfinite(offset) and step > 0.0 else UNKNOWN


class Pieces(NamedTuple):
    """An expression that is one of some straight ``lines``, a constant or NULL, which of them may change at ``turns``
    and where its lines meet each other or a constant: ``greatest(x, 0)``.

    How it compares with a constant changes where a line passes that and at turns alone.
    """

    lines: frozenset[Straight]
    turns: Steps = NO_STEPS

    def compared(self, values: Sequence[float | None]) -> Steps:
        """Where comparisons with constants may change.

        >>> Pieces(frozenset([Straight("x"), Straight("x", 2.0)])).compared([4.0])["x"] == {2.0, 4.0}
        True
        """
        return merged([self.turns, *({line.column: compared(line, values)} for line in self.lines)])

    def rounded(self, *, half: bool, unit: float = 1.0) -> Steps:
        """Where it may change if it is rounded to whole units."""
        return merged([self.turns, *({line.column: rounded(line, half=half, unit=unit)} for line in self.lines)])

    @property
    def passing(self) -> frozenset[str]:
        """The number columns along which it passes constants; along others it may turn alone."""
        return frozenset(line.column for line in self.lines)

    @property
    def kinks(self) -> Steps:
        """Where lines of one column meet: there it may be least or most."""
        pairs = [(a, b) for a, b in combinations(self.lines, 2) if a.column == b.column and a.scale != b.scale]
        met = [(a.column, (b.shift - a.shift) / (a.scale - b.scale) + 0.0) for a, b in pairs]
        return merged([{column: frozenset([at])} for column, at in met if isfinite(at)])


class Cycle(NamedTuple):
    """A straight line less the whole multiples of a constant, ``x % 10``: it begins anew at each of them."""

    line: Straight
    period: float

    def _at(self, value: float | None) -> Breaks:
        step = abs(self.period / self.line.scale)
        offset = None if value is None else self.line.solved(value)
        if offset is None or not isfinite(step) or step == 0.0:
            return UNKNOWN
        return frozenset([Lattice(offset, step)]) if isfinite(offset) else frozenset()

    @property
    def passing(self) -> frozenset[str]:
        """As of ``Pieces``."""
        return frozenset([self.line.column])

    @property
    def turns(self) -> Steps:
        """The multiples."""
        return {self.line.column: self._at(0.0)}

    def compared(self, values: Sequence[float | None]) -> Steps:
        """Where comparisons with constants may change.

        >>> Cycle(Straight("x"), 10.0).compared([3.0])["x"] == {Lattice(0.0, 10.0), Lattice(3.0, 10.0)}
        True
        """
        return merged([self.turns, *({self.line.column: self._at(v)} for v in values)])

    def rounded(self, *, half: bool) -> Steps:
        """Where it may change if it is rounded to whole numbers."""
        steps = rounded(self.line, half=half) if self.period.is_integer() else UNKNOWN
        return merged([self.turns, {self.line.column: steps}])


class Curve(NamedTuple):
    """A line of a function that rises with some pieces, ``1 - 2 * ln(x)``: it passes a constant where they pass
    another one."""

    name: str
    of: Pieces
    line: Straight = Straight("")

    @property
    def passing(self) -> frozenset[str]:
        """As of ``Pieces``."""
        return self.of.passing

    def compared(self, values: Sequence[float | None]) -> Steps:
        """Where comparisons with constants may change.

        >>> Curve("sqrt", Pieces(frozenset([Straight("x", 2.0)]))).compared([4.0, -1.0])["x"] >= {0.0, 8.0}
        True
        """
        if None in values:
            return self.of.compared([None])
        near = (y for v in values if v is not None for x in self.line.passed(v) for y in _beside(x))
        found = [x for y in sorted({*near}) for x in _reached(self.name, y)]
        return self.of.compared([*found, 0.0])  # below which they are NaN


_CURVES: Mapping[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "ln": (math.log, math.exp),
    "log": (math.log10, partial(pow, 10.0)),  # of one argument DuckDB's is that to base 10
    "log10": (math.log10, partial(pow, 10.0)),
    "log2": (math.log2, partial(pow, 2.0)),
    "sqrt": (math.sqrt, lambda v: v * v if v >= 0.0 else inf),
}
"""Each as DuckDB rounds it, which it does not with ``cbrt``, and its inverse. None is flat somewhere, as ``exp`` is,
which is 1 for all doubles next to 0."""


def _beside(x: float) -> tuple[float, float, float]:
    return nextafter(x, -inf), x, nextafter(x, inf)


def _reached(name: str, value: float) -> tuple[float, ...]:
    """The first doubles where the function has no less than this value, and where it has more: a logarithm may have one
    value at dozens of them. None where it has it nowhere."""
    of, inverse = _CURVES[name]
    try:
        at = inverse(value)
    except (ValueError, OverflowError):
        return ()
    if not isfinite(at):
        return ()
    below = _walked(at, -inf, lambda x: of(x) >= value)
    reached = _walked(below, inf, lambda x: of(x) < value)
    return reached, _walked(reached, inf, lambda x: of(x) <= value)


def _walked(at: float, way: float, holds: Callable[[float], bool]) -> float:
    """The first double that way where something does not hold, or the function has no number."""
    for _ in range(MOST_ALIKE):
        try:
            if not holds(at):
                break
        except ValueError:
            break
        at = nextafter(at, way)
    return at


Placed = Pieces | Cycle | Curve
"""What is known of an expression that passes a constant at known places."""
Known = Placed | float | None
"""The same, or that it is a constant, or nothing."""


def curve(name: str, values: Sequence[Known]) -> Curve | None:
    """A function of these as a curve."""
    of = values[0] if len(values) == 1 else None
    return Curve(name, of) if name in _CURVES and isinstance(of, Pieces) else None


def cycle(kind: type, left: Known, right: Known) -> Cycle | None:
    """``left % right`` of a straight line and a constant.

    >>> cycle(exp.Mod, Pieces(frozenset([Straight("x")])), 2.0)
    Cycle(line=Straight(column='x', scale=1.0, shift=0.0, made=()), period=2.0)
    """
    straight = isinstance(left, Pieces) and len(left.lines) == 1 and not left.turns
    if kind is not exp.Mod or not isinstance(left, Pieces) or not straight or not isinstance(right, float):
        return None
    (line,) = left.lines
    return Cycle(line, abs(right)) if right != 0.0 and isfinite(right) else None


def moved(kind: type, left: Known, right: Known) -> Pieces | Curve | None:
    """``left op right`` of pieces, or of a curve, and a constant; ``None`` where that is no line."""
    known = left if isinstance(left, Pieces | Curve) else right
    constant = right if known is left else left
    if not isinstance(known, Pieces | Curve) or not isinstance(constant, float):
        return None
    lines = known.lines if isinstance(known, Pieces) else [known.line]
    sides = [(line, constant) if known is left else (constant, line) for line in lines]
    found = [line for line in (arithmetic(kind, *both) for both in sides) if line is not None]
    if len(found) < len(sides):
        return None
    return known._replace(lines=frozenset(found)) if isinstance(known, Pieces) else known._replace(line=found[0])


def chosen(values: Sequence[Known], turns: Steps = NO_STEPS) -> Pieces | None:
    """One of these values, which of them may change at ``turns`` and where they meet; ``None`` without a line."""
    known = [v for v in values if isinstance(v, Pieces)]
    lines = frozenset(line for v in known for line in v.lines)
    if not all(isinstance(v, Pieces | float) for v in values) or not 0 < len(lines) <= MOST_LINES:
        return None
    return Pieces(lines, merged([turns, *(v.turns for v in known)]))


def with_values(
    kind: type, known: Known, values: Sequence[float], turns: Steps, *, first: bool = True
) -> Pieces | None:
    """``known op value``, or with ``first`` not set ``value op known``, for what has one of these values, which of them
    may change at ``turns``.

    >>> x = Pieces(frozenset([Straight("x")]))
    >>> sorted(with_values(exp.Mul, x, [0.0, 2.0], {}).compared([8.0])["x"]), with_values(exp.Add, x, [], {})
    ([4.0], None)
    """
    if not isinstance(known, Pieces) or not values:
        return None
    if 0.0 in values and kind in (exp.Mul, exp.Div):  # which is 0, or infinite with the sign of what is divided
        values = [v for v in values if v != 0.0]
        turns = turns if kind is exp.Mul else merged([turns, known.compared([0.0])])
    return chosen([moved(kind, known, v) if first else moved(kind, v, known) for v in values], turns)


def few(kind: type, left: Sequence[float], right: Sequence[float]) -> tuple[float, ...]:
    """The values of ``left op right`` where each side has one of these, as ``whole`` has them; none of too many.

    >>> few(exp.Sub, [10.0], [1.0, 2.0]), few(exp.Mul, [0.1], [1.0, 2.0])
    ((9.0, 8.0), ())
    """
    if not 1 < len(left) * len(right) <= MOST_LINES:
        return ()
    found = [whole(kind, a, b) for a in left for b in right if kind is not exp.Div or b != 0.0]  # which is NULL
    return () if None in found else tuple(dict.fromkeys(v for v in found if v is not None))


def pieces_of(name: str, values: Sequence[Known]) -> Pieces | None:
    """A function of these as pieces.

    >>> pieces_of("abs", [Pieces(frozenset([Straight("x")]))]).compared([3.0])["x"] == {-3.0, 3.0}
    True
    """
    match name, values:
        case "abs", [value]:
            return chosen([value, moved(exp.Mul, value, -1.0)])
        case (("greatest" | "least" | "coalesce" | "ifnull"), _):
            return chosen(values)
        case "nullif", [Pieces() as value, float() as constant]:
            return chosen([value], value.compared([constant]))
        case _:
            return None


def function(name: str, values: Sequence[Known]) -> Steps | None:
    """Where a function of one expression takes another value, if it takes one value between such places."""
    match name, values:
        case (("floor" | "ceil" | "ceiling" | "trunc" | "round"), [(Pieces() | Cycle()) as value]):
            return value.rounded(half=name == "round")
        case (("trunc" | "round"), [Pieces() as value, float() as digits]) if digits in _UNITS:
            return value.rounded(half=name == "round", unit=_UNITS[digits])  # of decimals there are no exact doubles
        case "sign", [(Pieces() | Cycle()) as value]:
            return value.compared([0.0])
        case _:
            return None
