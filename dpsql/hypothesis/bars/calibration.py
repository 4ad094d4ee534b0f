"""Calibrated error bars of model answers: what simulations foresee, the noise that covers a query, and assumptions on
what neither shows. Public; ``lesson`` says how they are learned.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from math import ceil, hypot, inf

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.hypothesis.bars.assumed.compared import Compared
from dpsql.hypothesis.bars.assumed.crowded_ends import CrowdedEnds
from dpsql.hypothesis.bars.assumed.cut_off import CutOff
from dpsql.hypothesis.bars.assumed.even_spread import EvenSpread
from dpsql.hypothesis.bars.assumed.excluded import Excluded
from dpsql.hypothesis.bars.assumed.lost_in_noise import LostInNoise
from dpsql.hypothesis.bars.assumed.recurring import Recurring
from dpsql.hypothesis.bars.assumed.shared_rows import SharedRows
from dpsql.hypothesis.bars.assumed.single_columns import SingleColumns
from dpsql.hypothesis.bars.assumed.unseen_interactions import UnseenInteractions
from dpsql.hypothesis.bars.assumed.whole_table import WholeTable
from dpsql.hypothesis.bars.assumed.worked_out import WorkedOut
from dpsql.hypothesis.bars.coverage import Coverage, places_of_pairs
from dpsql.hypothesis.bars.cut_parts import CutParts
from dpsql.hypothesis.bars.left_out import LeftOut
from dpsql.hypothesis.bars.numbers import (
    Answers,
    Contingency,
    Numbers,
    least,
    least_of,
    log1p,
    most,
    product_of,
    sqrt,
    square,
    where,
)
from dpsql.hypothesis.bars.regression import Regression
from dpsql.hypothesis.bars.row_weights import RowWeights
from dpsql.hypothesis.classes import Classes
from dpsql.memo import Memo
from dpsql.query import Choices, Crosstab, Estimates, Factor, LinearQuery, Points, Weights, linear_query

RAW_SHARE = 0.1
"""Of the sd of the noise that covers a query: so much stays in its error bar, whatever simulations say."""
RAW_TIMES = 10.0
"""Of that sd no more than so many times the answer (and one row) counts: the fit shrinks what it cannot tell from 0,
and rows are never negative."""
LEARNED_COLUMNS = 4
"""Bars are learned for queries over 1, 2, .. so many columns; those over more take the last."""
MOST_CLASS_CELLS = 1 << 12
"""Conditions that tell more combinations of values apart keep the wider bar of one joint condition."""
FEATURES = 7
DISTANT = 4.0
"""Variances of noise: so much of the square of a distance to what was measured tells nothing of four columns and more.
At 2, one empty cell in eight had the bar of its noise."""
LEAST_QUERIES = 30
_WHOLE = "whole"


class Calibration:
    """Predicted 95 % half-widths of a model's answers, in counts; made by ``learn_calibration``.

    ``scatter``: of the cells of a table that was measured whole, as ``scatter_of`` has it.
    """

    def __init__(self, coverage: Coverage, answers: Answers, contingency: Contingency) -> None:
        self._rules = coverage.rules
        self._coverage = coverage
        self._answers = answers
        self._contingency = contingency
        self._interactions = UnseenInteractions(coverage, contingency)
        self._row_weights = RowWeights(contingency)
        self._lost_in_noise = LostInNoise(coverage, contingency)
        self._worked_out = WorkedOut(coverage, self._row_weights, self._within)
        self._cut_parts = CutParts(coverage, answers)
        self._left_out = LeftOut(coverage, self._bounds, self._within)
        self._single = single = SingleColumns(coverage, contingency)
        self._even_spread = EvenSpread(single, used=self._rules.evenly, smooth=self._rules.smooth)
        self._cut_off = CutOff(single, lambda asked: coverage.noise(asked, 0.0, []), used=self._rules.cut_off)
        self._crowded_ends = CrowdedEnds(single, used=self._rules.crowded_ends)
        self._recurring = Recurring(single, used=self._rules.cycles)
        self._compared = Compared(coverage, contingency)
        self._excluded = Excluded(coverage, answers, contingency)
        self._shared_rows = SharedRows(single, answers, self._of_one, self._hidden, used=self._rules.shared_rows)
        self.scatter: float | None = None
        self._whole: WholeTable | None = None
        self._rows_within: Memo[Numbers] = Memo()
        self._regressions: dict[int, Regression] = {}
        self._beyond: dict[int, Regression] = {}

    def bound(self, query: LinearQuery, factor: float) -> int | None:
        """``bounds`` of one query."""
        return self.bounds(Crosstab.of([query]), factor)[0]

    def bounds(self, asked: Crosstab, factor: float) -> list[int | None]:
        """b* = ceil sqrt((factor p)^2 + (.196 raw)^2 + (.196 range)^2 + n (1.96 raw)^2
        + s^2 + e^2 + x^2 + [3 or more columns] (2 h + max(i, l)^2)).

        factor: the policy's ``error_factor``, for what the bootstrap cannot see. p: what simulations foresee, of all
        answers or of those beyond their noise, or 1.96 raw where there were none. raw: that noise, at most 10 (h + 1).
        n: what ``LostInNoise`` says, s: ``SharedRows``, e: the most of ``EvenSpread``, ``CutOff`` and
        ``CrowdedEnds``; all of these are at least ``Recurring``. x: ``Excluded``. h: the answer; 2 h is chance
        in what pairs do not fix. i: what ``UnseenInteractions`` of three columns and more may add. l: how far a
        product of what is known may be too low where h is below the least pair of its conditions, h (((pair +
        1) / (h + 1))^.35 - 1), with .3 of more columns where a model follows its threes, or with .42 below the
        least triple, where all of these are known; of columns that were measured together at most what that
        noise hides. At least 1; of four columns and more that were measured together at most ``_as_measured``,
        and with conditions that most rows meet what ``LeftOut`` says. Older rules take i^2 + l^2, and half of h
        for each factor e.

        ``None`` when some two columns of the query were never measured together: nothing is known of the error then.
        """
        scope = asked[0].scope
        number = min(len(scope), LEARNED_COLUMNS)
        if number == 0 or not self._coverage.covers(scope):
            return [None] * len(asked)
        if number not in self._regressions and not self._rules.unlearned:
            return [None] * len(asked)
        if self._rules.classes and not asked[0].is_single:
            compared = [self._compares(query) for query in asked]
            found = [None if c else self._of_conjunctions(q, factor) for q, c in zip(asked, compared, strict=True)]
            rest = [query for query, bar in zip(asked, found, strict=True) if bar is None]
            left = iter(self._least(Crosstab.of(rest).choices, factor) if rest else ())
            bars: Sequence[int] = [next(left) if bar is None else bar for bar in found]
            both = zip(asked, bars, compared, strict=True)
            bars = [self._of_comparison(query, bar, factor) if c else bar for query, bar, c in both]
        else:
            bars = self._least(asked.choices, factor)
        return list(self._as_measured(asked, bars) if self._rules.as_measured and len(scope) > 3 else bars)

    def _compares(self, query: LinearQuery) -> bool:
        return self._rules.compared and any(self._compared.compares(f) for f in query.factors)

    def _of_comparison(self, query: LinearQuery, bar: int, factor: float) -> int:
        """Of what compares columns, as one joint condition: no narrower than its contrary's, for cells without rows,
        which are never below 0, err the same way; wider by what parts leave open. And no wider than all rows of its
        other conditions."""
        for f in query.factors:
            if self._compared.compares(f):
                contrary = (replace(f, weights=f.unit - f.weights) if other is f else other for other in query.factors)
                asked = Crosstab.of([LinearQuery(query.table, tuple(contrary))]).choices
                bar = max(bar, self._least(asked, factor)[0])
        bar = ceil(hypot(bar, float(self._compared.off(Crosstab.of([query]).choices))))
        others = LinearQuery(query.table, tuple(f for f in query.factors if not self._compared.compares(f)))
        if not others.factors:
            return bar
        within = self.bound(others, factor)
        rows = float(self._answers(Crosstab.of([others]).choices)[0])
        return bar if within is None else min(bar, ceil(max(rows, 0.0)) + within)

    def _as_measured(self, asked: Crosstab, bars: Sequence[int]) -> Sequence[int]:
        """Bars of four columns and more beside a measurement of all of these: wider by what the answer is further from
        it than two sds of its noise explain, and no wider than the answer is from it and it from the truth.
        """
        for m in self._coverage.told_together(asked[0].scope):
            values, sds = m.answers(asked)
            known = sds < inf
            apart = np.where(known, np.abs(self._answers(asked.choices) - values) + 1.0, 0.0)  # they are rounded down
            wider = np.sqrt(np.array(bars) ** 2 + np.where(known, np.maximum(0.0, apart**2 - DISTANT * sds**2), 0.0))
            bars = np.ceil(np.minimum(wider, apart + DEVIATIONS * sds)).astype(np.int64).tolist()
        return bars

    def _least(self, asked: Choices, factor: float) -> Sequence[int]:
        return self._left_out.bars(asked, factor) if self._rules.left_out else self._bounds(asked, factor)

    def _bounds(self, asked: Choices, factor: float) -> list[int]:
        number = min(sum(map(len, asked.columns)), LEARNED_COLUMNS)
        pairs, weights = self._pairs(asked), self._weights(asked)
        weight = 1.0 if weights is None else product_of(weights)
        features, h, raw = self._describe(asked, pairs, weights)
        if number in self._regressions:
            p = self._predicted(self._regressions[number], features, asked)
        else:  # of too few tables to learn from noise alone is foreseen
            p = DEVIATIONS * raw / weight
        if number in self._beyond:
            p = where(h > raw, self._predicted(self._beyond[number], features, asked), p)
        kept = least(raw, RAW_TIMES * (h + weight))
        cut = self._cut_parts.range(asked)
        squares = square(factor * weight * p) + (DEVIATIONS * RAW_SHARE) ** 2 * (square(kept) + square(cut))
        squares = squares + DEVIATIONS**2 * self._lost_in_noise.share(asked) * square(kept)
        squares = squares + square(weight * self._shared_rows.beyond(asked, h / weight))
        squares = most(squares + square(self._alone(asked)), square(self._recurring.least(asked)))
        squares = squares + square(self._excluded.off(asked))
        beyond = self._of_whole(asked)
        if beyond is not None:
            squares = squares + DEVIATIONS**2 * beyond
        elif number >= 3:
            known = self._known_together(asked)
            unseen = self._interactions.squared(asked, h, raw)
            off = (
                self._worked_out.off(asked, h, pairs, weights, known) if self._rules.extrapolated and pairs else 0.0 * h
            )
            chance = 2.0 * h * weight  # in what pairs do not fix
            squares = squares + (least(chance, square(known)) if self._rules.as_measured else chance)
            squares = squares + (most(unseen, square(off)) if self._rules.upwards else unseen + square(off))
        if isinstance(squares, float):
            return [max(1, ceil(sqrt(squares)))]
        bars: list[int] = np.maximum(1, np.ceil(np.sqrt(squares))).astype(np.int64).tolist()
        return bars

    def _alone(self, asked: Choices) -> Numbers:
        """What single columns may hide."""
        return most(most(self._even_spread.off(asked), self._cut_off.off(asked)), self._crowded_ends.off(asked))

    def _of_one(self, factors: Sequence[Factor]) -> Estimates:
        """What simulations foresee of conditions on one column and what noise may spread of them, in rows."""
        asked = Choices((factors,), (np.arange(len(factors)),), len(factors))
        weights = self._weights(asked)
        weight = 1.0 if weights is None else product_of(weights)
        at = self._single.at
        raw = at(asked, 0, self._single.hidden) / (DEVIATIONS * weight)
        h, known = self._rows(asked) / weight, self._regressions.get(1)
        features = self._features(asked, h, raw, [h])
        p = DEVIATIONS * raw if known is None else self._predicted(known, features, asked)
        return np.atleast_1d(p + at(asked, 0, self._even_spread.moves) / weight)

    def _hidden(self, asked: Choices) -> Numbers:
        """95 % of the noise of conditions on two columns, in rows."""
        weights = self._weights(asked)
        return DEVIATIONS * self._coverage.noise(asked, 0.0, []) / (1.0 if weights is None else product_of(weights))

    @staticmethod
    def _predicted(regression: Regression, features: Estimates, asked: Choices) -> Numbers:
        found = regression.predict(features)
        return float(found[0]) if asked.is_one else found

    def _of_whole(self, asked: Choices) -> Numbers | None:
        """The variance of what fewer columns leave open, where the table was measured whole; of four columns and more,
        for what three leave open was measured better."""
        whole = self._coverage.whole_table
        if whole is None or self.scatter is None or sum(map(len, asked.columns)) < 4:
            return None
        if self._whole is None:
            self._whole = WholeTable(whole, self._contingency(whole.scope), self.scatter)
        return self._whole.variance(asked)

    def _known_together(self, asked: Choices) -> Numbers:
        """The 95 % half-width that the noise of one measurement of all columns has; infinite without one."""
        names = [column for columns in asked.columns for column in columns]
        if not self._rules.triples or not self._coverage.cells_together(names):
            return inf
        return DEVIATIONS * self._coverage.noise_together(asked)

    def _of_conjunctions(self, query: LinearQuery, factor: float) -> int | None:
        """Of a condition that ties columns together: the bars of disjoint conjunctions, taken as independent.

        Of what counts or of what does not, whichever are fewer: both have the same error, for all rows are known. What
        weighs rows stands beside each of them, and what it makes of all rows has an error of its own.
        """
        weighing = [f for f in query.factors if f.unit > 1] if self._rules.ties_weighed else []
        tied = [f for f in query.factors if f.unit == 1 or not weighing]
        if weighing and all(len(f.columns) == 1 for f in tied):
            return None
        classes = Classes.of(tied, MOST_CLASS_CELLS)
        found = None if classes is None else classes.conjunctions(query.table)
        if found is None:
            return None
        outside, parts = found
        if weighing:
            each = [*(part.factors for part in parts), *([()] if outside else [])]
            asked = (linear_query(self._coverage.table, [*few, *weighing]) for few in each)
            parts = [part for part in asked if part is not None]
        bars = [self.bound(part, factor) if part.factors else 0 for part in parts]
        known = [bar for bar in bars if bar is not None]
        return max(1, ceil(hypot(*known))) if len(known) == len(bars) else None

    def on(self, coverage: Coverage, answers: Answers, contingency: Contingency) -> "Calibration":
        """What was learned, applied to a later model: more measurements were absorbed since."""
        out = Calibration(coverage, answers, contingency)
        out.scatter = self.scatter
        out._regressions, out._beyond = self._regressions, self._beyond
        return out

    def to_json(self) -> str:
        """What was learned, exactly; ``Calibration.on`` applies it to a model."""
        named = {str(n): r for n, r in self._regressions.items()} | {f"{n}+": r for n, r in self._beyond.items()}
        found = {n: [*map(float.hex, r.weights.tolist()), r.quantile.hex()] for n, r in named.items()}
        return json.dumps(found if self.scatter is None else found | {_WHOLE: [self.scatter.hex()]})

    @classmethod
    def from_json(
        cls, text: str, coverage: Coverage, answers: Answers, contingency: Contingency
    ) -> "Calibration | None":
        """What ``to_json`` wrote, applied to a model; ``None`` when the text is something else."""
        out = cls(coverage, answers, contingency)
        try:
            for name, numbers in json.loads(text).items():
                *weights, quantile = [float.fromhex(x) for x in numbers]
                if name == _WHOLE and not weights:
                    out.scatter = quantile
                    continue
                if len(weights) != FEATURES + out._rules.scattered:
                    return None
                known = out._beyond if name.endswith("+") else out._regressions
                known[int(name.removesuffix("+"))] = Regression(np.array(weights), quantile)
        except (ValueError, TypeError, AttributeError, OverflowError):
            return None
        return out

    def noise(self, asked: Choices) -> Numbers:
        """Sd, in counts, that each product has from the noise of the tables that cover it."""
        return self._coverage.noise(asked, self._rows(asked), self._pairs(asked))

    def _pairs(self, asked: Choices) -> list[Numbers]:
        """The model's rows inside each two factors of three and more."""
        return [self._within(asked, places) for places in places_of_pairs(asked)]

    def _within(self, asked: Choices, places: Sequence[int]) -> Numbers:
        """The model's rows inside the factors at these places. One product's are remembered: analysts change a
        condition of a statement and keep the others."""
        if not asked.is_one:
            return self._rows(asked.only(places))
        key = tuple(map(asked.identity_of_one.__getitem__, places))
        known = self._rows_within.get(key)
        return self._rows_within.put(key, self._rows(asked.only(places))) if known is None else known

    def _rows(self, asked: Choices) -> Numbers:
        """The model's rows, at least 0, inside the factors of each product."""
        found = self._answers(asked)
        return max(float(found[0]), 0.0) if asked.is_one else np.maximum(found, 0.0)

    def _weights(self, asked: Choices) -> Sequence[Numbers] | None:
        """What a row counts in the factor at each place; ``None`` for 1 in all of them."""
        return self._row_weights.of(asked) if self._rules.row_weights else None

    def _describe(
        self, asked: Choices, pairs: Sequence[Numbers], weights: Sequence[Numbers] | None
    ) -> tuple[Estimates, Numbers, Numbers]:
        """Public features of each product (products, FEATURES and perhaps one more), in rows of its ``weights``; the
        model's answers and the noise sd of the tables that cover them, in counts.

        The square of log h lets small and large answers err less than those near the noise. Ranges of a column are
        known from its parts, values that lie apart only one by one: so it matters how many ranges they are.
        """
        h = self._rows(asked)
        within = [self._within(asked, (place,)) for place in range(len(asked.factors))]
        if weights is not None:
            within = [rows / weight for rows, weight in zip(within, weights, strict=True)]
        raw = self._coverage.noise(asked, h, pairs)
        weight = 1.0 if weights is None else product_of(weights)
        return self._features(asked, h / weight, raw / weight, within), h, raw

    def _features(self, asked: Choices, h: Numbers, raw: Numbers, within: Sequence[Numbers]) -> Estimates:
        """``_describe``'s, of products with ``h`` rows, noise of sd ``raw`` and so many rows ``within`` each factor."""
        row_count = self._coverage.row_count
        share = product_of(rows / row_count for rows in within)
        near = most(least_of(least(rows, row_count - rows) for rows in within), 0.0)
        log_h = log1p(h)
        logs = [log1p(raw), log1p(least_of(within)), log1p(row_count * share), log1p(near)]
        apart = [self._ranges(asked)] if self._rules.scattered else []
        features = [log_h, *logs, square(log_h), *apart]
        if asked.is_one:
            return np.array([[1.0, *features]])
        return np.stack([np.ones(len(asked)), *features], axis=1)

    def _ranges(self, asked: Choices) -> Numbers:
        """The logarithm of how many ranges of values each product is made of; unordered columns have one."""
        out: Numbers = 0.0 if asked.is_one else np.zeros(len(asked))
        for here, numbers in zip(asked.factors, asked.numbers, strict=True):
            alone = len(here[0].columns) == 1 and type(here) is not Points
            if alone and self._coverage.table.finite_domain(here[0].columns[0]).ordered:
                found = np.log([1 if f.point is not None else max(1, ranges(f.weights)) for f in here])
                out = out + (float(found[0]) if asked.is_one else found[numbers])
        return out

    def learn(self, number: int, queries: Sequence[LinearQuery], errors: Estimates, met: int = 0) -> None:
        """Fit the regressions for queries over ``number`` columns; ``errors``: simulations in rows, queries across.

        The last ``met`` queries are those that rows of the model meet: of answers beyond their noise bars are learned
        from these too, of all others from the rest alone.
        """
        choices = [Crosstab.of([q]).choices for q in queries]
        found = [self._describe(asked, self._pairs(asked), self._weights(asked)) for asked in choices]
        design = np.concatenate([features for features, _, _ in found])
        h, raw = (np.array([float(f[i]) for f in found]) for i in (1, 2))
        self._regressions[number] = Regression.of(design[: len(queries) - met], errors[:, : len(queries) - met])
        above = h > raw
        if met and np.count_nonzero(above) >= LEAST_QUERIES:
            self._beyond[number] = Regression.of(design[above], errors[:, above])


def ranges(weights: Weights) -> int:
    """How many ranges of neighbouring cells have a weight above 0.

    >>> ranges(np.array([1, 1, 0, 3, 0, 1]))
    3
    """
    inside = weights.reshape(-1) > 0
    return int(np.count_nonzero(inside[1:] & ~inside[:-1])) + int(bool(inside[:1].any()))
