"""The only private questions dpsql ever asks: counts by codes of the public domain and by strings, sums of numbers.

An engine is trusted with the rows and with nothing else: it sees no SQL, no budget and no noise. Another database is
another class with these methods, and tests/contracts/engine_contract.py says in tests what they mean.
"""

from typing import Protocol

import pyarrow as pa

from dpsql.domain import FIXED_POINT
from dpsql.engine.partition import Partition
from dpsql.engine.rules import Rules
from dpsql.engine.tally import RowTally
from dpsql.private import Private
from dpsql.query import Counts, Interval, Key, KeyCounts, Regions

Parts = tuple[Partition, ...]
Inside = tuple[Interval, ...]
Reach = tuple[int, int]
"""The least and the greatest share of a number column's range that a row is counted with, in 1 / FIXED_POINT."""
WHOLE_RANGE: Reach = (0, FIXED_POINT)


class Engine(Protocol):
    """Counts rows of private tables. Errors are ``EngineError`` and never quote a value."""

    @property
    def name(self) -> str:
        """What is behind it, for the ledger's header: ``"duckdb"``. Public."""
        ...

    @property
    def rules(self) -> Rules:
        """By which rules it counts and knows data again; fixed before the first private question. Public."""
        ...

    def contingency(self, table: str, columns: tuple[str, ...]) -> Private[Counts]:
        """Counts over the cells of finite ``columns`` (any order), int64, shape = the columns' sizes, in rows.

        ``columns = ()`` gives a 0-d array: the number of counted rows. The array must not be written to.
        """
        ...

    def part_counts(
        self, table: str, partitions: tuple[Partition, ...], intervals: tuple[Interval, ...] = ()
    ) -> Private[Counts]:
        """Counts over the parts of disjoint finite columns, int64, shape = the partitions' sizes, in rows.

        As sums over ``contingency``, without its grid: time and memory follow the rows, the labels and the parts. Only
        rows in all ``intervals``, of number columns, are counted.
        """
        ...

    def keyed_counts(
        self,
        table: str,
        text_columns: tuple[str, ...],
        keys: tuple[Key, ...],
        columns: tuple[str, ...],
        intervals: Inside = (),
    ) -> Private[Counts]:
        """Counts for each listed key and cell, int64, shape ``(len(keys), *sizes)``, in rows.

        Text columns may be derived ones, by the names of ``TableDomain.prefixes``. Only rows in all ``intervals``, of
        number columns, are counted.
        """
        ...

    def key_counts(self, table: str, text_column: str, least: int = 1) -> Private[KeyCounts]:
        """Every string of a text column, declared or derived, and its number of counted rows; NULL is left out.

        Strings of fewer than ``least`` rows may be counted by their number of rows in place of being listed.
        """
        ...

    def sums(
        self, table: str, number: str, columns: tuple[str, ...], intervals: tuple[Interval, ...] = ()
    ) -> Private[Counts]:
        """Sums over the cells of finite ``columns`` of where each row's ``number`` stands between its min and max.

        int64, in 1 / FIXED_POINT of a row: a row adds 0 at the min, FIXED_POINT at the max, nothing when it is NULL.
        Only rows in all ``intervals``, of number columns, add anything.
        """
        ...

    def part_sums(
        self, table: str, number: str, partitions: Parts, intervals: Inside = (), reach: Reach = WHOLE_RANGE
    ) -> Private[Counts]:
        """The same over the parts of disjoint finite columns, beside their rows: int64, shape (*parts, 2).

        One look at the rows in all ``intervals``, without a grid: how many there are, and the sum of where each stands
        beyond the lower end of ``reach``, between 0 and the reach's length whatever its value is, in 1 / FIXED_POINT.
        """
        ...

    def positions(self, table: str, number: str) -> Private[Counts]:
        """The same over the cells of ``number`` itself, of where its rows stand between the edges of their bin."""
        ...

    def value_counts(self, table: str, number: str, marks: tuple[float, ...]) -> Private[Counts]:
        """Rows by the value of ``number``: at each of increasing ``marks``, and beyond it up to the next one.

        int64, shape ``(2 * len(marks),)``. NULL, and what is below the first mark, is not counted.
        """
        ...

    def distinct_counts(self, table: str, column: str, regions: Regions, most: int = 1) -> Private[Counts]:
        """How many values of ``column`` have 1, 2, .. ``most`` rows in each region, ``most`` standing for more as well.

        int64, shape ``(regions, most)``. ``column``: a text column or the table's unit, whose values are told apart as
        its rows are kept. NULL is no value. With ``most = 1``: the number of different values.
        """
        ...

    def is_base_table(self, table: str) -> bool:
        """Whether a private table is stored as it is; replaced rows can change a view's number of rows. Public."""
        ...

    def is_of_integers(self, table: str, column: str) -> bool:
        """Whether the database's own type of a private table's column is one of whole numbers. Public."""
        ...

    def fingerprint(self) -> str:
        """A digest of the private tables' values, the same in every engine and for every copy. For the ledger only."""
        ...

    def table_fingerprints(self) -> tuple[str, ...]:
        """A digest of each private table's values, all columns, whatever the policy declares. For the ledger only."""
        ...

    def other_table_fingerprints(self) -> tuple[str, ...]:
        """The same by all rules that are not ``rules``, as far as the engine has them: other ledgers are known by them.

        May scan the tables again.
        """
        ...

    def public_table(self, name: str) -> pa.Table:
        """A table that the policy declares public, whole."""
        ...

    def close(self) -> None:
        """Release the connection; idempotent."""
        ...


class OwnersEngine(Engine, Protocol):
    """An engine as it is opened, with what only the owner may ask of it. A session is handed the part above."""

    @property
    def address(self) -> str:
        """Where the private rows are, the same at every opening: an absolute path or an address; "" where there is
        none, as in memory. Public."""
        ...

    @property
    def origins(self) -> tuple[str, ...]:
        """Addresses of what its rows are a copy of: the people of a copy are those of its source. Public."""
        ...

    @property
    def attached(self) -> tuple[str, ...]:
        """Files beside its own in which its private rows are, as a connection has attached them. Public."""
        ...

    def tables_read(self) -> dict[str, frozenset[str]]:
        """The columns of each private table, and of each table behind a private view; names in lower case. Public."""
        ...

    def out_of_domain(self, table: str) -> dict[str, int]:
        """Values that are not NULL but undeclared, per finite column, over all rows: exact counts of private rows.

        Of a text column with ``max_rows_per_value`` the counted rows whose strings are in more of them.
        """
        ...

    def row_tally(self, table: str) -> RowTally:
        """How many rows are counted, and why not the others: exact counts of private rows."""
        ...
