"""Parts of columns that a condition cuts: how far its answer moves between leaving them out and taking them in. Public.

Where in a part the rows are was not measured, so that much of an answer rests on what a model assumes.
"""

import numpy as np

from dpsql.hypothesis.bars.condition_kind import ConditionKind
from dpsql.hypothesis.bars.coverage import Coverage, Rounded
from dpsql.hypothesis.bars.numbers import Answers, Numbers
from dpsql.query import Choices, Estimates, numbered


class CutParts:
    """Of one model, which gives ``answers``."""

    def __init__(self, coverage: Coverage, answers: Answers) -> None:
        self._coverage = coverage
        self._answers = answers

    def range(self, asked: Choices) -> Numbers:
        """How far the answer moves between leaving out and taking in whole every part that the query cuts."""
        outer, inner, cut = self._coverage.rounded(asked)
        if not cut.any():
            return 0.0
        out = np.zeros(len(asked))
        some = asked.among(np.flatnonzero(cut))
        out[cut] = np.maximum(0.0, self._of_rounded(some, outer) - self._of_rounded(some, inner))
        return float(out[0]) if asked.is_one else out

    def _of_rounded(self, asked: Choices, rounded: Rounded) -> Estimates:
        """The model's answers to the products of what stands for the factors; 0 where nothing is left of one."""
        out = np.zeros(len(asked))
        kinds = [
            np.array([ConditionKind.of(f) for f in here])[n] for here, n in zip(rounded, asked.numbers, strict=True)
        ]
        kept = np.flatnonzero(np.all([kind != ConditionKind.NONE for kind in kinds], axis=0))
        codes = np.ravel_multi_index([kind[kept] for kind in kinds], [len(ConditionKind)] * len(kinds))
        for code in np.unique(codes):
            members = kept[codes == code]
            factors, numbers = [], []
            for here, kind, number in zip(rounded, kinds, asked.numbers, strict=True):
                if kind[members[0]] != ConditionKind.ALL:
                    used, places = np.unique(number[members], return_inverse=True)
                    found, of_used = numbered([f for i in used.tolist() for f in here[i] or ()])
                    factors.append(found)
                    numbers.append(of_used[places.reshape(-1)])
            out[members] = self._answers(Choices(tuple(factors), tuple(numbers), len(members)))
        return out
