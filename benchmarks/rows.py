"""A benchmark table's rows as codes of its columns, for truths and for peers that do not speak SQL."""

from dataclasses import dataclass, field

import duckdb
import numpy as np

from benchmarks.question import Question
from benchmarks.tables import BenchmarkTable
from dpsql.domain import TableDomain, cell_values


@dataclass(frozen=True)
class Rows:
    """``codes``: shape (rows, finite columns). ``text``: the text column's string in each row, NULL as ``None``."""

    domain: TableDomain
    codes: np.ndarray
    text: np.ndarray | None
    known: dict[tuple[str, ...], np.ndarray] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The finite columns, in the order of ``codes``."""
        return tuple(c.name for c in self.domain.finite)

    def values(self, column: str) -> tuple[object, ...]:
        """The values of a finite column by code, NULL last."""
        return cell_values(self.domain.finite_domain(column))

    def accepted(self, column: str, values: tuple[object, ...]) -> tuple[int, ...]:
        """The codes of a condition's values."""
        wanted = set(values)
        return tuple(i for i, v in enumerate(self.values(column)) if v in wanted)

    def contingency(self, columns: tuple[str, ...]) -> np.ndarray:
        """Counts over the cells of ``columns``."""
        found = self.known.get(columns)
        if found is None:
            shape = tuple(len(self.values(c)) for c in columns)
            picked = [self.codes[:, self.names.index(c)] for c in columns]
            flat = np.ravel_multi_index(picked, shape) if columns else np.zeros(len(self.codes), dtype=np.int64)
            found = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
            self.known[columns] = found
        return found


def load(table: BenchmarkTable) -> Rows:
    """Every row of the table; a value outside its domain gets the code of NULL."""
    names = [c.name for c in table.domain.finite]
    codes = []
    text = None
    with duckdb.connect(str(table.path), read_only=True) as con:
        for name in names:
            values = cell_values(table.domain.finite_domain(name))
            code = {v: i for i, v in enumerate(values)}
            outside = code.get(None, -1)
            fetched = con.execute(f"SELECT {name} FROM {table.domain.name} ORDER BY rowid").fetchall()
            codes.append(np.array([code.get(v, outside) for (v,) in fetched], dtype=np.int64))
        if table.text is not None:
            fetched = con.execute(f"SELECT {table.text.name} FROM {table.domain.name} ORDER BY rowid").fetchall()
            text = np.array([v for (v,) in fetched], dtype=object)
    return Rows(table.domain, np.stack(codes, axis=1), text)


def truth(con: duckdb.DuckDBPyConnection, rows_of_group: tuple[object, ...], question: Question) -> list[int]:
    """DuckDB's own counts: one, or one for each value of the group in the order given."""
    found = con.execute(question.sql).fetchall()
    if question.group is None:
        return [int(found[0][0])]
    counts = {value: int(n) for value, n in found}
    return [counts.get(value, 0) for value in rows_of_group]
