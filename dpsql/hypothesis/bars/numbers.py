"""Formulas of bars that are written once: for one product of factors in plain numbers, for many in arrays. Public.

Most statements ask for one number, and an array of one costs ten times what a number does. Results are the same to the
bit: numpy's own functions work out what is not exact, and products are multiplied in the same order.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import mul
from typing import Any, cast

import numpy as np

from dpsql.query import Choices, Estimates

Numbers = float | Estimates
"""One number, or an array with one for each product."""

Answers = Callable[[Choices], Estimates]
"""A model's answers to products of factors, in counts."""

Contingency = Callable[[tuple[str, ...]], Estimates]
"""A model's rows of the cells of some columns."""

Within = Callable[[Choices, Sequence[int]], Numbers]
"""A model's rows inside the factors at some places of each product."""


def least(a: Numbers, b: Numbers) -> Numbers:
    """The smaller of each two.

    >>> least(1.0, 2.0), least(1.5, np.array([1.0, 2.0])).tolist()
    (1.0, [1.0, 1.5])
    """
    return min(a, b) if isinstance(a, float) and isinstance(b, float) else np.minimum(a, b)


def most(a: Numbers, b: Numbers) -> Numbers:
    """The larger of each two."""
    return max(a, b) if isinstance(a, float) and isinstance(b, float) else np.maximum(a, b)


def least_of(found: Iterable[Numbers]) -> Numbers:
    """The smallest of all, at least one."""
    return reduce(least, found)


def where(holds: Any, a: Numbers, b: Numbers) -> Numbers:
    """``a`` where it holds, elsewhere ``b``."""
    return np.where(holds, a, b) if isinstance(holds, np.ndarray) else (a if holds else b)


def product_of(found: Iterable[Numbers]) -> Numbers:
    """All of them multiplied, from the first on; 1 of none."""
    return reduce(mul, found, 1.0)


def square(a: Numbers) -> Numbers:
    return a * a


def sqrt(a: Numbers) -> Numbers:
    return _plain(a, np.sqrt(a))


def log1p(a: Numbers) -> Numbers:
    return _plain(a, np.log1p(a))


def expm1(a: Numbers) -> Numbers:
    return _plain(a, np.expm1(a))


def _plain(a: Numbers, found: Any) -> Numbers:
    return float(found) if isinstance(a, float) else cast(Estimates, found)
