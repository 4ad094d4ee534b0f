"""Simulated tables and measurements: seeded numpy noise, for tests of the public hypotheses only."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dpsql.domain import CategoryDomain, IntegerDomain, TableDomain
from dpsql.hypothesis import Axis, Measurement, coarsen


def table_of(sizes: Sequence[int], ordered: Sequence[bool] = ()) -> TableDomain:
    """Columns a, b, c, .. with the given sizes; categories unless ordered."""
    kinds = [*ordered, *([False] * (len(sizes) - len(ordered)))]
    return TableDomain(
        "t",
        tuple(
            IntegerDomain(n, 0, s - 1, nullable=False)
            if o
            else CategoryDomain(n, tuple(f"{n}{i}" for i in range(s)), nullable=False)
            for n, s, o in zip("abcdefghijklmnopqrstuvwxyz", sizes, kinds, strict=False)
        ),
    )


def marginal(cells: np.ndarray, names: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    """Counts over ``columns`` in the order given; ``cells`` has one axis per name."""
    kept = [names.index(c) for c in columns]
    summed = cells.sum(axis=tuple(i for i in range(cells.ndim) if i not in kept))
    return summed.transpose(np.argsort(np.argsort(kept)))


def measured(
    cells: np.ndarray,
    columns: Sequence[str],
    sigma: float,
    rng: np.random.Generator | None,
    labels: dict[str, np.ndarray] | None = None,
) -> Measurement:
    """A contingency of a table with columns a, b, ..; without ``rng`` exact, with ``sigma`` only claimed."""
    names = [chr(ord("a") + i) for i in range(cells.ndim)]
    axes = []
    for c in columns:
        part = None if labels is None else labels.get(c)
        size = cells.shape[names.index(c)]
        axes.append(Axis.cells((c,), (size,)) if part is None else Axis((c,), part, int(part.max()) + 1))
    values = coarsen(np.ascontiguousarray(marginal(cells, names, columns)), axes)
    noise = 0.0 if rng is None else rng.normal(0.0, sigma, values.shape)
    return Measurement("t", tuple(axes), np.rint(values + noise).astype(np.int64), sigma)


def all_of(cells: np.ndarray, order: int, sigma: float, rng: np.random.Generator | None = None) -> list[Measurement]:
    """Every contingency over ``order`` columns."""
    names = [chr(ord("a") + i) for i in range(cells.ndim)]
    return [measured(cells, c, sigma, rng) for c in combinations(names, order)]


def pairwise_table(shape: Sequence[int], total: float, rng: np.random.Generator, strength: float = 0.7) -> np.ndarray:
    """Counts whose logarithm is a sum of random terms over pairs of columns: no interaction of three."""
    log = np.zeros(shape)
    for i, j in combinations(range(len(shape)), 2):
        term = rng.normal(0.0, strength, (shape[i], shape[j]))
        log += term.reshape([n if a in (i, j) else 1 for a, n in enumerate(shape)])
    out = np.exp(log)
    return out * (total / out.sum())
