"""Where conditions are TRUE: at each point of a grid, and for the rows that the point stands for. Public.

A point of a binned column stands for all values up to the next places where conditions may change. Where one may change
at places that are not known, what it is at the points does not settle what it is between them: then for some rows of a
point it may be TRUE, and FALSE for others.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.domain import Value
from dpsql.sql.counting.bins.points import is_unknown
from dpsql.sql.counting.evaluate import Codes, Evaluator, Grids, spread
from dpsql.sql.counting.pieces import GridAxis
from dpsql.sql.expressions.bound import Bound, constant_of, negation
from dpsql.sql.expressions.operations import null_only
from dpsql.sql.public_sql import Truth

_Array = npt.NDArray[np.signedinteger[Any]]
"""Of a byte for each point: grids have millions."""


@dataclass(frozen=True, eq=False)
class Held:
    """Over points, 0 or 1: ``guess`` where a condition is TRUE at the point, ``least`` where it is for all rows that
    the point stands for, ``most`` where it may be for some."""

    guess: _Array
    least: _Array
    most: _Array

    @classmethod
    def surely(cls, guess: _Array) -> "Held":
        """What is at the points is everywhere."""
        return cls(guess, guess, guess)

    @property
    def is_sure(self) -> bool:
        """Whether it was made of what is at the points alone."""
        return self.least is self.guess and self.most is self.guess

    def over(self, change: Callable[[_Array], _Array]) -> "Held":
        """The same, each array changed."""
        if self.is_sure:
            return Held.surely(change(self.guess))
        return Held(change(self.guess), change(self.least), change(self.most))

    def both(self, other: "Held") -> "Held":
        """Where both are TRUE.

        >>> some = Held(np.array([1, 1]), np.array([0, 1]), np.array([1, 1]))
        >>> some.both(Held.surely(np.array([1, 0]))).most.tolist()
        [1, 0]
        """
        if self.is_sure and other.is_sure:
            return Held.surely(self.guess * other.guess)
        return Held(self.guess * other.guess, self.least * other.least, self.most * other.most)

    def either(self, other: "Held") -> "Held":
        """Where one of them is TRUE at least."""
        return self.negated().both(other.negated()).negated()

    def known_by(self, other: "Held", *, alike: bool) -> "Held":
        """The same where another one is known of it: it is TRUE nowhere else, or (``alike``) exactly there."""
        least = np.maximum(self.least, other.least) if alike else self.least
        return Held(self.guess, least, np.minimum(self.most, other.most))

    def negated(self) -> "Held":
        """Where it is not TRUE."""
        if self.is_sure:
            return Held.surely(1 - self.guess)
        return Held(1 - self.guess, 1 - self.most, 1 - self.least)


def held(evaluator: Evaluator, grids: Grids, bounds: Sequence[Bound], axes: Sequence[GridAxis]) -> list[Held]:
    """Where each of these conditions is TRUE, broadcasting over ``axes``."""
    truths = zip(bounds, evaluator.truths(grids, bounds), strict=True)
    return [_spread(_held(evaluator, grids, b, truth), grids.ordered(b.columns), axes) for b, truth in truths]


def members(
    evaluator: Evaluator, grids: Grids, group: Bound, codes: Codes, axes: Sequence[GridAxis]
) -> Callable[[int], Held]:
    """Where the value of a group is the one with this index, broadcasting over ``axes``."""
    own, moved = grids.ordered(group.columns), changes_anywhere(grids, group)
    known = _by_value(evaluator, grids, group, codes, axes) if moved else {}
    if known:
        return lambda code: known[codes.values[code]]
    return lambda code: _spread(_unsure((codes.codes == code).astype(np.int8), own, moved), own, axes)


def _by_value(
    evaluator: Evaluator, grids: Grids, group: Bound, codes: Codes, axes: Sequence[GridAxis]
) -> Mapping[Value, Held]:
    """Where a condition is TRUE, FALSE and NULL, or a CASE each of the constants between which it chooses; empty where
    that is not known of each value."""
    everywhere = Held.surely(np.ones([1] * len(axes), dtype=np.int8))
    if group.branches:
        left, found = everywhere, dict[Value, Held]()
        conditions = [c for c, _ in group.branches if c is not None]
        tested = iter(held(evaluator, grids, conditions, axes))
        for condition, constant in (*group.branches, (None, Bound("NULL"))):
            here = everywhere if condition is None else next(tested)
            value = constant_of(constant)
            found[value] = found[value].either(left.both(here)) if value in found else left.both(here)
            left = left.both(here.negated())
        return found if found.keys() >= set(codes.values) else {}
    if not all(v is None or isinstance(v, bool) for v in codes.values):
        return {}
    void = null_only(Bound(f"({group.sql}) IS NULL", group.columns, steps=group.steps), group)
    true, false, null = held(evaluator, grids, (group, negation(f"NOT ({group.sql})", group), void), axes)
    null = null.known_by(true.negated().both(false.negated()), alike=True)
    there = null.negated()
    return {True: true.known_by(there, alike=False), False: false.known_by(there, alike=False), None: null}


def _unsure(here: _Array, axes: Sequence[GridAxis], moved: AbstractSet[str]) -> Held:
    """What is at the points, and may be otherwise between them along some columns."""
    found = Held.surely(here)
    for i, axis in enumerate(axes):
        if axis.name in moved and axis.points is not None:
            between = axis.points.stretches.reshape([-1 if j == i else 1 for j in range(len(axes))])
            found = Held(here, np.where(between, np.int8(0), found.least), np.where(between, np.int8(1), found.most))
    return found


def _spread(found: Held, own: Sequence[GridAxis], axes: Sequence[GridAxis]) -> Held:
    return found.over(lambda a: spread(a, own, axes))


def _held(evaluator: Evaluator, grids: Grids, bound: Bound, truth: Truth) -> Held:
    here = truth.astype(np.int8)
    moved = changes_anywhere(grids, bound)
    if not moved:
        return Held.surely(here)
    axes = grids.ordered(bound.columns)
    if bound.together:
        both = reduce(Held.both, held(evaluator, grids, bound.together, axes))
        return Held(here, both.least, both.most)
    if bound.alternatives:
        none = reduce(Held.both, [part.negated() for part in held(evaluator, grids, bound.alternatives, axes)])
        return Held(here, 1 - none.most, 1 - none.least)
    least = most = here
    for i, axis in enumerate(axes):
        if axis.name in moved & bound.monotone and axis.points is not None:
            least, most = (
                _beside(a, axis.points.stretches, i, f) for a, f in ((least, np.minimum), (most, np.maximum))
            )
    open_ = _unsure(here, axes, moved - bound.monotone)
    return Held(here, np.minimum(least, open_.least), np.maximum(most, open_.most))


def _beside(truth: _Array, stretches: npt.NDArray[np.bool_], axis: int, extreme: np.ufunc) -> _Array:
    """The extreme of what is at each point and, of a stretch, at the points that it ends at: what rises or falls
    throughout is between these."""
    places = np.arange(len(stretches))
    for ends in (places - stretches, places + stretches):
        truth = extreme(truth, truth.take(ends, axis=axis))
    return truth


def changes_anywhere(grids: Grids, bound: Bound) -> set[str]:
    """The columns along which an expression may change at places that are not known."""
    return {x for x, breaks in bound.steps.items() if is_unknown(grids.axis(x).points, breaks)}
