"""How often each string of a text column occurs: what a key selection works on. Private until it is released.

It has no repr, for it holds strings of private rows; it travels only inside ``Private``.
"""

from dataclasses import dataclass

import numpy as np

from dpsql.query.linear import Counts


@dataclass(frozen=True, eq=False, repr=False)  # a repr would print strings of private rows
class KeyCounts:
    """``counts[i]`` counted rows hold the string ``keys[i]``; every string that occurs, NULL left out.

    ``keys`` are distinct and sorted by their UTF-8 bytes, so that their order says nothing of the storage; ``counts``
    is int64, in rows, at least 1 each.
    """

    keys: tuple[str, ...]
    counts: Counts

    def __post_init__(self) -> None:
        self.counts.setflags(write=False)


def key_counts(counted: dict[str, int]) -> KeyCounts:
    """Key counts from a dictionary in any order.

    >>> key_counts({"b": 1, "a": 2}).keys
    ('a', 'b')
    """
    keys = sorted(counted)  # code points sort as their UTF-8 bytes do
    return KeyCounts(tuple(keys), np.array([counted[k] for k in keys], dtype=np.int64))
