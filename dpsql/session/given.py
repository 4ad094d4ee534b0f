"""Answers once given: in this session, and by others as far as the ledger knows. An equal question gets the equal one.

Single questions and whole crosstabs are kept apart, for the groups of a statement are thousands, and are looked up as
one. A question is found in either.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from dpsql.ledger import Ledger
from dpsql.memo import Memo
from dpsql.query import Crosstab, LinearQuery
from dpsql.result import Answer, CrosstabAnswers
from dpsql.session.ledger_fold import LedgerFold

RECENT = 1 << 15
"""Single answers that a session holds in memory, and as many of crosstabs: more than one statement of 10,000 groups."""
FEWEST = 64
"""Questions of a crosstab that is kept as one: fewer are found faster one by one."""


class _Kept(NamedTuple):
    """Answers to a crosstab, and where each question stands in it: not the crosstab, whose factors may be large."""

    outline: object
    places: Mapping[str, int]
    answers: CrosstabAnswers


class Given:
    """What was answered. ``fold`` knows which answers on demand are better than what is kept of a question."""

    def __init__(self, ledger: Ledger, fold: LedgerFold) -> None:
        self._ledger = ledger
        self._fold = fold
        self._recent: Memo[Answer] = Memo(RECENT)
        self._crosstabs: Memo[_Kept] = Memo(RECENT)

    def of(self, queries: Sequence[LinearQuery]) -> dict[str, Answer]:
        """The answer to each of the queries that was answered, by digest; free of charge."""
        return self.by_digest([q.digest for q in queries])

    def by_digest(self, asked: Sequence[str]) -> dict[str, Answer]:
        """The same of questions that are known by their digests alone."""
        recent, demands = self._recent.get, self._fold.demands
        held = {digest: answer for digest in asked if (answer := recent(digest)) is not None}
        if len(held) < len(asked) and len(self._crosstabs):
            held = self._held([digest for digest in asked if digest not in held]) | held
        elsewhere = [digest for digest in asked if digest not in held] if len(held) < len(asked) else []
        kept = self._ledger.lookup_all(elsewhere) if elsewhere else {}
        found = [(digest, held.get(digest) or kept.get(digest)) for digest in asked]
        if demands:
            found = [(digest, demands.best(digest, answer)) for digest, answer in found]
        return {digest: a if a.charged == 0.0 else replace(a, charged=0.0) for digest, a in found if a is not None}

    def _held(self, digests: Sequence[str]) -> dict[str, Answer]:
        """What this session's crosstabs have of these questions."""
        found: dict[str, Answer] = {}
        for kept in self._crosstabs.values():
            found |= {d: kept.answers[kept.places[d]] for d in digests if d in kept.places}
        return found

    def keep(self, answers: Iterable[tuple[str, Answer]]) -> None:
        """What this session shows from now on."""
        for digest, answer in answers:
            self._recent.put(digest, answer)

    def takes(self, asked: Crosstab) -> bool:
        """Whether such a crosstab is kept as one."""
        return len(asked) >= FEWEST and asked[0].keyed is None and not self._fold.demands

    def crosstab(self, asked: Crosstab) -> CrosstabAnswers | None:
        """The answers that were given to these questions as one; ``None`` where they are to be asked one by one."""
        if not self.takes(asked):
            return None
        held = self._crosstabs.get(asked.name)
        if held is not None:
            return held.answers
        found = self._ledger.lookup_crosstab(asked.name)
        if found is None or len(found) != len(asked) or self._knows_some(asked):
            return None
        return self._hold(asked, found)

    def keep_crosstab(self, asked: Crosstab, answers: CrosstabAnswers) -> bool:
        """Keep free answers to questions of which none has any; else False, and nothing is kept."""
        if not self.takes(asked) or self._knows_some(asked):
            return False
        if not self._ledger.remember_crosstab(asked.name, asked.raw_digests, answers):
            return False
        self._hold(asked, answers)
        return True

    def _hold(self, asked: Crosstab, answers: CrosstabAnswers) -> CrosstabAnswers:
        return self._crosstabs.put(asked.name, _Kept(asked[0].outline, asked.places, answers), len(asked)).answers

    def _knows_some(self, asked: Crosstab) -> bool:
        """Whether this session has shown an answer to one of the questions."""
        places = asked.places
        others = [kept.places for kept in self._crosstabs.values() if kept.outline == asked[0].outline]
        return self._recent.holds_any(places) or not all(places.keys().isdisjoint(other) for other in others)
