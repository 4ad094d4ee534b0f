"""Lists of strings that measurements answer, where strings were counted because somebody listed them. Public.

A measurement says of such a list what it says of any number. What lists are like is known beside it (``Drawing``).
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.strings.drawing import MOST_MOVED
from dpsql.hypothesis.strings.sparse import SparseHypothesis
from dpsql.query import Key, KeyedFactor, LinearQuery

Reading = tuple[int, float] | None
"""Of a query: an answer and its sd, in counts; ``None`` where there is none."""


def likely_readings(sparse: SparseHypothesis, asked: Sequence[LinearQuery]) -> list[Reading]:
    """What is likely of measured queries of one outline, which list strings and have no other condition: where strings
    were counted since somebody listed them, they have the rows that ``sparse.of_list`` gives them, all queries'
    together. ``None`` of queries that list none of these.

    A query is moved by ``MOST_MOVED`` sds of its noise at most, as the list of all of them is; its bar grows
    by how far, as in ``likely_list``.
    """
    listed = sparse.of_list({k: 1.0 for q in asked if q.keyed is not None for k in q.keyed.strings}).rows
    return [
        None if q.keyed is None or listed.keys().isdisjoint(q.keyed.strings) else _likely(sparse, q.keyed, listed)
        for q in asked
    ]


def _likely(sparse: SparseHypothesis, keyed: KeyedFactor, listed: Mapping[Key, float]) -> Reading:
    weights = dict(zip(keyed.strings, (keyed.weights.reshape(-1) / keyed.unit).tolist(), strict=True))
    measured = {k: sparse.measured(k) for k in weights}
    value, noise = (sum(w * measured[k][0] for k, w in weights.items()), _variance(weights, measured))
    drawn = {k: w for k, w in weights.items() if k in listed}
    sd = sqrt(_variance(drawn, measured))
    step = sum(w * (listed[k] - measured[k][0]) for k, w in drawn.items())
    step = max(-MOST_MOVED * sd, min(MOST_MOVED * sd, step))
    return round(value + step), sqrt(noise) + abs(step) / DEVIATIONS


def _variance(weights: Mapping[Key, float], measured: Mapping[Key, tuple[float, float]]) -> float:
    return sum(w * w * measured[k][1] for k, w in weights.items())
