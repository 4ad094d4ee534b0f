"""Kinds of questions, each from a seed: what analysts ask who do not know how the answers are made.

``ad hoc``: 1 to 4 columns; ``narrow``: short ranges or single values, one on the finest column; ``five or six``: that
many columns; ``selective``: 1 to 19 rows; ``crosstabs``: 40 to 600 cells; ``drill-downs``: each question refines the
last, up to six columns; ``or, not``: boolean combinations of three to five columns; ``three columns``: all questions of
a session on the same three; ``strings``: lists of a text column's strings, absent ones among them; ``sums``,
``averages``: of a column of numbers, under conditions on none to three others; ``rows alike``: what one row has in two
to four columns, as who looks at a case asks how many are like it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from math import prod
from typing import Protocol

import numpy as np

from benchmarks.question import Condition, Question
from benchmarks.tables import BenchmarkTable
from benchmarks.workload import Column, questions

CROSSTAB_CELLS = (40, 600)
SELECTIVE_ROWS = (1, 19)
DEPTH = 6
_TRIES = 400


@dataclass(frozen=True)
class Asked:
    """A statement of numbers: the first ``groups`` columns of its rows name the group, the last is the number.

    ``values``: the range of the values that are added up or averaged; ``None`` of a count. ``counted``: of an average,
    the statement that counts the rows it is taken over.
    """

    kind: str
    sql: str
    groups: int = 0
    values: tuple[float, float] | None = None
    counted: str | None = None


Stream = Iterator[Asked]


class Rows(Protocol):
    """The table as its owner sees it: for questions about few rows, and about rows that exist."""

    def count(self, sql: str) -> int: ...

    def row(self, number: int, columns: Sequence[str]) -> Sequence[object]: ...


class Stranger:
    """One analyst's questions on a table of ``rows``."""

    def __init__(self, table: BenchmarkTable, rows: Rows, seed: int) -> None:
        self.table = table
        self.rng = np.random.default_rng([seed, 11])
        self.columns = table.columns
        self._name = table.domain.name
        self._rows = rows

    def _some(self, number: int) -> list[Column]:
        chosen = self.rng.choice(len(self.columns), size=min(number, len(self.columns)), replace=False)
        return [self.columns[i] for i in chosen.tolist()]

    def _values(self, column: Column, most: int) -> Condition:
        """A range where there is an order, else a list; at most ``most`` values."""
        size = len(column.values)
        number = int(self.rng.integers(1, min(most, max(1, size - 1)) + 1))
        if column.ordered:
            low = int(self.rng.integers(size - number + 1))
            return Condition(column.name, column.values[low : low + number], ranged=number > 1)
        chosen = sorted(self.rng.choice(size, size=number, replace=False).tolist())
        return Condition(column.name, tuple(column.values[i] for i in chosen))

    def _broad(self, column: Column) -> Condition:
        return self._values(column, max(1, (2 * len(column.values)) // 3))

    def _whole(self, kind: str, conditions: Sequence[Condition]) -> Asked:
        return Asked(kind, Question(self._name, tuple(conditions)).sql)

    # --- the kinds -----------------------------------------------------------------------------------------------

    def ad_hoc(self) -> Stream:
        while True:
            seed = int(self.rng.integers(1 << 30))
            for q in questions(self._name, self.columns, 50, seed):
                yield Asked("ad hoc", q.sql, int(q.group is not None))

    def narrow(self) -> Stream:
        fine = sorted(self.columns, key=lambda c: (not c.ordered, -len(c.values)))[: max(1, len(self.columns) // 3)]
        while True:
            first = fine[int(self.rng.integers(len(fine)))]
            others = [c for c in self._some(int(self.rng.integers(0, 3))) if c is not first]
            yield self._whole("narrow", [self._values(first, 3), *(self._values(c, 2) for c in others)])

    def many(self) -> Stream:
        while True:
            chosen = self._some(int(self.rng.integers(5, 7)))
            yield self._whole("five or six", [self._broad(c) for c in chosen])

    def selective(self) -> Stream:
        low, high = SELECTIVE_ROWS
        while True:
            asked = self._whole("selective", [self._values(c, 2) for c in self._some(2)])
            for _ in range(_TRIES):
                number = int(self.rng.integers(2, 5))
                asked = self._whole("selective", [self._values(c, 2) for c in self._some(number)])
                if low <= self._rows.count(asked.sql) <= high:
                    break
            yield asked

    def crosstabs(self) -> Stream:
        low, high = CROSSTAB_CELLS
        sets = [g for n in (2, 3) for g in combinations(self.columns, n)]
        sets = [g for g in sets if low <= prod(len(c.values) for c in g) <= high]
        while sets:
            group = sets[int(self.rng.integers(len(sets)))]
            names = ", ".join(c.name for c in group)
            where = [self._broad(c) for c in self._some(1) if c not in group and self.rng.random() < 0.5]
            text = f" WHERE {where[0].sql}" if where else ""
            sql = f"SELECT {names}, COUNT(*) FROM {self._name}{text} GROUP BY {names}"
            yield Asked("crosstabs", sql, len(group))

    def drill_downs(self) -> Stream:
        while True:
            where: list[Condition] = []
            for column in self._some(DEPTH):
                where.append(self._broad(column))
                yield self._whole("drill-downs", where)

    def or_not(self) -> Stream:
        while True:
            parts = [self._broad(c).sql for c in self._some(int(self.rng.integers(3, 6)))]
            text = parts[0]
            for part in parts[1:]:
                other = f"NOT {part}" if self.rng.random() < 0.3 else part
                text = f"({text}) {'OR' if self.rng.random() < 0.6 else 'AND'} {other}"
            if self.rng.random() < 0.2:
                text = f"NOT ({text})"
            yield Asked("or, not", f"SELECT COUNT(*) FROM {self._name} WHERE {text}")

    def three(self) -> Stream:
        chosen = self._some(3)
        while len(chosen) == 3:
            number = int(self.rng.integers(2, 4))
            picked = [chosen[i] for i in sorted(self.rng.choice(3, size=number, replace=False).tolist())]
            yield self._whole("three columns", [self._broad(c) for c in picked])

    def strings(self) -> Stream:
        text = self.table.text
        while text is not None:
            seed = int(self.rng.integers(1 << 30))
            for q in questions(self._name, self.columns, 200, seed, text):
                if any(c.column == text.name for c in q.conditions):
                    yield Asked("strings", q.sql, int(q.group is not None))

    def sums(self) -> Stream:
        for column, where in self._numbers():
            sql = f"SELECT SUM({column.name}) FROM {self._name}{where}"
            yield Asked("sums", sql, values=_range(column))

    def averages(self) -> Stream:
        for column, where in self._numbers():
            text = f"FROM {self._name}{where}"
            counted = f"SELECT COUNT({column.name}) {text}"
            sql = f"SELECT AVG({column.name}) {text}"
            yield Asked("averages", sql, values=_range(column), counted=counted)

    def alike(self) -> Stream:
        number = self._rows.count(f"SELECT COUNT(*) FROM {self._name}")
        while number:
            chosen = self._some(int(self.rng.integers(2, 5)))
            row = self._rows.row(int(self.rng.integers(number)), [c.name for c in chosen])
            where = [_holding(c, value) for c, value in zip(chosen, row, strict=True)]
            yield self._whole("rows alike", [w for w in where if w is not None])

    def _numbers(self) -> Iterator[tuple[Column, str]]:
        """A column of numbers, and conditions on none to three others."""
        numbers = [c for c in self.columns if c.ordered and _range(c) is not None]
        while numbers:
            column = numbers[int(self.rng.integers(len(numbers)))]
            others = [c for c in self._some(int(self.rng.integers(0, 4))) if c is not column]
            text = " AND ".join(self._broad(c).sql for c in others)
            yield column, f" WHERE {text}" if text else ""


def _holding(column: Column, value: object) -> Condition | None:
    """The condition that a value meets: it alone, or where numbers have no list the two ends around it."""
    if value in column.values:
        return Condition(column.name, (value,))
    ends = [v for v in column.values if isinstance(v, int | float)] if isinstance(value, int | float | Decimal) else []
    below, above = [v for v in ends if v <= value], [v for v in ends if v >= value]  # type: ignore[operator]
    return Condition(column.name, (max(below), min(above)), ranged=True) if below and above else None


def _range(column: Column) -> tuple[float, float] | None:
    """The least and the largest value of a column of numbers."""
    numbers = [float(v) for v in column.values if isinstance(v, int | float)]
    return (min(numbers), max(numbers)) if numbers else None


KINDS: Mapping[str, Callable[[Stranger], Stream]] = {
    "ad hoc": Stranger.ad_hoc,
    "narrow": Stranger.narrow,
    "five or six": Stranger.many,
    "selective": Stranger.selective,
    "crosstabs": Stranger.crosstabs,
    "drill-downs": Stranger.drill_downs,
    "or, not": Stranger.or_not,
    "three columns": Stranger.three,
    "strings": Stranger.strings,
    "sums": Stranger.sums,
    "averages": Stranger.averages,
    "rows alike": Stranger.alike,
}


def stream(stranger: Stranger, kinds: Sequence[str], number: int) -> list[Asked]:
    """``number`` statements, the kinds in turn; those that the table has nothing for are left out."""
    streams = [KINDS[k](stranger) for k in kinds]
    out: list[Asked] = []
    while streams and len(out) < number:
        for one in list(streams):
            asked = next(one, None)
            if asked is None:
                streams.remove(one)
            elif len(out) < number:
                out.append(asked)
    return out
