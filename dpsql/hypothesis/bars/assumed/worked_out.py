"""What an answer may be off by that a model works out as a product of two or three columns that it knows. Public."""

from collections.abc import Sequence
from itertools import combinations

from dpsql.hypothesis.bars.coverage import Coverage
from dpsql.hypothesis.bars.numbers import Numbers, Within, expm1, least, least_of, log1p, most, product_of
from dpsql.hypothesis.bars.row_weights import RowWeights
from dpsql.hypothesis.local.maximum_entropy import MOST_SETS
from dpsql.hypothesis.rules import ModelRules
from dpsql.query import Choices

LOG_ERROR = 0.5
"""Of three columns and more: the share of the answer that a bar grows by for each factor e between it and the least
pair of its conditions. A model works such an answer out as a product, whose error is a share for each factor."""
TRIPLE_LOG_ERROR = 0.6
"""The same for each factor e between it and the least triple, where triples are known: more than ``LOG_ERROR``, for of
what they leave open less is left."""
UPWARDS = 0.35
"""Of three columns and more: by how many factors e for each of those an answer may be too low. Rows that two conditions
leave may be more alike in a third than a model of pairs knows; the other way there is nothing below 0."""
THREES_UPWARDS = 0.3
"""The same of four columns and more, up to MOST_SETS, where a model follows what it says of each three."""
TRIPLE_UPWARDS = 0.42
"""The same below the least triple, as ``TRIPLE_LOG_ERROR``."""


class WorkedOut:
    """Of products of three columns and more."""

    def __init__(self, coverage: Coverage, row_weights: RowWeights, within: Within) -> None:
        self._coverage = coverage
        self._row_weights = row_weights
        self._within = within

    def off(
        self,
        asked: Choices,
        h: Numbers,
        pairs: Sequence[Numbers],
        weights: Sequence[Numbers] | None,
        known_together: Numbers,
    ) -> Numbers:
        """What an answer that is worked out as a product may be off by for that; where all columns were measured
        together, as much as is known of that."""
        rules = self._coverage.rules
        kept = self._row_weights.kept(asked) if weights is not None and rules.effective_rows else None
        weight = 1.0 if weights is None else product_of(weights)
        rows = h if weights is None else h / weight
        follows = rules.by_threes and 3 < len(asked.factors) <= MOST_SETS
        upwards = THREES_UPWARDS if follows else UPWARDS
        share = upwards if rules.upwards else LOG_ERROR
        off = _off_by(rows, _in_rows(pairs, 2, weights, kept), share, rules)
        names = [columns[0] for columns in asked.columns]
        triples = list(combinations(range(len(names)), 3)) if rules.triples else []
        if len(triples) > 1 and all(self._coverage.cells_together([names[i] for i in three]) for three in triples):
            known = _in_rows([self._within(asked, three) for three in triples], 3, weights, kept)
            share = TRIPLE_UPWARDS if rules.upwards else TRIPLE_LOG_ERROR
            off = least(off, _off_by(rows, known, share, rules))
        return least(weight * off, known_together)


def _in_rows(
    known: Sequence[Numbers],
    number: int,
    weights: Sequence[Numbers] | None,
    kept: Sequence[Numbers] | None,
) -> Sequence[Numbers]:
    """What is ``known`` of each so many factors, in rows of their own weight; where a sum is ``kept`` out of them, in
    as many as it would have of these rows."""
    if weights is None:
        return known
    out = [k / product_of(some) for k, some in zip(known, combinations(weights, number), strict=True)]
    if kept is None:
        return out
    beside = [[s for i, s in enumerate(kept) if i not in some] for some in combinations(range(len(kept)), number)]
    return [k * product_of(shares) for k, shares in zip(out, beside, strict=True)]


def _off_by(h: Numbers, known: Sequence[Numbers], share: float, rules: ModelRules) -> Numbers:
    """What each answer may be off by for each factor e that it is below the least of what is known of its conditions:
    by ``share`` of such a factor too low, or in older rules by that share of its rows."""
    folds = most(0.0, log1p(least_of(known)) - log1p(h))
    return h * expm1(share * folds) if rules.upwards else share * h * folds
