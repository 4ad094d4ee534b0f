"""A least-recently-used cache with a bound on total weight. Holds public values only."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Lru(Generic[V]):
    """Keeps the most recently used values whose weights sum to at most ``capacity``.

    >>> cache = Lru[str](2)
    >>> cache.put("a", "x", 1); cache.put("b", "y", 1); cache.put("c", "z", 1)
    >>> cache.get("a") is None, cache.get("c")
    (True, 'z')
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._total = 0
        self._items: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()

    def get(self, key: Hashable) -> V | None:
        """The value, or ``None``."""
        found = self._items.get(key)
        if found is None:
            return None
        self._items.move_to_end(key)
        return found[0]

    def __len__(self) -> int:
        return len(self._items)

    def put(self, key: Hashable, value: V, weight: int) -> None:
        """Stores a value; one heavier than the whole cache is not kept."""
        old = self._items.pop(key, None)
        if old is not None:
            self._total -= old[1]
        if weight > self._capacity:
            return
        self._items[key] = (value, weight)
        self._total += weight
        while self._total > self._capacity:
            _, (_, dropped) = self._items.popitem(last=False)
            self._total -= dropped
