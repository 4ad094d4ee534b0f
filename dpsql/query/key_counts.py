"""How often each string of a text column occurs: what a key selection works on. Private until it is released.

It has no repr, for it holds strings of private rows; it travels only inside ``Private``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpsql.query.linear import Counts

Positions = Mapping[int, Sequence[int]]
"""By number of rows: places of keys among those of so many rows, in the order of their UTF-8 bytes, from 0."""


def _nothing(chosen: Positions) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, eq=False, repr=False)  # a repr would print strings of private rows
class KeyCounts:
    """``counts[i]`` counted rows hold the string ``keys[i]``; every string that occurs, NULL left out.

    ``keys`` are distinct and sorted by their UTF-8 bytes, so that their order says nothing of the storage; ``counts``
    is int64, in rows, at least 1 each. Keys of few rows may be counted in place of being listed: ``fewer[n]`` keys have
    n rows each, int64, and ``named`` reads the keys at some places among them, in any order. A string of those places
    that no key can name is left out.
    """

    keys: tuple[str, ...]
    counts: Counts
    fewer: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    named: Callable[[Positions], tuple[str, ...]] = _nothing

    def __post_init__(self) -> None:
        self.counts.setflags(write=False)
        self.fewer.setflags(write=False)

    @property
    def number(self) -> int:
        """How many keys there are, listed or counted."""
        return len(self.keys) + int(self.fewer.sum())


def key_counts(counted: dict[str, int]) -> KeyCounts:
    """Key counts from a dictionary in any order.

    >>> key_counts({"b": 1, "a": 2}).keys
    ('a', 'b')
    """
    keys = sorted(counted)  # code points sort as their UTF-8 bytes do
    return KeyCounts(tuple(keys), np.array([counted[k] for k in keys], dtype=np.int64))
