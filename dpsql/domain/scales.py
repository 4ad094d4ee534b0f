"""Edges of bins whose widths grow with the number's size, for columns whose values span several orders of magnitude.

An owner asks for them in the policy, and a plan cuts long ranges of whole numbers in the same way.
"""

from math import asinh, isfinite, sinh

LINEAR_PART = 1e-3
"""Below this share of the larger end the widths of such bins grow no more."""


def log_edges(low: float, high: float, count: int, *, through_zero: bool = True) -> tuple[float, ...]:
    """``count`` bins from ``low`` to ``high`` (finite, low < high) whose width grows with the number's size.

    Equal steps of asinh(x / s), which is a logarithm beyond s and a straight line inside, with s a thousandth of the
    larger end, or the smaller end where 0 is not between them: from 10 to 1,000 each bin is the one before times a
    constant. Rounded to six digits, so that every machine writes the same; fewer bins where that makes two equal.
    ``through_zero``: whether 0 is an edge where it is between the ends, with bins on both sides in proportion to their
    steps; in earlier versions it was in some bin, or an edge was what rounding had left of it.

    >>> log_edges(1.0, 10_000.0, 4)
    (1.0, 35.343, 234.946, 1533.12, 10000.0)
    >>> log_edges(-10.0, 100.0, 5)
    (-10.0, -0.70358, 0.0, 0.625992, 7.93669, 100.0)
    """
    near = min(abs(low), abs(high)) if low * high > 0 else 0.0
    if not isfinite(high - low):  # no table holds both ends: equal bins will do
        return (*[low + (high / count - low / count) * i for i in range(count)], high)
    scale = max(near, max(abs(low), abs(high)) * LINEAR_PART)
    first, last = asinh(low / scale), asinh(high / scale)
    places = [first + (last - first) * i / count for i in range(1, count)]
    if through_zero and low < 0.0 < high and count > 1:
        below = min(count - 1, max(1, round(count * first / (first - last))))
        above = count - below
        places = [first * i / below for i in range(1, below)] + [last * i / above for i in range(above)]
    inner = [float(f"{scale * sinh(place):.6g}") for place in places]
    return (low, *sorted({edge for edge in inner if low < edge < high}), high)
