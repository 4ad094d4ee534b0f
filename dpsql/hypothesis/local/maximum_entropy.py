"""Maximum-entropy model of a few columns from their clean pairs, without any tensor over the universe. Public.

Pairs say nothing of three columns together. Of all models that agree with them, the one that adds least is taken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from dpsql.hypothesis.components import Interaction, pure
from dpsql.hypothesis.measurement import Labels
from dpsql.hypothesis.partition import summed_parts
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.hypothesis.shrinkage import interaction_target
from dpsql.memo import once
from dpsql.query import Estimates

EXTRA_SWEEPS = 5
"""Contingencies of more columns are looked at in so many sweeps: shrunken again in each, they would be followed into
their noise."""
TRIPLE_SWEEPS = 8
"""Clean triples are followed in so many, then the pairs alone: triples agree with these but for what is shrunken."""
RAKE_SWEEPS = 2
MOST_SETS = 10
"""Of more, two by two alone are looked at: 2^k combinations are too many."""
_LOST = 1e-6
_TINY = 1e-9


Threes = tuple[int, int, int]
"""Places of sets or axes."""
_NONE: Mapping[Threes, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Extra:
    """A coarse contingency of three or more axes: for each axis the labels of the model's parts; noise sd."""

    axes: tuple[int, ...]
    labels: tuple[Labels, ...]
    values: Estimates
    sigma: float


@dataclass(frozen=True, eq=False)
class Known:
    """Clean ``counts`` of three axes. ``groups``: for each the group of each of the model's parts that is counted
    together; ``None`` where every part is counted by itself."""

    axes: Threes
    groups: tuple[Labels | None, ...]
    counts: Estimates

    @once
    def cells(self) -> Labels | None:
        """The place in ``counts`` of each cell of the three axes; ``None`` where each has its own."""
        if all(group is None for group in self.groups):
            return None
        shape = self.counts.shape
        places = [np.arange(n) if g is None else g for g, n in zip(self.groups, shape, strict=True)]
        return np.asarray(np.ravel_multi_index(np.ix_(*places), shape))


def maximum_entropy(
    ones: Sequence[Estimates],
    pairs: dict[tuple[int, int], Estimates],
    extras: Sequence[Extra] = (),
    rules: ModelRules = NEWEST,
    sigma: float = 0.0,
    triples: Sequence[Known] = (),
) -> Estimates:
    """Counts over the product of axes that agree with ``pairs`` and otherwise assume as little as possible.

    They follow clean ``triples`` too, as far as the pairs leave them.

    ``ones[i]``: counts of axis i; ``pairs[i, j]`` (i < j): counts of shape (size i, size j). The log of the result is
    a sum of pair terms (Deming-Stephan 1940); ``extras`` add the interactions that their noise lets stand out. Sweeps
    end when no part of a pair is off by more than ``rules.settled`` times ``sigma``, the noise sd (counts) of a pair.

    >>> half = np.array([50.0, 50.0])
    >>> maximum_entropy([half, half], {(0, 1): np.array([[40.0, 10.0], [10.0, 40.0]])}).round()
    array([[40., 10.],
           [10., 40.]])
    """
    total = max(float(ones[0].sum()), _TINY)
    tensor = np.ones(())
    for i, one in enumerate(ones):
        tensor = np.multiply.outer(tensor, one / total if i else one)
    alone = len(ones) == 2 and not extras
    for sweep in range(1 if alone else rules.sweeps):
        for extra in extras if sweep < EXTRA_SWEEPS else ():
            _add(tensor, extra)
        for triple in triples if sweep < TRIPLE_SWEEPS else ():
            _follow(tensor, triple)
        off = max((_rake(tensor, i, j, wanted) for (i, j), wanted in pairs.items()), default=0.0)
        if off < rules.settled * sigma and (not extras or sweep + 1 >= EXTRA_SWEEPS):
            break
    found = float(tensor.sum())
    if extras and abs(found - total) > _LOST * total:  # noisy extras took all cells of some part of a pair
        tensor *= total / max(found, _TINY)
    return tensor


def _rake(tensor: Estimates, i: int, j: int, wanted: Estimates) -> float:
    """``tensor`` scaled to ``wanted`` over axes i < j; how far its largest part was off, in counts."""
    shape = tensor.shape
    # i < j: five blocks, of which the first, third and fifth are summed
    blocks = tensor.reshape(prod(shape[:i]), shape[i], prod(shape[i + 1 : j]), shape[j], prod(shape[j + 1 :]))
    model = blocks.sum(axis=(0, 2, 4))
    blocks *= (wanted / np.maximum(model, _TINY))[None, :, None, :, None]
    return float(np.abs(wanted - model).max(initial=0.0))


def _add(tensor: Estimates, extra: Extra) -> None:
    summed = tuple(i for i in range(tensor.ndim) if i not in extra.axes)
    model = tensor.sum(axis=summed)
    for axis, labels in enumerate(extra.labels):
        model = summed_parts(model, labels, axis)
    target = interaction_target(model, Interaction((), pure(extra.values), extra.sigma))
    ratio = target / np.maximum(model, _TINY)
    for axis, labels in enumerate(extra.labels):
        ratio = np.take(ratio, labels, axis=axis)
    tensor *= np.expand_dims(ratio, summed)


def _follow(tensor: Estimates, triple: Known) -> None:
    """``tensor`` scaled to the counts of a clean triple."""
    summed = tuple(i for i in range(tensor.ndim) if i not in triple.axes)
    model, cells = tensor.sum(axis=summed), triple.cells
    if cells is None:
        ratio = triple.counts / np.maximum(model, _TINY)
    else:
        known = np.bincount(cells.reshape(-1), weights=model.reshape(-1), minlength=triple.counts.size)
        ratio = (triple.counts.reshape(-1) / np.maximum(known, _TINY))[cells]
    tensor *= np.expand_dims(ratio, summed)


def binary_model(
    total: float,
    inside: Sequence[float],
    both: dict[tuple[int, int], float],
    rules: ModelRules = NEWEST,
    sigma: float = 0.0,
    threes: Mapping[Threes, float] = _NONE,
) -> float:
    """Expected rows inside all of k sets, from the rows inside each, inside each two of them and inside ``threes``.

    Maximum entropy over the 2^k combinations; above 10 sets the additive closed form
    prod(p_i) (1 + sum_ij (p_ij / (p_i p_j) - 1)), kept between 0 and the smallest pair (Lancaster 1969). ``rules``,
    ``sigma``: as in :func:`maximum_entropy`.
    """
    p = np.clip(np.array(inside) / max(total, _TINY), _TINY, 1.0)
    k = len(p)
    if k > MOST_SETS:
        lift = sum(both[i, j] / total / (p[i] * p[j]) - 1.0 for i, j in combinations(range(k), 2))
        return float(np.clip(total * p.prod() * (1.0 + lift), 0.0, min(both.values())))
    ones = [np.array([total * (1.0 - x), total * x]) for x in p]
    pairs = _two_by_two(total, total * p, both)
    known = [Known(axes, (None,) * 3, in_three(axes, pairs, rows)) for axes, rows in threes.items()]
    return float(maximum_entropy(ones, pairs, (), rules, sigma, known).reshape(-1)[-1])


def raked_answer(
    tensor: Estimates,
    inside: Sequence[float],
    both: dict[tuple[int, int], float],
    threes: Mapping[Threes, float] = _NONE,
) -> float:
    """Rows inside all of k sets, from a coarse model of them (counts, shape (2,) * k: out, in) and their pairs.

    The model's higher interactions are kept, its 1- and 2-way answers are replaced by the better known ones, as those
    to ``threes`` are.
    """
    total = float(tensor.sum())
    out = np.maximum(tensor, _TINY)
    pairs = _two_by_two(total, np.clip(np.array(inside), _TINY, total), both)
    known = [Known(axes, (None,) * 3, in_three(axes, pairs, rows)) for axes, rows in threes.items()]
    out = raked(out, pairs, known)
    return float(min(out.reshape(-1)[-1], *both.values()))


def raked_answers(
    tensors: Estimates,
    inside: Sequence[Estimates],
    both: Mapping[tuple[int, int], Estimates],
    threes: Mapping[Threes, Estimates] = _NONE,
) -> Estimates:
    """``raked_answer`` of each of some models: ``tensors`` has shape (models,) + (2,) * k, the others (models,)."""
    total = tensors.reshape(len(tensors), -1).sum(axis=1)
    out = np.maximum(tensors, _TINY)
    kept = [np.minimum(np.maximum(one, _TINY), total) for one in inside]
    pairs = {}
    for (i, j), rows in both.items():
        b = np.minimum(np.maximum(rows, _TINY), np.minimum(kept[i], kept[j]))
        rest = np.maximum(total - kept[i] - kept[j] + b, _TINY)
        pairs[i, j] = np.stack([rest, kept[j] - b, kept[i] - b, b], axis=1)
    triples = {axes: in_three(axes, pairs, rows) for axes, rows in threes.items()}
    for _ in range(RAKE_SWEEPS):
        for (i, j, k), wanted in triples.items():
            others = tuple(a for a in range(1, out.ndim) if a not in (i + 1, j + 1, k + 1))
            model = np.maximum(out.sum(axis=others), _TINY)
            out *= np.expand_dims(wanted.reshape(model.shape) / model, others)
        for (i, j), wanted in pairs.items():
            others = tuple(a for a in range(1, out.ndim) if a not in (i + 1, j + 1))
            model = np.maximum(out.sum(axis=others), _TINY)
            out *= np.expand_dims(wanted.reshape(model.shape) / model, others)
    return np.asarray(np.minimum(out.reshape(len(out), -1)[:, -1], np.min(list(both.values()), axis=0)))


def raked(tensor: Estimates, pairs: Mapping[tuple[int, int], Estimates], triples: Sequence[Known] = ()) -> Estimates:
    """``tensor`` (> 0) with its own higher interactions, moved to ``pairs`` (i < j): counts of two of its axes each,
    and to clean ``triples`` before these."""
    out = tensor.copy()
    for _ in range(RAKE_SWEEPS):
        for triple in triples:
            _follow(out, triple)
        for (i, j), wanted in pairs.items():
            _rake(out, i, j, wanted)
    return out


def _two_by_two(
    total: float, inside: Estimates, both: dict[tuple[int, int], float]
) -> dict[tuple[int, int], Estimates]:
    out = {}
    for (i, j), rows in both.items():
        b = min(max(rows, _TINY), inside[i], inside[j])
        rest = max(total - inside[i] - inside[j] + b, _TINY)
        out[i, j] = np.array([[rest, inside[j] - b], [inside[i] - b, b]])
    return out


def in_three(axes: Threes, pairs: Mapping[tuple[int, int], Estimates], rows: Any) -> Estimates:
    """Counts out of and in each of three sets, shape (..., 2, 2, 2), from those of each two (..., 2, 2) and the
    ``rows`` inside all three, as far as the pairs leave room for these (Bonferroni's inequalities)."""
    i, j, k = axes
    ab, ac, bc = (np.asarray(pairs[p]).reshape(*np.shape(rows), 2, 2) for p in ((i, j), (i, k), (j, k)))
    out = np.empty((*np.shape(rows), 2, 2, 2))
    lowest = np.maximum(
        0.0,
        np.maximum(
            ab[..., 1, 1] - ac[..., 1, 0], np.maximum(ac[..., 1, 1] - bc[..., 0, 1], bc[..., 1, 1] - ab[..., 0, 1])
        ),
    )
    highest = np.minimum(
        np.minimum(ab[..., 1, 1], ac[..., 1, 1]),
        np.minimum(bc[..., 1, 1], ab[..., 1, 1] + bc[..., 0, 0] - ac[..., 1, 0]),
    )
    inside = np.minimum(np.maximum(rows, lowest), np.maximum(highest, lowest))
    out[..., 1, 1, 1] = inside
    out[..., 1, 1, 0] = ab[..., 1, 1] - inside
    out[..., 1, 0, 1] = ac[..., 1, 1] - inside
    out[..., 0, 1, 1] = bc[..., 1, 1] - inside
    out[..., 1, 0, 0] = ac[..., 1, 0] - out[..., 1, 1, 0]
    out[..., 0, 1, 0] = ab[..., 0, 1] - out[..., 0, 1, 1]
    out[..., 0, 0, 1] = bc[..., 0, 1] - out[..., 1, 0, 1]
    out[..., 0, 0, 0] = bc[..., 0, 0] - out[..., 1, 0, 0]
    return np.maximum(out, _TINY)
