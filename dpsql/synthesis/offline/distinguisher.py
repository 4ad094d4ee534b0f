"""The private distinguisher: a query of the workload on which the private table and the hypothesis differ most.

The exponential mechanism over the workload (Gupta-Roth-Ullman 2011, Def. 7.1; Kasiviswanathan et al. 2008), in the
form of ``dpsql.mechanism.choose``. Everything that touches private rows is here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dpsql.first import Bench
from dpsql.mechanism import choose, measure
from dpsql.private import Private, together
from dpsql.query import Counts
from dpsql.synthesis.offline.rounds import Rounds
from dpsql.synthesis.offline.weights import Weights


class Distinguisher:
    """Chooses and measures queries of ``weights`` on one private table, as ``rounds`` says.

    The exact answers are counted at the first draw and kept, private, for the others.
    """

    def __init__(self, table: str, weights: Weights, rounds: Rounds, bench: Bench) -> None:
        self._table = table
        self._weights = weights
        self._rounds = rounds
        self._bench = bench
        self._exact: Private[Counts] | None = None

    def choice(self, estimates: Counts) -> Callable[[], dict[str, Any]]:
        """A draw of ``query`` and its noisy ``answer`` (counts). ``estimates``: whole numbers, public.

        Scores |floor(q(D)) - estimate| change by at most the rows of a unit, as floor(q(D)) does. Neither they nor
        their negatives grow whenever rows are added, so the choice pays for scores that are not monotone.
        """

        def draw() -> dict[str, Any]:
            exact, entropy = self._answers(), self._bench.entropy
            scores = exact.map(lambda counts: np.abs(counts - estimates))
            position = choose(scores, self._rounds.epsilon, self._rounds.sensitivity, entropy)
            answer = exact.map(lambda counts: counts[position : position + 1])
            return {"query": position, "answer": int(measure(answer, self._rounds.sigma, entropy)[0])}

        return draw

    def signed_choice(self, estimates: Counts) -> Callable[[], dict[str, Any]]:
        """A draw of ``query`` and ``above``: whether the table's count is said to be above the estimate.

        Both signs of every difference are candidates, as the workload with the negation of each query.
        """

        def draw() -> dict[str, Any]:
            scores = self._answers().map(lambda c: np.concatenate([c - estimates, estimates - c]))
            position = choose(scores, self._rounds.epsilon, self._rounds.sensitivity, self._bench.entropy)
            count = len(estimates)
            return {"query": position % count, "above": position < count}

        return draw

    def _answers(self) -> Private[Counts]:
        if self._exact is None:
            engine, weights = self._bench.engine, self._weights
            counted = together(engine.contingency(self._table, scope) for scope in weights.scopes)
            self._exact = counted.map(weights.floors)
        return self._exact
