"""What one test of the net is about: an answer of the model, or the groups of a statement together.

Groups that are counted together are tested as one: is the one close to its estimate that is furthest from it? So a
statement of hundreds of groups is one of the planned questions, and not hundreds of chances of a false alarm.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpsql.hypothesis import TableModel
from dpsql.mechanism import Entropy, Outcome, ThresholdTest, all_two_sided, two_sided
from dpsql.private import Private
from dpsql.query import Counts, LinearQuery
from dpsql.session.hard_round import HardRound


class NetTest(Protocol):
    """Queries of one outline beside the model's estimates of them, in counts. Private values inside."""

    @property
    def queries(self) -> Sequence[LinearQuery]: ...

    @property
    def alone(self) -> LinearQuery | None:
        """The query, where it is tested by itself."""
        ...

    @property
    def names(self) -> dict[str, object]:
        """What the ledger says of a test that failed. Public."""
        ...

    def outcome(self, theta: int, test: ThresholdTest, entropy: Entropy) -> Outcome:
        """Draws the coins: only under a reservation of a hard round."""
        ...


@dataclass(frozen=True, eq=False)
class SingleTest:
    """Of one query: ``estimate`` in counts, public; ``value``: ``floor(q(D))``, private."""

    query: LinearQuery
    estimate: int
    value: Private[int]

    @property
    def queries(self) -> Sequence[LinearQuery]:
        return (self.query,)

    @property
    def alone(self) -> LinearQuery | None:
        return self.query

    @property
    def names(self) -> dict[str, object]:
        return {"query": self.query.digest, "estimate": self.estimate}

    def outcome(self, theta: int, test: ThresholdTest, entropy: Entropy) -> Outcome:
        return two_sided(self.value, self.estimate, theta, test, entropy)


@dataclass(frozen=True, eq=False)
class GroupTest:
    """Of several: ``estimates`` in counts, public, and ``values``: ``floor(q(D))`` of each, private; both int64, shape
    (queries,)."""

    queries: Sequence[LinearQuery]
    estimates: Counts
    values: Private[Counts]

    @property
    def alone(self) -> LinearQuery | None:
        return None

    @property
    def names(self) -> dict[str, object]:
        return {"query": self.queries[0].digest, "groups": len(self.queries)}

    def outcome(self, theta: int, test: ThresholdTest, entropy: Entropy) -> Outcome:
        return all_two_sided(self.values, self.estimates, theta, test, entropy)


def net_tests(
    hard_round: HardRound,
    model: TableModel,
    queries: Sequence[LinearQuery],
    estimates: Sequence[int],
    *,
    together: bool,
) -> Iterator[NetTest]:
    """The tests of queries of one outline in their order, none looked at before it is wanted. ``together``: counts of
    finite columns, in stretches of values or not, are tested as one, but for a construction of the papers, which is
    updated with one answer.

    InternalError for a query that a row changes by more than it is charged for.
    """
    for query in queries:
        query.check_sensitivity()
    if together and len(queries) > 1 and model.construction is None and hard_round.counts_at_once(queries):
        yield GroupTest(queries, np.array(estimates, dtype=np.int64), hard_round.floors(queries))
        return
    values = hard_round.values(queries)
    for query, estimate in zip(queries, estimates, strict=True):
        hard_round.note(model, query)
        yield SingleTest(query, estimate, next(values))
