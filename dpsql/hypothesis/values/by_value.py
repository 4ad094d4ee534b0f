"""Questions about the values of rows, as a model of cells answers them: weighted counts of cells. Public."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import hypot, inf, prod, sqrt

import numpy as np

from dpsql.confidence import DEVIATIONS
from dpsql.domain import FIXED_POINT, NumberDomain, TableDomain
from dpsql.errors import InternalError
from dpsql.hypothesis.rules import NEWEST, ModelRules
from dpsql.hypothesis.values.beside_neighbours import Beside, Met, beside_neighbours
from dpsql.hypothesis.values.hidden_rows import crowded_cells
from dpsql.hypothesis.values.inside import Inside
from dpsql.hypothesis.values.positions import SPREAD, Positions
from dpsql.query import Estimates, Factor, KeyedFactor, LinearQuery, Weights, linear_query

CUT_SHIFT = 0.1
"""Sd by which a group's share of a bin that a condition halves differs from the table's, beside chance."""
ROW_BITS = 10
"""Of the fixed point, for all that weighs rows which count by value, too; two less beside stretches of others."""
CUT_BITS = 5
"""Of the fixed point, for the shares of rows in bins that a stretch of another column cuts, beside weights of rows."""
_Estimate = Callable[[LinearQuery], float]


@dataclass(frozen=True)
class OfStrings:
    """Of listed strings and a column: how far their rows are ``crowding`` inside of its bins, in [0, 1], and the
    ``noise`` (sd, in rows) of how many of them a bin has, infinite where one was not counted."""

    crowding: Callable[[KeyedFactor, str], float]
    noise: Callable[[KeyedFactor, str], float]


@dataclass(frozen=True)
class Cells:
    """What a model says of cells: the ``estimate`` of a count of them, and ``count`` as what is not asked for again is,
    the ``rows`` of each cell of a column, those of the table, and the ``noise`` (sd, in rows) of how many rows of a bin
    of a column meet conditions on others; what is known of listed ``strings`` there, and the rows of each cell of a
    column that noise may ``hide``."""

    estimate: _Estimate
    count: _Estimate
    rows: Callable[[str], Estimates]
    row_count: float
    noise: Callable[[str, Sequence[Factor]], float]
    strings: OfStrings | None = None
    hidden: Callable[[str], Estimates] | None = None


@dataclass(frozen=True)
class ByValue:
    """One such question. ``positions``: of a number column. ``origin``: a place in shares of the range from min to max,
    from which the distances of values are summed. ``cells``: what a model says of cells; without it all places of a bin
    meet other conditions alike."""

    table: TableDomain
    query: LinearQuery
    positions: Callable[[str], Positions]
    rules: ModelRules = NEWEST
    origin: float = 0.0
    cells: Cells | None = None

    def by_cells(self) -> LinearQuery:
        """As a count of cells: each row counts as its bin's rows do on average."""
        return self._weighted(self._weights)

    def on_both_sides(self) -> list[tuple[float, LinearQuery]]:
        """As two counts of cells, each with what it is to be taken times: of what is above the origin, and below."""
        value = self.query.value or ""
        of, inside, out = self.positions(value), self._insides.get(value), []
        center, share = (of.low + of.width * of.mean, 1.0) if inside is None else (inside.center, inside.share)
        for sign in (1.0, -1.0):
            far = np.maximum(sign * (center - self.origin), 0.0) * share
            most = float(far.max())
            if most > 0.0:
                out.append((sign * most, self._weighted(self._weights | {value: far / most})))
        return out

    def unknown(self, cells: Cells) -> tuple[float, float]:
        """What is unknown of the answer beside the counts of cells, in rows: (sd, what is added to any bar)."""
        estimate, rows = cells.estimate, cells.rows
        sd, added = self._of_sum(estimate, rows, cells.row_count) if self.query.value is not None else (0.0, 0.0)
        for column, inside in self._insides.items():
            for cell in inside.cut.tolist():
                one = np.zeros(len(inside.share))
                center = inside.center if inside.share[cell] > 0.0 or not self.rules.confined else inside.middle
                summed = abs(float(center[cell]) - self.origin) if column == self.query.value else 1.0
                one[cell] = 1.0 if self.rules.confined else summed
                counts = summed if self.rules.confined else 1.0
                here = max(0.0, estimate(self._weighted(self._weights | {column: one})))
                share, others = float(inside.share[cell]), 1.0 - min(1.0, here / max(float(rows(column)[cell]), 1.0))
                spread = share * (1.0 - share)
                chance = here * spread * others  # of rows drawn from the bin's without replacement
                shift = 2.0 * sqrt(spread) * CUT_SHIFT * others
                off, doubt = (inside.sd, inside.doubt) if self.rules.crowded else inside.before
                of_share = float(off[cell])
                beside = float(self._beside[column].sd[cell]) if column in self._beside else 0.0
                sd = sqrt(sd**2 + counts**2 * (chance + here**2 * (of_share**2 + shift**2 + beside**2)))
                added += counts * here * self._doubted(float(doubt[cell]), column, cells)
                crowd = self._hidden(column, cell, inside, cells) / DEVIATIONS
                sd = hypot(sd, counts * crowd) if crowd else sd
        return sd, added

    def _hidden(self, column: str, cell: int, inside: Inside, cells: Cells) -> float:
        """The rows that may crowd at one place of a bin, beyond those that its share of it takes in or leaves out."""
        if cells.hidden is None or not self.rules.crowded_ends:
            return 0.0
        off, hidden = inside.beyond, float(cells.hidden(column)[cell])
        place = crowded_cells(self.table.finite_domain(column)).get(cell)
        (interval,) = (i for i in self.query.intervals if i.column == column)
        if place is not None and hidden:
            rows, taken = cells.rows(column), float(interval.low <= place <= interval.high)
            of_all = float(inside.share @ rows[: len(inside.share)]) / max(float(rows.sum()), 1.0)
            known, wanted = float(inside.share[cell]) - of_all, taken - of_all
            off = max(off, hidden * sqrt(max(0.0, wanted**2 - known**2)))  # bars of cells have what the share takes in
        if not off:
            return 0.0
        kept = tuple(f for f in self.query.factors if f.columns != (column,))
        others = replace(self, query=replace(self.query, factors=kept, value=None, intervals=()))
        shares = {i.column: self._weights[i.column] for i in self.query.intervals if i.column != column}
        meeting = max(0.0, cells.estimate(others._weighted(shares) if shares else others.query))
        return off * min(1.0, meeting / max(cells.row_count, 1.0))

    def _doubted(self, share: float, column: str, cells: Cells) -> float:
        """Of a bin the share between two round numbers that a threshold is between: of listed strings what it may be at
        most, in 95 % of them."""
        keyed = self.query.keyed
        if keyed is None or cells.strings is None or share <= 0.0:
            return share
        spread = max(0.0, share * (1.0 - share)) * cells.strings.crowding(keyed, column)
        return min(1.0, share + DEVIATIONS * sqrt(spread))

    @property
    def inside(self) -> Estimates | None:
        """The variance of what the rows of each cell count, 0 or 1, where only one column's values are asked about."""
        if self.query.value is not None or len(self.query.touched) != 1:
            return None
        (column,) = self.query.touched
        inside, out = self._insides[column], np.zeros(self.table.finite_domain(column).size)
        out[: len(inside.share)] = inside.share * (1.0 - inside.share)
        for cut in self._beside[column].settled if column in self._beside else ():  # all but the crowd may crowd
            crowd = float(inside.crowd[cut])
            taken = (float(self._alike[column].share[cut]) - crowd * float(inside.of_crowd[cut])) / (1.0 - crowd)
            out[cut] = (1.0 - crowd) ** 2 * max(0.0, taken * (1.0 - taken))
        return out

    def _of_sum(self, estimate: _Estimate, rows: Callable[[str], Estimates], row_count: float) -> tuple[float, float]:
        value = self.query.value or ""
        positions, weights = self.positions(value), self._weights
        inside = self._insides.get(value)
        width, sd, here = positions.width, positions.width * positions.sd, rows(value)[: len(positions.width)]
        taken = np.ones(len(width)) if inside is None else inside.share
        if self.rules.confined:
            here = here * self._asked(value)
            row_count = float(np.maximum(here, 0.0).sum())
            if inside is not None:  # rows of a stretch are no further apart than its ends
                width = np.minimum(width, inside.length)
                here, sd = here * taken, np.minimum(sd, SPREAD * width)
        of_bins = [width, width**2]
        if self.rules.crowded and positions.cells.loose.any():
            of_bins.append(np.minimum(width, positions.width * positions.cells.loose))
        summed = [estimate(self._weighted(weights | {value: taken * of_bin})) for of_bin in of_bins]
        counted = {c: w for c, w in weights.items() if c != value}
        share = min(1.0, estimate(self._weighted(counted)) / max(row_count, 1.0))
        of_means = share * sqrt(float(((np.maximum(here, 0.0) * sd) ** 2).sum()))
        return positions.error(of_means, summed[0], summed[1], share, *summed[2:])

    def _asked(self, column: str) -> Estimates:
        """1 for each bin that the question's cells are in, else 0."""
        out = np.ones(len(self.positions(column).width))
        for f in self.query.factors:
            if column in f.columns:
                others = tuple([i for i, name in enumerate(f.columns) if name != column])
                out = out * np.asarray(f.weights.any(axis=others))[: len(out)]
        return out

    @cached_property
    def _insides(self) -> dict[str, Inside]:
        return self._alike | {column: beside.inside for column, beside in self._beside.items()}

    @cached_property
    def _alike(self) -> dict[str, Inside]:
        """Where all places of a bin meet other conditions alike."""
        return {i.column: self.positions(i.column).cells.inside(i) for i in self.query.intervals}

    @cached_property
    def _beside(self) -> dict[str, Beside]:
        """Where they do not, as far as the bins beside them tell."""
        cells = self.cells
        if cells is None or not self.rules.beside_neighbours:
            return {}
        out: dict[str, Beside] = {}
        followed: dict[str, Estimates] = {}
        for column, inside in self._alike.items():  # each beside those before it: no two of them are followed twice
            noise = self._noise_beside(column, cells)
            if len(inside.cut) and noise < inf:
                met = self._others(column, noise, followed)
                out[column] = beside_neighbours(inside, self.positions(column).cells, met)
            followed[column] = out[column].inside.share if column in out else inside.share
        return out

    def _noise_beside(self, column: str, cells: Cells) -> float:
        """Sd of how many rows of a bin meet the question's other conditions; infinite where one ties columns together,
        and where strings are listed beside others."""
        keyed, others = self.query.keyed, [f for f in self.query.factors if f.columns and f.columns != (column,)]
        if keyed is not None:
            alone = not others and not keyed.columns
            return cells.strings.noise(keyed, column) if alone and cells.strings is not None else inf
        tied = any(len(f.columns) > 1 for f in self.query.factors)
        return cells.noise(column, [] if tied else others)

    def _others(self, column: str, noise: float, followed: dict[str, Estimates]) -> Met:
        kept = [f for f in self.query.factors if f.columns != (column,)]
        others = replace(self, query=replace(self.query, factors=tuple(kept), value=None, intervals=()))
        shares = dict(followed)
        cells, order, size = self.cells, self.table.order, self.table.finite_domain(column).size
        rows = np.zeros(0) if cells is None else np.maximum(cells.rows(column), 0.0)

        def met(cell: int) -> float:
            if shares:
                asked = others._weighted(shares | {column: np.arange(size) == cell})
            else:
                both = sorted((*kept, _point(column, size, cell)), key=lambda f: [order[c] for c in f.columns])
                asked = LinearQuery(self.table.name, tuple(both), self.query.keyed)
            if cells is None:
                return 0.0
            return max(0.0, cells.count(asked) if asked.keyed is None else cells.estimate(asked))

        return Met(rows[: len(self._alike[column].share)], met, noise, self.query.keyed is not None)

    @cached_property
    def _weights(self) -> dict[str, Estimates]:
        """What a row of each bin counts, by column."""
        insides, value = self._insides, self.query.value
        out = {column: inside.share for column, inside in insides.items()}
        if value is not None:
            of = self.positions(value)
            inside = insides.get(value)
            out[value] = of.low + of.width * of.mean if inside is None else inside.share * inside.center
        return out

    def unrounded(self) -> list[tuple[float, LinearQuery]]:
        """``by_cells``, and what it rounded off, weight by weight: counts of cells, each with what it is to be taken
        times. Of rows without weights of their own ``by_cells`` alone."""
        out = [(1.0, self.by_cells())]
        if self.query.unit == 1:
            return out
        for name, of_bin in self._weights.items():
            unit = self._units(self._weights)[0][name]
            for times, rest in _rounded_off(np.clip(of_bin, 0.0, 1.0), unit):
                out.append((times, self._weighted(self._weights | {name: rest})))
        for at, unit in self._units(self._weights)[1].items():
            f = self.query.factors[at]
            for times, rest in _rounded_off(f.weights / f.unit, unit):
                out.append((times, self._weighted(self._weights, {at: rest})))
        return out

    def _units(self, of_bins: dict[str, Estimates]) -> tuple[dict[str, int], dict[int, int]]:
        """The units of weights of bins by column, and of factors that are rounded, by place: fixed point together.

        Values have most of it: the rows of a column may all be near one end of its range.
        """
        bits, number = FIXED_POINT.bit_length() - 1, len(of_bins)
        units = {i: f.unit for i, f in enumerate(self.query.factors) if f.unit > 1}
        if self.query.keyed is not None:
            bits -= (self.query.keyed.unit - 1).bit_length()
        if not units:
            return dict.fromkeys(of_bins, 1 << bits // max(number, 1)), {}
        most = 1 << (ROW_BITS if number == 1 else ROW_BITS - 2)
        while prod(units.values()) > most:
            largest = max(units, key=units.__getitem__)
            units[largest] = (units[largest] + 1) // 2
        bits -= (prod(units.values()) - 1).bit_length()
        shares = min(CUT_BITS, bits // max(number, 1))
        found = dict.fromkeys(of_bins, 1 << shares)
        summed = self.query.value if self.query.value in found else next(iter(found), None)
        if summed is not None:
            found[summed] = 1 << bits - shares * (number - 1)
        return found, {i: unit for i, unit in units.items() if unit < self.query.factors[i].unit}

    def _weighted(self, of_bins: dict[str, Estimates], of_rows: dict[int, Estimates] | None = None) -> LinearQuery:
        """The question's rows with these weights of their bins; NULL counts nothing. ``of_rows``: weights of factors
        that are rounded, by place, in place of their own."""
        units, coarse = self._units(of_bins)
        factors = list(self.query.factors)
        changed: set[int] = set()
        for at, unit in coarse.items():
            f = factors[at]
            rows = f.weights / f.unit if of_rows is None or at not in of_rows else of_rows[at]
            factors[at] = Factor(f.columns, np.rint(rows * unit).astype(np.int64), unit)
            changed.add(at)
        for name, of_bin in of_bins.items():
            weights: Weights = np.zeros(self.table.finite_domain(name).size, dtype=np.int64)
            weights[: len(of_bin)] = np.rint(np.clip(of_bin, 0.0, 1.0) * units[name])
            at = next((i for i, f in enumerate(factors) if name in f.columns), len(factors))
            changed.add(at)
            if at == len(factors):
                factors.append(Factor((name,), weights, units[name]))
                continue
            f = factors[at]
            along = [-1 if c == name else 1 for c in f.columns]
            factors[at] = Factor(f.columns, f.weights * weights.reshape(along), f.unit * units[name])
        found = linear_query(self.table, [factors[i] for i in sorted(changed)])
        if found is None:
            return self._nothing()
        order = self.table.order
        same = [f for i, f in enumerate(factors) if i not in changed]  # a question's factors are canonical
        whole = sorted((*same, *found.factors), key=lambda f: [order[c] for c in f.columns])
        return LinearQuery(self.table.name, tuple(whole), self.query.keyed)

    def _nothing(self) -> LinearQuery:
        """Of weight 0 everywhere: a model may know of no row in the bins that are asked about."""
        keyed = self.query.keyed
        first = next(c for c in self.table.finite if keyed is None or c.name not in keyed.columns)
        return LinearQuery(self.table.name, (Factor((first.name,), np.zeros(first.size, dtype=np.int64)),), keyed)


@lru_cache(maxsize=1 << 12)
def _point(column: str, size: int, cell: int) -> Factor:
    return Factor.points(column, size, [cell])[0]


def _rounded_off(weights: Estimates, unit: int) -> list[tuple[float, Estimates]]:
    """What rounding to multiples of 1 / ``unit`` leaves out of weights: weights in [0, 1], each with what it is to be
    taken times."""
    rest = weights * unit - np.rint(weights * unit)
    both = [(sign * 0.5 / unit, np.maximum(2.0 * sign * rest, 0.0)) for sign in (1.0, -1.0)]
    return [(times, part) for times, part in both if np.rint(part * unit).any()]


def by_cells_unmeasured(table: TableDomain, query: LinearQuery) -> LinearQuery:
    """The query as a count of cells before anything is measured: rows are spread evenly in their bins."""

    def evenly(column: str) -> Positions:
        domain = table.finite_domain(column)
        if not isinstance(domain, NumberDomain):
            raise InternalError("only number columns are asked about by value")
        return Positions.of(domain)

    return ByValue(table, query, evenly).by_cells() if query.is_by_value else query
