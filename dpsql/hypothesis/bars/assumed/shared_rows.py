"""How many rows conditions share where their columns are copies of each other, with errors. Public.

Where many rows are, a model knows how far two columns in order rise or fall together. At their far ends noise hides the
rows: a normal copula leaves hardly any to both, columns of which one copies the other in a share of the rows have that
share of them there. Simulations of the model do not see it, so a bar allows for the copies, as far as noise hides them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.bars.assumed.single_columns import SingleColumns
from dpsql.hypothesis.bars.numbers import Answers, Numbers, least, most
from dpsql.query import Choices, Estimates, Factor, one_cells

HALF = 0.5
"""The part of a column's values, about, that is its lower one."""
_TINY = 1e-9


@dataclass(frozen=True)
class _Span:
    """Of one condition of each product: where its values begin and end, in shares of the rows with a value, its rows,
    and how many of them are unsure."""

    low: Numbers
    high: Numbers
    rows: Numbers
    unsure: Numbers


class SharedRows:
    """Of one model, which gives ``answers``, and of whose columns ``single`` knows.

    ``of_one``: 95 % half-widths of conditions on one column, ``hidden``: of the noise of those on two, both in rows.
    """

    def __init__(
        self,
        single: SingleColumns,
        answers: Answers,
        of_one: Callable[[Sequence[Factor]], Estimates],
        hidden: Callable[[Choices], Numbers],
        *,
        used: bool,
    ) -> None:
        self._single = single
        self._answers = answers
        self._of_one = of_one
        self._hidden = hidden
        self._used = used
        self._copied: dict[tuple[str, str], float] = {}

    def beyond(self, asked: Choices, h: Numbers) -> Numbers:
        """Rows, >= 0, that each product with ``h`` rows may have beyond these: those that two of its conditions share,
        and of them what all others keep."""
        out: Numbers = 0.0 if asked.is_one else np.zeros(len(asked))
        copied = self._copies(asked) if self._used and len(asked.factors) > 1 else {}
        if not copied:
            return out
        spans = [self._span(asked, i, self._roughly) for i in range(len(asked.factors))]
        some = {two: share for two, share in copied.items() if np.any(self._shared(spans, two, share) > h)}
        if some:
            spans = [self._span(asked, i, self._exactly) for i in range(len(asked.factors))]
        for two, share in some.items():
            kept = self._kept(spans, two, copied)
            out = most(out, least(self._shared(spans, two, share) * kept - h, self._hidden(asked.only(two)) * kept))
        return out

    def _copies(self, asked: Choices) -> dict[tuple[int, int], float]:
        """The share of copies of each two places over single columns in order, where it is not 0."""
        alone = [i for i, columns in enumerate(asked.columns) if len(columns) == 1]
        ordered = [i for i in alone if self._single.table.finite_domain(asked.columns[i][0]).ordered]
        found = {(i, j): self.copied(asked.columns[i][0], asked.columns[j][0]) for i, j in combinations(ordered, 2)}
        return {two: share for two, share in found.items() if share != 0.0}

    def copied(self, left: str, right: str) -> float:
        """The share of copies, from -1, where they are in reverse order, to 1: Cole's coefficient of association of the
        lower part of both columns, among the rows that have both values (C7 of Cole 1949, The measurement of
        interspecific association).

        As many rows are in both beyond independence, of as many as there could be.
        """
        known = self._copied.get((left, right))
        if known is None:
            known = self._copied[left, right] = self._association(left, right)
        return known

    def _association(self, left: str, right: str) -> float:
        (low, some), (below, others) = (self._lower(c) for c in (left, right))
        rows = self._rows_of(some, others)
        if rows <= 1.0:
            return 0.0
        p, q, both = (self._rows_of(*pair) / rows for pair in ((low, others), (some, below), (low, below)))
        beyond = both - p * q
        room = min(p, q) - p * q if beyond > 0.0 else p * q - max(0.0, p + q - 1.0)
        return float(np.clip(beyond / max(room, _TINY), -1.0, 1.0))

    def _rows_of(self, *factors: Factor) -> float:
        return float(self._answers(_one_product(factors))[0])

    def _lower(self, column: str) -> tuple[Factor, Factor]:
        """The lower part of a column, as near to HALF of its values as cells let it be, and all of its values."""
        places, upto = np.arange(len(self._single.rows(column))), self._single.upto(column)
        cut = int(np.abs(upto[:-1] - HALF).argmin()) if len(upto) > 1 else 0
        low, some = (np.asarray(places < n, dtype=np.int64) for n in (cut + 1, len(upto)))
        return Factor((column,), low), Factor((column,), some)

    def _kept(self, spans: Sequence[_Span], two: tuple[int, int], copied: dict[tuple[int, int], float]) -> Numbers:
        """What all other conditions keep of the rows of two: of each its share of all rows, or of those of one of the
        two what it shares with it."""
        out: Numbers = 1.0
        for k in (k for k in range(len(spans)) if k not in two):
            share = spans[k].rows / self._single.row_count
            for i in two:
                both = min(i, k), max(i, k)
                if both in copied:
                    share = most(share, self._shared(spans, both, copied[both]) / most(1.0, spans[i].rows))
            out = out * least(1.0, share)
        return out

    def _shared(self, spans: Sequence[_Span], two: tuple[int, int], copied: float) -> Numbers:
        """Rows that meet two conditions where so many are copies: of comonotone columns, or below 0 countermonotone
        ones, whose joint distribution functions are the largest and the least that columns alone allow (Hoeffding 1940,
        Frechet 1951). What is unsure of one may be shared, too."""
        left, right = (spans[i] for i in two)
        low, high = (right.low, right.high) if copied > 0.0 else (1.0 - right.high, 1.0 - right.low)
        overlap = (least(left.high, high) - most(left.low, low)) * self._single.row_count
        rows = least(overlap, least(left.rows, right.rows)) + least(left.unsure, right.unsure)
        return abs(copied) * most(0.0, rows)

    def _span(self, asked: Choices, place: int, unsure: Callable[[Sequence[Factor]], Estimates]) -> _Span:
        """Of the conditions at a place; a constant, or one that ties columns together, may keep all rows."""
        if len(asked.columns[place]) != 1:
            return _Span(0.0, 1.0, self._single.row_count, 0.0)
        low, high, rows, known = (
            self._single.at(asked, place, of) for of in (self._begin, self._end, self._rows, unsure)
        )
        return _Span(low, high, rows, known)

    def _begin(self, factors: Sequence[Factor]) -> Estimates:
        return self._upto(factors, 0)

    def _end(self, factors: Sequence[Factor]) -> Estimates:
        return self._upto(factors, 1)

    def _upto(self, factors: Sequence[Factor], end: int) -> Estimates:
        """The share of the rows with a value before the first cell of each factor, or up to its last one."""
        upto = np.append(0.0, self._single.upto(factors[0].columns[0]))
        found = one_cells(factors)
        if found is not None:
            return np.asarray(upto[np.where(found.cells < len(upto) - 1, found.cells + end, 0)])
        values = [f.support[f.support < len(upto) - 1] for f in factors]
        return np.array([float(upto[some[-end] + end]) if len(some) else 0.0 for some in values])

    def _rows(self, factors: Sequence[Factor]) -> Estimates:
        """Rows that each takes in, whatever they count in it."""
        cells = np.maximum(self._single.rows(factors[0].columns[0]), 0.0)
        found = one_cells(factors)
        return np.array([float(cells[f.support].sum()) for f in factors]) if found is None else cells[found.cells]

    def _roughly(self, factors: Sequence[Factor]) -> Estimates:
        """What may be unsure of each at most, worked out at once: the noise of its cells."""
        alone = one_cells(factors) is not None
        sizes = np.ones(len(factors)) if alone else np.array([len(f.support) for f in factors])
        return np.asarray(DEVIATIONS * self._single.sigma(factors[0].columns[0]) * np.sqrt(sizes))

    def _exactly(self, factors: Sequence[Factor]) -> Estimates:
        return np.minimum(self._roughly(factors), self._of_one(factors))


def _one_product(factors: Sequence[Factor]) -> Choices:
    return Choices(tuple((f,) for f in factors), tuple(np.zeros(1, dtype=np.int64) for _ in factors), 1)
