"""Tables that are drawn by chance: ``python -m benchmarks.strangers --table drawn1 --table drawn2``.

Each has 20,000 to 300,000 rows and 5 to 13 columns. Some columns follow from others in the ways that columns of real
tables do: as the sum of two, a coarser copy, a copy with errors, a number that only some groups have, the larger of
two, what two have in common, or a share of another. No constant was chosen on them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.strangers.tables import Builder
from benchmarks.tables import BenchmarkTable
from benchmarks.workload import Column
from dpsql.domain import CategoryDomain, ColumnDomain, IntegerDomain, TableDomain

TABLES = 20
MOST = 200
"""The largest number of a column."""

Codes = npt.NDArray[np.int64]
Relation = Callable[[np.random.Generator, list[Codes]], Codes]


def _some(rng: np.random.Generator, columns: list[Codes]) -> Codes:
    return columns[int(rng.integers(len(columns)))]


def _total(rng: np.random.Generator, columns: list[Codes]) -> Codes:
    total: Codes = np.minimum(_some(rng, columns) + _some(rng, columns), MOST)
    return total


def _coarser(rng: np.random.Generator, columns: list[Codes]) -> Codes:
    of = _some(rng, columns)
    coarser: Codes = of // max(2, (int(of.max()) + 1) // int(rng.integers(2, 8)))
    return coarser


def _misread(rng: np.random.Generator, columns: list[Codes]) -> Codes:
    of = _some(rng, columns)
    return np.where(rng.random(len(of)) < rng.uniform(0.01, 0.4), rng.permutation(of), of)


def _in_groups(rng: np.random.Generator, columns: list[Codes]) -> Codes:
    """0 but for some groups of a column, whose numbers have a law of their own."""
    by = _some(rng, columns)
    law = rng.poisson(rng.uniform(1.0, 40.0), len(by)) + 1
    return np.where(by % int(rng.integers(2, 5)) == 0, np.minimum(law, MOST), 0)


def _larger(rng: np.random.Generator, columns: list[Codes]) -> Codes:
    return np.maximum(_some(rng, columns), _some(rng, columns))


def _same(rng: np.random.Generator, columns: list[Codes]) -> Codes:
    return ((_some(rng, columns) + _some(rng, columns)) % 2).astype(np.int64)


def _share(rng: np.random.Generator, columns: list[Codes]) -> Codes:
    of = _some(rng, columns)
    return rng.binomial(of, rng.beta(2.0, 2.0, len(of)))


def _alone(rng: np.random.Generator, columns: list[Codes]) -> Codes:
    rows = len(columns[0])
    match int(rng.integers(4)):
        case 0:
            return rng.integers(int(rng.integers(2, 13)), size=rows)
        case 1:
            return np.minimum(rng.zipf(rng.uniform(1.3, 2.5), rows) - 1, int(rng.integers(4, 60)))
        case 2:
            return np.minimum(rng.lognormal(rng.uniform(1.0, 3.5), rng.uniform(0.3, 1.0), rows), MOST).astype(np.int64)
        case _:
            return rng.binomial(int(rng.integers(20, 100)), rng.uniform(0.2, 0.8), rows)


RELATIONS: tuple[Relation, ...] = (_total, _coarser, _misread, _in_groups, _larger, _same, _share)


def drawn(seed: int, folder: Path) -> BenchmarkTable:
    """The table of a seed: two columns by themselves, then as many that follow from others as that do not."""
    rng = np.random.default_rng([19, seed])
    rows, number = int(np.exp(rng.uniform(np.log(20_000), np.log(300_000)))), int(rng.integers(5, 14))
    columns = [rng.integers(int(rng.integers(2, 9)), size=rows)]
    columns.append(_alone(rng, columns))
    while len(columns) < number:
        relation = _alone if rng.random() < 0.5 else RELATIONS[int(rng.integers(len(RELATIONS)))]
        columns.append(relation(rng, columns))
    data: dict[str, object] = {}
    domains: list[ColumnDomain] = []
    asked = []
    for i, codes in enumerate(columns):
        most, name = max(1, int(codes.max())), f"c{i:02d}"
        if most < 12 and rng.random() < 0.5:
            values = tuple(f"v{j:02d}" for j in range(most + 1))
            data[name] = pa.array(np.array(values)[codes])
            domains.append(CategoryDomain(name, values, nullable=False))
            asked.append(Column(name, values))
        else:
            data[name] = codes
            domains.append(IntegerDomain(name, 0, most, nullable=False))
            asked.append(Column(name, tuple(range(most + 1)), ordered=True))
    path = folder / f"drawn{seed}.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("rows", pa.table(data))
        con.execute("CREATE TABLE drawn AS SELECT * FROM rows")
    return BenchmarkTable(path, TableDomain("drawn", tuple(domains)), tuple(asked))


DRAWN: Mapping[str, Builder] = {f"drawn{seed}": partial(drawn, seed) for seed in range(1, TABLES + 1)}
