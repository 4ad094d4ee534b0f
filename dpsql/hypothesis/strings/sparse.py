"""Sparse multiplicative weights for text columns: only keys that were ever measured have a weight of their own.

Blum-Roth 2011: the universe of strings is unbounded, the data structure holds ``s`` variables, and unassigned strings
share the next free one. Here a hard round measures the vector of all listed keys, so a key's weight comes from its own
measurements instead of one textbook step; keys never measured keep the share ``row_count / s``. A selection of keys
tells how many strings were not shown: they share what the shown ones leave of the rows.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import hypot, inf, sqrt
from types import MappingProxyType

import numpy as np

from dpsql.errors import InternalError
from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.protocol import Hypothesis
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.hypothesis.strings.cells import CountedKey, StringCells
from dpsql.hypothesis.strings.drawing import Drawing, drawing
from dpsql.hypothesis.strings.fitted import GARROTE, PartsOfKeys, fit_cells, move_cells
from dpsql.hypothesis.strings.hidden_keys import HiddenKey, Listed, drawn_by_row, furthest_way, hidden_key
from dpsql.hypothesis.strings.key_list import KeyList, key_list, likely_list
from dpsql.hypothesis.strings.leaning import Leaning, leaning
from dpsql.hypothesis.strings.mixture import CellEstimates
from dpsql.hypothesis.strings.rest import Rest, rest_beside, rest_of
from dpsql.hypothesis.strings.several import Several
from dpsql.hypothesis.strings.weight import Weight
from dpsql.hypothesis.structure_size import structure_size
from dpsql.query import Estimates, Factor, Key, sort_key

LEAST_MEAN = 1.5
"""Error bars take strings that were not shown to have at least so many rows on average."""
_SURE = 1.64
NOTHING: Mapping[Key, float] = MappingProxyType({})
_TINY = 1e-9


@dataclass(frozen=True)
class _Found:
    """What is known of strings by a finite column, and ``of`` which state of all that it rests on."""

    of: tuple[object, float, bytes]
    places: dict[Key, int]
    cells: CellEstimates
    rest: Rest
    leaning: Leaning | None


class SparseHypothesis:
    """The public estimate of keyed counts for one set of text columns of one table.

    ``finite``: the hypothesis of the table's other columns, which cells of a key follow until they are measured.
    ``distinct``: the released number of strings, once keys were selected; ``most_hidden``: counts that a key which was
    not shown hardly ever exceeds. ``listed``: what is known of those that somebody listed. ``singles``: of several
    text columns those of each alone, which may be taken to be independent.
    """

    def __init__(
        self,
        finite: Hypothesis,
        text_columns: tuple[str, ...],
        sparsity: int,
        alpha: float,
        rules: ModelRules = NEWEST,
        singles: tuple["SparseHypothesis", ...] = (),
    ) -> None:
        self.finite, self.text_columns, self.singles = finite, text_columns, singles
        self.several = Several(singles, finite.row_count)
        self.measurements: list[Measurement] = []
        self.most_hidden = inf
        self._share = finite.row_count / structure_size(sparsity, min(max(alpha, 1e-6), 1.0))
        self.distinct: Measurement | None = None
        self._unassigned: HiddenKey | None = None
        self._weights: dict[Key, Weight] = {}
        self.listed = Listed()
        self._by_list: set[Key] = set()
        self._with_axes: list[Measurement] = []
        self._by_column: dict[str, dict[Key, float]] = {}
        self._weighed, self._every = rules.weighed, rules.every_string
        self._shifted, self._drawn, self._lean = rules.shifted, rules.drawn_lists, rules.leaning
        self._beside = rules.strings_beside
        self._cells: dict[str, StringCells] = {}
        self._mixed, self._by_chance, self._follows_rest = rules.mixed_strings, rules.by_chance, rules.rest
        self._how_drawn: Drawing | None = None
        self._found: dict[str, _Found] = {}
        self._parts: dict[tuple[int, tuple[str, ...]], tuple[object, PartsOfKeys | None]] = {}
        self._changes: dict[str, int] = {}

    def absorb(self, measurement: Measurement, *, selected: bool = False) -> None:
        """Take a keyed measurement into the weights: each listed key's total, with the noise of its parts.

        ``selected``: its keys were shown because they are frequent; all others are what somebody listed.
        """
        self.measurements.append(measurement)
        self._unassigned = self._how_drawn = None
        totals = measurement.values.reshape(len(measurement.keys), -1).sum(axis=1)
        parts = measurement.values.size // max(len(measurement.keys), 1)
        sigmas = [measurement.sigma] * len(totals) if measurement.sigmas is None else measurement.sigmas.tolist()
        listing = not selected and self.distinct is not None
        for key, y, sigma in zip(measurement.keys, totals.tolist(), sigmas, strict=True):
            precision = 1.0 / (sigma**2 * parts)
            weight = self._weights.get(key)
            if weight is not None:
                weight.weighted += y * precision
                weight.precision += precision
                continue
            if listing:
                self._by_list.add(key)
                self.listed.strings += 1
                self.listed.rows += y
                self.listed.noise += 1.0 / precision
            self._weights[key] = Weight(y * precision, precision)
        by_cells = len(measurement.axes) == 1 and measurement.axes[0].is_cells and len(measurement.scope) == 1
        if measurement.axes:
            self._with_axes.append(measurement)
        if by_cells and self._weighed:
            self._cells.setdefault(measurement.scope[0], StringCells()).absorb(measurement)
        for column, cells in self._cells.items():
            if not cells.isdisjoint(measurement.keys):
                self._changes[column] = len(self.measurements)
        if by_cells:
            least = self._by_column.setdefault(measurement.scope[0], {})
            before, sigma = {key: least[key] for key in measurement.keys if key in least}, measurement.sigma
            least.update(dict.fromkeys(measurement.keys, sigma))
            least.update({key: known for key, known in before.items() if known < sigma})

    def know_distinct(self, distinct: Measurement, most_hidden: float) -> None:
        """Take in how many strings there are (a 0-d measurement, NULL not counted)."""
        self.distinct, self.most_hidden, self._unassigned, self._how_drawn = distinct, most_hidden, None, None

    @property
    def unassigned(self) -> float:
        """Estimated rows of a key that was never measured."""
        return self._share if self.distinct is None else self._hidden.estimate

    @property
    def _hidden(self) -> HiddenKey:
        """What is known of keys that were not shown; its spread allows for noise in their mean."""
        if self._unassigned is None:
            (rows, noise, strings), most = self._left(), self.most_hidden
            by_row = self._by_row(rows, strings, len(self._weights))
            mean, upper = min(rows / strings, most), min(max((rows + _SURE * noise) / strings, LEAST_MEAN), most)
            sd = sqrt(by_row * (1.0 - by_row))
            if self.listed.strings > 0 and mean > 0.0:
                listed = self.listed
                chance = hidden_key(mean, most, by_row).variance
                seen_sd = sqrt(listed.noise / listed.strings + chance) / sqrt(listed.strings)
                by_row, sd = drawn_by_row(mean, most, by_row, listed.rows / listed.strings, seen_sd)
            if self._weighed:
                sd = furthest_way(by_row)
            even, row = (hidden_key(upper, most, share).estimate for share in (0.0, 1.0))
            estimate = hidden_key(mean, most, by_row).estimate
            self._unassigned = HiddenKey(estimate, hidden_key(upper, most, by_row).variance, abs(row - even) * sd)
        return self._unassigned

    def _by_row(self, rows: float, strings: float, known: int) -> float:
        """How likely a list is drawn by row, where it is so or evenly with one half each and a string was not shown."""
        hidden_rows, hidden_strings = rows / self.finite.row_count, strings / (strings + known)
        return hidden_rows / max(hidden_rows + hidden_strings, _TINY)

    def _drawing(self, distinct: Measurement) -> Drawing:
        """How lists of strings that were not shown are drawn, by what the shown ones leave."""
        if self._how_drawn is None:
            rows, noise, strings = self._left_by_shown(distinct)
            by_row, some = self._by_row(rows, strings, len(self._weights) - len(self._by_list)), max(rows, noise)
            unsure = hypot(noise / some, distinct.sigma / strings)
            self._how_drawn = drawing(some / strings, self.most_hidden, by_row, unsure)
        return self._how_drawn

    def _left(self) -> tuple[float, float, float]:
        """The rows that the measured keys leave, their sd, and how many other strings there are (at least some)."""
        if self.distinct is None:
            raise InternalError("no keys were selected")
        if self._weighed:
            return self._left_by_shown(self.distinct)
        known = self._weights.values()
        left = self.finite.row_count - sum(w.estimate() for w in known)
        noise = sum(1.0 / w.precision for w in known)
        rows = left * max(0.0, 1.0 - GARROTE * noise / max(left * left, _TINY)) if left > 0 else 0.0
        strings = float(self.distinct.values) - sum(w.estimate() > 0 for k, w in self._weights.items() if k != (None,))
        return rows, sqrt(noise), max(strings, GARROTE * self.distinct.sigma)

    def _left_by_shown(self, distinct: Measurement) -> tuple[float, float, float]:
        """The same of all strings but those that were shown: what somebody listed is too noisy to be taken off."""
        shown = [(k, w) for k, w in self._weights.items() if k not in self._by_list]
        left = self.finite.row_count - sum(w.weighted / w.precision for _, w in shown)
        noise = sum(1.0 / w.precision for _, w in shown)
        rows = left * max(0.0, 1.0 - GARROTE * noise / max(left * left, _TINY)) if left > 0 else 0.0
        strings = float(distinct.values) - sum(k != (None,) for k, _ in shown)
        return rows, sqrt(noise), max(strings, GARROTE * distinct.sigma)

    def variance(self, key: Key) -> float:
        """Of the estimate of a key's rows: noise, or what is not known of those not shown; else infinite."""
        if (known := self._weights.get(key)) is None:
            return inf if self.distinct is None else self._hidden.variance
        if self.several.is_known and (found := self.several.measured(key, self._weights, len(self.measurements))):
            return found.variance
        if self._is_drawn(key) and self._hidden.variance > 0.0:
            return 1.0 / (1.0 / self._hidden.variance + known.precision)
        return 1.0 / known.precision

    def bias(self, key: Key) -> float:
        """How far the estimates of all keys that were not shown may be off together, each; 0 for measured keys."""
        if self._is_drawn(key):  # as far as the measurement leaves it open
            return self._hidden.bias / (1.0 + self._hidden.variance * self._weights[key].precision)
        return 0.0 if key in self._weights or self.distinct is None else self._hidden.bias

    def _is_drawn(self, key: Key) -> bool:
        """Whether the key's rows are those of a string that somebody listed, drawn to what was expected of it."""
        return self._weighed and self.distinct is not None and key in self._by_list

    def counted(self, keys: Collection[Key], factor: Factor, inside: Estimates | None = None) -> dict[Key, CountedKey]:
        """Of the rows that a condition on one finite column selects, of those keys that were counted by it; ``inside``:
        the variance of what the rows of each cell count, if not all count the same."""
        (column,), weights = factor.columns, factor.weights / factor.unit
        squares = np.square(weights)
        if not (self._mixed and column in self._cells):
            sigmas, used = self._by_column.get(column, {}), float(squares.sum())
            return {key: CountedKey(sigmas[key] * sigmas[key] * used) for key in keys if key in sigmas}
        found, cells = self._cells_of(column), self._cells[column]
        known = [key for key in keys if key in found.places]
        if not known:
            return {}
        places, (measured, noise) = [found.places[key] for key in known], cells.measured_of(known)
        each, within = found.cells.variances[places] @ squares, np.zeros(len(places))
        if found.leaning is not None:
            each = np.maximum(each, found.leaning.variance(places, weights))
            within = within if inside is None else found.leaning.inside(places, inside)
        apart, noise = (measured - found.cells.counts[places]) @ weights, noise * squares.sum()
        told = np.stack([each + within, apart, noise, within], axis=1)
        return {key: CountedKey(*of) for key, of in zip(known, told.tolist(), strict=True)}

    def leaning(self, column: str) -> Leaning | None:
        """How strings counted by the column lean; ``None`` where none was, and by rules before 33."""
        return self._cells_of(column).leaning if column in self._cells else None

    def cell_sigmas(self, column: str) -> Mapping[Key, float]:
        """The least noise with which each of the keys that were was counted by the column."""
        return self._by_column.get(column, NOTHING)

    def knows(self, key: Key) -> bool:
        """Whether the key was ever measured."""
        return key in self._weights

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every key that was ever measured, in order."""
        return tuple(sorted(self._weights, key=sort_key))

    def has_cells(self, key: Key, columns: tuple[str, ...]) -> bool:
        """Whether the key was counted by one of these finite columns."""
        return any(key in self._by_column.get(c, ()) for c in columns)

    def rest_sd(self, factors: Sequence[Factor]) -> float:
        """Of what noise hides of the share that these conditions have of the rows of strings not counted by them."""
        if not self._follows_rest:
            return 0.0
        known = [(f, self.rest(f.columns[0])) for f in factors if len(f.columns) == 1 and f.columns[0] in self._cells]
        return sqrt(sum(float(((f.weights / f.unit) ** 2 * rest.variances).sum()) for f, rest in known))

    @property
    def split_by(self) -> frozenset[str]:
        """The finite columns by which keys were measured."""
        return frozenset(c for m in self._with_axes for c in m.scope)

    def weight(self, key: Key) -> float:
        """Estimated number of rows with this key, in counts."""
        known = self._weights.get(key)
        if self.several.is_known:
            found = self.several.measured(key, self._weights, len(self.measurements))
            return self.several.independent(key) if found is None else found.rows
        return self.unassigned if known is None else known.estimate()

    def expected(self, key: Key) -> float:
        """Rows of the key, in counts, >= 0, drawn to what was expected of it before it was measured.

        A string that somebody listed has what is known of those not shown as its prior (Hartigan 1969).
        """
        known = self._weights.get(key)
        if known is None or self.distinct is None or key not in self._by_list:
            return self.weight(key)
        hidden, precision = self._hidden, known.precision
        if hidden.variance <= 0.0:
            return hidden.estimate
        return max(0.0, (hidden.estimate / hidden.variance + known.weighted) / (1.0 / hidden.variance + precision))

    def rows(self, key: Key) -> float:
        """Estimated rows of the key, in counts, by the rules of the ledger: what answers are made of. Below 0 where
        noise took it there: cut one by one, sums of many would be too large. A string that was shown occurs.
        """
        known = self._weights.get(key)
        if not self._weighed or known is None or self.distinct is None:
            return self.weight(key)
        if key not in self._by_list:
            return max(0.0, known.weighted / known.precision)
        return self.of_list({key: 1.0}).rows[key] if self._every else self.expected(key)

    def of_list(self, weights: Mapping[Key, float], foreseen: Mapping[Key, float] = NOTHING) -> KeyList:
        """What is known of those of the keys that were measured because somebody listed them, taken together.

        ``foreseen``: variances of the noise of others that are about to be measured.
        """
        if not self._every or self.distinct is None:
            return KeyList({}, {}, 0.0)
        hidden = self._hidden
        measured = {k: self.measured(k) for k in weights if k in self._by_list}
        if self._drawn:
            expected = {k: (hidden.estimate, noise) for k, noise in foreseen.items() if k in weights}
            return likely_list(measured, expected, self._drawing(self.distinct), weights)
        measured |= {k: (hidden.estimate, noise) for k, noise in foreseen.items() if k in weights}
        return key_list(measured, hidden, weights, self._shifted)

    def measured(self, key: Key) -> tuple[float, float]:
        """Rows of a key that was measured, all measurements weighed, and the variance of their noise; in counts."""
        known = self._weights[key]
        return known.weighted / known.precision, 1.0 / known.precision

    def keyed_contingency(self, keys: Sequence[Key], columns: tuple[str, ...]) -> Estimates:
        """Estimated counts, float64 of shape ``(len(keys), *sizes of columns)``: mirrors ``Engine.keyed_counts``.

        Without a measurement of a key's cells, they follow the table's own contingency over ``columns``, moved to what
        the strings leave whose cells by one of these were measured.
        """
        listed = self.of_list(dict.fromkeys(keys, 1.0)).rows
        rows = (listed[k] if k in listed else self.rows(k) for k in keys)
        weights = np.fromiter(rows, dtype=np.float64, count=len(keys))
        if not columns:
            return weights
        cells = self._of_the_rest(columns)
        out = np.multiply.outer(weights, cells / max(float(cells.sum()), _TINY))
        for n, m in enumerate(self._with_axes):
            if self._weighed and m.scope[0] in self._cells and len(m.axes) == 1 and m.axes[0].is_cells:
                continue
            if not self._beside:
                fit_cells(out, keys, columns, m)
            elif (parts := self._parts_of(n, columns, cells)) is not None:
                parts.move(out, keys, columns)
        for i, column in enumerate(columns):
            if column in self._cells:
                self._move_cells(out, keys, i, column)
        return out

    def _of_the_rest(self, columns: tuple[str, ...]) -> Estimates:
        """The table's contingency, each column moved to its shares among strings that were not measured by it."""
        cells = self.finite.contingency(columns)
        for i, column in enumerate(columns):
            if self._follows_rest and column in self._cells:
                whole = cells.sum(axis=tuple(a for a in range(cells.ndim) if a != i))
                ratio = self.rest(column).shares / np.maximum(whole / max(float(whole.sum()), _TINY), _TINY)
                cells = cells * ratio.reshape([-1 if a == i else 1 for a in range(cells.ndim)])
        return cells

    def rest(self, column: str) -> Rest:
        """What is known of the rows by a finite column of the strings that were not counted by it."""
        return self._cells_of(column).rest

    def _move_cells(self, out: Estimates, keys: Sequence[Key], i: int, column: str) -> None:
        """Give measured keys their estimated cells by the ``i``-th column; other columns keep their shares within."""
        found = self._cells_of(column)
        places = [place for place, key in enumerate(keys) if key in found.places]
        if not places:
            return
        wanted = found.cells.counts[[found.places[keys[place]] for place in places]]
        move_cells(out, places, wanted, i, lean=self._lean)

    def _parts_of(self, number: int, columns: tuple[str, ...], cells: Estimates) -> PartsOfKeys | None:
        """What a measurement over parts says of its keys, kept until something is learned of what it rests on."""
        m, of = self._with_axes[number], (self._state(), self.unassigned, cells.tobytes())
        known = self._parts.get((number, columns))
        if known is None or known[0] != of:
            rows, variances = (np.array([f(k) for k in m.keys]) for f in (self.rows, self.variance))
            known = self._parts[number, columns] = of, PartsOfKeys.of(m, columns, cells, rows, variances)
        return known[1]

    def _state(self) -> object:
        """Equal while nothing was learned of any key."""
        return len(self.measurements), self.several.state

    def _cells_of(self, column: str) -> _Found:
        """The measured keys' estimated counts by the column, and what they leave of it; kept until something is
        learned of what they rest on."""
        whole, cells = self.finite.contingency((column,)), self._cells[column]
        shares = whole / max(float(whole.sum()), _TINY)
        listed = not cells.isdisjoint(self._by_list)  # their rows follow what is known of hidden strings
        state = self._state() if listed or self.singles else self._changes[column]
        of = (state, self.unassigned, whole.tobytes())
        known = self._found.get(column)
        if known is None or known.of != of:
            rows, variances = zip(*((self.rows(k), self.variance(k)) for k in cells.keys), strict=True)
            found = cells.estimates(rows, variances, shares, mixed=self._mixed, by_chance=self._by_chance)
            rest = (
                rest_beside(whole, found, cells.strayed(rows, shares))
                if self._mixed
                else rest_of(whole, found.counts, cells.variances)
            )
            lean = leaning(cells.measured, cells.variances, found.counts, shares) if self._lean else None
            known = self._found[column] = _Found(of, {k: n for n, k in enumerate(cells.keys)}, found, rest, lean)
        return known
