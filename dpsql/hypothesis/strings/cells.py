"""Counts of strings by the values of one finite column: several measurements weighed by their noise. Public.

A cell's prior is its string's rows times the column's share. How far strings stray from that is learned from all of
them, so that noise is kept out where strings are alike and measurements count where they are not; no cell moves by more
than its noise's sd, so that one string unlike all others is not taken for noise.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpsql.hypothesis.measurement import Measurement
from dpsql.hypothesis.strings.mixture import CellEstimates, Floats, mixed_cells
from dpsql.query import Key

MOST_MOVED = 1.0
"""A cell is drawn to its prior by so many sds of its noise at most: limited translation (Efron and Morris 1972)."""
_TINY = 1e-9


def strayed(values: Floats, variances: Floats, prior: Floats, spreads: Floats) -> float:
    """How far cells stray from their prior, in [0, 1]: 0 where strings are alike, 1 where each has one value.

    By moments, each string weighed by what it says. ``values``, ``prior``: counts, one row a string; ``variances`` of
    the noise, one a string; ``spreads``: the largest variances that cells with these means can have.
    """
    own = ((values - prior) ** 2 - variances[:, None]).sum(axis=1)
    most = spreads.sum(axis=1)
    weights = 1.0 / (variances * values.shape[1] + most + _TINY)
    return float(np.clip((weights * own).sum() / max(float((weights * most).sum()), _TINY), 0.0, 1.0))


def drawn_cells(values: Floats, variances: Floats, rows: Floats, rows_variances: Floats, shares: Floats) -> Floats:
    """Estimated counts of shape (strings, values), from measured ones and from each string's rows.

    The best linear estimate (Hartigan 1969) under a prior with mean rows times share and variance t rows^2 share
    (1 - share), where t is what they strayed; then each string's cells are moved to add up to its rows as far as
    both are known. Cells may be below 0: cut, sums over many would be too large.
    """
    prior = np.multiply.outer(rows, shares)
    spreads = np.multiply.outer(rows * rows, shares * (1.0 - shares))
    noise = variances[:, None]
    between = strayed(values, variances, prior, spreads) * spreads
    kept = between / (between + noise)
    most = MOST_MOVED * np.sqrt(noise)
    found = values - np.clip((1.0 - kept) * (values - prior), -most, most)
    left = kept * noise
    missing = rows - found.sum(axis=1)
    moved: Floats = found + left * (missing / (left.sum(axis=1) + rows_variances + _TINY))[:, None]
    return moved


class CountedKey(NamedTuple):
    """Of the rows of one key that a condition selects: the ``variance`` of their estimate, how many more were measured
    (``apart``), the variance of the ``noise`` in that, and of how rows stand ``inside`` of cells, a part of the first;
    in counts and their squares."""

    variance: float
    apart: float = 0.0
    noise: float = 0.0
    inside: float = 0.0


@dataclass
class _Cell:
    weighted: Floats
    precision: float


class StringCells:
    """What was measured of strings by the cells of one finite column, each string's by its precision 1/variance."""

    def __init__(self) -> None:
        self._cells: dict[Key, _Cell] = {}

    def absorb(self, measurement: Measurement) -> None:
        """Counts of shape (strings, values)."""
        precision = 1.0 / measurement.sigma**2
        for key, weighted in zip(measurement.keys, measurement.values.astype(np.float64) * precision, strict=True):
            cell = self._cells.get(key)
            if cell is None:
                self._cells[key] = _Cell(weighted, precision)
            else:
                cell.weighted = cell.weighted + weighted
                cell.precision += precision

    @property
    def keys(self) -> tuple[Key, ...]:
        """The strings that were measured, in the order of the ledger."""
        return tuple(self._cells)

    def isdisjoint(self, keys: Iterable[Key]) -> bool:
        """Whether none of the keys was measured."""
        return self._cells.keys().isdisjoint(keys)

    @property
    def variances(self) -> Floats:
        """Of the noise in each of the cells of every string, as ``keys`` are."""
        return 1.0 / np.array([c.precision for c in self._cells.values()])

    @property
    def measured(self) -> Floats:
        """Counts as they were measured, shape (strings, values), as ``keys`` are."""
        return np.stack([c.weighted for c in self._cells.values()]) * self.variances[:, None]

    def measured_of(self, keys: Sequence[Key]) -> tuple[Floats, Floats]:
        """Counts of these strings as they were measured, shape (strings, values), and the variances of their noise."""
        found = [self._cells[key] for key in keys]
        variances = 1.0 / np.array([c.precision for c in found])
        return np.stack([c.weighted for c in found]) * variances[:, None], variances

    def strayed(self, rows: Sequence[float], shares: Floats) -> float:
        """How far strings with so many ``rows`` stray from the column's ``shares``."""
        totals = np.array(rows)
        spreads = np.multiply.outer(totals * totals, shares * (1.0 - shares))
        return strayed(self.measured, self.variances, np.multiply.outer(totals, shares), spreads)

    def estimates(
        self, rows: Sequence[float], variances: Sequence[float], shares: Floats, *, mixed: bool, by_chance: bool
    ) -> CellEstimates:
        """Counts by value of every string, whose totals are ``rows`` with ``variances``, as ``keys`` are.

        ``mixed``: by how many cells are how far off, ``by_chance`` as in ``mixed_cells``; else their variances are
        those of their noise.
        """
        values, noise = self.measured, self.variances
        if mixed:
            return mixed_cells(values, noise, np.array(rows), np.array(variances), shares, by_chance=by_chance)
        found = drawn_cells(values, noise, np.array(rows), np.array(variances), shares)
        return CellEstimates(found, np.broadcast_to(noise[:, None], values.shape))
