"""``binary_model`` of all groups of a statement at once, equal to the bit to asking for each alone. Public.

A ledger replays an answer whether it was asked for alone or in a group, so cells are added up in the order in which
numpy adds up those of one model. Groups stand on the last axis: each step is one array over all of them.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from dpsql.hypothesis.local.maximum_entropy import MOST_SETS, TRIPLE_SWEEPS, Threes, in_three
from dpsql.hypothesis.rules import ModelRules
from dpsql.query import Estimates

MOST_CELLS = 1 << 17
"""Of models that are fitted at once: more would leave the processor's cache."""
_ALONE, _PAIRWISE = 8, 128
"""numpy adds up fewer neighbours than ``_ALONE`` one after the other, up to ``_PAIRWISE`` in eight sums, and more by
halves."""
_TINY = 1e-9


def binary_models(
    total: float,
    inside: Sequence[Estimates],
    both: Mapping[tuple[int, int], Estimates],
    rules: ModelRules,
    sigma: float,
    threes: Mapping[Threes, Estimates],
) -> Estimates:
    """``binary_model`` of each product; counts are float64, shape (products,)."""
    if len(inside) > MOST_SETS:
        return _lifted(total, inside, both)
    out = np.empty(len(inside[0]))
    some = max(1, MOST_CELLS >> len(inside))
    for begin in range(0, len(out), some):
        part = slice(begin, begin + some)
        out[part] = _fitted(
            total,
            [rows[part] for rows in inside],
            {places: rows[part] for places, rows in both.items()},
            rules,
            sigma,
            {places: rows[part] for places, rows in threes.items()},
        )
    return out


def _lifted(total: float, inside: Sequence[Estimates], both: Mapping[tuple[int, int], Estimates]) -> Estimates:
    p = np.stack([_shares(total, rows) for rows in inside])
    lift = sum(both[i, j] / total / (p[i] * p[j]) - 1.0 for i, j in combinations(range(len(p)), 2))
    products = np.array([one.prod() for one in np.ascontiguousarray(p.T)])
    least = np.min(list(both.values()), axis=0)
    return np.asarray(np.clip(total * products * (1.0 + lift), 0.0, least))


def _shares(total: float, rows: Estimates) -> Estimates:
    return np.clip(rows / max(total, _TINY), _TINY, 1.0)


def _fitted(
    total: float,
    inside: Sequence[Estimates],
    both: Mapping[tuple[int, int], Estimates],
    rules: ModelRules,
    sigma: float,
    threes: Mapping[Threes, Estimates],
) -> Estimates:
    k, number = len(inside), len(inside[0])
    p = [_shares(total, rows) for rows in inside]
    tables = _two_by_two(total, [total * x for x in p], both)
    pairs = {places: _last(table, places, k) for places, table in tables.items()}
    triples = {places: _last(in_three(places, tables, rows), places, k) for places, rows in threes.items()}
    ones = [np.stack([total * (1.0 - x), total * x]) for x in p]
    whole = np.maximum(ones[0][0] + ones[0][1], _TINY)
    tensor = ones[0]
    for one in ones[1:]:
        tensor = tensor[..., None, :] * (one / whole)
    out, left = np.empty(number), np.arange(number)
    for sweep in range(1 if k == 2 else rules.sweeps):
        off = _swept(tensor, pairs, triples if sweep < TRIPLE_SWEEPS else {})
        out[left] = tensor.reshape(-1, len(left))[-1]
        open_still = ~(off < rules.settled * sigma)
        if not open_still.any():
            break
        if not open_still.all():
            left, tensor = left[open_still], np.ascontiguousarray(tensor[..., open_still])
            pairs = {places: table[..., open_still] for places, table in pairs.items()}
            triples = {places: table[..., open_still] for places, table in triples.items()}
    return out


def _swept(
    tensor: Estimates, pairs: Mapping[tuple[int, int], Estimates], triples: Mapping[Threes, Estimates]
) -> Estimates:
    """``tensor`` scaled to triples and pairs in turn; how far the largest part of a pair was off, of each model."""
    for three, wanted in triples.items():
        tensor *= wanted / np.maximum(summed(tensor, three), _TINY)
    off = np.zeros(tensor.shape[-1])
    for two, wanted in pairs.items():
        model = summed(tensor, two)
        tensor *= wanted / np.maximum(model, _TINY)
        off = np.maximum(off, np.abs(wanted - model).reshape(4, -1).max(axis=0))
    return off


def _two_by_two(
    total: float, inside: Sequence[Estimates], both: Mapping[tuple[int, int], Estimates]
) -> dict[tuple[int, int], Estimates]:
    """Counts out of and in each two sets, shape (products, 2, 2)."""
    out = {}
    for (i, j), rows in both.items():
        b = np.minimum(np.minimum(np.maximum(rows, _TINY), inside[i]), inside[j])
        rest = np.maximum(total - inside[i] - inside[j] + b, _TINY)
        out[i, j] = np.stack([rest, inside[j] - b, inside[i] - b, b], axis=1).reshape(-1, 2, 2)
    return out


def _last(table: Estimates, places: Sequence[int], k: int) -> Estimates:
    """Counts of some of k sets, (products, 2, ..), with one axis for each set and the products last."""
    shape = [2 if place in places else 1 for place in range(k)]
    return np.ascontiguousarray(np.moveaxis(table, 0, -1)).reshape(*shape, len(table))


def summed(tensor: Estimates, places: Sequence[int]) -> Estimates:
    """Sums of models, (2, .., 2, models), over all axes but those at ``places``: of each model to the bit what
    ``sum`` gives for it alone. The axes that are summed keep length 1."""
    k, last = tensor.ndim - 1, max(places)
    ends = _added_up(tensor.reshape(*tensor.shape[: last + 1], -1, tensor.shape[-1]))
    others = tuple(axis for axis in range(last) if axis not in places)
    found = ends.sum(axis=others, keepdims=True) if others else ends
    return np.asarray(found.reshape(*found.shape[:-1], *[1] * (k - last - 1), found.shape[-1]))


def _added_up(cells: Estimates) -> Estimates:
    """The last axis but one, added up as numpy adds up neighbours in memory; its length is a power of two."""
    length = cells.shape[-2]
    if length > _PAIRWISE:
        half = length // 2
        return _added_up(cells[..., :half, :]) + _added_up(cells[..., half:, :])
    if length < _ALONE:
        out = cells[..., 0, :]
        for i in range(1, length):
            out = out + cells[..., i, :]
        return out
    out = cells[..., :_ALONE, :]
    for i in range(_ALONE, length, _ALONE):
        out = out + cells[..., i : i + _ALONE, :]
    for _ in range(3):
        out = out[..., 0::2, :] + out[..., 1::2, :]
    return out[..., 0, :]
