"""Pairs of a wide table's columns: which wait for a question, and which are measured beside those that one asks for.

All of it follows from the order in which reservations name pairs, from the number of rows that was released, and from
the columns that a question is about. Public.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, combinations
from math import comb

from dpsql.first.touch import Columns
from dpsql.planning.contingencies import PAIR_ROWS, TOUCHED, first_touch_share, later_shares


class WaitingPairs:
    """Each is measured when a question first touches it, with a share that falls slowly; once those of questions touch
    ``TOUCHED`` of the columns, all others beside it, with even shares of what is left.

    One who asks about so many columns is going to ask about others, and models of few columns are better for the pairs
    beside them. ``delay``: as in ``first_touch_share``; ``together``: whether there are any beside a question's own.
    Shares are of the releases' squared precision.

    >>> pairs = WaitingPairs([f"c{i}" for i in range(20)], 1.0, together=True)
    >>> pairs.begin([("c0", "c1"), ("c0", "c2")])
    >>> own = pairs.of(("c3", "c4"))
    >>> own, pairs.after(own), pairs.after(pairs.of(("c1", "c2")))
    ([('c3', 'c4')], 3, None)
    >>> len(pairs.beside(own, pairs.is_begun, 1e5)), len(pairs.beside(own, pairs.is_begun, 1e7))
    (187, 10)
    """

    def __init__(self, names: Sequence[str], delay: float, *, together: bool) -> None:
        self.number = comb(len(names), 2)
        self._names = list(names)
        self._delay = delay
        self._together = together
        self._begun: dict[Columns, None] = {}
        self._alone = False

    def __len__(self) -> int:
        """Those that are begun."""
        return len(self._begun)

    def is_begun(self, pair: Columns) -> bool:
        """Whether it is measured, under way, or measured in part."""
        return pair in self._begun

    def begin(self, named: Iterable[Columns]) -> None:
        """What a reservation names, of which only pairs of columns count."""
        self._begun |= dict.fromkeys([c for c in named if len(c) == 2 and set(c) <= set(self._names)])

    def keep(self, begun: Collection[Columns]) -> None:
        """Forget what is not among ``begun``: it was lost or given back, and waits again."""
        self._begun = {pair: None for pair in self._begun if pair in begun}

    def of(self, asked: Iterable[str]) -> list[Columns]:
        """The pairs of some columns, in the table's order."""
        asked = set(asked)
        return list(combinations([c for c in self._names if c in asked], 2))

    def after(self, own: Iterable[Columns] = ()) -> int | None:
        """After how many pairs the others have even shares, where those begun and a question's ``own`` touch enough
        columns for that."""
        touched: set[str] = set()
        pairs = chain(self._begun, (pair for pair in own if pair not in self._begun)) if self._together else ()
        for number, pair in enumerate(pairs, 1):
            touched |= set(pair)
            if len(touched) >= TOUCHED * len(self._names):
                return number
        return None

    def beside(self, own: Sequence[Columns], is_begun: Callable[[Columns], bool], rows: float) -> tuple[Columns, ...]:
        """Pairs that a question measures beside its ``own``: none unless one of these waits, for who needs nothing
        pays for nothing; as many as ``PAIR_ROWS`` allows of a table of so many ``rows``, so that nobody waits long."""
        if self._alone or all(is_begun(pair) for pair in own) or self.after(own) is None:
            return ()
        most = self.number if rows <= 0.0 else int(PAIR_ROWS / rows)
        mine = set(own)
        return tuple([p for p in combinations(self._names, 2) if p not in mine and not is_begun(p)][:most])

    @contextmanager
    def one_by_one(self) -> Iterator[None]:
        """Questions measure their own pairs alone while this lasts: somebody pays for no more."""
        before, self._alone = self._alone, True
        try:
            yield
        finally:
            self._alone = before

    def share(self, j: int, after: int | None) -> float:
        """Of the ``j``-th pair to begin, where shares are even after so many."""
        return first_touch_share(j, len(self._names), self._delay, after)

    def later_shares(self, begun: int) -> float:
        """Of all pairs that come after so many."""
        return later_shares(begun, len(self._names), self._delay, self.after())
