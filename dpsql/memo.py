"""What was worked out before, bounded: the latest entries of a pure function. Public values only.

It stands at the bottom because every layer may remember; nothing that it holds decides an answer.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")

MOST = 8192


class Memo(Generic[V]):
    """Values whose weights sum to at most ``most``; the ones that were stored longest ago make room.

    >>> memo = Memo[int](2)
    >>> for i in range(3):
    ...     _ = memo.put(i, i * i)
    >>> memo.get(0) is None, memo.get(2), len(memo)
    (True, 4, 2)
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._held = 0
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._weights: dict[Hashable, int] = {}
        self.get: Callable[[Hashable], V | None] = self._values.get
        """The value, or ``None``; the dictionary's own method, as it is called a dozen times for each statement."""

    def put(self, key: Hashable, value: V, weight: int = 1) -> V:
        """Store and return ``value``; one that is heavier than all may be is returned only."""
        if weight > self._most:
            return value
        self._held += weight - self._weights.get(key, 0)
        self._values[key], self._weights[key] = value, weight
        while self._held > self._most:
            oldest, _ = self._values.popitem(last=False)
            self._held -= self._weights.pop(oldest)
        return value

    def clear(self) -> None:
        self._values.clear()
        self._weights.clear()
        self._held = 0

    def __len__(self) -> int:
        return len(self._values)
