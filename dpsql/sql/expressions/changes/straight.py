"""Straight lines of one number column, and where they pass a number: the very doubles where DuckDB says so. Public."""

from collections.abc import Callable
from math import inf, isfinite, nextafter, ulp
from typing import NamedTuple

from sqlglot import exp


class Straight(NamedTuple):
    """The expression ``scale * column + shift`` of a number column; ``scale`` is not 0. ``made``: by which operations
    of doubles, one after the other, each with its constant and whether that stands behind."""

    column: str
    scale: float = 1.0
    shift: float = 0.0
    made: tuple[tuple[type, float, bool], ...] = ()

    def solved(self, value: float) -> float:
        """Where the expression has this value, up to rounding.

        >>> Straight("x", 2.0, 1.0).solved(5.0)
        2.0
        """
        return (value - self.shift) / self.scale + 0.0  # -0.0 is 0.0: equal questions are written alike

    def at(self, x: float) -> float:
        """Its value, rounded after each operation as DuckDB does.

        >>> line = arithmetic(exp.Div, arithmetic(exp.Add, Straight("x"), 4.0), 3.0)
        >>> line.solved(1.0), line.at(-1.0)
        (-0.9999999999999998, 1.0)
        """
        for kind, constant, behind in self.made:
            a, b = (x, constant) if behind else (constant, x)
            x = a + b if kind is exp.Add else a - b if kind is exp.Sub else a * b if kind is exp.Mul else a / b
        return x

    def passed(self, value: float) -> tuple[float, ...]:
        """The first doubles where it has reached this value, and where it has left it if that is not the next: it may
        have it at many."""
        near = self.solved(value)
        if not self.made or not isfinite(near) or not isfinite(value):
            return (near,)
        sign = -1.0 if self.scale < 0.0 else 1.0
        reached = _first(lambda x: sign * self.at(x) >= sign * value, near)
        beyond = _first(lambda x: sign * self.at(x) > sign * value, near)
        found = (reached,) if beyond <= nextafter(reached, inf) else (reached, beyond)
        return tuple([x + 0.0 for x in found if isfinite(x)])


def _first(holds: Callable[[float], bool], near: float) -> float:
    """The first double where what stays so once it holds does; infinite where that is nowhere."""
    low = high = near
    width = ulp(near)
    while isfinite(low) and holds(low):
        low, width = low - width, 2.0 * width
    width = ulp(near)
    while isfinite(high) and not holds(high):
        high, width = high + width, 2.0 * width
    if not (isfinite(low) and isfinite(high)):
        return inf
    while low < (middle := low / 2.0 + high / 2.0) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def arithmetic(kind: type, left: Straight | float | None, right: Straight | float | None) -> Straight | None:
    """``left op right`` as a straight line; each side is one, a constant, or (``None``) something else.

    >>> arithmetic(exp.Sub, 1.0, Straight("x"))[:3]
    ('x', -1.0, 1.0)
    """
    if isinstance(left, Straight) and isinstance(right, float):
        behind, of, constant = True, left, right
    elif isinstance(right, Straight) and isinstance(left, float) and kind is not exp.Div:
        behind, of, constant = False, right, left
    else:
        return None
    scale, shift = of.scale, of.shift
    if kind is exp.Add:
        shift += constant
    elif kind is exp.Sub:
        scale, shift = (scale, shift - constant) if behind else (-scale, constant - shift)
    elif kind is exp.Mul or (kind is exp.Div and constant != 0.0):
        by = constant if kind is exp.Mul else 1.0 / constant
        scale, shift = scale * by, shift * by
    else:
        return None
    if scale == 0.0 or not (isfinite(scale) and isfinite(shift)):
        return None
    return Straight(of.column, scale, shift, (*of.made, (kind, constant, behind)))


def whole(kind: type, left: float | None, right: float | None) -> float | None:
    """``left op right`` of whole numbers; ``None`` for others, whose decimals DuckDB may round in another way.

    >>> whole(exp.Mul, 24.0, 60.0), whole(exp.Sub, 0.3, 0.1)
    (1440.0, None)
    """
    if left is None or right is None or not (left.is_integer() and right.is_integer()):
        return None
    if kind is exp.Add or kind is exp.Sub:
        found = left + (right if kind is exp.Add else -right)
    elif kind is exp.Mul:
        found = left * right
    else:
        return left / right if kind is exp.Div and right != 0.0 else None
    return found if abs(found) < 2**53 else None
