"""Which hypotheses there are: what each word of ``[mechanism] strategy`` in a policy stands for. Public.

Another hypothesis is a file that keeps ``dpsql.hypothesis.protocol`` and one line in ``STRATEGIES``: from then on the
policy file knows its name, refusals list it, and every table of such a policy is modelled by it. An iterative database
construction of the papers is such a line too, with what it makes and its bound in a ``Construction``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dpsql.domain import TableDomain
from dpsql.errors import PolicyError
from dpsql.hypothesis.iterative import frieze_kannan, median, sparse_weights, weights
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.protocol import Hypothesis, MakeByRules, MakeConstruction, UpdateBound
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.hypothesis.tensor.dense import DenseHypothesis
from dpsql.hypothesis.tensor.scoped import TENSOR_CELLS, ScopedHypothesis


def tensor(table: TableDomain, row_count: float, rules: ModelRules = NEWEST) -> Hypothesis:
    """One tensor while it fits in memory, else one for each scope (docs/decisions/0011-tensor-or-local-model.md)."""
    make = DenseHypothesis if table.cells <= TENSOR_CELLS else ScopedHypothesis
    return make(table, row_count, rules)


@dataclass(frozen=True)
class Construction:
    """An iterative database construction: ``make`` it, its ``update_bound``, and what it is called in ``words``.

    ``most_cells``: of a table's universe at most, ``None`` where the universe does not matter; then strings, which have
    none, are no obstacle either. ``products``: a product of conditions on different columns is answered from its
    factors, however large the grid of their columns is.
    """

    words: str
    make: MakeConstruction
    update_bound: UpdateBound
    most_cells: int | None = None
    products: bool = False

    def obstacle(self, table: TableDomain) -> str | None:
        """Why the table cannot be modelled by it, or ``None``."""
        if self.most_cells is None:
            return None
        if table.text:
            return f"{table.text[0].name} is a text column, and {self.words} need a list of all values"
        if table.cells > self.most_cells:
            return f"it has {table.cells:,} cells, and {self.words} hold at most {self.most_cells:,}"
        return None


@dataclass(frozen=True)
class Strategy:
    """How tables are modelled, and what may be measured before they are asked about.

    ``narrow``: the hypothesis of a table without a warm start, or whose universe is small; ``wide``: of others.
    ``starts``: whether contingencies and frequent strings are measured before the first answer. ``own_noise``: whether
    there may be no hypothesis at all, where so few questions are planned that noise for each is less. ``products``:
    whether conditions on so many columns are answered that their grid fits in no memory. With a ``construction`` it
    models every table, learns from single answers, and the two others are not made.
    """

    narrow: MakeByRules
    wide: MakeByRules
    starts: bool = True
    own_noise: bool = False
    products: bool = False
    construction: Construction | None = None

    def hypothesis(self, *, wide: bool) -> MakeByRules:
        return self.wide if wide else self.narrow


def constructed(construction: Construction) -> Strategy:
    """The strategy of an iterative database construction."""
    return Strategy(narrow=tensor, wide=tensor, starts=False, construction=construction)


MOST_PRODUCT_CELLS = 1 << 40
"""Of sums of products, which no question spreads out: a step adds alpha / |X| to each cell, in double precision."""
TEXTBOOK = "textbook-pmw"
"""What ``pmw`` is under the papers' constants: their bound speaks of single updates, not of a fit."""
STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        "auto": Strategy(narrow=tensor, wide=WideHypothesis, own_noise=True, products=True),
        "pmw": Strategy(narrow=tensor, wide=tensor, starts=False),
        TEXTBOOK: constructed(
            Construction(
                "textbook multiplicative weights", weights.MultiplicativeWeights, weights.update_bound, TENSOR_CELLS
            )
        ),
        "sparse-pmw": constructed(
            Construction("sparse multiplicative weights", sparse_weights.SparseWeights, sparse_weights.update_bound)
        ),
        "frieze-kannan": constructed(
            Construction(
                "sums of products",
                frieze_kannan.FriezeKannan,
                frieze_kannan.update_bound,
                MOST_PRODUCT_CELLS,
                products=True,
            )
        ),
        "median": constructed(
            Construction("medians of candidate tables", median.Median, median.update_bound, median.MOST_CELLS)
        ),
    }
)
"""By the word that a policy writes. Another construction is one line here."""


def strategy_named(word: str, *, paper: bool = False) -> Strategy:
    """What ``word`` stands for. PolicyError with the list of those that exist, for a policy that was made in Python.

    ``paper``: under the papers' constants, which only constructions have; ``pmw`` is the textbook's then.

    >>> strategy_named("pmw").starts, strategy_named("pmw", paper=True).construction.words
    (False, 'textbook multiplicative weights')
    """
    known = STRATEGIES.get(word)
    if known is None:
        listing = " or ".join(f'"{name}"' for name in STRATEGIES)
        raise PolicyError(f'"{word}" is not known', path="mechanism.strategy", hint=f"write {listing}")
    if not paper or known.construction is not None:
        return known
    if word == "pmw":
        return STRATEGIES[TEXTBOOK]
    listing = " or ".join(f'"{name}"' for name, s in STRATEGIES.items() if s.construction is not None)
    raise PolicyError(
        f'calibration = "paper" is about the papers\' constructions, and "{word}" is none of them',
        path="mechanism.calibration",
        hint=f"write strategy = {listing}, or leave calibration out",
    )
