"""The counted rows of one table in the order of one number column's values: a stretch of values is a slice. Private.

Held inside the engine alone, as the coded rows are.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dpsql.domain import NumberDomain, TableDomain
from dpsql.engine.duckdb.coded_rows import CODED_BYTES, CodedRows, Codes, codes_of, parts_between, width_of
from dpsql.engine.duckdb.kept_rows import Rows
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.partition import Partition
from dpsql.query import Counts, Interval


class ValuedRows:
    """Rows that have a value, ascending, and the codes of all finite columns in the same order."""

    def __init__(self, table: TableDomain, values: npt.NDArray[np.float64], codes: Mapping[str, Codes]) -> None:
        self._table = table
        self._values = values
        self._codes = codes

    @classmethod
    def read(
        cls, reader: Reader, rows: Rows, table: TableDomain, column: NumberDomain, number: int
    ) -> "ValuedRows | None":
        """Read in one scan; ``None`` when ``number`` rows need too much room."""
        names = [c.name for c in table.finite]
        if number * (8 + sum(width_of(table, name) for name in names)) > CODED_BYTES:
            return None
        value, source = rows.number(column), rows.from_where(names)
        found = reader.arrays(
            f"reading values of {table.name}.{column.name}",
            f"SELECT {', '.join([*rows.coded(names), f'{value} AS x'])} {source}",
        )
        values = np.ma.masked_invalid(np.ma.asarray(found["x"], dtype=np.float64))
        kept = np.flatnonzero(~np.ma.getmaskarray(values))
        order = kept[np.argsort(np.ma.getdata(values)[kept], kind="stable")]
        codes = {name: array[order] for name, array in codes_of(table, names, found).items()}
        return cls(table, np.ma.getdata(values)[order], codes)

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        return self._values.nbytes + sum(codes.nbytes for codes in self._codes.values())

    def count_parts(self, partitions: Sequence[Partition], interval: Interval) -> Counts:
        """Counts over the parts of the rows in the interval, row-major, int64, in rows."""
        first = int(np.searchsorted(self._values, interval.low, side="left"))
        end = int(np.searchsorted(self._values, interval.high, side="right"))
        return parts_between(self._table, self._codes, partitions, first, end)


class HeldRows:
    """What is held in memory of the rows of an engine's tables; made when first needed."""

    def __init__(self, reader: Reader, rows: Mapping[str, Rows]) -> None:
        self._reader = reader
        self._rows = rows
        self._coded: dict[str, CodedRows | None] = {}
        self._valued: dict[tuple[str, str], ValuedRows | None] = {}

    def coded(self, table: TableDomain) -> CodedRows | None:
        """The table's rows as codes; ``None`` when they are too many."""
        if table.name not in self._coded:
            found = CodedRows.read(self._reader, self._rows[table.name], table, self._number(table))
            self._coded[table.name] = found
        return self._coded[table.name]

    def valued(self, table: TableDomain, column: NumberDomain) -> ValuedRows | None:
        """The table's rows by the values of a number column; ``None`` when they are too many. The oldest make room."""
        key, held = (table.name, column.name), self._valued
        if key not in held:
            held[key] = ValuedRows.read(self._reader, self._rows[table.name], table, column, self._number(table))
            while sum(v.nbytes for v in held.values() if v is not None) > CODED_BYTES:
                del held[next(iter(held))]
        return held.get(key)

    def clear(self) -> None:
        self._coded.clear()
        self._valued.clear()

    def _number(self, table: TableDomain) -> int:
        counted = f"SELECT count(*) {self._rows[table.name].from_where(())}"
        return int(self._reader.rows(f"counting rows of {table.name}", counted)[0][0])
