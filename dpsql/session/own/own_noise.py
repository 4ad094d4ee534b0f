"""What a release for some questions alone would measure, how far off it would be, and whether it is worth it. Public.

Worked out before anything is drawn, from the plan, the model and its error bars.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from math import hypot, sqrt
from typing import Protocol

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis import TableModel
from dpsql.ledger.event import Payload
from dpsql.mechanism.entropy import LARGEST_SIGMA
from dpsql.planning import Basis, Share, TablePlan
from dpsql.planning.measured_axes import own_sds
from dpsql.query import Crosstab, Factor, LinearQuery, canonical_products
from dpsql.result import Answer
from dpsql.session.own.by_value.about_middle import about_middle, from_zero, pays
from dpsql.session.own.by_value.counted import NO_COUNTS, Counted, Counts, counts_known
from dpsql.session.own.by_value.stretch import Stretch
from dpsql.session.own.families import MOST_FAMILIES, Family, families
from dpsql.session.own.misfit import Misfit
from dpsql.session.own.pace import Pace
from dpsql.session.own.residual import Residual, groups_of, residual_of, split

SPARE_TIMES = 1.5
"""The cells of a GROUP BY get noise of their own where the model's error bars are so many times wider (root mean
squares): bars of many small cells are wide for what the cells are off by."""
LISTED_TIMES = 2.0
"""Bars of listed strings are so many times what answers are off by: they are compared, and weighed, with that less."""
WHOLE_TIMES = 2.0
"""The same, on average, where the release measures them as a whole and knows nothing else."""
SPARING = 0.5
"""A spare release has to be better than the model by this power of how many are needed, or with rules before 24 were
there, for each that is left."""
MOST_DRAWN = 0.99 * LARGEST_SIGMA
"""Sd of the noise of a release that can be drawn, rounding of the sd aside."""
MOST_ALONE = 64
"""Sums of values of one release that are measured as the numbers that they are: each looks at all rows."""
LEAST_CHANGES = (1.0, 0.5, 0.25, 0.125, 1 / 6, 2 / 9, 0.25)
"""What a row changes at least, by number of columns, of what estimates leave open of a conjunction (Nisan and Szegedy
1994): below that noise there is no need to look."""


class Standing(Protocol):
    """What is known of a table: its state."""

    plan: TablePlan
    model: TableModel | None
    misfit: Misfit
    wide_hard_rounds: int

    def error_bars(self, queries: Sequence[LinearQuery]) -> list[int | None]: ...
    def rows_known(self) -> tuple[float, float] | None: ...


@dataclass(frozen=True, eq=False)
class Part:
    """Of a release: what is measured for some of its queries, a ``residual`` or all of what they tell apart, with so
    many ``units`` of it; ``sds``: what that leaves to each, in counts. ``alone``: whether it is the numbers that they
    ask for, sums of values of which a row is in one at most."""

    queries: tuple[LinearQuery, ...]
    units: int
    residual: Residual | None
    sds: tuple[float, ...]
    alone: bool = False


class OwnNoise:
    """Of one table. ``pace``: of the spare releases of all tables."""

    def __init__(self, state: Standing, pace: Pace) -> None:
        self._state, self._plan = state, state.plan
        self._pace = pace
        self._last: tuple[object, tuple[Part, ...]] | None = None
        self._counts: Counts = NO_COUNTS
        self._counted: Mapping[str, Counted] = {}

    def know_counts(self, counts: Counts, answers: Mapping[str, Answer]) -> None:
        """The counts of the rows of sums that are asked next, by the sums' digests, and what was answered to them."""
        self._counts = counts if self._plan.rules.about_middle else NO_COUNTS
        self._counted = counts_known(self._counts, answers)

    def spares_left(self) -> int:
        """Spare releases that nobody has begun, of all tables; below 0 while sessions begin more than there are."""
        return self._plan.spares - self._pace.used

    def spares_for(self, queries: Sequence[LinearQuery]) -> int:
        """How many spare releases one for these queries is paid as; 0 where the plan has none. See ``paying``."""
        units = self._plan.spare.units
        return self.spare_share(queries).units // units if units else 0

    def spare_share(self, queries: Sequence[LinearQuery]) -> Share:
        """What a spare release for these queries of one outline spends."""
        one, times = self._plan.spare if len(queries) == 1 else self._plan.group_spare, self.spare_times(queries)
        if times == 1:
            return one
        rounding = self._plan.smoothing  # no budget buys it
        bought = max(float(one.sigma) ** 2 - rounding, 0.0) / times
        return Share(one.units * times, Fraction(sqrt(bought + rounding)))

    def spare_times(self, queries: Sequence[LinearQuery], left: int | None = None) -> int:
        """In place of how many the spare releases for these queries are paid: some are left over.

        ``left``: where fewer are left than of the plan's, as others of the same statement take some.
        """
        one = self._plan.spare if len(queries) == 1 else self._plan.group_spare
        if not self._plan.rules.paced or one.units == 0:
            return 1
        left = self.spares_left() if left is None else min(left, self.spares_left())
        return max(1, min(self._pace.times(), left * self._plan.spare.units // one.units))

    def paying(self, times: int) -> AbstractContextManager[None]:
        """So many in place of one at most, while this lasts."""
        return self._pace.held(times)

    def said(self, queries: Sequence[LinearQuery]) -> Payload:
        """What a reservation for a spare release says for those to come."""
        return self._pace.said(self.spare_times(queries)) if self._plan.rules.paced else {}

    def told(self) -> None:
        """One has said it."""
        self._pace.told()

    def dearest(self, share: Share) -> int:
        """Units that a spare release of this share may spend now, at most."""
        return share.units * (self._pace.times() if self._plan.rules.paced else 1)

    def wants_spare(self, queries: Sequence[LinearQuery]) -> bool:
        """Whether a spare release would be less off than the model's answers, by what is public before it is made."""
        with self._pace.held(1):  # several would make it better, and not more questions worth one: bars are too wide
            return self._takes_spare(queries) and self._is_better(queries)

    def _is_better(self, queries: Sequence[LinearQuery]) -> bool:
        sigma = float(self.spare_share(queries).sigma)
        bars = self._state.error_bars(queries)
        known = [b / DEVIATIONS for b in bars if b is not None]
        sparing = self._sparing
        least = sparing * (1.0 if len(queries) == 1 else SPARE_TIMES)
        change = LEAST_CHANGES[min(len(queries[0].touched), len(LEAST_CHANGES) - 1)]
        if len(known) < len(bars):
            return False
        if queries[0].keyed is not None:
            return sum(known) > sparing * LISTED_TIMES * sum(self.spare_sds(queries))
        exact = self._plan.rules.residuals and bool(Crosstab.of(queries).indicators.all())
        if exact and hypot(*known) <= least * change * sigma * sqrt(len(known)):
            return False
        found = self.spare_sds(queries)
        if any(part.residual is None for part in self.parts(queries, spare=True)):
            return sum(known) > sparing * (1.0 if len(queries) == 1 else WHOLE_TIMES) * sum(found)
        return hypot(*known) > least * hypot(*found)

    def may_want_spare(self, queries: Sequence[LinearQuery]) -> bool:
        """Whether first measurements that are still to come will tell if a spare release would be less off."""
        return self._takes_spare(queries) and None in self._state.error_bars(queries)

    def _takes_spare(self, queries: Sequence[LinearQuery]) -> bool:
        """Whether the plan has spare releases for such queries."""
        first = queries[0]
        if first.keyed is not None:
            counted = self._lists(queries)
        elif self._plan.rules.values_beside:
            counted = bool(first.touched)
        else:
            counted = first.value is None and bool(first.scope)
        return counted and self.spare_share(queries).sigma > 0

    def _lists(self, queries: Sequence[LinearQuery]) -> bool:
        """Whether it is one count of listed strings that a first touch counts: a spare release counts them together."""
        keyed = queries[0].keyed
        one = keyed is not None and len(keyed.text_columns) == len(queries) == 1 and queries[0].is_indicator
        return one and self._plan.rules.listed_spares and self._plan.basis(queries[0]) is Basis.START

    @property
    def _sparing(self) -> float:
        """By how much a spare release has to be better than the model: the fewer are left, the more."""
        if not self._plan.rules.sparing:
            return 1.0
        if not self._plan.rules.paced:
            return float((self._plan.spares / max(1, self.spares_left())) ** SPARING)
        return float(max(1.0, self._pace.need() / max(1, self.spares_left())) ** SPARING)

    def spare_sds(self, queries: Sequence[LinearQuery]) -> list[float]:
        """The sds (counts) that one spare release would leave to queries of one outline."""
        if queries[0].keyed is not None:
            return [self._listed_sd(float(self.spare_share(queries).sigma))]
        return _in_order(queries, self.parts(queries, spare=True))

    def _listed_sd(self, sigma: float) -> float:
        """The sd (counts) that a spare release would leave to a count of listed strings: half of it is known."""
        known = self._state.rows_known()
        change = self._plan.weighted_l2_squared(-1, 1) / self._plan.l2_squared
        return hypot(sigma * sqrt(change), 0.0 if known is None else known[1]) / 2.0

    def own_sds(self, queries: Sequence[LinearQuery]) -> list[float]:
        """The sds (counts) that the release of a planned question would leave to queries of one outline."""
        return _in_order(queries, self.parts(queries, spare=False))

    def parts(self, queries: Sequence[LinearQuery], *, spare: bool) -> tuple[Part, ...]:
        """What a release for queries of one outline, counts or sums of finite columns, measures: all of them together,
        or each family with its share of the budget, whichever leaves less noise."""
        model, scope = self._state.model, len(queries[0].scope)
        version = None if model is None else model.version
        bars = version, self._state.wide_hard_rounds, self._state.misfit.times(scope)
        counts = tuple((digest, count.digest) for digest, count in self._counts.items())
        share = self._share(queries, spare).units
        asked = spare, share, bars, tuple(q.digest for q in queries), counts, tuple(self._counted.values())
        if self._last is None or self._last[0] != asked:
            self._last = asked, self._parts(tuple(queries), spare)
        return self._last[1]

    def _parts(self, queries: tuple[LinearQuery, ...], spare: bool) -> tuple[Part, ...]:
        share = self._share(queries, spare)
        whole = self._part(queries, share.units, float(share.sigma), spare)
        alike = self._plan.rules.families_alike
        if queries[0].value is not None and alike and not spare:
            return self._each_alone(whole, share)
        if len(queries) == 1 or queries[0].is_by_value or not self._plan.rules.families or _is_beside(whole):
            return (whole,)
        found = families(queries, broad_apart=alike)
        if len(found) == 1:
            return (whole,)
        weights = [1 + (alike and len(family) > 1) for family in found]
        sigmas = [self._split_sigma(share, sum(weights), weight) for weight in weights]
        units = [share.units * weight // sum(weights) for weight in weights]
        split = tuple([self._part(*of, spare) for of in zip(found, units, sigmas, strict=True)])
        split = split if spare else self._sums_last(split, sigmas)
        of_split, of_whole = (_in_order(queries, parts) for parts in (split, (whole,)))
        if alike:  # one sum is worth as much as the hundred cells beside it
            of_split, of_whole = (_by_family(found, queries, sds) for sds in (of_split, of_whole))
        return split if hypot(*of_split) < hypot(*of_whole) else (whole,)

    def _each_alone(self, whole: Part, share: Share) -> tuple[Part, ...]:
        """Sums of values, each measured as one number where that leaves less noise than the parts that all tell apart:
        groups, of which a row is in one at most, with all units, and others with a share of them."""
        queries, number = whole.queries, len(whole.queries)
        if whole.residual is not None or number > MOST_ALONE:
            return (whole,)
        apart = number > 1 and groups_of(queries, split(queries)[0]) is None
        if apart and number > MOST_FAMILIES:
            return (whole,)
        sigma = self._split_sigma(share, number if apart else 1)
        if sigma * sqrt(number) >= hypot(*whole.sds):
            return (whole,)
        if not apart:
            return (Part(queries, share.units, None, (sigma,) * number, alone=True),)
        return tuple([Part((q,), share.units // number, None, (sigma,), alone=True) for q in queries])

    def _split_sigma(self, share: Share, parts: int, mine: int = 1) -> float:
        """The noise (counts) that ``mine`` of so many equal parts of a share buy; each has its rounding whole."""
        rounding = self._plan.smoothing
        return sqrt(max(float(share.sigma) ** 2 - rounding, 0.0) * parts / mine + rounding)

    def _share(self, queries: Sequence[LinearQuery], spare: bool) -> Share:
        return self.spare_share(queries) if spare else self._plan.question

    def _part(self, queries: tuple[LinearQuery, ...], units: int, sigma: float, spare: bool) -> Part:
        """``sigma``: the noise (counts) that the units buy at sensitivity 1."""
        found = self._rest(queries, sigma) if spare else self._half(queries, sigma)
        sds = own_sds(queries, sigma) if found is None else self._sds(found, sigma)
        counted = [c for q in queries if (c := self._counted.get(q.digest)) is not None]
        beside = None if spare else self._beside(queries, counted, sigma, sds)
        if beside is None and not spare:
            beside = self._from_zero(queries, sigma, sds)
        if beside is None:
            return Part(queries, units, found, tuple(sds))
        return Part(queries, units, beside, self._noise(beside, sigma))

    def _from_zero(self, queries: Sequence[LinearQuery], sigma: float, sds: Sequence[float]) -> Residual | None:
        """Sums under conditions on their own values, where that leaves less noise than ``sds``."""
        found = from_zero(self._plan.table, queries) if self._plan.rules.lone_sums else None
        if found is None or (drawn := self._drawn_sd(found, sigma)) > MOST_DRAWN:
            return None
        return found if hypot(*found.noise(drawn)) < hypot(*sds) else None

    def _sums_last(self, parts: Sequence[Part], sigmas: Sequence[float]) -> tuple[Part, ...]:
        """Sums of which the counts are others of these parts are measured after these, about the middle."""
        sds = {q.digest: sd for part in parts for q, sd in zip(part.queries, part.sds, strict=True)}
        first, last = list[Part](), list[Part]()
        for part, sigma in zip(parts, sigmas, strict=True):
            counts = [c for q in part.queries if (c := self._counts.get(q.digest)) is not None and c.digest in sds]
            found = self._beside(part.queries, [Counted(c, 0, sds[c.digest]) for c in counts], sigma, part.sds)
            if found is None:
                first.append(part)
            else:
                found = replace(found, awaits=tuple(counts))
                last.append(replace(part, residual=found, sds=self._noise(found, sigma)))
        return (*first, *last)

    def _beside(
        self, queries: Sequence[LinearQuery], counted: Sequence[Counted], sigma: float, sds: Sequence[float]
    ) -> Residual | None:
        """Sums about the middle of their values, where the counts of their rows are known, it can be drawn, and they
        lose little beside the ``sds`` that they have otherwise."""
        if len(counted) < len(queries):
            return None
        found = about_middle(self._plan.table, queries, counted)
        if found is None or (drawn := self._drawn_sd(found, sigma)) > MOST_DRAWN:
            return None
        return found if pays(found, drawn, sds) else None

    def _noise(self, residual: Residual, sigma: float) -> tuple[float, ...]:
        """The sds (counts) of what is measured and known, where no model is beside it."""
        return tuple(residual.noise(self._drawn_sd(residual, sigma)).tolist())

    def _sds(self, residual: Residual, sigma: float) -> list[float]:
        """The sds (counts) of a residual release with what buys noise of that sd for a count."""
        return [float(sd) for sd in residual.sds(self._drawn_sd(residual, sigma))]

    def _drawn_sd(self, residual: Residual, sigma: float) -> float:
        """Of its noise, in the units of its weights."""
        change = self._plan.weighted_l2_squared(residual.low, residual.high) / self._plan.l2_squared
        return sigma * sqrt(change)

    def _residual_of(self, queries: Sequence[LinearQuery], sigma: float) -> Residual | None:
        """``residual_of``, but for one whose noise is too large to be drawn: fractions of a row times many rows."""
        rules = self._plan.rules
        found = residual_of(queries, self._known, sigma, fractions=rules.fractions, by_value=rules.values_beside)
        return None if found is None or self._drawn_sd(found, sigma) > MOST_DRAWN else found

    def _half(self, queries: Sequence[LinearQuery], sigma: float) -> Residual | None:
        """What the release of a planned question measures; ``None`` where that is the question as a whole."""
        if self._state.model is None or not self._plan.rules.halved:
            return None
        counted = bool(Crosstab.of(queries).indicators.all())
        if len(queries) > 1 and (counted or not self._plan.rules.families):
            return None  # each group is a part of its own, of which nothing is known
        found = self._residual_of(queries, sigma)
        if found is None or hypot(*self._sds(found, sigma)) >= hypot(*own_sds(queries, sigma)):
            return None
        return found

    def _rest(self, queries: Sequence[LinearQuery], sigma: float) -> Residual | None:
        """What a spare release measures; ``None`` where it measures the queries as a whole."""
        if self._state.model is None or not self._plan.rules.residuals:
            return None
        return self._residual_of(queries, sigma)

    def _known(
        self, products: Sequence[tuple[Factor, ...]], stretch: Stretch | None
    ) -> list[tuple[float, float] | None]:
        """Estimate and sd (counts) of the rows in all of the factors, and in the stretch, of each of some products."""
        model = self._state.model
        if model is None:
            return [None] * len(products)
        if not products[0] and stretch is None:
            return [self._state.rows_known()] * len(products)
        out: list[tuple[float, float] | None] = [None] * len(products)
        for places, of_cells in canonical_products(self._plan.table, products):
            asked = of_cells if stretch is None else Crosstab.of([stretch.asked(q) for q in of_cells])
            bars, estimates = self._state.error_bars(asked), model.estimates(asked).tolist()
            for place, bar, estimate in zip(places, bars, estimates, strict=True):
                out[place] = None if bar is None else (estimate, bar / DEVIATIONS)
        return out


def _by_family(of: Sequence[Family], queries: Sequence[LinearQuery], sds: Sequence[float]) -> list[float]:
    """The noise of a query of each family, root mean squares."""
    known = dict(zip([q.digest for q in queries], sds, strict=True))
    return [hypot(*[known[q.digest] for q in family]) / sqrt(len(family)) for family in of]


def _is_beside(part: Part) -> bool:
    return part.residual is not None and bool(part.residual.beside)


def _in_order(queries: Sequence[LinearQuery], parts: Sequence[Part]) -> list[float]:
    sds = {query.digest: sd for part in parts for query, sd in zip(part.queries, part.sds, strict=True)}
    return [sds[query.digest] for query in queries]
