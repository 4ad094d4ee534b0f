"""Keys of several text columns: what they would be were the columns independent, and what was measured of them. Public.

No first touch counts pairs of strings, for there are too many; each column's strings are known. A hard round measures
the pairs of one statement, with noise that most of them have fewer rows than: it is weighed with that guess. No bar
knows of it: where one column tells the other, the few pairs that there are look like noise among all others.
"""

from collections.abc import Mapping
from math import prod
from typing import NamedTuple, Protocol

import numpy as np

from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.strings.mixture import mixed_counts
from dpsql.hypothesis.strings.weight import Weight
from dpsql.query import Key

MOST_MOVED = 1.5
"""A pair is drawn to the guess by so many sds of its noise at most (Efron and Morris 1972)."""


class Single(Protocol):
    """What is known of one text column: the released number of its strings, ``None`` before, and rows, in counts."""

    distinct: Measurement | None
    measurements: list[Measurement]

    def rows(self, key: Key) -> float: ...


class KeyEstimate(NamedTuple):
    """Estimated rows of a measured key, and the variance of its measurements; in counts and their square."""

    rows: float
    variance: float


class Several:
    """Of a table of so many ``rows``; ``singles`` of the columns alone, none where nothing may be guessed from them."""

    def __init__(self, singles: tuple[Single, ...], rows: float) -> None:
        self._singles, self._rows = singles, rows
        self._found: tuple[object, dict[Key, KeyEstimate]] = ((), {})

    @property
    def is_known(self) -> bool:
        """Whether there is a guess: after the selections of all columns."""
        return bool(self._singles) and all(one.distinct is not None for one in self._singles)

    @property
    def state(self) -> tuple[object, ...]:
        """Equal while nothing was learned of the columns alone."""
        return tuple([(one.distinct is None, len(one.measurements)) for one in self._singles])

    def independent(self, key: Key) -> float:
        """Rows of the key, in counts, were the columns independent."""
        return self._rows * prod(min(1.0, rows / self._rows) for rows in self._each(key))

    def measured(self, key: Key, weights: Mapping[Key, Weight], measurements: int) -> KeyEstimate | None:
        """What measurements say of the key beside the guess; ``None`` for a key of which there are none.

        ``weights``: of all measured keys, by so many ``measurements``.
        """
        of = (measurements, self.state)
        if self._found[0] != of:
            noise = np.array([1.0 / w.precision for w in weights.values()])
            values = np.array([w.weighted for w in weights.values()]) * noise
            guessed, most = (np.array([f(k) for k in weights]) for f in (self.independent, self._most))
            moved = MOST_MOVED * np.sqrt(noise)
            counts = np.clip(mixed_counts(values, noise, guessed, most).counts, values - moved, values + moved)
            both = zip(weights, np.clip(counts, 0.0, most).tolist(), noise.tolist(), strict=True)
            self._found = of, {k: KeyEstimate(n, v) for k, n, v in both}
        return self._found[1].get(key)

    def _most(self, key: Key) -> float:
        """Of the column whose string has fewest."""
        return min(self._each(key))

    def _each(self, key: Key) -> list[float]:
        return [max(0.0, one.rows((value,))) for one, value in zip(self._singles, key, strict=True)]
