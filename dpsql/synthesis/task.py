"""What a method of synthesis is given, and what it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dpsql.domain import TableDomain
from dpsql.first import Bench
from dpsql.hypothesis import TableModel
from dpsql.policy import Neighbors
from dpsql.query import LinearQuery
from dpsql.synthesis.steps import Steps
from dpsql.synthesis.synthetic import Synthetic


@dataclass(frozen=True, eq=False)
class Task:
    """A synthetic table that is wanted. All of it is public.

    ``model``: what the session knows of the table, its row count at least. ``workload``: the queries that the table
    should answer well, without text columns. ``units``: what the run may spend in all, 0 for methods that ask nothing.
    ``rows``: how many are wanted; ``None`` for as many as the private table has, as far as is known. ``options``: what
    else a method is told, by name. ``on_progress(what, done, of)`` hears of long work. ``neighbors``: the policy's;
    where it is not said, the relation under which more changes.
    """

    table: TableDomain
    model: TableModel
    workload: tuple[LinearQuery, ...]
    units: int = 0
    rows: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    on_progress: Callable[[str, int, int], None] = lambda what, done, of: None
    neighbors: Neighbors = "replace-one"


class Method(Protocol):
    """A way to make a synthetic table. Same task and same recorded steps, same rows: they seed its own coins."""

    def __call__(self, task: Task, bench: Bench, steps: Steps) -> Synthetic:
        """``bench`` counts and draws, inside ``Steps.pay`` alone.

        What cannot be done raises an error of dpsql's that says what to change.
        """
        ...
