"""An index from strings to counts, so that a sparse query costs what its support costs, not what the table does.

The strings of a table are numbered once per tuple of text columns. Counts by (string number, cell) are kept in
compressed sparse rows; a lookup is a dictionary hit and a slice. Where there are many strings they stay in DuckDB:
those that somebody lists are looked up there once, found or not, so that the second time says nothing of the rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.dialect.quoting import identifier
from dpsql.domain import NumberDomain, TableDomain
from dpsql.engine.duckdb.kept_rows import Rows
from dpsql.engine.duckdb.reader import Reader
from dpsql.query import Counts, Interval, Key, KeyCounts, Positions, key_counts

Encoded = tuple[bytes | None, ...]
Inside = Sequence[tuple[NumberDomain, Interval]]
FEW = 1 << 16
"""Strings that are all held here, by their number; of more only those that were asked for."""
INDEX_BYTES = 512 << 20
"""Room for the counts of all scopes over one tuple of text columns."""


_Told = tuple[frozenset[str], tuple[Interval, ...]]
"""The columns of an index, and the stretches of values that its rows are in."""
_WHOLE: _Told = frozenset(), ()
"""That of how many rows each string has."""


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """Counts by string number and cell: those of string ``i`` are entries ``offsets[i]`` to ``offsets[i + 1]``."""

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    offsets: npt.NDArray[np.int64]
    cells: npt.NDArray[np.int32] | npt.NDArray[np.int64]
    counts: npt.NDArray[np.int32] | npt.NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        return self.offsets.nbytes + self.cells.nbytes + self.counts.nbytes

    def of(self, numbers: Sequence[int], columns: tuple[str, ...], sizes: tuple[int, ...]) -> Counts:
        """Counts over ``columns``, some of the index's, shape ``(len(numbers), *sizes)``; number -1: zeros."""
        wanted = np.asarray(numbers, dtype=np.int64)
        row = np.flatnonzero(wanted >= 0)
        starts, ends = self.offsets[wanted[row]], self.offsets[wanted[row] + 1]
        lengths = ends - starts
        entries = np.repeat(ends - np.cumsum(lengths), lengths) + np.arange(lengths.sum())
        target = np.repeat(row, lengths)
        cells = self.cells[entries].astype(np.int64)
        for name, size in zip(columns, sizes, strict=True):
            axis = self.columns.index(name)
            stride = int(np.prod(self.sizes[axis + 1 :], dtype=np.int64))
            target = target * size + cells // stride % size
        out = np.zeros((len(wanted), *sizes), dtype=np.int64)
        np.add.at(out.reshape(-1), target, self.counts[entries])
        return out


class TextIndex:
    """All indexes over one tuple of text columns of one table."""

    def __init__(
        self, reader: Reader, name: str, table: TableDomain, rows: Rows, text_columns: tuple[str, ...]
    ) -> None:
        self._reader = reader
        self._name = identifier(name)
        self._table = table
        self._rows = rows
        self._text_columns = text_columns
        self._numbers: dict[bytes | None, int] | dict[Encoded, int] = {}
        self._counts: dict[_Told, SparseCounts] = {}
        self._all_held = True
        self._last: tuple[tuple[Key, ...], list[int]] = ((), [])

    def counts(self, keys: tuple[Key, ...], columns: tuple[str, ...], inside: Inside = ()) -> Counts:
        """Counts of the listed keys over the cells of ``columns``, int64, ``(len(keys), *sizes)``: of rows ``inside``
        all of these stretches."""
        if not self._counts:
            self._number_strings()
        index = self._narrowest(columns, inside)
        if index is None:
            index = self._count(tuple(sorted(columns, key=lambda c: self._table.order[c])), inside)
        if keys != self._last[0]:  # a list that is counted by one column after another is numbered once
            self._last = (keys, self._numbers_of(keys))
        return index.of(self._last[1], columns, self._table.shape(columns))

    def strings(self, least: int = 1) -> KeyCounts:
        """Every string of the only text column and its number of counted rows, NULL left out.

        Where they are many, those of fewer than ``least`` rows are counted: ``named`` reads some of them.
        """
        if not self._counts:
            self._number_strings()
        counts = self._counts[_WHOLE].counts
        if self._all_held:
            numbers: dict[bytes | None, int] = self._numbers  # type: ignore[assignment]  # one text column
            named = ((as_key(string), number) for string, number in numbers.items())
            return key_counts({string: int(counts[number]) for string, number in named if string is not None})
        what = f"counting strings of {self._table.name}"
        often = self._reader.rows(what, f"SELECT k0, n FROM {self._name} WHERE k0 IS NOT NULL AND n >= ?", [least])
        listed = key_counts({key: n for string, n in often if (key := as_key(string)) is not None})
        few = np.bincount(counts[counts < least], minlength=least).astype(np.int64)
        null = self._reader.rows(what, f"SELECT n FROM {self._name} WHERE k0 IS NULL AND n < ?", [least])
        few[[n for (n,) in null]] -= 1
        return KeyCounts(listed.keys, listed.counts, few, self.named)

    def named(self, chosen: Positions) -> tuple[str, ...]:
        """Some strings by their number of rows and their places among those of so many."""
        n, at = zip(*((n, i) for n, places in chosen.items() for i in places), strict=True)
        found = self._reader.rows(
            f"reading strings of {self._table.name}",
            f"SELECT k0 FROM (SELECT k0, n, row_number() OVER (PARTITION BY n ORDER BY k0 ASC) - 1 AS place "
            f"FROM {self._name} WHERE k0 IS NOT NULL AND n IN (SELECT unnest(?::BIGINT[]))) "
            "SEMI JOIN (SELECT unnest(?::BIGINT[]) AS n, unnest(?::BIGINT[]) AS place) USING (n, place)",
            [list(chosen), list(n), list(at)],
        )
        return tuple(key for (string,) in found if (key := as_key(string)) is not None)

    def _narrowest(self, columns: tuple[str, ...], inside: Inside) -> SparseCounts | None:
        told = _told(inside)
        holds = [s for (held, of), s in self._counts.items() if of == told and held.issuperset(columns)]
        return min(holds, key=lambda s: len(s.cells), default=None)

    def _numbers_of(self, keys: Sequence[Key]) -> list[int]:
        numbers: dict[object, int] = self._numbers  # type: ignore[assignment]  # keys are looked up, never stored
        wanted: list[Any]
        if len(self._text_columns) == 1:
            wanted = [None if k is None else k.encode("utf-8", "surrogatepass") for (k,) in keys]
        else:  # surrogates never match: no stored string has them
            wanted = [tuple([None if k is None else k.encode("utf-8", "surrogatepass") for k in key]) for key in keys]
        if not self._all_held:
            self._look_up([key for key in dict.fromkeys(wanted) if key not in numbers])
        return [numbers.get(key, -1) for key in wanted]

    def _look_up(self, keys: Sequence[Any]) -> None:
        """Number keys that nobody asked for before; -1 when they do not occur."""
        if not keys:
            return
        parts = [[key] if len(self._text_columns) == 1 else key for key in keys]
        same = " AND ".join(f"d.{p} IS NOT DISTINCT FROM w.{p}" for p in self._parts)
        lists = ", ".join(f"unnest(?::BLOB[]) AS {p}" for p in self._parts)
        found = self._reader.rows(
            f"looking strings of {self._table.name} up",
            f"SELECT w.place, d.number FROM (SELECT {lists}, unnest(range(?::BIGINT)) AS place) AS w "
            f"JOIN {self._name} AS d ON {same}",
            [*(list(column) for column in zip(*parts, strict=True)), len(keys)],
        )
        numbers: dict[Any, int] = self._numbers  # keys of one column or of several
        numbers.update(dict.fromkeys(keys, -1))
        numbers.update((keys[place], number) for place, number in found)

    @property
    def _parts(self) -> list[str]:
        return [f"k{i}" for i in range(len(self._text_columns))]

    def _number_strings(self) -> None:
        grouped = ", ".join(self._parts)
        what = f"indexing the strings of {self._table.name}"
        self._reader.rows(
            what,
            f"CREATE OR REPLACE TEMP TABLE {self._name} AS SELECT {grouped}, n, row_number() OVER () - 1 AS number "
            f"FROM ({self._groups(())})",
        )
        self._all_held = self._reader.rows(what, f"SELECT count(*) FROM {self._name}")[0][0] <= FEW
        held = f", {grouped}" if self._all_held else ""
        found = self._reader.arrays(what, f"SELECT number, n{held} FROM {self._name} ORDER BY number ASC")
        if self._all_held:
            parts = [found[p].tolist() for p in self._parts]  # masked entries, NULL, become None
            keys = (tuple(map(_bytes, key)) for key in zip(*parts, strict=True))
            named: Iterator[Any] = (key[0] for key in keys) if len(parts) == 1 else keys
            self._numbers = dict(zip(named, range(len(parts[0])), strict=True))
        counts = _small(np.asarray(found["n"], dtype=np.int64))
        offsets = np.arange(len(counts) + 1, dtype=np.int64)
        self._counts[_WHOLE] = SparseCounts((), (), offsets, np.zeros(len(counts), dtype=np.int32), counts)

    def _count(self, columns: tuple[str, ...], inside: Inside) -> SparseCounts:
        same = " AND ".join(f"s.{p} IS NOT DISTINCT FROM d.{p}" for p in self._parts)
        found = self._reader.integers(
            f"counting strings of {self._table.name}",
            f"SELECT d.number AS number, s.cell AS cell, s.n AS n FROM ({self._groups(columns, inside)}) AS s "
            f"JOIN {self._name} AS d ON {same} ORDER BY number ASC, cell ASC",
        )
        strings = len(self._counts[_WHOLE].counts)
        per_string = np.bincount(found["number"], minlength=strings)
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(per_string, dtype=np.int64)])
        index = SparseCounts(columns, self._table.shape(columns), offsets, _small(found["cell"]), _small(found["n"]))
        self._counts[frozenset(columns), _told(inside)] = index
        self._make_room()
        return index

    def _groups(self, columns: tuple[str, ...], inside: Inside = ()) -> str:
        """A query for the number ``n`` of rows of each string and cell; rows are grouped before strings are bytes."""
        named = list(zip(self._parts, self._text_columns, strict=True))
        source = self._rows.from_where(tuple(dict.fromkeys((*columns, *(n.name for n, _ in inside)))))
        inner = ", ".join(f"{self._rows.grouped_text(c)} AS {k}" for k, c in named)
        outer = ", ".join(f"{self._rows.bytes_of(c, k)} AS {k}" for k, c in named)
        cell, grouped = self._rows.cell(columns), ", ".join(self._parts)
        counted = f"SELECT {inner}, {cell} AS cell, {self._rows.inside(inside)} AS inside {source}"
        return (
            f"SELECT {outer}, cell, n FROM (SELECT {grouped}, cell, count(*) AS n FROM ({counted}) "
            f"WHERE inside GROUP BY {grouped}, cell)"
        )

    def _make_room(self) -> None:
        """Drop the oldest, those of stretches of values first; the counts of whole strings and the newest stay."""
        oldest = sorted([key for key in self._counts if key != _WHOLE][:-1], key=lambda key: not key[1])
        while oldest and sum(s.nbytes for s in self._counts.values()) > INDEX_BYTES:
            del self._counts[oldest.pop(0)]


def _told(inside: Inside) -> tuple[Interval, ...]:
    return tuple([interval for _, interval in inside])


def _bytes(value: object) -> bytes | None:
    return None if value is None else bytes(value)  # type: ignore[call-overload]  # bytes-like


def as_key(string: bytes | None) -> str | None:
    """The string that a key names; ``None`` also for what is no UTF-8: no key can name it, and an error would quote it.

    >>> as_key(b"\\xff"), as_key("Žába".encode())
    (None, 'Žába')
    """
    if string is None:
        return None
    try:
        return string.decode()
    except UnicodeDecodeError:
        return None


def _small(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int32] | npt.NDArray[np.int64]:
    """Half the memory where the values allow it."""
    if len(values) and int(values.max()) > np.iinfo(np.int32).max:
        return values
    return values.astype(np.int32)
