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

Values = npt.NDArray[np.float64]


class ValuedRows:
    """Rows that have a value in one column, ascending, with the values of some others (NaN for none) and the codes of
    all finite columns in the same order: ``values`` by column, the ascending one first."""

    def __init__(self, table: TableDomain, values: Mapping[str, Values], codes: Mapping[str, Codes]) -> None:
        self._table = table
        self._first = next(iter(values))
        self._values = values
        self._codes = codes

    @classmethod
    def read(
        cls, reader: Reader, rows: Rows, table: TableDomain, columns: Sequence[NumberDomain], number: int
    ) -> "ValuedRows | None":
        """Read in one scan, by the first of ``columns``; ``None`` when ``number`` rows need too much room."""
        names = [c.name for c in table.finite]
        if number * (8 * len(columns) + sum(width_of(table, name) for name in names)) > CODED_BYTES:
            return None
        values = [f"{rows.number(column)} AS x{i}" for i, column in enumerate(columns)]
        found = reader.arrays(
            f"reading values of {table.name}.{columns[0].name}",
            f"SELECT {', '.join([*rows.coded(names), *values])} {rows.from_where(names)}",
        )
        known = [np.ma.masked_invalid(np.ma.asarray(found[f"x{i}"], dtype=np.float64)) for i in range(len(columns))]
        kept = np.flatnonzero(~np.ma.getmaskarray(known[0]))
        order = kept[np.argsort(np.ma.getdata(known[0])[kept], kind="stable")]
        codes = {name: array[order] for name, array in codes_of(table, names, found).items()}
        return cls(table, {c.name: x.filled(np.nan)[order] for c, x in zip(columns, known, strict=True)}, codes)

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        return sum(a.nbytes for held in (self._values, self._codes) for a in held.values())

    def tells(self, columns: Sequence[NumberDomain]) -> bool:
        """Whether rows with values in all of these are among them, and what values."""
        names = [c.name for c in columns]
        return self._first in names and self._values.keys() >= set(names)

    def count_parts(self, partitions: Sequence[Partition], intervals: Sequence[Interval]) -> Counts:
        """Counts over the parts of the rows in all intervals, row-major, int64, in rows: one is of the first column."""
        by_order = next(i for i in intervals if i.column == self._first)
        first = int(np.searchsorted(self._values[self._first], by_order.low, side="left"))
        end = int(np.searchsorted(self._values[self._first], by_order.high, side="right"))
        others = [i for i in intervals if i is not by_order]
        if not others:
            return parts_between(self._table, self._codes, partitions, first, end)
        inside = np.ones(max(0, end - first), dtype=bool)
        for i in others:
            values = self._values[i.column][first:end]
            inside &= (values >= i.low) & (values <= i.high)  # a row without a value is in no interval
        kept = np.flatnonzero(inside) + first
        codes = {name: self._codes[name][kept] for p in partitions for name in p.columns}
        return parts_between(self._table, codes, partitions, 0, len(kept))


class HeldRows:
    """What is held in memory of the rows of an engine's tables; made when first needed."""

    def __init__(self, reader: Reader, rows: Mapping[str, Rows]) -> None:
        self._reader = reader
        self._rows = rows
        self._coded: dict[str, CodedRows | None] = {}
        self._valued: dict[tuple[str, tuple[str, ...]], ValuedRows | None] = {}

    def coded(self, table: TableDomain) -> CodedRows | None:
        """The table's rows as codes; ``None`` when they are too many."""
        if table.name not in self._coded:
            found = CodedRows.read(self._reader, self._rows[table.name], table, self._number(table))
            self._coded[table.name] = found
        return self._coded[table.name]

    def valued(self, table: TableDomain, columns: Sequence[NumberDomain]) -> ValuedRows | None:
        """The table's rows by the values of one of these number columns, with those of the others; ``None`` when they
        are too many. The oldest make room."""
        held = self._valued
        for (name, _), rows in held.items():
            if name == table.name and rows is not None and rows.tells(columns):
                return rows
        numbers = [c for c in table.finite if isinstance(c, NumberDomain) and c.reading == "value"]
        every = [columns[0], *(c for c in numbers if c.name != columns[0].name)]
        wanted = [c for i, c in enumerate(columns) if c.name not in [d.name for d in columns[:i]]]
        for chosen in (every, wanted) if len(wanted) > 1 else (wanted,):  # all: the next question is about others
            key = table.name, tuple([c.name for c in chosen])
            if key not in held:
                held[key] = ValuedRows.read(self._reader, self._rows[table.name], table, chosen, self._number(table))
                while sum(v.nbytes for v in held.values() if v is not None) > CODED_BYTES:
                    del held[next(k for k, v in held.items() if v is not None)]
            if held.get(key) is not None:
                return held[key]
        return None

    def clear(self) -> None:
        self._coded.clear()
        self._valued.clear()

    def _number(self, table: TableDomain) -> int:
        counted = f"SELECT count(*) {self._rows[table.name].from_where(())}"
        return int(self._reader.rows(f"counting rows of {table.name}", counted)[0][0])
