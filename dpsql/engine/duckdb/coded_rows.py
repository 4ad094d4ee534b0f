"""The counted rows of one table as arrays of codes, so that a new scope needs no scan of the database. Private.

Held inside the engine alone; what leaves it are ``Private`` counts. No message of numpy's about them is let through:
codes are inside their domain by construction, so counting cannot fail on a row's value.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.domain import TableDomain
from dpsql.engine.duckdb.codes import code_width
from dpsql.engine.duckdb.kept_rows import Rows
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.partition import Partition
from dpsql.query import Counts

CODED_BYTES = 256 << 20
"""Room for the codes of one table; larger tables are scanned for every scope."""
_CHUNK = 1 << 20

Codes = npt.NDArray[np.unsignedinteger]


class CodedRows:
    """One array of codes per finite column, all in the same row order."""

    def __init__(self, table: TableDomain, codes: Mapping[str, Codes], rows: int) -> None:
        self._table = table
        self._codes = codes
        self._rows = rows

    @classmethod
    def read(cls, reader: Reader, rows: Rows, table: TableDomain, number: int) -> "CodedRows | None":
        """The codes of all finite columns, read in one scan; ``None`` when ``number`` rows need too much room."""
        names = [c.name for c in table.finite]
        if number * sum(width_of(table, name) for name in names) > CODED_BYTES:
            return None
        source = rows.from_where(names)
        found = reader.arrays(f"coding rows of {table.name}", f"SELECT {', '.join(rows.coded(names))} {source}")
        codes = codes_of(table, names, found)
        return cls(table, codes, len(next(iter(codes.values()))))

    def count(self, scope: tuple[str, ...]) -> Counts:
        """Counts over the cells of ``scope`` (not empty), int64, in rows."""
        shape = self._table.shape(scope)
        size = prod(shape)
        step = max(_CHUNK, size)  # a chunk's cells take no more room than its counts
        counts = self._count(scope, slice(0, step), size)
        for start in range(step, self._rows, step):
            counts += self._count(scope, slice(start, start + step), size)
        return counts.reshape(shape)

    def count_parts(self, partitions: Sequence[Partition]) -> Counts:
        """Counts over the parts of at least one partition, row-major, int64, in rows; the grid is never made."""
        return parts_between(self._table, self._codes, partitions, 0, self._rows)

    def _count(self, scope: tuple[str, ...], chunk: slice, size: int) -> Counts:
        cells: npt.NDArray[np.int32] = self._codes[scope[0]][chunk].astype(np.int32)  # a grid has < 2^31 cells
        for name in scope[1:]:
            cells *= self._table.finite_domain(name).size
            cells += self._codes[name][chunk].astype(np.int32)
        return np.bincount(cells, minlength=size).astype(np.int64, copy=False)


_NUMPY: dict[int, type[np.unsignedinteger]] = {1: np.uint8, 2: np.uint16, 4: np.uint32}


def parts_between(
    table: TableDomain, codes: Mapping[str, Codes], partitions: Sequence[Partition], first: int, end: int
) -> Counts:
    """Counts over the parts of the rows from place ``first`` up to ``end``, row-major, int64, in rows."""
    size = prod(p.size for p in partitions)
    counts = np.zeros(size, dtype=np.int64)
    for start in range(first, end, _CHUNK):
        chunk = slice(start, min(start + _CHUNK, end))
        part, *others = [p.flat.take(_cells(table, codes, p.columns, chunk)) for p in partitions] or [
            np.zeros(chunk.stop - start, dtype=np.int64)
        ]
        for p, here in zip(partitions[1:], others, strict=True):
            part *= p.size
            part += here
        counts += np.bincount(part, minlength=size)
    return counts


def _cells(table: TableDomain, codes: Mapping[str, Codes], columns: Sequence[str], chunk: slice) -> npt.NDArray[Any]:
    """The cell of each row of a chunk, row-major over the columns."""
    if not columns:
        return np.zeros(chunk.stop - chunk.start, dtype=np.intp)
    cell: npt.NDArray[Any] = codes[columns[0]][chunk]
    for name in columns[1:]:
        cell = cell.astype(np.int64) * table.finite_domain(name).size + codes[name][chunk]
    return cell


def codes_of(
    table: TableDomain, columns: Sequence[str], found: Mapping[str, npt.NDArray[np.generic]]
) -> dict[str, Codes]:
    """What ``Rows.coded`` read of these columns."""
    return {n: np.asarray(found[f"c{i}"], dtype=_NUMPY[width_of(table, n)]) for i, n in enumerate(columns)}


def width_of(table: TableDomain, column: str) -> int:
    """Bytes of a code."""
    return code_width(table.finite_domain(column).size)
