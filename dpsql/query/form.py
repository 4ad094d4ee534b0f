"""Affine forms of linear queries: what one aggregate of one group asks for.

``AVG`` and ``COUNT(*) - COUNT(x)`` are not linear queries with weights in [0, 1]; combinations of such queries they
are. The test and the ledger only ever see the queries.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from dpsql.memo import once
from dpsql.query.crosstab import Crosstab
from dpsql.query.linear import LinearQuery
from dpsql.query.parts import is_part


@dataclass(frozen=True, eq=False)
class Term:
    """``coefficient * q``; the coefficient is public and in the aggregate's own unit per count.

    ``doubt``: how far it may be off for each row that the query counts, where a condition cuts a bin.
    """

    coefficient: float
    query: LinearQuery
    doubt: float = 0.0

    @property
    def counts(self) -> bool:
        """Whether the query counts rows, those of a bin that a condition cuts in part."""
        return self.query.is_indicator or (self.doubt > 0 and self.query.value is None and self.coefficient == 1)


@dataclass(frozen=True, eq=False)
class Form:
    """``constant + sum of terms``; without terms the value is public and exact.

    >>> Form(0.0, ()).is_public
    True
    """

    constant: float
    terms: tuple[Term, ...] = ()

    @property
    def is_public(self) -> bool:
        return not self.terms

    @property
    def counted(self) -> LinearQuery | None:
        """The query that counts whole rows and whose answer it is, if it is no more than that."""
        match self.terms:
            case (Term(1, query, 0),) if self.constant == 0 and query.is_indicator:
                return query
        return None

    @property
    def of_rows(self) -> LinearQuery | None:
        """A query on the table of whose rows it counts each at most once, as far as its terms tell."""
        match self.terms:
            case (Term(1, query),) if self.constant == 0 and self.terms[0].counts:
                return query
            case (Term(1, whole), Term(-1)) | (Term(-1), Term(1, whole)) if self.is_count:
                return whole
        return None

    @once
    def is_count(self) -> bool:
        """Whether the true value counts rows, and so is never below 0: counts added up, or a part taken off a whole."""
        if self.constant < 0 or not all(t.counts for t in self.terms):
            return False
        taken = [t for t in self.terms if t.coefficient < 0]
        if not taken:
            return all(float(t.coefficient).is_integer() for t in self.terms)
        match self.terms:
            case (Term(1, whole), Term(-1, part)) | (Term(-1, part), Term(1, whole)):
                factors = {f.digest for f in part.factors}
                if part.intervals:
                    return is_part(part, whole)
                return whole.keyed is None and all(f.digest in factors for f in whole.factors) and not whole.intervals
            case _:
                return False


def combination(parts: Iterable[tuple[float, Form]]) -> Form:
    """Several forms, each taken so many times, added up.

    >>> combination([(2.0, Form(1.0)), (-1.0, Form(5.0))])
    Form(constant=-3.0, terms=())
    """
    constant, terms = 0.0, list[Term]()
    for times, form in parts:
        constant += times * form.constant
        if times != 0.0:
            terms += [Term(times * t.coefficient, t.query, abs(times) * t.doubt) for t in form.terms]
    return Form(constant, tuple(terms))


class CountForms(Sequence[Form]):
    """One form for each group, of which each is the count of one query of ``crosstab``; made when it is looked at."""

    def __init__(self, crosstab: Crosstab) -> None:
        self.crosstab = crosstab

    @cached_property
    def _forms(self) -> tuple[Form, ...]:
        return tuple([Form(0.0, (Term(1.0, query),)) for query in self.crosstab])

    @overload
    def __getitem__(self, at: int) -> Form: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Form, ...]: ...
    def __getitem__(self, at: int | slice) -> Form | tuple[Form, ...]:
        return self._forms[at]

    def __len__(self) -> int:
        return len(self.crosstab)

    def __iter__(self) -> Iterator[Form]:
        return iter(self._forms)


def centered(top: Form, bottom: Form) -> tuple[Form, float]:
    """``top`` without what it holds of the count ``bottom``, and how often that was: the quotient loses that number.

    An average is then asked for as a distance from a known value, and the count's error does not enter it twice.
    """
    if len(bottom.terms) != 1:
        return top, 0.0
    digest = bottom.terms[0].query.digest
    same = [t for t in top.terms if t.query.digest == digest and t.doubt == 0.0]
    rest = tuple(t for t in top.terms if t not in same)
    return Form(top.constant, rest), sum(t.coefficient for t in same)
