"""Contingencies that were counted once: an LRU bounded by bytes, where a smaller scope is a sum over a larger one.

Repeated scopes are the common case and must not scan again. What is held is private, so it is bounded by bytes and
handed out as ``Private`` alone.
"""

from collections import OrderedDict
from collections.abc import Iterator

from dpsql.query import Counts

Scope = tuple[str, ...]

WHOLE_CELLS = 1 << 22
"""A universe (or the part of it in use) up to here is counted in one scan; every smaller scope is a sum over it."""

CACHE_BYTES = 256 << 20


class Contingencies:
    """Read-only arrays by (table, scope), scopes in table order.

    >>> import numpy as np
    >>> c = Contingencies(1 << 20)
    >>> c.put("t", ("a", "b"), np.array([[1, 2], [3, 4]]))
    >>> c.get("t", ("b",))
    array([4, 6])
    >>> c.get("t", ("z",)) is None
    True
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._arrays: OrderedDict[tuple[str, Scope], Counts] = OrderedDict()

    def exactly(self, table: str, scope: Scope) -> Counts | None:
        """The cached array of this very scope, or None."""
        found = self._arrays.get((table, scope))
        if found is not None:
            self._arrays.move_to_end((table, scope))
        return found

    def get(self, table: str, scope: Scope) -> Counts | None:
        """The cached array, or the sum of the smallest cached array whose scope holds it, or None."""
        found = self.exactly(table, scope)
        if found is not None:
            return found
        wider = min(self._wider(table, set(scope)), key=lambda k: self._arrays[k].size, default=None)
        if wider is None:
            return None
        self._arrays.move_to_end(wider)
        gone = tuple(i for i, c in enumerate(wider[1]) if c not in scope)
        counts: Counts = self._arrays[wider].sum(axis=gone, dtype="int64", keepdims=True).squeeze(gone)
        self.put(table, scope, counts)
        return counts

    def _wider(self, table: str, columns: set[str]) -> Iterator[tuple[str, Scope]]:
        return (k for k in self._arrays if k[0] == table and columns.issubset(k[1]))

    def put(self, table: str, scope: Scope, counts: Counts) -> None:
        """Keep an array; the least recently used ones make room. One that is larger than all room is not kept."""
        counts.setflags(write=False)
        if counts.nbytes > self._max_bytes:
            return
        replaced = self._arrays.pop((table, scope), None)
        self._bytes += counts.nbytes - (0 if replaced is None else replaced.nbytes)
        self._arrays[table, scope] = counts
        while self._bytes > self._max_bytes:
            _, dropped = self._arrays.popitem(last=False)
            self._bytes -= dropped.nbytes
