"""What comes again in a column of dates: by the day of the week, the hour of the day, the minute of the hour. Public.

Neighbours are unlike in the same way on each day or week, by less than the noise of one of them shows, and all of them
together do: who smooths hours takes a share of each day's morning for its night.
"""

from datetime import date, datetime
from functools import lru_cache

import numpy as np

from dpsql.domain import DateDomain, FiniteDomain
from dpsql.hypothesis.columns.possible_counts import LEAST
from dpsql.hypothesis.measurement import Labels
from dpsql.query import Estimates

_KEPT = 64
_LEAST = 3
"""Times that a cycle comes again, at least: of fewer it is what ranges tell."""
_RAKES = 3
_TINY = 1e-12
_WEEK, _DAY, _HOUR = 7, 24, 60


@lru_cache(_KEPT)
def cycles_of(domain: FiniteDomain) -> tuple[Labels, ...]:
    """Of each cycle where in it each cell with a value is: int64, (cells,), the shortest first; none of other columns.

    >>> [cycle[:9].tolist() for cycle in cycles_of(DateDomain("day", date(2026, 1, 1), date(2026, 3, 1)))]
    [[3, 4, 5, 6, 0, 1, 2, 3, 4]]
    """
    if not isinstance(domain, DateDomain) or domain.unit not in ("day", "hour", "minute"):
        return ()
    number = domain.size - domain.nullable
    first = domain.values[0]
    if not isinstance(first, date):
        return ()
    found, at, cells = list[tuple[int, Labels]](), np.arange(number, dtype=np.int64), 1
    if isinstance(first, datetime):
        if domain.unit == "minute":
            at += first.minute
            cells = _HOUR
            found.append((cells, at % _HOUR))
            at = at // _HOUR
        at += first.hour
        cells *= _DAY
        found.append((cells, at % _DAY))
        at = at // _DAY
    found.append((cells * _WEEK, (at + first.weekday()) % _WEEK))
    return tuple([labels for length, labels in found if number >= _LEAST * length])


def in_step(cells: Estimates, sigma: float, cycles: tuple[Labels, ...], *, apart: bool = False) -> Estimates:
    """How far each cell is above the mean for its places in these cycles, float64, (cells,); their sum is 0 in each.

    Of each cycle the means of its places are shrunk to that of all by James and Stein's factor (1961), the cells having
    noise of sd ``sigma``. ``apart``: the last cell, that of NULL, is in none.

    >>> week = np.arange(700) % 7
    >>> in_step(np.where(week == 2, 8.0, 1.0), 0.01, (week,)).round(2)[:4].tolist()
    [-1.0, -1.0, 6.0, -1.0]
    """
    out = np.zeros(len(cells))
    rest = np.array(cells[: len(cells) - apart], dtype=np.float64)
    for labels in cycles:
        number = np.bincount(labels).astype(np.float64)
        gap = np.bincount(labels, rest) / number - rest.mean()
        squares = float((gap * gap * number).sum()) / max(sigma * sigma, _TINY)
        effect = (max(0.0, 1.0 - (len(number) - 3.0) / max(squares, _TINY)) * gap)[labels]
        rest -= effect
        out[: len(rest)] += effect
    return out


def in_proportion(cells: Estimates, told: Estimates, cycles: tuple[Labels, ...], *, apart: bool = False) -> Estimates:
    """``cells``, possible counts, of which each place of a cycle has the share that it has of ``told``, noisy ones;
    their sum is kept. What noise takes below 0 is missing from all others, and light places are light each time. Raked
    (Deming and Stephan 1940) where there are several cycles.

    >>> week = np.arange(21) % 7
    >>> told = np.where(week == 2, 50.0, 1.0)
    >>> np.bincount(week, in_proportion(np.ones(21), told, (week,))).round(2).tolist()
    [0.38, 0.38, 18.75, 0.38, 0.38, 0.38, 0.38]
    """
    if not cycles:
        return cells
    number = len(cells) - apart
    out, rows = cells[:number], cells[:number].sum()
    for labels in cycles * _RAKES:
        least = LEAST * rows * np.bincount(labels) / number
        wanted, here = np.maximum(np.bincount(labels, told[:number]), least), np.bincount(labels, out)
        wanted *= rows / max(wanted.sum(), _TINY)
        out = out * np.where(here > 0.0, wanted / np.maximum(here, _TINY), 1.0)[labels]
    scale = rows / max(out.sum(), _TINY)
    return np.append(out * scale, cells[number:])
