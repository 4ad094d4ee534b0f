"""What was worked out before, bounded: the latest entries of a pure function. Public values only.

It stands at the bottom because every layer may remember; nothing that it holds decides an answer.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from threading import Lock
from typing import Any, Generic, TypeVar, overload

V = TypeVar("V")

MOST = 8192


class once(Generic[V]):  # noqa: N801 - a decorator is read as a word
    """A property that is worked out once: ``functools.cached_property`` without the lock that it takes before 3.12.

    Two threads may both work it out, and one value stays: for pure functions of frozen values alone.

    >>> class Square:
    ...     @once
    ...     def area(self) -> int:
    ...         return 4
    >>> square = Square()
    >>> square.area, vars(square)
    (4, {'area': 4})
    """

    def __init__(self, work: Callable[[Any], V]) -> None:
        self._work = work
        self._name = work.__name__
        self.__doc__ = work.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> "once[V]": ...
    @overload
    def __get__(self, owner: object, kind: type) -> V: ...
    def __get__(self, owner: object | None, kind: type) -> "V | once[V]":
        if owner is None:
            return self
        value = owner.__dict__[self._name] = self._work(owner)  # found before this the next time
        return value


class Memo(Generic[V]):
    """Values whose weights sum to at most ``most``; the ones that were stored longest ago make room. Safe to use from
    several threads: some of them are shared by all sessions of a process.

    >>> memo = Memo[int](2)
    >>> for i in range(3):
    ...     _ = memo.put(i, i * i)
    >>> memo.get(0) is None, memo.get(2), len(memo)
    (True, 4, 2)
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._held = 0
        self._lock = Lock()
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._weights: dict[Hashable, int] = {}
        self.get: Callable[[Hashable], V | None] = self._values.get
        """The value, or ``None``; the dictionary's own method, as it is called a dozen times for each statement."""

    def put(self, key: Hashable, value: V, weight: int = 1) -> V:
        """Store and return ``value``; one that is heavier than all may be is returned only."""
        if weight > self._most:
            return value
        with self._lock:
            self._held += weight - self._weights.get(key, 0)
            self._values[key], self._weights[key] = value, weight
            while self._held > self._most:
                oldest, _ = self._values.popitem(last=False)
                self._held -= self._weights.pop(oldest)
        return value

    def holds_any(self, keys: Iterable[Hashable]) -> bool:
        """Whether it holds a value of one of the keys."""
        return not self._values.keys().isdisjoint(keys)

    def values(self) -> tuple[V, ...]:
        """What it holds, the ones that were stored longest ago first."""
        return tuple(self._values.values())

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._weights.clear()
            self._held = 0

    def __len__(self) -> int:
        return len(self._values)
