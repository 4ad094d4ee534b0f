"""The private engine on DuckDB: counts rows by codes of the public domain, and nothing else.

It answers the private questions of ``dpsql.engine.protocol`` and owns the caches that make them cheap. No text of an
analyst's ever gets here: scopes are columns of the policy, keys are values.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from math import prod
from pathlib import Path
from threading import RLock

import duckdb
import numpy as np
import pyarrow as pa

from dpsql.dialect.calls import without_cause
from dpsql.domain import TableDomain
from dpsql.engine.companion import LEAST_ROWS, Companion
from dpsql.engine.contingencies import CACHE_BYTES, WHOLE_CELLS, Contingencies, Scope
from dpsql.engine.duckdb.catalog import (
    Catalog,
    Source,
    attached_files,
    own_file,
    private_sources,
    public_sources,
    tables_behind,
)
from dpsql.engine.duckdb.distinct import distinct_counts
from dpsql.engine.duckdb.identity.contents import Contents
from dpsql.engine.duckdb.identity.file_state import FileContent, KnownContent, descriptors
from dpsql.engine.duckdb.kept_rows import Rows
from dpsql.engine.duckdb.reader import Reader, open_read_only
from dpsql.engine.duckdb.sums import scanned_parts, summed_parts, sums_by_cell, value_counts
from dpsql.engine.duckdb.text_index import TextIndex
from dpsql.engine.duckdb.valued_rows import HeldRows
from dpsql.engine.partition import Partition, partitions_of, shape_of
from dpsql.engine.protocol import WHOLE_RANGE, Inside, Parts, Reach
from dpsql.engine.rules import Rules
from dpsql.engine.scope import (
    check_row_counts,
    holder_of,
    inside_of,
    number_of,
    private_table,
    scope_of,
    text_columns_of,
)
from dpsql.engine.sources import OverSources
from dpsql.engine.tally import RowTally
from dpsql.engine.values import data
from dpsql.errors import EngineError, UnknownName
from dpsql.policy import Policy
from dpsql.private import Private
from dpsql.query import Counts, Interval, Key, KeyCounts, Positions, Regions


class DuckDbEngine(OverSources):
    """Counts rows of private tables in a DuckDB database; implements :class:`dpsql.engine.protocol.Engine`.

    ``database``: a path, opened read-only and locked, or an open connection of the owner's, of which a cursor is
    used (its temporary tables and uncommitted changes are not seen). The policy is checked against the catalog: a
    missing or unfit table or column raises PolicyError with the key's path; an unreadable file raises EngineError.

    ``known``: what remembers the content of a file's tables, so that an unchanged file is not read to know them again;
    an open connection is always read. ``companion``: what keeps counts of such a file for the next process.

    Counts are kept once counted, so one engine answers from one state of a file. Which rows are counted is said in
    :mod:`dpsql.engine.duckdb.kept_rows`. Safe to use from several threads.

    >>> from fractions import Fraction
    >>> from dpsql.domain import BooleanDomain
    >>> from dpsql.policy import Privacy
    >>> con = duckdb.connect()
    >>> _ = con.execute("CREATE TABLE t AS SELECT true AS member").fetchall()
    >>> policy = Policy(Privacy(Fraction(1), Fraction(0)), (TableDomain("t", (BooleanDomain("member"),)),))
    >>> DuckDbEngine(con, policy).contingency("t", ("member",))
    <private>
    """

    name = "duckdb"

    def __init__(
        self,
        database: str | Path | duckdb.DuckDBPyConnection,
        policy: Policy,
        rules: Rules | None = None,
        known: KnownContent | None = None,
        companion: Companion | None = None,
    ) -> None:
        self._lock = RLock()
        self._rules = Rules() if rules is None else rules
        self._policy = policy
        file = None if isinstance(database, duckdb.DuckDBPyConnection) else Path(database)
        if isinstance(database, duckdb.DuckDBPyConnection):
            gone = EngineError("the duckdb connection is closed", hint="pass an open connection or a path")
            connection = without_cause(database.cursor, lambda _: gone)
        else:
            held = descriptors(Path(database))
            connection = open_read_only(database)
            if descriptors(Path(database)) <= held:  # an instance that was open already, maybe of a file that is gone
                known = None
        self._reader = Reader(connection)
        self._contents = Contents(self._reader, None if known is None or file is None else FileContent(file, known))
        self._companion = companion
        try:
            catalog = Catalog(self._reader)
            self._sources: dict[str, Source] = private_sources(catalog, policy)
            self._public = public_sources(catalog, policy, self._sources.values())
            check_row_counts(policy, self.is_base_table)
        except Exception:
            self._reader.close()
            raise
        self._rows = {
            t.name: Rows(self._reader, i, t, self._sources[t.name], self._rules.unit_rows)
            for i, t in enumerate(policy.tables)
        }
        self._contingencies = Contingencies(CACHE_BYTES)
        self._held = HeldRows(self._reader, self._rows)
        self._used: dict[str, set[str]] = {t.name: set() for t in policy.tables}
        self._texts: dict[tuple[str, tuple[str, ...]], TextIndex] = {}

    def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
        """Counts over the cells of ``columns`` in the given order, int64, in rows; not to be written to."""
        domain = private_table(self._policy, table)
        scope = scope_of(domain, columns)
        with self._lock:
            counts = self._counted(domain, scope)
        if columns != scope:
            counts = np.ascontiguousarray(counts.transpose([scope.index(c) for c in columns]))
            counts.setflags(write=False)
        return Private(counts)

    def part_counts(
        self, table: str, partitions: tuple[Partition, ...], intervals: tuple[Interval, ...] = ()
    ) -> Private[Counts]:
        """Counts over the parts of ``partitions``; see the protocol. Not kept: every question has its own."""
        domain = private_table(self._policy, table)
        shape, inside = shape_of(domain, partitions), inside_of(domain, intervals)
        with self._lock:
            valued = self._held.valued(domain, [column for column, _ in inside]) if inside else None
            coded = self._held.coded(domain) if partitions and not inside else None
            if valued is not None:
                counts = valued.count_parts(partitions, intervals)
            elif coded is not None:
                counts = coded.count_parts(partitions)
            else:
                counts = scanned_parts(self._reader, self._rows[domain.name], domain, partitions, inside)
        counts = counts.reshape(shape)
        counts.setflags(write=False)
        return Private(counts)

    def _counted(self, domain: TableDomain, scope: Scope) -> Counts:
        """Counts that are kept, else those of a table's coded rows, else a scan or the sum over a larger scope."""
        known = self._contingencies.exactly(domain.name, scope)
        if known is not None:
            return known
        coded = self._held.coded(domain) if scope and domain.cells > WHOLE_CELLS else None
        if coded is None:
            known = self._contingencies.get(domain.name, scope)
            return self._count(domain, scope) if known is None else known
        counts = coded.count(scope)
        self._contingencies.put(domain.name, scope, counts)
        return counts

    def _count(self, domain: TableDomain, scope: Scope) -> Counts:
        """One scan over a scope that holds ``scope``, then a sum."""
        used = self._used[domain.name]
        used.update(scope)
        widest = scope
        for candidate in (tuple(c.name for c in domain.finite), tuple(sorted(used, key=lambda c: domain.order[c]))):
            if prod(domain.shape(candidate)) <= WHOLE_CELLS:
                widest = candidate
                break
        counts = self._by_cell(domain, widest)
        self._contingencies.put(domain.name, widest, counts)
        if widest == scope:
            return counts
        smaller = self._contingencies.get(domain.name, scope)
        return counts if smaller is None else smaller  # never None: it was put just now and fits

    def sums(
        self, table: str, number: str, columns: tuple[str, ...], intervals: tuple[Interval, ...] = ()
    ) -> Private[Counts]:
        """Sums of shares over the cells of ``columns``; see the protocol. Kept: the groups of a statement ask again."""
        domain = private_table(self._policy, table)
        scope, column, inside = scope_of(domain, columns), number_of(domain, number), inside_of(domain, intervals)
        name = f"{domain.name}\0{column.name}\0{intervals!r}" if inside else f"{domain.name}\0{column.name}"
        with self._lock:
            known = self._contingencies.exactly(name, columns)
            if known is None:
                share, looked_at = self._rows[domain.name].share(column, inside), [column, *(n for n, _ in inside)]
                known = self._by_cell(domain, scope, [n.name for n in looked_at], share, keep=not inside)
                if columns != scope:
                    known = np.ascontiguousarray(known.transpose([scope.index(c) for c in columns]))
                self._contingencies.put(name, columns, known)
        return Private(known)

    def part_sums(
        self, table: str, number: str, partitions: Parts, intervals: Inside = (), reach: Reach = WHOLE_RANGE
    ) -> Private[Counts]:
        """Rows and sums of shares over the parts of ``partitions``; see the protocol. One scan, and not kept."""
        domain = private_table(self._policy, table)
        shape, column, inside = shape_of(domain, partitions), number_of(domain, number), inside_of(domain, intervals)
        with self._lock:
            found = summed_parts(self._reader, self._rows[domain.name], domain, partitions, inside, column, reach)
        return Private(found.reshape(*shape, 2))

    def positions(self, table: str, number: str) -> Private[Counts]:
        """Sums of positions inside the bins of ``number``; see the protocol."""
        domain = private_table(self._policy, table)
        column = number_of(domain, number)
        with self._lock:
            position = self._rows[domain.name].position(column)
            return Private(self._by_cell(domain, (column.name,), [column.name], position))

    def value_counts(self, table: str, number: str, marks: tuple[float, ...]) -> Private[Counts]:
        """Rows at and between ``marks``; see the protocol."""
        domain = private_table(self._policy, table)
        column = number_of(domain, number)
        with self._lock:
            return Private(value_counts(self._reader, self._rows[domain.name], domain, column, marks))

    def _by_cell(
        self,
        domain: TableDomain,
        scope: Scope,
        numbers: Sequence[str] | None = None,
        summed: str = "1",
        *,
        keep: bool = True,
    ) -> Counts:
        """Sums of an expression over ``numbers`` by cell: from beside the ledger where they ``keep``, else one scan."""
        rows, source, size = self._rows[domain.name], self._sources[domain.name], prod(domain.shape(scope))
        scanned = partial(sums_by_cell, self._reader, rows, domain, scope, numbers, summed)
        beside = keep and self._contents.are_of_a_file and self._companion is not None and source.is_base_table
        if not beside or self._companion is None or rows.stored_rows < LEAST_ROWS:
            return scanned().reshape(domain.shape(scope))
        of = (self._contents.of(source, self._rules.fingerprint), self._rules.unit_rows, duckdb.__version__)
        key = repr((*of, asdict(domain), source.relation, source.columns, summed, scope))
        return self._companion.known(key, size, scanned).reshape(domain.shape(scope))

    def keyed_counts(
        self,
        table: str,
        text_columns: tuple[str, ...],
        keys: tuple[Key, ...],
        columns: tuple[str, ...],
        intervals: Inside = (),
    ) -> Private[Counts]:
        """Counts for each listed key and cell, int64, ``(len(keys), *sizes)``, in rows. Strings match byte by byte.

        The first question about some text columns, scope and intervals scans the table; after that the cost follows the
        support.
        """
        domain = private_table(self._policy, table)
        scope_of(domain, columns)
        text_columns_of(domain, text_columns)
        inside = inside_of(domain, intervals)
        with self._lock:
            counts = self._text_index(domain, text_columns).counts(keys, columns, inside)
        counts.setflags(write=False)
        return Private(counts)

    def key_counts(self, table: str, text_column: str, least: int = 1) -> Private[KeyCounts]:
        """Every string of a text column and its number of counted rows, NULL left out; see the protocol."""
        domain = private_table(self._policy, table)
        text_columns_of(domain, (text_column,))
        with self._lock:
            index = self._text_index(domain, (text_column,))
            found = index.strings(least)

        def named(chosen: Positions) -> tuple[str, ...]:
            with self._lock:
                return index.named(chosen)

        return Private(replace(found, named=named))

    def distinct_counts(self, table: str, column: str, regions: Regions, most: int = 1) -> Private[Counts]:
        """How many values of ``column`` have so many rows in each region; see the protocol. One scan, and not kept."""
        domain = private_table(self._policy, table)
        holder_of(domain, column)
        partitions = partitions_of(domain, regions)
        with self._lock:
            counts = distinct_counts(self._reader, self._rows[domain.name], domain, column, partitions, regions, most)
        counts.setflags(write=False)
        return Private(counts)

    def _text_index(self, table: TableDomain, text_columns: tuple[str, ...]) -> TextIndex:
        index = self._texts.get((table.name, text_columns))
        if index is None:
            name = f"dpsql_text_{len(self._texts)}"
            index = TextIndex(self._reader, name, table, self._rows[table.name], text_columns)
            self._texts[table.name, text_columns] = index
        return index

    @property
    def rules(self) -> Rules:
        """Fixed when the engine was opened."""
        return self._rules

    def fingerprint(self) -> str:
        """SHA-256 over the content of the private tables, whatever the row order, file or DuckDB version."""
        with self._lock:
            return data({n: self._contents.of(source, self._rules.fingerprint) for n, source in self._sources.items()})

    def table_fingerprints(self) -> tuple[str, ...]:
        """The content of each private table by itself, and of the tables behind a view; public tables are left out."""
        return self._table_fingerprints(self._rules.fingerprint)

    def other_table_fingerprints(self) -> tuple[str, ...]:
        """The same by the other rules; scans the data again."""
        return self._table_fingerprints(1 if self._rules.fingerprint == 2 else 2)

    def _table_fingerprints(self, rules: int) -> tuple[str, ...]:
        with self._lock:
            found = {self._contents.of(source, rules) for source in self._sources.values()}
            found.update(self._contents.of(source, rules) for source in self._behind_views())
        return tuple(sorted(found))

    def _behind_views(self) -> list[Source]:
        """The tables that private views read, but for public ones."""
        return tables_behind(self._reader, self._sources.values(), self._public.values())

    @property
    def address(self) -> str:
        """The path of the database's file, symbolic links resolved; "" for one in memory."""
        with self._lock:
            return own_file(self._reader)

    @property
    def origins(self) -> tuple[str, ...]:
        """The addresses of what the private tables of an extract were copied from."""
        return tuple(sorted({s.origin.address for s in self._sources.values() if s.origin is not None} - {""}))

    @property
    def attached(self) -> tuple[str, ...]:
        """The files of attached databases that private views read."""
        with self._lock:
            return attached_files(self._reader, [s.sql for s in self._behind_views()])

    def tables_read(self) -> dict[str, frozenset[str]]:
        """The columns of private tables, of views and of the tables behind them, in lower case; equal names are one."""
        with self._lock:
            sources = [*self._sources.values(), *self._behind_views()]
        found: dict[str, frozenset[str]] = {}
        for source in sources:
            name = source.name.lower()
            found[name] = found.get(name, frozenset()) | {column.lower() for column, _ in source.columns}
        return found

    def out_of_domain(self, table: str) -> dict[str, int]:
        """Values that are not NULL but outside the declared domain, per finite column; rows beyond an owner's word.

        For the owner alone: these are exact counts of private rows.
        """
        with self._lock:
            return self._rows[private_table(self._policy, table).name].out_of_domain()

    def row_tally(self, table: str) -> RowTally:
        """How many rows are counted, and why not the others.

        For the owner alone: these are exact counts of private rows.
        """
        with self._lock:
            return self._rows[private_table(self._policy, table).name].tally()

    def public_table(self, name: str) -> pa.Table:
        """A public table, whole."""
        source: Source | None = self._public.get(name.lower())
        if source is None:
            raise UnknownName(f"there is no public table {name}", name=name, suggestions=self._policy.public_tables)
        with self._lock:
            return self._reader.arrow(f"reading the public table {name}", f"SELECT * FROM {source.sql}")

    def close(self) -> None:
        """Release the connection and what was counted; idempotent. The owner's own connection stays open."""
        with self._lock:
            self._reader.close()
            self._texts.clear()
            self._held.clear()
            self._contingencies = Contingencies(CACHE_BYTES)
