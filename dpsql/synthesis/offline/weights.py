"""The dense multiplicative weights of an offline construction: a distribution over the universe. Public.

One tensor for each independent part of the universe; the distribution is their product. Three steps on a query q with
an answer a (both as fractions of the rows): the textbook's, of a fixed length (Gupta-Roth-Ullman 2011, Alg. 5); one as
long as half the error (Hardt-Ligett-McSherry 2012, Fig. 1); and the one that fits a exactly, an I-projection, which is
what iterative proportional fitting does.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpsql.domain import TableDomain
from dpsql.errors import InternalError
from dpsql.hypothesis.tensor.fit import summed_out
from dpsql.memo import Memo
from dpsql.query import Counts, Estimates, LinearQuery
from dpsql.synthesis.offline.evaluation import Evaluation, spread
from dpsql.synthesis.offline.parts import Part, independent_parts

LEAST_WEIGHT = 1e-200
"""Share of the rows below which no cell falls: steps beyond it would end at an exact 0, which nothing can raise."""
_LONGEST = 30.0
"""Of a step in log weights."""
_KEPT_NUMBERS = 1 << 22


class Weights:
    """A product distribution over the parts of a workload's universe; uniform at first.

    Queries are named by their position in ``queries``; all answers are shares of the rows, 0 to 1.
    """

    def __init__(self, table: TableDomain, queries: Sequence[LinearQuery]) -> None:
        self.queries = tuple(queries)
        self.parts: tuple[Part, ...] = independent_parts(table, queries)
        self.tensors = [np.full(p.shape, 1.0 / p.cells) for p in self.parts]
        self._evaluations = [Evaluation(p.columns, [self.queries[i] for i in p.queries]) for p in self.parts]
        self._spread: Memo[tuple[Estimates, tuple[int, ...]]] = Memo(_KEPT_NUMBERS)
        self._part_of = {i: at for at, part in enumerate(self.parts) for i in part.queries}

    @property
    def log_cells(self) -> float:
        """ln |X| of the universe."""
        return sum(math.log(p.cells) for p in self.parts)

    @property
    def scopes(self) -> tuple[tuple[str, ...], ...]:
        """The sets of columns that the queries count by."""
        return tuple(s for e in self._evaluations for s in e.scopes)

    def answers(self) -> Estimates:
        """What the distribution answers to every query, float64 of shape (queries,)."""
        out = np.zeros(len(self.queries))
        for part, evaluation, tensor in zip(self.parts, self._evaluations, self.tensors, strict=True):
            out[list(part.queries)] = evaluation.on_tensor(tensor)
        return out

    def floors(self, contingencies: Sequence[Counts]) -> Counts:
        """Exact answers rounded down, int64 of shape (queries,), in counts, from counts in the order of ``scopes``.

        A unit of c rows changes each by at most c.
        """
        out, rest = np.zeros(len(self.queries), dtype=np.int64), list(contingencies)
        for part, evaluation in zip(self.parts, self._evaluations, strict=True):
            own, rest = rest[: len(evaluation.scopes)], rest[len(evaluation.scopes) :]
            out[list(part.queries)] = evaluation.on_counts(dict(zip(evaluation.scopes, own, strict=True)))
        return out

    def answer(self, position: int) -> float:
        """``answers()[position]`` alone."""
        return self._look(position).answer

    def multiply(self, position: int, exponent: float) -> None:
        """Every cell's weight by exp(exponent * q(cell)), then to sum 1."""
        self._multiply(self._look(position), exponent)

    def textbook_step(self, position: int, answer: float, rate: float) -> None:
        """Alg. 5 of Gupta, Roth and Ullman: exp(-rate r), r = q where the answer is lower, else 1 - q."""
        look = self._look(position)
        self._multiply(look, -rate if answer < look.answer else rate)

    def half_error_step(self, position: int, answer: float) -> None:
        """exp(q (answer - q(D^t)) / 2): Hardt, Ligett and McSherry 2012, Fig. 1."""
        look = self._look(position)
        self._multiply(look, (answer - look.answer) / 2)

    def fitting_step(self, position: int, answer: float, least: float) -> None:
        """The step that makes the answer right for queries of weights 0 and 1; ``least``: no share is taken below it.

        The log odds of the answer minus those of q(D^t): the line search of iterative proportional fitting.
        """
        if not 0 < least < 0.5:
            raise InternalError("a fit needs a least share in (0, 1/2)")
        look = self._look(position)
        self._multiply(look, _log_odds(answer, least) - _log_odds(look.answer, LEAST_WEIGHT))

    def _look(self, position: int) -> "_Look":
        weights, unseen = self._spread_of(position)
        at = self._part_of[position]
        marginal = summed_out(self.tensors[at], unseen).reshape(weights.shape)
        return _Look(at, weights, marginal, float((marginal * weights).sum() / marginal.sum()))

    def _multiply(self, look: "_Look", exponent: float) -> None:
        """One pass over the tensor: the new sum is known from the cells that the query tells apart."""
        factor = np.exp(min(max(exponent, -_LONGEST), _LONGEST) * look.weights)
        factor /= (look.marginal * factor).sum()
        tensor = self.tensors[look.part]
        tensor *= factor
        if factor.min() < 1.0:
            np.maximum(tensor, LEAST_WEIGHT, out=tensor)

    def _spread_of(self, position: int) -> tuple[Estimates, tuple[int, ...]]:
        """The query's weights over its part, of length 1 where it does not look, and these axes; kept while small."""
        known = self._spread.get(position)
        if known is None:
            weights = spread(self.queries[position], self.parts[self._part_of[position]].columns)
            known = weights, tuple(i for i, n in enumerate(weights.shape) if n == 1)
            self._spread.put(position, known, weights.size)
        return known


@dataclass(frozen=True, eq=False)
class _Look:
    """A query beside the distribution: its part, its weights, the distribution on the cells that it tells apart."""

    part: int
    weights: Estimates
    marginal: Estimates
    answer: float


def _log_odds(share: float, least: float) -> float:
    inside = min(max(share, least), 1 - max(least, 1e-15))
    return math.log(inside / (1 - inside))
