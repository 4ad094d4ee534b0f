"""The private engine on a SQL database: counts by cell are what leaves it, never a row.

It answers the private questions of ``dpsql.engine.protocol`` by grouped counts in the database's own dialect. Which
rows are counted, and by what data are known again, is the same as in every engine; tests/contracts holds it to that.
"""

from collections.abc import Sequence
from math import prod
from threading import RLock

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dpsql.domain import NumberDomain, TableDomain
from dpsql.engine.contingencies import CACHE_BYTES, WHOLE_CELLS, Contingencies, Scope
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
from dpsql.engine.sources import OverSources
from dpsql.engine.sql.cells import Cells, in_parts, private, spread
from dpsql.engine.sql.dialect import Database, SqlTable
from dpsql.engine.sql.distinct import distinct_query
from dpsql.engine.sql.keyed import keyed_query
from dpsql.engine.sql.rows import SqlRows, text_of, token_of
from dpsql.engine.tally import RowTally
from dpsql.engine.values import content, data
from dpsql.errors import EngineError, PolicyError, UnknownName
from dpsql.policy import Policy
from dpsql.private import Private
from dpsql.query import Counts, Interval, Key, KeyCounts, Regions, key_counts

HELD_BYTES = 256 << 20
"""Room for the combinations of a wide table that occur, eight bytes a code; with more of them each scope is a scan."""


class SqlEngine(OverSources):
    """Counts rows of private tables in a SQL database; implements :class:`dpsql.engine.protocol.OwnersEngine`.

    The policy is checked against the database's catalog: PolicyError with the key's path. Counts are kept once counted.
    ``database`` is closed with the engine. Safe to use from several threads.
    """

    def __init__(self, database: Database, policy: Policy, rules: Rules | None = None) -> None:
        refuse_derived(policy, "in the database of a server or of Spark")
        self._database, self._policy = database, policy
        self._rules = Rules() if rules is None else rules
        self._lock = RLock()
        self._contingencies = Contingencies(CACHE_BYTES)
        self._contents: dict[str, str] = {}
        self._held: dict[str, Cells | None] = {}
        try:
            if self._rules.fingerprint == 1 or self._rules.unit_rows == 1:
                raise EngineError(
                    "only a DuckDB file is known again by the first rules",
                    hint="open this ledger with the database that it was begun with",
                )
            self._sources: dict[str, SqlTable] = {
                t.name: self._source(t.name, f"tables.{t.name}") for t in policy.tables
            }
            self._public = {name.lower(): self._public_source(name) for name in policy.public_tables}
            self._rows = {t.name: SqlRows(database.dialect, t, self._sources[t.name]) for t in policy.tables}
            check_row_counts(policy, self.is_base_table)
        except BaseException:
            database.close()
            raise

    def _source(self, name: str, path: str) -> SqlTable:
        found = self._database.table(name)
        if found is None:
            raise PolicyError("the database has no such table or view", path=path, hint="check its name and schema")
        return found

    def _public_source(self, name: str) -> SqlTable:
        found = self._source(name, "public.tables")
        if not found.is_base_table:
            raise PolicyError(
                f"{name!r} is a view, and may show rows of a private table",
                path="public.tables",
                hint="publish a table of its own, made from what everybody may know",
            )
        if found.sql in {source.sql for source in self._sources.values()}:
            raise PolicyError(
                f"{name!r} is a private table", path="public.tables", hint="remove it here or under [tables]"
            )
        return found

    @property
    def name(self) -> str:
        """The database's."""
        return self._database.name

    @property
    def rules(self) -> Rules:
        """Fixed when the engine was opened."""
        return self._rules

    @property
    def address(self) -> str:
        """The database's, without a password."""
        return self._database.address

    @property
    def origins(self) -> tuple[str, ...]:
        """None: it is no copy."""
        return ()

    @property
    def attached(self) -> tuple[str, ...]:
        """None: its tables are in one place."""
        return ()

    def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
        """Counts over the cells of ``columns``, int64; see the protocol."""
        domain = private_table(self._policy, table)
        scope = scope_of(domain, columns)
        with self._lock:
            counts = self._contingencies.get(domain.name, scope)
            counts = self._count(domain, scope) if counts is None else counts
        if columns != scope:
            counts = np.ascontiguousarray(counts.transpose([scope.index(c) for c in columns]))
        counts.setflags(write=False)
        return Private(counts)

    def _count(self, domain: TableDomain, scope: Scope) -> Counts:
        """One scan, over all finite columns where their cells are few enough."""
        whole = tuple(c.name for c in domain.finite)
        widest = whole if prod(domain.shape(whole)) <= WHOLE_CELLS else scope
        cells, values = self._counted(domain, widest)
        counts = spread(cells, values, domain.shape(widest))
        self._contingencies.put(domain.name, widest, counts)
        found = self._contingencies.get(domain.name, scope)
        return spread(*self._counted(domain, scope), domain.shape(scope)) if found is None else found

    def _counted(self, domain: TableDomain, columns: Sequence[str]) -> Cells:
        """Codes ``(cells, columns)`` of cells that have rows, one cell several times perhaps, and numbers of rows."""
        names = tuple(c.name for c in domain.finite)
        if domain.name not in self._held:
            found = None
            if prod(domain.shape(names)) > WHOLE_CELLS:
                most = HELD_BYTES // (8 * (len(names) + 1))
                found = self._grouped(domain, names, "count(*)", most=most + 1)
                found = None if len(found[1]) > most else found
            self._held[domain.name] = found
        held = self._held[domain.name]
        if held is None:
            return self._grouped(domain, columns, "count(*)")
        return held[0][:, [names.index(c) for c in columns]], held[1]

    def _grouped(
        self,
        domain: TableDomain,
        columns: Sequence[str],
        summed: str | tuple[str, ...],
        also: Sequence[str] = (),
        most: int | None = None,
        intervals: Sequence[Interval] = (),
    ) -> Cells:
        """Codes ``(groups, columns)`` of the groups that have rows, ``most`` of them, and BIGINTs for each."""
        rows, inside = self._rows[domain.name], inside_of(domain, intervals)
        codes, numbers = rows.codes(columns), (summed,) if isinstance(summed, str) else summed
        grouped = f" GROUP BY {', '.join(codes)}" if codes else ""
        found = self._numbers(
            f"counting rows of {domain.name}",
            f"SELECT {', '.join([*codes, *(f'CAST({n} AS BIGINT) AS n{i}' for i, n in enumerate(numbers))])} "
            f"FROM ({rows.query([*columns, *also, *(n.name for n, _ in inside)])}) AS counted"
            f"{rows.where(inside)}{grouped}{'' if most is None else f' LIMIT {most}'}",
        )
        return found[:, : len(codes)], found[:, -1] if isinstance(summed, str) else found[:, len(codes) :]

    def _numbers(self, what: str, sql: str) -> npt.NDArray[np.int64]:
        """A table of whole numbers; a NULL, the sum of nothing, is 0."""
        table = self._database.arrow(what, sql)
        columns = [c.fill_null(0).to_numpy().astype(np.int64) for c in table.columns]
        return np.stack(columns, axis=1) if columns else np.zeros((table.num_rows, 0), dtype=np.int64)

    def part_counts(
        self, table: str, partitions: tuple[Partition, ...], intervals: tuple[Interval, ...] = ()
    ) -> Private[Counts]:
        """Counts over the parts of ``partitions``, from the counts of cells that have rows; see the protocol."""
        domain = private_table(self._policy, table)
        columns = [c for p in partitions for c in p.columns]
        shape_of(domain, partitions)
        with self._lock:
            told = self._grouped(domain, columns, "count(*)", intervals=intervals) if intervals else None
            return in_parts(partitions, *(self._counted(domain, columns) if told is None else told))

    def part_sums(
        self, table: str, number: str, partitions: Parts, intervals: Inside = (), reach: Reach = WHOLE_RANGE
    ) -> Private[Counts]:
        """Rows and sums of shares over the parts of ``partitions``; see the protocol."""
        domain, (low, high) = private_table(self._policy, table), reach
        column, columns = number_of(domain, number), [c for p in partitions for c in p.columns]
        shape_of(domain, partitions)
        with self._lock:
            share = f"least(greatest({self._rows[domain.name].share(column)}, {low}), {high}) - {low}"
            both = "count(*)", f"sum({share})"
            return in_parts(partitions, *self._grouped(domain, columns, both, (column.name,), intervals=intervals))

    def sums(
        self, table: str, number: str, columns: tuple[str, ...], intervals: tuple[Interval, ...] = ()
    ) -> Private[Counts]:
        """Sums of shares over the cells of ``columns``; see the protocol."""
        domain = private_table(self._policy, table)
        scope_of(domain, columns)
        column = number_of(domain, number)
        return self._summed(domain, columns, column, self._rows[domain.name].share(column), intervals)

    def positions(self, table: str, number: str) -> Private[Counts]:
        """Sums of positions inside the bins of ``number``; see the protocol."""
        domain = private_table(self._policy, table)
        column = number_of(domain, number)
        return self._summed(domain, (column.name,), column, self._rows[domain.name].position(column))

    def value_counts(self, table: str, number: str, marks: tuple[float, ...]) -> Private[Counts]:
        """Rows at and between ``marks``; see the protocol."""
        domain = private_table(self._policy, table)
        column, rows = number_of(domain, number), self._rows[domain.name]
        with self._lock:
            found = self._numbers(
                f"counting values of {domain.name}.{column.name}",
                f"SELECT cell, CAST(count(*) AS BIGINT) AS n FROM (SELECT {rows.value_cell(column, marks)} AS cell "
                f"FROM ({rows.query((column.name,))}) AS counted) AS valued WHERE cell >= 0 GROUP BY cell",
            )
        return private(spread(found[:, :1], found[:, 1], (2 * len(marks),)))

    def _summed(
        self,
        domain: TableDomain,
        columns: tuple[str, ...],
        number: NumberDomain,
        of: str,
        intervals: tuple[Interval, ...] = (),
    ) -> Private[Counts]:
        with self._lock:
            cells, values = self._grouped(domain, columns, f"sum({of})", (number.name,), intervals=intervals)
        return private(spread(cells, values, domain.shape(columns)))

    def keyed_counts(
        self,
        table: str,
        text_columns: tuple[str, ...],
        keys: tuple[Key, ...],
        columns: tuple[str, ...],
        intervals: Inside = (),
    ) -> Private[Counts]:
        """Counts for each listed key and cell; other strings stay in the database. See the protocol."""
        domain = private_table(self._policy, table)
        scope_of(domain, columns)
        text_columns_of(domain, text_columns)
        inside = inside_of(domain, intervals)
        out = np.zeros((len(keys), *domain.shape(columns)), dtype=np.int64)
        numbers = {token: i for i, token in enumerate(dict.fromkeys(map(token_of, keys)))}
        if numbers:
            rows = self._rows[domain.name]
            key = self._database.dialect.lookup(numbers, rows.token(text_columns))
            sql = keyed_query(rows, key, text_columns, columns, inside)
            with self._lock:
                found = self._numbers(f"counting strings of {domain.name}", sql)
            distinct = spread(found[:, :-1], found[:, -1], (len(numbers), *domain.shape(columns)))
            out = distinct[[numbers[token_of(key)] for key in keys]]
        return private(out)

    def key_counts(self, table: str, text_column: str, least: int = 1) -> Private[KeyCounts]:
        """Every string of a text column and its number of counted rows; see the protocol."""
        domain = private_table(self._policy, table)
        text_columns_of(domain, (text_column,))
        rows = self._rows[domain.name]
        with self._lock:
            found = self._database.rows(
                f"counting strings of {domain.name}",
                f"SELECT k, CAST(count(*) AS BIGINT) AS n FROM (SELECT {rows.token((text_column,))} AS k "
                f"FROM ({rows.query((text_column,))}) AS counted) AS keyed GROUP BY k",
            )
        named = ((text_of(token), n) for token, n in found)
        return Private(key_counts({string: int(n) for string, n in named if string is not None}))

    def distinct_counts(self, table: str, column: str, regions: Regions, most: int = 1) -> Private[Counts]:
        """How many values of ``column`` have so many rows in each region; see the protocol."""
        domain = private_table(self._policy, table)
        holder_of(domain, column)
        partitions, rows = partitions_of(domain, regions), self._rows[domain.name]
        sql = distinct_query(self._database.dialect, rows, domain, column, partitions, regions, int(most))
        with self._lock:
            found = self._numbers(f"counting different values of {domain.name}", sql)
        counts = np.zeros((regions.size, most), dtype=np.int64)
        counts[found[:, 0], found[:, 1] - 1] = found[:, 2]
        return private(counts)

    def fingerprint(self) -> str:
        """SHA-256 over the content of the private tables; see the protocol."""
        return data({t.name: self._content(self._sources[t.name]) for t in self._policy.tables})

    def table_fingerprints(self) -> tuple[str, ...]:
        """The content of each private table by itself, and of the tables behind a view."""
        return tuple(sorted({self._content(source) for source in self._read_tables()}))

    def other_table_fingerprints(self) -> tuple[str, ...]:
        """None: there is no ledger of this engine by other rules."""
        return ()

    def tables_read(self) -> dict[str, frozenset[str]]:
        """The columns of private tables and of those behind views, in lower case; equal names are one."""
        found: dict[str, frozenset[str]] = {}
        for source in self._read_tables():
            name = source.name.lower()
            found[name] = found.get(name, frozenset()) | {c.name.lower() for c in source.columns}
        return found

    def _read_tables(self) -> list[SqlTable]:
        found = {s.sql: s for s in self._sources.values()}
        public = {s.sql for s in self._public.values()}
        with self._lock:
            for source in self._sources.values():
                found.update({s.sql: s for s in self._database.behind(source) if s.sql not in public})
        return list(found.values())

    def _content(self, source: SqlTable) -> str:
        """MD5 of each row's text; its sixteen bytes are summed each, which no number of rows makes overflow."""
        with self._lock:
            if source.sql not in self._contents:
                d = self._database.dialect
                columns = sorted(source.columns, key=lambda c: (c.name.lower(), c.name))
                told = [(f"r.{d.identifier(c.name)}", c) for c in columns if c.family != "other"]
                digests = d.once(f"SELECT {d.row_digest(told)} AS h FROM {source.sql} AS r")
                sums = ", ".join(f"CAST(sum({d.md5_byte('h', i)}) AS BIGINT) AS b{i}" for i in range(16))
                found = self._numbers(
                    "fingerprinting the data",
                    f"SELECT CAST(count(*) AS BIGINT) AS n, {sums} FROM ({digests}) AS digests",
                )[0].tolist()
                low, high = (sum(byte << 8 * i for i, byte in enumerate(found[k : k + 8])) for k in (1, 9))
                self._contents[source.sql] = content([c.name.lower() for c in columns], found[0], low, high)
            return self._contents[source.sql]

    def public_table(self, name: str) -> pa.Table:
        """A public table, whole."""
        source = self._public.get(name.lower())
        if source is None:
            raise UnknownName(f"there is no public table {name}", name=name, suggestions=self._policy.public_tables)
        with self._lock:
            return self._database.public(source)

    def out_of_domain(self, table: str) -> dict[str, int]:
        """Values that are not NULL but undeclared, per finite column; rows beyond a word. For the owner alone."""
        domain = private_table(self._policy, table)
        rows, what = self._rows[domain.name], f"counting undeclared values of {domain.name}"
        with self._lock:
            beyond = {c: int(self._numbers(what, rows.beyond(c, n))[0, 0]) for c, n in domain.most_rows.items()}
        if not domain.finite:
            return beyond
        sums = ", ".join(
            f"CAST(sum(CASE WHEN {rows.is_outside(c)} THEN 1 ELSE 0 END) AS BIGINT) AS n{i}"
            for i, c in enumerate(domain.finite)
        )
        with self._lock:
            (found,) = self._numbers(what, f"SELECT {sums} FROM ({rows.all_rows()}) AS every").tolist()
        return dict(zip((c.name for c in domain.finite), found, strict=True)) | beyond

    def row_tally(self, table: str) -> RowTally:
        """How many rows are counted, and why not the others. For the owner alone."""
        domain, what = private_table(self._policy, table), "counting dropped rows"
        rows, source, cap = self._rows[domain.name], self._sources[domain.name], int(domain.max_rows_per_unit)
        with self._lock:
            ((number,),) = self._numbers(what, f"SELECT CAST(count(*) AS BIGINT) AS n FROM {source.sql} AS r").tolist()
            if domain.unit is None:
                sql = f"SELECT CAST(count(*) AS BIGINT) AS n FROM ({rows.query(())}) AS counted"
                ((counted,),) = self._numbers(what, sql).tolist()
                return RowTally(number, number - counted)
            beyond = f"CASE WHEN n > {cap} THEN n ELSE 0 END", f"CASE WHEN n > {cap} THEN 1 ELSE 0 END"
            sums = ("n", beyond[0], "1", beyond[1], "CASE WHEN u = ',' THEN n ELSE 0 END")
            listed = ", ".join(f"CAST(sum({s}) AS BIGINT) AS s{i}" for i, s in enumerate(sums))
            each = f"SELECT u, count(*) AS n FROM ({rows.query((), every=True)}) AS allowed GROUP BY u"
            ((allowed, over, units, many, nobody),) = self._numbers(
                what, f"SELECT {listed} FROM ({each}) AS each_one"
            ).tolist()
        return RowTally(number, number - allowed, over - many * cap, units, many, nobody)

    def close(self) -> None:
        """Release the connection and what was counted; idempotent."""
        with self._lock:
            self._database.close()
            self._contingencies = Contingencies(CACHE_BYTES)
            self._held = {}
