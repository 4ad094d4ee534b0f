"""What was worked out before, bounded: the latest entries of a pure function. Public values only."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")

MOST = 8192


class Memo(Generic[V]):
    """At most ``most`` values; the ones that were stored longest ago make room.

    >>> memo = Memo[int](2)
    >>> for i in range(3):
    ...     _ = memo.put(i, i * i)
    >>> memo.get(0) is None, memo.get(2), len(memo)
    (True, 4, 2)
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self.get: Callable[[Hashable], V | None] = self._values.get
        """The value, or ``None``; the dictionary's own method, as it is called a dozen times for each statement."""

    def put(self, key: Hashable, value: V) -> V:
        """Store and return ``value``."""
        self._values[key] = value
        if len(self._values) > self._most:
            self._values.popitem(last=False)
        return value

    def clear(self) -> None:
        self._values.clear()

    def __len__(self) -> int:
        return len(self._values)
