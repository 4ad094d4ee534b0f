"""What somebody asks for when they want a synthetic table, before any of it is looked up. Public."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from dpsql.accounting import Plan
from dpsql.domain import TableDomain
from dpsql.query import LinearQuery

DEFAULT_WORKLOAD = "marginals:2"
"""Of a table with one column that varies: all of its cells."""


class Part(NamedTuple):
    """A piece of a workload: a word for many queries, or one statement. ``where`` it stands, for errors."""

    where: str
    text: str


@dataclass(frozen=True)
class Wanted:
    """A synthetic table of ``table`` by ``method``.

    ``workload``: the queries it should answer well; by default the cells of all pairs of columns. ``epsilon``: what the
    run may spend, as a share of the ledger's; ``None`` for methods that pay nothing. ``rows``: ``None`` for as many as
    the table has. ``options``: the method's own. ``seed``: of the workload's random queries, of which are held out and
    of the values inside bins; never of noise. ``keeps_first_look``: whether the run
    leaves alone what is kept for first looks at tables; without it, questions that come later may do without one.
    """

    table: str
    method: str = "session"
    workload: tuple[Part, ...] = ()
    epsilon: Fraction | None = None
    rows: int | None = None
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    seed: int = 1
    keeps_first_look: bool = True


Check = Callable[[TableDomain, Wanted, Sequence[LinearQuery], Plan], None]
"""What a method refuses of a table, of what is wanted, of the queries it is told and of the ledger's plan."""


@dataclass(frozen=True)
class RunForecast:
    """What a run would do, before it is begun. Public, free.

    ``run``: its name in the ledger. ``allowed``: epsilon that it may spend; ``charged`` and ``steps``: what it has
    spent and recorded before. ``left``: epsilon that the ledger has for synthetic tables. ``earlier``: other runs on
    the same table, with what they charged. ``first_look``: epsilon, at most, of what is measured first, as for any
    question. ``lost``: of ``charged``, for steps of a process that was killed: drawn again, beside ``allowed``.
    """

    run: str
    allowed: float
    charged: float
    steps: int
    left: float
    earlier: tuple[tuple[str, float], ...] = ()
    first_look: float = 0.0
    lost: float = 0.0

    @property
    def sentences(self) -> tuple[str, ...]:
        """What there is to know before it begins, one sentence each."""
        out = []
        if self.first_look > 0:
            out.append(
                f"this table has not been looked at: that is done first, as for any question, and charges up to "
                f"epsilon {self.first_look:.3g}"
            )
        if self.steps:
            paid = self.charged - self.lost
            out.append(f"{self.steps} steps of this run were recorded before, for epsilon {paid:.3g}: they are free")
        if self.lost > 0:
            out.append(f"epsilon {self.lost:.3g} was lost when this run was killed inside a step, which is drawn again")
        if not self.charged and self.earlier and self.allowed > 0:
            told = ", ".join(f"{charged:.3g} ({run.partition(':')[0]})" for run, charged in self.earlier)
            out.append(f"earlier runs on this table have charged epsilon {told}; this one is new and pays for itself")
        return tuple(out)
