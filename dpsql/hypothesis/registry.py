"""Which hypotheses there are: what each word of ``[mechanism] strategy`` in a policy stands for. Public.

Another hypothesis is a file that keeps ``dpsql.hypothesis.protocol`` and one line in ``STRATEGIES``: from then on the
policy file knows its name, refusals list it, and every table of such a policy is modelled by it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dpsql.domain import TableDomain
from dpsql.errors import PolicyError
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.protocol import Hypothesis, MakeByRules
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.hypothesis.tensor.dense import DenseHypothesis
from dpsql.hypothesis.tensor.scoped import ScopedHypothesis

TENSOR_CELLS = 1 << 24
"""Universes up to this size are one tensor: 128 MB of float64."""


def tensor(table: TableDomain, row_count: float, rules: ModelRules = NEWEST) -> Hypothesis:
    """One tensor while it fits in memory, else one for each scope (docs/decisions/0011-tensor-or-local-model.md)."""
    make = DenseHypothesis if table.cells <= TENSOR_CELLS else ScopedHypothesis
    return make(table, row_count, rules)


@dataclass(frozen=True)
class Strategy:
    """How tables are modelled, and what may be measured before they are asked about.

    ``narrow``: the hypothesis of a table without a warm start, or whose universe is small; ``wide``: of others.
    ``starts``: whether contingencies and frequent strings are measured before the first answer. ``own_noise``: whether
    there may be no hypothesis at all, where so few questions are planned that noise for each is less.
    """

    narrow: MakeByRules
    wide: MakeByRules
    starts: bool = True
    own_noise: bool = False

    def hypothesis(self, *, wide: bool) -> MakeByRules:
        return self.wide if wide else self.narrow


STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        "auto": Strategy(narrow=tensor, wide=WideHypothesis, own_noise=True),
        "pmw": Strategy(narrow=tensor, wide=tensor, starts=False),
    }
)
"""By the word that a policy writes."""


def strategy_named(word: str) -> Strategy:
    """What ``word`` stands for. PolicyError with the list of those that exist, for a policy that was made in Python.

    >>> strategy_named("pmw").starts
    False
    """
    known = STRATEGIES.get(word)
    if known is None:
        listing = " or ".join(f'"{name}"' for name in STRATEGIES)
        raise PolicyError(f'"{word}" is not known', path="mechanism.strategy", hint=f"write {listing}")
    return known
