"""Exact answers of lowered statements, by brute force over a test's own table: what the private path would compute."""

import random
from datetime import date
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np

from dpsql.domain import (
    FIXED_POINT,
    BooleanDomain,
    CategoryDomain,
    DateDomain,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    TextDomain,
    cell_values,
    code_of,
)
from dpsql.query import DistinctCount, Form, LinearQuery

COLUMNS = (
    IntegerDomain("age", 17, 25),
    CategoryDomain("sex", ("Female", "Male")),
    CategoryDomain("city", ("Rome", "Bonn", "O'Hare", "")),
    NumberDomain("hours", (0.0, 10.5, 20.0, 40.0), outside="null", reading="cell"),
    DateDomain("joined", date(2019, 11, 1), date(2020, 2, 1), "month", reading="cell"),
    BooleanDomain("member"),
    IntegerDomain("kids", 0, 2, nullable=False),
    TextDomain("name"),
    TextDomain("pet"),
)
STRINGS = ("a", "b", "ab", "", "other", "O'x", "ü", "%")
TABLE = TableDomain("people", COLUMNS)
TWIN = TableDomain(  # the same rows with the text columns declared as categories
    "twins", (*COLUMNS[:-2], CategoryDomain("name", STRINGS), CategoryDomain("pet", STRINGS))
)


def seeded(seed: int) -> random.Random:
    """Random test inputs, the same in every run."""
    return random.Random(seed)  # noqa: S311 - no noise is drawn from it


def random_rows(seed: int, count: int) -> list[tuple[Any, ...]]:
    """Rows whose every value is in its column's domain; text columns hold strings that predicates name, and others."""
    rng = seeded(seed)
    values = [cell_values(c) for c in COLUMNS[:-2]] + [(*STRINGS, None)] * 2  # type: ignore[arg-type]
    return [tuple(rng.choice(v) for v in values) for _ in range(count)]


class Counted:
    """A DuckDB with the rows, and exact values of forms on them."""

    def __init__(self, table: TableDomain, rows: list[tuple[Any, ...]]) -> None:
        self.table = table
        self.connection = duckdb.connect()
        types = ", ".join(f'"{c.name}" {c.sql_type}' for c in table.columns)
        self.connection.execute(f"CREATE TABLE {table.name} ({types})")
        marks = ", ".join("?" * len(table.columns))
        self.connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)
        position = {c.name: i for i, c in enumerate(table.columns)}
        self._column = {name: [r[i] for r in rows] for name, i in position.items()}
        for name, prefix in table.prefixes.items():
            self._column[name] = [prefix.of(string) for string in self._column[prefix.column]]
        self._codes: dict[str, Any] = {}
        for c in table.finite:
            found = [None if v is None else code_of(c, v) for v in self._column[c.name]]
            self._codes[c.name] = np.array([len(c.values) if i is None else i for i in found], dtype=np.int64)

    def value(self, query: LinearQuery) -> Fraction:
        """The query's exact value: row by row, without contingencies."""
        total = self._of_rows(query)
        for interval in query.intervals:
            total = total * np.array([interval.holds(v) for v in self._column[interval.column]], dtype=object)
        if query.value is not None:
            domain = self.table.finite_domain(query.value)
            assert isinstance(domain, NumberDomain)
            shares = [0 if v is None else domain.share(float(v)) for v in self._column[query.value]]
            return Fraction(int((total * np.array(shares, dtype=object)).sum()), query.unit * FIXED_POINT)
        return Fraction(int(total.sum()), query.unit)

    def distinct(self, count: DistinctCount) -> int:
        """How many values of its column are in the rows that it selects."""
        rows = sum(int(t.coefficient) * self._of_rows(t.query) for t in count.rows.terms)
        held = {value for value, n in zip(self._column[count.column], rows, strict=True) if n}
        return len(held - {None})

    def _of_rows(self, query: LinearQuery) -> Any:
        """The weight of each row, without the value that is summed."""
        total = np.ones(len(next(iter(self._column.values()))), dtype=object)
        for f in query.factors:
            total = total * f.weights[tuple(self._codes[c] for c in f.columns)].astype(object)
        if query.keyed is not None:
            k = query.keyed
            index = {key: i for i, key in enumerate(k.strings)}
            assert len(index) == len(k.strings)
            where = [index.get(key, -1) for key in zip(*(self._column[t] for t in k.text_columns), strict=True)]
            padded = np.concatenate([k.weights, np.zeros((1, *k.weights.shape[1:]), dtype=np.int64)])
            total = total * padded[(np.array(where), *(self._codes[c] for c in k.columns))].astype(object)
        return total

    def exact(self, form: Form) -> float:
        """The form's value, summed exactly."""
        out = Fraction(form.constant)
        for term in form.terms:
            assert min(f.weights.min() for f in [*term.query.factors, *_keyed(term.query)] or [_One]) >= 0
            out += Fraction(term.coefficient) * self.value(term.query)
        return float(out)

    def doubt(self, form: Form) -> float:
        """How far the form's value may be from what was asked, where conditions cut bins."""
        return float(sum(Fraction(t.doubt) * self.value(t.query) for t in form.terms))


class _One:
    weights = np.ones(1)


def _keyed(query: LinearQuery) -> list[Any]:
    return [] if query.keyed is None else [query.keyed]
