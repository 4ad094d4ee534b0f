"""The fit: multiplicative weights over all measurements, with empirical-Bayes shrinkage. Post-processing, public.

Every step multiplies the hypothesis by target/model on the parts of one measurement: iterative proportional fitting
(Deming-Stephan 1940), which is the multiplicative-weights update with an exact line search. Overlapping contingencies
of a few columns are combined first, and each step moves one pure interaction only (``components``): noise of a
3-way table must not spoil the 1- and 2-way ones, which other tables know better.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod, sqrt
from types import MappingProxyType

import numpy as np

from dpsql.hypothesis.components import Interaction, components, precisions, separable
from dpsql.hypothesis.measurement import Axis, Measurement, coarsen
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.hypothesis.shrinkage import interaction_target, shrunken_target
from dpsql.hypothesis.tensor.coarse import Coarse, PartSums, in_parts
from dpsql.hypothesis.tensor.levels import followed, levels_of
from dpsql.query import Estimates

LEAD = (1, 2, 1, 2, 1)
"""Sizes of the interactions that are fitted before those of three columns are looked at: these must not explain what
fewer columns explain as well."""
LONGEST = 16.0
"""So many rounds at most are skipped at once, """
LONGER = 4.0
"""by so many times as many as the time before;"""
FARTHEST = 1.0
"""and no cell is moved by more than so many factors e."""
_TINY = 1e-9
PossibleOfNoisy = Callable[[Estimates, float, float], Estimates]
"""Counts of a column's cells that sum to a total, none below 0, near to noisy ones, whose noise has that sd."""
_Product = tuple[tuple[int, ...], Estimates, bool, tuple[int, ...]]


def fit_tensor(
    start: Estimates,
    columns: tuple[str, ...],
    measurements: Sequence[Measurement],
    passes: int,
    rules: ModelRules = NEWEST,
    possible: Mapping[str, PossibleOfNoisy] = MappingProxyType({}),
    ordered: Collection[str] = (),
    dates: Collection[str] = (),
) -> Estimates:
    """``start`` (one axis per column, in counts) fitted to measurements whose scopes lie within ``columns``.

    At the end come single columns and pairs: these are known best, and steps on larger interactions disturb them.
    ``possible``: of some columns, what makes possible counts of noisy ones; others are followed as they are. ``dates``:
    those that may be measured in longer units of the calendar, too.
    """
    tensor = start.copy()
    position = {c: i for i, c in enumerate(columns)}
    split = [separable(m, rules.pure_columns) for m in measurements]
    told = [m for m, apart in zip(measurements, split, strict=True) if apart]
    others = [m for m, apart in zip(measurements, split, strict=True) if not apart]
    known = precisions(told) if rules.calendar else {}
    alone = [m for m in others if len(m.scope) == 1 and m.columns in known and m.scope[0] in possible]
    coarse = Coarse.of([m for m in alone if m.scope[0] in dates] if rules.calendar_pairs else ())
    position |= {in_parts(c): i for c, i in position.items()}
    renamed = [coarse.renamed(m, rules.pure_columns) for m in others]
    others = [m for m, other in zip(others, renamed, strict=True) if other is None]
    parts = components(told + [m for m in renamed if m is not None], position)
    sums = [PartSums.measured(m) for m in alone if m in others] + coarse.part_sums(parts, float(start.sum()))
    plans = [_Plan(m, columns, tensor.shape) for m in others if m not in alone]
    # after interactions of more columns, those of fewer again: 1, 2 1, 3 2 1, ..
    sweep = [n for most in sorted({len(p.columns) for p in parts}) for n in range(most, 0, -1)]
    steps = [_cleaned(p, float(start.sum()), possible, sums) for p in parts if not coarse.is_alone(p)]
    fit = _Fit(tensor, steps, position, rules, ordered, coarse)
    for i, size in enumerate(LEAD):
        fit.sweep(size, coarsely=rules.coarsely and size not in LEAD[:i])
    for _ in range(passes if parts or plans else 0):
        for size in sweep:
            fit.sweep(size)
        for plan in plans:
            plan.step(tensor)
    fit.settle()
    if rules.trace > 0.0:  # what the traces have added since the last step on a column
        tensor *= float(start.sum()) / max(float(tensor.sum()), _TINY)
    return tensor


def _cleaned(
    part: Interaction, total: float, possible: Mapping[str, PossibleOfNoisy], sums: Sequence[PartSums]
) -> Interaction:
    """Of a single column what its cells possibly count, less their mean; with what was measured of them in parts."""
    if len(part.columns) > 1 or part.columns[0] not in possible:
        return part
    mean = total / part.values.size
    counts = part.values + mean
    for one in sums:
        if one.column == part.columns[0]:
            counts = one.told(counts, part.sigma**2)
    return replace(part, values=possible[part.columns[0]](counts, total, part.sigma) - mean)


class _Fit:
    """The interactions that a tensor is fitted to, in place."""

    def __init__(
        self,
        tensor: Estimates,
        parts: Sequence[Interaction],
        position: dict[str, int],
        rules: ModelRules,
        ordered: Collection[str],
        coarse: Coarse,
    ) -> None:
        self._tensor = tensor
        self._parts = parts
        self._position = position
        self._rules = rules
        self._least = rules.trace / tensor.size
        self._ordered = {*ordered, *coarse.labels}
        self._coarse = coarse
        told = {p.columns for p in parts}
        self._inside = {c for c in told if coarse.around(c) != c and coarse.around(c) in told}
        """Of which parts are known better: cells say how rows are inside these."""

    def settle(self) -> None:
        """Rounds of what is known best until they move little, or for as many as there are.

        Where one column follows from others, rounds go the same way in short steps for long: off by less than the noise
        in each cell, and by far more in sums of many. Two rounds tell how far it is (Varadhan and Roland 2008, scheme
        S3, of logarithms); where a round then moves more than before, they told wrong.
        """
        rules, reach, left = self._rules, 1.0, self._rules.rounds
        if not rules.accelerated:
            for _ in range(left):
                if self.close() <= rules.moved:
                    break
            return
        moved = self.close()
        while left > 3 and moved > rules.moved:
            start = _logarithms(self._tensor)
            self.close()
            middle = _logarithms(self._tensor)
            moved, left = self.close(), left - 2
            end = _logarithms(self._tensor)
            first, change = middle - start, (end - middle) - (middle - start)
            step = sqrt(float(np.vdot(first, first)) / max(float(np.vdot(change, change)), _TINY))
            if moved <= rules.moved or min(step, reach) <= 1.0:
                reach = min(LONGEST, reach * LONGER)
                continue
            step = min(step, reach)
            kept = self._tensor.copy()
            ahead = start + 2.0 * step * first + step**2 * change - end
            self._tensor *= np.exp(np.clip(ahead, -FARTHEST, FARTHEST))
            self._tensor *= float(kept.sum()) / float(self._tensor.sum())
            np.maximum(self._tensor, self._least, out=self._tensor)
            now, left = self.close(), left - 1
            if now > moved:
                self._tensor[...] = kept
                reach = max(1.0, reach / LONGER)
            else:
                moved, reach = now, min(LONGEST, reach * LONGER) if step == reach else reach

    def close(self) -> float:
        """One round of what is known best; the largest step on a pair, in sds of a cell."""
        moved = 0.0
        for size in self._rules.close:
            if size == 1:
                self._rake()
            else:
                moved = max(moved, self.sweep(size))
        return moved

    def _rake(self) -> None:
        """Single columns, until all are followed: each moves the others where columns depend on each other."""
        for _ in range(self._rules.rakes):
            if self.sweep(1) <= self._rules.settled:
                break

    def sweep(self, size: int, *, coarsely: bool = False) -> float:
        """A step on every interaction of so many columns; the largest, in sds of a cell (0.0 where there are none).
        ``coarsely``: of pairs on coarse parts before."""
        moved = 0.0
        for part in self._parts:
            if len(part.columns) == size:
                moved = max(moved, self._step(part, coarsely=coarsely and size == 2))
        if self._least > 0.0 and moved > 0.0:
            np.maximum(self._tensor, self._least, out=self._tensor)
        return moved

    def _step(self, part: Interaction, *, coarsely: bool) -> float:
        tensor, kept = self._tensor, [self._position[c] for c in part.columns]
        summed = tuple(i for i in range(tensor.ndim) if i not in kept)
        model = self._coarse.sums(summed_out(tensor, summed), part.columns)
        again = self._rules.coarsely and len(kept) == 2 and not coarsely
        if part.columns in self._inside:
            target = interaction_target(model, self._coarse.inside(model, part), again=again)
            target = self._coarse.kept(target, model, part.columns)
        else:
            target = interaction_target(self._followed(model, part) if coarsely else model, part, again=again)
        ratio = self._coarse.spread(target / np.maximum(model, _TINY), part.columns)
        tensor *= ratio.reshape([n if i in kept else 1 for i, n in enumerate(tensor.shape)])
        return float(np.abs(target - model).max()) / max(part.sigma, _TINY)

    def _followed(self, model: Estimates, part: Interaction) -> Estimates:
        """A pair's model after steps on coarse parts."""
        left, right = (c in self._ordered for c in part.columns)
        return followed(model, part, levels_of((model.sum(axis=1), model.sum(axis=0)), (left, right)))


def _logarithms(tensor: Estimates) -> Estimates:
    return np.asarray(np.log(np.maximum(tensor, _TINY)))


def summed_out(tensor: Estimates, axes: Sequence[int]) -> Estimates:
    """``tensor.sum(axis=axes)``, one axis after another as matrix products: twice as fast where axes are short.

    >>> summed_out(np.ones((2, 3, 4)), (0, 2))
    array([8., 8., 8.])
    """
    out = tensor
    for flat, ones, left, shape in _products(tensor.shape, tuple(axes)):
        out = (ones @ out.reshape(flat) if left else out.reshape(flat) @ ones).reshape(shape)
    return out


@lru_cache(maxsize=4096)
def _products(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[_Product, ...]:
    """For each axis, from the last: as what the tensor is read, what it is multiplied with, whether from the left, and
    the shape of the product. Fits take thousands of sums of few cells, and most of their time was this."""
    found: list[_Product] = []
    for axis in sorted(axes, reverse=True):
        before, size, after = shape[:axis], shape[axis], shape[axis + 1 :]
        shape = before + after
        if after:
            found.append(((-1, size, prod(after)), np.ones((1, size)), True, shape))
        else:
            found.append(((-1, size), np.ones(size), False, shape))
    return tuple(found)


class _Plan:
    """How one measurement's parts lie in the tensor, worked out once."""

    def __init__(self, measurement: Measurement, columns: tuple[str, ...], shape: tuple[int, ...]) -> None:
        position = {c: i for i, c in enumerate(columns)}
        self.axes: tuple[Axis, ...] = measurement.axes
        self.kept = [position[c] for c in measurement.scope]
        self.summed = tuple(i for i in range(len(columns)) if i not in set(self.kept))
        order = np.argsort(self.kept)
        self.to_scope = np.argsort(order)
        self.broadcast = tuple(1 if i in self.summed else n for i, n in enumerate(shape))
        self.from_scope = order
        self.values = measurement.values.astype(np.float64)
        self.sigma = measurement.sigma

    def step(self, tensor: Estimates) -> None:
        marginal = summed_out(tensor, self.summed).transpose(self.to_scope)
        scope_shape = marginal.shape
        model = coarsen(np.ascontiguousarray(marginal), self.axes)
        target = shrunken_target(model, self.values, self.sigma)
        ratio = target / np.maximum(model, _TINY)
        for i, axis in enumerate(self.axes):
            ratio = np.take(ratio, axis.labels.reshape(-1), axis=i)
        tensor *= ratio.reshape(scope_shape).transpose(self.from_scope).reshape(self.broadcast)
