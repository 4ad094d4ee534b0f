"""The in-memory engine for tests that ask often: it counts each scope once."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from dpsql.engine.memory import MemoryEngine
from dpsql.policy import Policy


class Counted(MemoryEngine):
    """Answers as ``MemoryEngine`` does, which counts row by row, and remembers what it has counted."""

    def __init__(self, policy: Policy, tables: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        super().__init__(policy, tables)
        self.contingency = lru_cache(super().contingency)  # type: ignore[method-assign]
        self.keyed_counts = lru_cache(super().keyed_counts)  # type: ignore[method-assign]
        self.key_counts = lru_cache(super().key_counts)  # type: ignore[method-assign]
