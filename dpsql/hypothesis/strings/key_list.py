"""Strings of one list that were measured because somebody listed them: what they have in common is learned from them.

Before it is measured a string has the mean and the variance of those that were not shown; but how a list was drawn,
evenly, as its strings occur or because somebody knows of them, shifts the mean of all of them. Public.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.rules import NEWEST
from dpsql.hypothesis.strings.drawing import MOST_MOVED, Drawing
from dpsql.hypothesis.strings.hidden_keys import HiddenKey
from dpsql.query import Key


@dataclass(frozen=True)
class KeyList:
    """``rows``: the estimate of each string, in counts. ``variances``: of what is unknown of each for itself, times its
    weight squared. ``error``: the 95 % half-width of what is unknown of all of them together, in counts."""

    rows: dict[Key, float]
    variances: dict[Key, float]
    error: float


def key_list(
    measured: Mapping[Key, tuple[float, float]],
    hidden: HiddenKey,
    weights: Mapping[Key, float],
    shifted: float = NEWEST.shifted,
) -> KeyList:
    """The strings of one list, each with what was measured and the variance of its noise.

    A string's rows are m + s + e: m is ``hidden.estimate``, s the list's shift, e its own with variance
    ``hidden.variance``. Posterior means of s, with sd ``hidden.bias`` before, and then of each (Lindley and Smith 1972,
    the exchangeable case). But people list strings because they know of them, in more than two ways: s is drawn to 0 by
    ``shifted`` sds of its noise at most (limited translation, Efron and Morris 1972; .4 more than a mean of 0 leaves
    93 % within 1.96), and bars take nothing about s for known but the measurements. In older ledgers
    (``shifted`` infinite) both go as far as the prior says.

    >>> hidden = HiddenKey(10.0, 25.0, 20.0)
    >>> one = key_list({("a",): (20.0, 25.0)}, hidden, {("a",): 1.0})
    >>> many = key_list({(str(i),): (100.0, 25.0) for i in range(100)}, hidden, {(str(i),): 1.0 for i in range(100)})
    >>> round(one.rows["a",]), round(many.rows["7",]), round(many.error) <= 10 * 2 * 5
    (19, 100, True)
    """
    if not measured:
        return KeyList({}, {}, 0.0)
    mean, own = hidden.estimate, hidden.variance
    known = sum(1.0 / (own + noise) for _, noise in measured.values())
    apart = sum((y - mean) / (own + noise) for y, noise in measured.values()) / known
    drawn, most = apart / (1.0 + known * hidden.bias**2), shifted / sqrt(known)
    shift = apart - min(max(drawn, -most), most)
    unknown = 1.0 / known if isfinite(shifted) else hidden.bias**2 / (1.0 + known * hidden.bias**2)
    kept = {k: own / (own + noise) for k, (_, noise) in measured.items()}
    rows = {k: mean + shift + kept[k] * (y - mean - shift) for k, (y, _) in measured.items()}
    variances = {k: weights[k] ** 2 * kept[k] * noise for k, (_, noise) in measured.items()}
    together = sum(weights[k] * (1.0 - kept[k]) for k in measured)
    return KeyList(rows, variances, DEVIATIONS * together * sqrt(unknown))


def likely_list(
    measured: Mapping[Key, tuple[float, float]],
    foreseen: Mapping[Key, tuple[float, float]],
    drawing: Drawing,
    weights: Mapping[Key, float],
) -> KeyList:
    """The same by how lists are drawn (``Drawing.rows``). ``foreseen``: strings that are about to be measured, each
    with what is expected of it and the variance of the noise to come.

    Bars take nothing for known but the measurements, and how far a list is moved is added to its bar: whatever its
    strings are, it is covered as its measurement is (the triangle inequality).

    >>> from dpsql.hypothesis.strings.drawing import drawing
    >>> few, listed = drawing(3.0, 100.0, 0.4), {("a",): (14.0, 144.0), ("b",): (-9.0, 144.0)}
    >>> found = likely_list(listed, {}, few, dict.fromkeys(listed, 1.0))
    >>> [round(rows) for rows in found.rows.values()]
    [4, 2]
    """
    strings = [k for k in measured if any(part is not None for part in k)]  # NULL is none of the column's strings
    values, variances = (np.array([measured[k][i] for k in strings], dtype=np.float64) for i in (0, 1))
    found = drawing.rows(values, variances).tolist() if strings else []
    each = {**measured, **foreseen}
    rows = {k: expected for k, (expected, _) in each.items()} | dict(zip(strings, found, strict=True))
    noise = {k: weights[k] ** 2 * variance for k, (_, variance) in each.items()}
    sd = sqrt(sum(noise.values()))
    moved = abs(sum(weights[k] * (rows[k] - y) for k, (y, _) in measured.items()))
    moved, own = max(MOST_MOVED * sd if foreseen else 0.0, moved), DEVIATIONS * sd
    return KeyList(rows, noise, sqrt((own + moved) ** 2 - own**2))  # beside ``noise``, at right angles
