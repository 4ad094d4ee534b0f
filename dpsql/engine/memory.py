"""The engine's twin in plain Python: the contract tests compare DuckDB with it, and other tests use it as a stub.

Slow on purpose: one value after the other, no SQL.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dpsql.domain import FiniteDomain, NumberDomain, TableDomain, as_text, code_of
from dpsql.engine.first_digest import first_digest
from dpsql.engine.partition import Partition, partitions_of, shape_of
from dpsql.engine.protocol import WHOLE_RANGE, Inside, Parts, Reach
from dpsql.engine.rules import Rules
from dpsql.engine.scope import (
    check_row_counts,
    holder_of,
    inside_of,
    number_of,
    private_table,
    refuse_derived,
    scope_of,
    text_columns_of,
)
from dpsql.engine.tally import RowTally
from dpsql.engine.values import NO_TEXT, content_of, data, field, row_digest
from dpsql.errors import EngineError, PolicyError, UnknownName
from dpsql.policy import Policy
from dpsql.private import Private
from dpsql.query import Counts, Interval, Key, KeyCounts, Regions, key_counts

Columns = Mapping[str, Sequence[Any]]


class MemoryEngine:
    """Private and public tables as Arrow tables or lists of Python values by column; implements ``Engine``.

    ``views``: names of tables that stand for views.

    >>> from fractions import Fraction
    >>> from dpsql.domain import BooleanDomain
    >>> from dpsql.policy import Privacy
    >>> policy = Policy(Privacy(Fraction(1), Fraction(0)), (TableDomain("t", (BooleanDomain("member"),)),))
    >>> MemoryEngine(policy, {"t": {"member": [True, None]}}).contingency("t", ())
    <private>
    """

    name = "memory"

    def __init__(
        self,
        policy: Policy,
        tables: Mapping[str, pa.Table | Columns],
        *,
        views: Collection[str] = (),
        rules: Rules | None = None,
    ) -> None:
        refuse_derived(policy, "in memory")
        self._policy = policy
        self._rules = Rules() if rules is None else rules
        if self._rules.fingerprint == 1:
            raise EngineError(
                "only DuckDB knows data again by the first rules", hint="open this ledger with the database itself"
            )
        self._views = frozenset(name.lower() for name in views)
        self._tables = {name.lower(): t if isinstance(t, pa.Table) else dict(t) for name, t in tables.items()}
        self._columns: dict[str, dict[str, Sequence[Any]]] = {}
        self._closed = False
        for table in policy.tables:
            if table.name.lower() not in self._tables:
                raise PolicyError("the database has no such table or view", path=f"tables.{table.name}")
            found = _lists(self._tables[table.name.lower()])
            wanted = [c.name for c in table.columns] + ([table.unit] if table.unit is not None else [])
            for name in wanted:
                if name.lower() not in found:
                    raise PolicyError("the table has no such column", path=f"tables.{table.name}.columns.{name}")
            self._columns[table.name] = found
        check_row_counts(policy, self.is_base_table)
        kept = {t.name: list(_keep(t, self._columns[t.name], self._rules.unit_rows)) for t in policy.tables}
        self._kept = {name: [row for _, row in rows] for name, rows in kept.items()}
        self._units = {name: [unit for unit, _ in rows] for name, rows in kept.items()}

    def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
        """Counts over the cells of ``columns``, int64; see the protocol."""
        domain = self._table(table)
        scope_of(domain, columns)
        out = np.zeros(domain.shape(columns), dtype=np.int64)
        for codes, _, _ in self._kept[domain.name]:
            out[tuple(codes[c] for c in columns)] += 1
        out.setflags(write=False)
        return Private(out)

    def part_counts(
        self, table: str, partitions: tuple[Partition, ...], intervals: tuple[Interval, ...] = ()
    ) -> Private[Counts]:
        """Counts over the parts of ``partitions``, int64; see the protocol."""
        domain = self._table(table)
        inside_of(domain, intervals)
        return self._in_parts(domain, partitions, intervals, lambda _: (1,))

    def _in_parts(
        self,
        table: TableDomain,
        partitions: tuple[Partition, ...],
        intervals: tuple[Interval, ...],
        of: Callable[[Mapping[str, float | None]], tuple[int, ...]],
    ) -> Private[Counts]:
        """Sums of the numbers that ``of`` makes of a row's: one, or one for each of a last axis."""
        length = len(of(dict.fromkeys([c.name for c in table.finite])))
        out = np.zeros((*shape_of(table, partitions), length), dtype=np.int64)
        for codes, _, numbers in self._kept[table.name]:
            if all(i.holds(numbers[i.column]) for i in intervals):
                out[tuple(int(p.labels[tuple(codes[c] for c in p.columns)]) for p in partitions)] += of(numbers)
        out.setflags(write=False)
        return Private(out if length > 1 else out[..., 0])

    def part_sums(
        self, table: str, number: str, partitions: Parts, intervals: Inside = (), reach: Reach = WHOLE_RANGE
    ) -> Private[Counts]:
        """Rows and sums of shares over the parts of ``partitions``, int64; see the protocol."""
        domain, (low, high) = self._table(table), reach
        summed, _ = number_of(domain, number), inside_of(domain, intervals)

        def share(numbers: Mapping[str, float | None]) -> tuple[int, ...]:
            return 1, min(max(_share(summed, numbers), low), high) - low

        return self._in_parts(domain, partitions, intervals, share)

    def sums(
        self, table: str, number: str, columns: tuple[str, ...], intervals: tuple[Interval, ...] = ()
    ) -> Private[Counts]:
        """Sums of shares over the cells of ``columns``; see the protocol."""
        domain = self._table(table)
        scope_of(domain, columns)
        summed, _ = number_of(domain, number), inside_of(domain, intervals)

        def share(numbers: Mapping[str, float | None]) -> int:
            return _share(summed, numbers) if all(i.holds(numbers[i.column]) for i in intervals) else 0

        return Private(self._summed(domain, columns, share))

    def positions(self, table: str, number: str) -> Private[Counts]:
        """Sums of positions inside the bins of ``number``; see the protocol."""
        domain = self._table(table)
        column = number_of(domain, number)

        def position(numbers: Mapping[str, float | None]) -> int:
            x = numbers[column.name]
            return 0 if x is None else column.position(x)

        return Private(self._summed(domain, (column.name,), position))

    def value_counts(self, table: str, number: str, marks: tuple[float, ...]) -> Private[Counts]:
        """Rows at and between ``marks``; see the protocol."""
        domain = self._table(table)
        column, out = number_of(domain, number), np.zeros(2 * len(marks), dtype=np.int64)
        for _, _, numbers in self._kept[domain.name]:
            x = numbers[column.name]
            place = -1 if x is None else bisect_right(marks, x) - 1
            if place >= 0:
                out[2 * place + (x != marks[place])] += 1
        out.setflags(write=False)
        return Private(out)

    def _summed(
        self, table: TableDomain, columns: Sequence[str], of: Callable[[Mapping[str, float | None]], int]
    ) -> Counts:
        out = np.zeros(table.shape(tuple(columns)), dtype=np.int64)
        for codes, _, numbers in self._kept[table.name]:
            out[tuple(codes[c] for c in columns)] += of(numbers)
        out.setflags(write=False)
        return out

    def keyed_counts(
        self,
        table: str,
        text_columns: tuple[str, ...],
        keys: tuple[Key, ...],
        columns: tuple[str, ...],
        intervals: Inside = (),
    ) -> Private[Counts]:
        """Counts for each listed key and cell, int64; see the protocol."""
        domain = self._table(table)
        scope_of(domain, columns)
        text_columns_of(domain, text_columns)
        inside_of(domain, intervals)
        counted = Counter[tuple[Key, tuple[int, ...]]]()
        for codes, texts, numbers in self._kept[domain.name]:
            if all(i.holds(numbers[i.column]) for i in intervals):
                key, cell = tuple(_text(domain, texts, c) for c in text_columns), tuple(codes[c] for c in columns)
                counted[key, cell] += 1
        out = np.zeros((len(keys), *domain.shape(columns)), dtype=np.int64)
        for (key, cell), n in counted.items():
            for i, wanted in enumerate(keys):
                if wanted == key:
                    out[(i, *cell)] = n
        out.setflags(write=False)
        return Private(out)

    def key_counts(self, table: str, text_column: str, least: int = 1) -> Private[KeyCounts]:
        """Every string of a text column and its number of counted rows; see the protocol."""
        domain = self._table(table)
        text_columns_of(domain, (text_column,))
        found = (_text(domain, texts, text_column) for _, texts, _ in self._kept[domain.name])
        return Private(key_counts(Counter(s for s in found if s is not None)))

    def distinct_counts(self, table: str, column: str, regions: Regions, most: int = 1) -> Private[Counts]:
        """How many values of ``column`` have so many rows in each region; see the protocol."""
        domain = self._table(table)
        holder_of(domain, column)
        partitions, listed = partitions_of(domain, regions), {key: i for i, key in enumerate(regions.keys)}
        held: Counter[tuple[int, Any]] = Counter()
        for (codes, texts, _), unit in zip(self._kept[domain.name], self._units[domain.name], strict=True):
            value = unit if column == domain.unit else _text(domain, texts, column)
            key = tuple(_text(domain, texts, c) for c in regions.text_columns)
            at = [listed.get(key, len(listed))] if regions.text_columns else []
            at += [int(p.labels[tuple(codes[c] for c in p.columns)]) for p in partitions]
            region = int(regions.numbers[tuple(at)])
            if value is not None and region >= 0:
                held[region, value] += 1
        out = np.zeros((regions.size, most), dtype=np.int64)
        for (region, _), n in held.items():
            out[region, min(n, most) - 1] += 1
        out.setflags(write=False)
        return Private(out)

    @property
    def rules(self) -> Rules:
        """Fixed when the engine was made."""
        return self._rules

    def is_base_table(self, table: str) -> bool:
        """Whether it was not given as a view."""
        return private_table(self._policy, table).name.lower() not in self._views

    def is_of_integers(self, table: str, column: str) -> bool:
        """Whether it was given as an Arrow column of whole numbers: lists have no type."""
        given = self._tables[private_table(self._policy, table).name.lower()]
        types = {f.name.lower(): f.type for f in given.schema} if isinstance(given, pa.Table) else {}
        return column.lower() in types and pa.types.is_integer(types[column.lower()])

    def fingerprint(self) -> str:
        """SHA-256 over the private tables' values as multisets of rows."""
        return data({t.name: self._content(t) for t in self._policy.tables})

    def table_fingerprints(self) -> tuple[str, ...]:
        """The content of each private table by itself."""
        return tuple(sorted({self._content(t) for t in self._policy.tables}))

    def other_table_fingerprints(self) -> tuple[str, ...]:
        """None: there is no ledger of this engine by other rules."""
        return ()

    def _content(self, table: TableDomain) -> str:
        columns = sorted(self._columns[table.name].items())
        told = [values for _, values in columns if not any(isinstance(v, NO_TEXT) for v in values)]
        number = len(next(iter(self._columns[table.name].values()), ()))
        rows = zip(*told, strict=True) if told else [()] * number
        return content_of([name for name, _ in columns], rows)

    @property
    def address(self) -> str:
        """None: it is nowhere but here."""
        return ""

    @property
    def origins(self) -> tuple[str, ...]:
        """None: it is no copy."""
        return ()

    @property
    def attached(self) -> tuple[str, ...]:
        """None: its tables are in one place."""
        return ()

    def tables_read(self) -> dict[str, frozenset[str]]:
        """The columns of each private table, in lower case."""
        return {name.lower(): frozenset(columns) for name, columns in self._columns.items()}

    def out_of_domain(self, table: str) -> dict[str, int]:
        """Values that are not NULL but undeclared, per finite column; rows beyond a word. For the owner alone."""
        domain = self._table(table)
        columns, beyond = self._columns[domain.name], {}
        for name, most in domain.most_rows.items():
            held = Counter(texts[name] for _, texts, _ in self._kept[domain.name] if texts[name] is not None)
            beyond[name] = sum(n for n in held.values() if n > most)
        return beyond | {
            c.name: sum(v is not None and _is_outside(c, v) for v in columns[c.name.lower()]) for c in domain.finite
        }

    def row_tally(self, table: str) -> RowTally:
        """How many rows are counted, and why not the others. For the owner alone."""
        domain = self._table(table)
        columns = self._columns[domain.name]
        number = len(next(iter(columns.values()), ()))
        counted = [i for i, _ in _counted(domain, columns)]
        if domain.unit is None:
            return RowTally(number, number - len(counted))
        unit = columns[domain.unit.lower()]
        sizes = Counter(unit[i] if self._rules.unit_rows == 1 else field(unit[i]) for i in counted)
        beyond = [n - domain.max_rows_per_unit for n in sizes.values() if n > domain.max_rows_per_unit]
        without = sum(unit[i] is None for i in counted)
        return RowTally(number, number - len(counted), sum(beyond), len(sizes), len(beyond), without)

    def public_table(self, name: str) -> pa.Table:
        """A public table, whole."""
        found = self._tables.get(name.lower())
        if found is None or name.lower() not in {n.lower() for n in self._policy.public_tables}:
            raise UnknownName(f"there is no public table {name}", name=name, suggestions=self._policy.public_tables)
        return found if isinstance(found, pa.Table) else pa.table(found)

    def close(self) -> None:
        """Idempotent."""
        self._closed = True

    def _table(self, name: str) -> TableDomain:
        if self._closed:
            raise EngineError("the connection to the private database is closed", hint="open a new one")
        return private_table(self._policy, name)


def _share(summed: NumberDomain, numbers: Mapping[str, float | None]) -> int:
    x = numbers[summed.name]
    return 0 if x is None else summed.share(x)


def _is_outside(column: FiniteDomain, value: Any) -> bool:
    clipped = isinstance(column, NumberDomain) and column.clipped(float(value)) != float(value)
    return clipped or code_of(column, value) is None


def _text(table: TableDomain, texts: Mapping[str, str | None], column: str) -> str | None:
    prefix = table.prefixes.get(column)
    return texts[column] if prefix is None else prefix.of(texts[prefix.column])


def _lists(table: pa.Table | Columns) -> dict[str, Sequence[Any]]:
    if isinstance(table, pa.Table):
        return {name.lower(): table.column(name).to_pylist() for name in table.column_names}
    return {name.lower(): list(values) for name, values in table.items()}


_Row = tuple[dict[str, int], dict[str, str | None], dict[str, float | None]]


def _keep(table: TableDomain, columns: Columns, rule: int) -> Iterator[tuple[Any, _Row]]:
    """Unit (``None`` for NULL) and (codes, texts, numbers) of the counted rows.

    The two rules are those of :mod:`dpsql.engine.duckdb.kept_rows`.
    """
    units: dict[Any, list[tuple[Any, _Row]]] = {}
    unit = columns[table.unit.lower()] if table.unit is not None else None
    for i, row in _counted(table, columns):
        codes, texts, numbers = row
        if unit is None:
            yield None, row
        elif rule == 1:
            digest = first_digest(unit, unit[i], [*codes.values(), *texts.values()])
            units.setdefault(unit[i], []).append((digest, row))
        else:
            told = [unit[i], *codes.values(), *texts.values(), *numbers.values()]
            units.setdefault(field(unit[i]), []).append((row_digest(told), row))
    nobody = None if rule == 1 else field(None)
    for told, rows in units.items():
        rows.sort(key=lambda row: row[0])
        yield from ((None if told == nobody else told, row) for _, row in rows[: table.max_rows_per_unit])


def _counted(table: TableDomain, columns: Columns) -> Iterator[tuple[int, _Row]]:
    """(position, row) of the rows with a declared value wherever one is required."""
    for i in range(len(next(iter(columns.values()), ()))):
        codes: dict[str, int] = {}
        texts: dict[str, str | None] = {}
        numbers: dict[str, float | None] = {}
        counted = True
        for c in table.finite:
            value = columns[c.name.lower()][i]
            found = None if value is None else code_of(c, value)
            counted = counted and (found is not None or c.nullable)
            codes[c.name] = len(c.values) if found is None else found
            if isinstance(c, NumberDomain) and c.is_binned:
                x = None if value is None else c.clipped(float(value))
                numbers[c.name] = 0.0 if x == 0 else x
        for t in table.text:
            value = columns[t.name.lower()][i]
            counted = counted and (value is not None or t.nullable)
            texts[t.name] = None if value is None else as_text(value)
        if counted:
            yield i, (codes, texts, numbers)
