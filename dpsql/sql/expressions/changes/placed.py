"""Expressions that pass a constant at known places of a number column: lines, pieces of some, what is less multiples,
rounded, or a curve of these. Public.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from math import floor, inf, isfinite, nextafter
from typing import NamedTuple

from sqlglot import exp

from dpsql.sql.expressions.changes.steps import (
    ANYWHERE,
    NO_STEPS,
    UNKNOWN,
    Anywhere,
    Breaks,
    Lattice,
    Steps,
    compared,
    merged,
    rounded,
)
from dpsql.sql.expressions.changes.straight import Straight, arithmetic, whole

_ROUNDING = "floor", "ceil", "ceiling", "trunc", "round"
_UNITS = {-float(digits): 10.0**digits for digits in range(16)}
"""What is rounded to, by the number of decimals that DuckDB's ``round`` takes."""
MOST_ALIKE = 256
"""Doubles next to each other that are looked at for where a logarithm or root takes another value."""
_NEAR = 3
"""Units on either side of a constant where what is rounded to them may pass it: one, and as many more as rounding of
doubles may move it."""
MOST_LINES = 32
"""Straight lines of one expression; with more nothing is known of where it changes."""


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


class Rounded(NamedTuple):
    """A line of some pieces that are rounded to whole units: at half ones (``half``) each of them takes another value,
    or at whole ones."""

    of: Pieces
    half: bool
    unit: float = 1.0
    line: Straight = Straight("")

    @property
    def passing(self) -> frozenset[str]:
        """As of ``Pieces``."""
        return self.of.passing

    @property
    def turns(self) -> Steps:
        """Where it may take another value."""
        return self.of.rounded(half=self.half, unit=self.unit)

    def compared(self, values: Sequence[float | None]) -> Steps:
        """Where comparisons with constants may change.

        >>> Rounded(Pieces(frozenset([Straight("x")])), half=True).compared([5.0])["x"]
        frozenset({Lattice(offset=0.5, step=1.0, passed=(2.5, 3.5, 4.5, 5.5, 6.5, 7.5))})
        """
        near = None if None in values else [x for v in values if v is not None for x in self.line.passed(v)]
        if near is None or not all(isfinite(x) for x in near):
            return self.turns
        middle, off = {floor(x / self.unit) for x in near}, 0.5 if self.half else 0.0
        ends = [(k + off) * self.unit for k in sorted({m + i for m in middle for i in range(-_NEAR, _NEAR)})]
        passed = self.of.compared(ends)
        return {name: frozenset(map(partial(_passing, passed[name]), breaks)) for name, breaks in self.turns.items()}


def _passing(passed: Breaks, one: float | Lattice | Anywhere) -> float | Lattice | Anywhere:
    if not isinstance(one, Lattice) or ANYWHERE in passed:
        return one
    return one._replace(passed=tuple(sorted(x for x in passed if isinstance(x, float))))


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


Placed = Pieces | Cycle | Curve | Rounded
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


def moved(kind: type, left: Known, right: Known) -> Pieces | Curve | Rounded | None:
    """``left op right`` of pieces, or of a line of some, and a constant; ``None`` where that is no line."""
    known = left if isinstance(left, Pieces | Curve | Rounded) else right
    constant = right if known is left else left
    if not isinstance(known, Pieces | Curve | Rounded) or not isinstance(constant, float):
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


def rounding(name: str, values: Sequence[Known]) -> Rounded | None:
    """A function that rounds, of these.

    >>> rounding("floor", [Pieces(frozenset([Straight("x")]))]).unit
    1.0
    """
    if name not in _ROUNDING:
        return None
    match values:
        case [Pieces() as value]:
            return Rounded(value, name == "round")
        case [Pieces() as value, float() as digits] if digits in _UNITS and name in ("trunc", "round"):
            return Rounded(value, name == "round", _UNITS[digits])
        case [Rounded() as value] if value.unit.is_integer() and value.line == Straight(""):
            return value  # which is whole
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
