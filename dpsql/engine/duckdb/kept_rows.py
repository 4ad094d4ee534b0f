"""The rows of a private table that are counted, as SQL over codes.

Two rules decide which rows are counted, the same for every scope; each looks at one privacy unit at a time:

1. A row with a NULL or out-of-domain value in ANY declared column that is not nullable is dropped.
2. Of the rows of a unit at most ``max_rows_per_unit`` are kept: those with the smallest digest of (unit, codes,
   texts, numbers). Rows with equal digests are equal in every declared column, so counts and sums are determined. A
   NULL unit is one unit. Units are told apart as their digests are, by bytes; under the first rules by the column's
   collation.
"""

from collections.abc import Sequence
from functools import cached_property

from dpsql.dialect.quoting import double, identifier
from dpsql.domain import FiniteDomain, NumberDomain, TableDomain
from dpsql.engine.duckdb import codes
from dpsql.engine.duckdb.catalog import Source
from dpsql.engine.duckdb.codes import Coded, coded
from dpsql.engine.duckdb.identity import content, first_content
from dpsql.engine.duckdb.reader import Reader
from dpsql.engine.tally import RowTally
from dpsql.query import Interval

ROWS_AT_ONCE = 2_000_000
"""About 240 bytes of memory are needed for each, and one look at the table for so many."""


_UNSIGNED = {1: "UTINYINT", 2: "USMALLINT", 4: "UINTEGER"}


class Rows:
    """The counted rows of one private table. Lookup tables, and the kept rows of units, are made at first use."""

    def __init__(self, reader: Reader, number: int, table: TableDomain, source: Source, rule: int) -> None:
        self._reader = reader
        self._number = number
        self._table = table
        self._source = source
        self._rule = rule
        self._set_up: set[str] = set()
        self._kept = False
        self._coded = {c.name: self._code(i, c) for i, c in enumerate(table.finite)}

    def _code(self, position: int, domain: FiniteDomain) -> Coded:
        kind = self._source.type_of(domain.name)
        return coded(domain, f"r.{identifier(domain.name)}", kind, f"dpsql_codes_{self._number}_{position}")

    def from_where(self, finite: Sequence[str]) -> str:
        """``FROM ... WHERE ...`` of the counted rows, with what :meth:`cell` and :meth:`text` need for the columns."""
        if self._table.unit is not None:
            self._keep()
            return f"FROM {self._kept_name} AS r"
        return self._scan(finite)

    def cell(self, finite: Sequence[str]) -> str:
        """SQL for the row-major number of a row's cell in the scope ``finite``; 0 for an empty scope."""
        terms, stride = [], 1
        for name in reversed(finite):
            terms.append(f"{stride}::BIGINT * {self._cell_of(name)}")
            stride *= self._table.finite_domain(name).size
        return " + ".join(terms) or "0::BIGINT"

    def coded(self, finite: Sequence[str]) -> list[str]:
        """Outputs ``c0``, ``c1``, ..: the code of each column, as narrow as its domain allows."""
        kinds = [_UNSIGNED[codes.code_width(self._table.finite_domain(n).size)] for n in finite]
        return [f"({self.cell([n])})::{kind} AS c{i}" for i, (n, kind) in enumerate(zip(finite, kinds, strict=True))]

    def text(self, column: str) -> str:
        """SQL for a text column's bytes, declared or derived: they compare the same under every collation."""
        return self.bytes_of(column, self.grouped_text(column))

    def grouped_text(self, column: str) -> str:
        """SQL that is equal for two rows exactly where :meth:`text` is, and cheaper: bytes are made of groups."""
        if not self._is_string(column):
            return f"r.{self._text_name(column)}"
        prefix = self._table.prefixes.get(column)
        declared = column if prefix is None else prefix.column
        kept = self._table.unit is not None
        text = f"decode(r.{self._text_name(declared)})" if kept else f"CAST(r.{identifier(declared)} AS VARCHAR)"
        text = text if prefix is None else f"left({text}, {int(prefix.length)})"
        return f'({text} COLLATE "binary")'  # the column's or the database's would merge strings

    def bytes_of(self, column: str, grouped: str) -> str:
        """SQL for the bytes of what :meth:`grouped_text` was named."""
        return f"encode({grouped})" if self._is_string(column) else grouped

    def _is_string(self, column: str) -> bool:
        """Whether it is a string in SQL; kept rows of units hold bytes."""
        return self._table.unit is None or column in self._table.prefixes

    def holder(self, column: str) -> str:
        """SQL for what tells values of the unit or of a text column apart; NULL for NULL."""
        return "r.u" if column == self._table.unit else self.text(column)

    def share(self, number: NumberDomain, intervals: Sequence[tuple[NumberDomain, Interval]] = ()) -> str:
        """SQL for where a row's number stands between min and max, as ``NumberDomain.share``; 0 for NULL, and for a row
        that is not in all intervals."""
        share = codes.share(number, self.number(number))
        return f"CASE WHEN {self.inside(intervals)} THEN {share} ELSE 0 END" if intervals else share

    def position(self, number: NumberDomain) -> str:
        """SQL for where it stands between the edges of its bin, as ``NumberDomain.position``; 0 for NULL."""
        return codes.position(number, self.number(number), self._cell_of(number.name))

    def inside(self, intervals: Sequence[tuple[NumberDomain, Interval]]) -> str:
        """SQL for whether a row's numbers are in their intervals."""
        tests = [f"{self.number(n)} BETWEEN {double(i.low)} AND {double(i.high)}" for n, i in intervals]
        return f"coalesce({' AND '.join(tests)}, FALSE)" if tests else "TRUE"

    def number(self, domain: NumberDomain) -> str:
        """SQL for the value of a row, as ``NumberDomain.clipped``."""
        kept = self._table.unit is not None
        return f"r.{self._number_name(domain.name)}" if kept else codes.number(domain, f"r.{identifier(domain.name)}")

    def out_of_domain(self) -> dict[str, int]:
        """Values that are not NULL and outside their declared domain, per finite column; rows beyond a word."""
        names, what = [c.name for c in self._table.finite], f"counting undeclared values of {self._table.name}"
        beyond = {name: self._beyond(name, most, what) for name, most in self._table.most_rows.items()}
        if not names:
            return beyond
        counts = ", ".join(f"count(*) FILTER (r.{identifier(n)} IS NOT NULL AND {self._outside(n)})" for n in names)
        found = self._reader.rows(what, f"SELECT {counts} {self._joined(names)}")
        return dict(zip(names, found[0], strict=True)) | beyond

    def _beyond(self, column: str, most: int, what: str) -> int:
        """Counted rows that hold a string which is in more than ``most`` of them."""
        each = f"SELECT {self.grouped_text(column)} AS s, count(*) AS n {self.from_where(())} GROUP BY 1"
        ((rows,),) = self._reader.rows(
            what, f"SELECT coalesce(sum(n), 0) FROM ({each}) WHERE s IS NOT NULL AND n > {int(most)}"
        )
        return int(rows)

    def tally(self) -> RowTally:
        """How many rows are counted, and why not the others: exact counts."""
        table, what = self._table, f"counting dropped rows of {self._table.name}"
        ((rows,),) = self._reader.rows(what, f"SELECT count(*) FROM {self._source.sql}")
        if table.unit is None:
            ((counted,),) = self._reader.rows(what, f"SELECT count(*) {self._scan(())}")
            return RowTally(rows, rows - counted)
        unit, cap = f"r.{identifier(table.unit)}", int(table.max_rows_per_unit)
        same = unit if self._rule == 1 else content.same_unit(unit, self._source.type_of(table.unit))
        sums = f"sum(n), sum(n) FILTER (n > {cap}), count(*), count(*) FILTER (n > {cap}), sum(n) FILTER (u IS NULL)"
        found = self._reader.rows(
            what, f"SELECT {sums} FROM (SELECT {same} AS u, count(*) AS n {self._scan(())} GROUP BY 1)"
        )
        allowed, beyond, units, many, without = (int(n or 0) for n in found[0])
        return RowTally(rows, rows - allowed, beyond - many * cap, units, many, without)

    def _outside(self, name: str) -> str:
        domain = self._table.finite_domain(name)
        if not isinstance(domain, NumberDomain):
            return f"({self._coded[name].expression}) IS NULL"
        column = f"r.{identifier(name)}"
        return f"({codes.number(domain, column)}) IS DISTINCT FROM TRY_CAST({column} AS DOUBLE)"

    def _cell_of(self, name: str) -> str:
        if self._table.unit is not None:
            return f"r.{self._code_name(name)}"
        domain, code = self._table.finite_domain(name), self._coded[name].expression
        return f"coalesce({code}, {len(domain.values)})" if domain.nullable else f"({code})"

    def _scan(self, finite: Sequence[str]) -> str:
        required = [c.name for c in self._table.finite if not c.nullable]
        tests = [f"({self._coded[n].expression}) IS NOT NULL" for n in required]
        tests += [f"r.{identifier(c.name)} IS NOT NULL" for c in self._table.text if not c.nullable]
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        return self._joined([*finite, *required]) + where

    def _joined(self, finite: Sequence[str]) -> str:
        joins = []
        for name in dict.fromkeys(finite):
            code = self._coded[name]
            if code.setup is not None and name not in self._set_up:
                self._reader.rows(f"preparing {self._table.name}.{name}", *code.setup)
                self._set_up.add(name)
            joins.append(code.join)
        return " ".join([f"FROM {self._source.relation} AS r", *filter(None, joins)])

    @property
    def _kept_name(self) -> str:
        return f"dpsql_kept_{self._number}"

    def _code_name(self, column: str) -> str:
        return f"c{self._table.order[column]}"

    def _text_name(self, column: str) -> str:
        return f"t{self._table.order[column]}"

    def _number_name(self, column: str) -> str:
        return f"n{self._table.order[column]}"

    def _keep(self) -> None:
        """Materialise the kept rows once, some units at a time: a window holds all rows that it looks at."""
        if self._kept or self._table.unit is None:
            return
        inner, hashed = self._hashed()
        texts = {self._text_name(c.name) for c in self._table.text}
        outer = [f"{self._told_apart(hashed[0])} AS u"]
        outer += [f"encode({name}) AS {name}" if name in texts else name for name, _ in hashed[1:]]
        what = f"keeping at most {self._table.max_rows_per_unit} rows per unit of {self._table.name}"
        rows = f"FROM (SELECT {', '.join(inner)} {self._scan([c.name for c in self._table.finite])})"
        kept = f"QUALIFY row_number() OVER ({self._window(hashed)}) <= {int(self._table.max_rows_per_unit)}"
        made = f"CREATE OR REPLACE TEMP TABLE {self._kept_name} AS"  # one that was interrupted begins anew
        for part in self._parts(hashed[0]):
            self._reader.rows(what, f"{made} SELECT {', '.join(outer)} {rows} WHERE {part} {kept}")
            made = f"INSERT INTO {self._kept_name}"
        self._kept = True

    @cached_property
    def stored_rows(self) -> int:
        """The number of rows of the table, counted or not."""
        found = self._reader.rows(f"counting rows of {self._table.name}", f"SELECT count(*) FROM {self._source.sql}")
        return int(found[0][0])

    def _parts(self, unit: tuple[str, str]) -> list[str]:
        """Conditions on the unit of which each row fulfils one, the rows of a unit the same, so that few fulfil it."""
        number = -(-self.stored_rows // ROWS_AT_ONCE)
        if number <= 1 or self._rule == 1:  # there a collation may make one unit of texts with different digests
            return ["TRUE"]
        return [f"hash({self._told_apart(unit)}) % {number} = {part}" for part in range(number)]

    def stored(self, columns: Sequence[str]) -> str:
        """A query for ``columns`` of the rows as they are stored: of a table with a unit the counted ones, else all.

        The rows of a unit are those that are counted of the whole table, and all are counted again of what the query
        gives. Among rows that are equal in all declared values it chooses by what is stored.
        """
        names = [identifier(c) for c in columns]
        if self._table.unit is None:
            return f"SELECT {', '.join(f'r.{name} AS {name}' for name in names)} FROM {self._source.sql} AS r"
        inner, hashed = self._hashed()
        values = [(f"v{i}", self._source.type_of(c)) for i, c in enumerate(columns)]
        inner += [f"r.{name} AS {value}" for name, (value, _) in zip(names, values, strict=True)]
        out = ", ".join(f"{value} AS {name}" for name, (value, _) in zip(names, values, strict=True))
        window = f"{self._window(hashed)}, {content.row_digest(values)}"
        return (
            f"SELECT {out} FROM (SELECT {', '.join(inner)} {self._scan([c.name for c in self._table.finite])}) "
            f"QUALIFY row_number() OVER ({window}) <= {int(self._table.max_rows_per_unit)}"
        )

    def _hashed(self) -> tuple[list[str], list[tuple[str, str]]]:
        """SQL for what a unit's rows are chosen by (unit, codes, texts, numbers), and its names with their types."""
        unit = str(self._table.unit)
        inner, hashed = [f"r.{identifier(unit)} AS u"], [("u", self._source.type_of(unit))]
        for column in self._table.finite:
            code, name = self._coded[column.name].expression, self._code_name(column.name)
            inner.append(f"CAST(coalesce({code}, {len(column.values)}) AS UINTEGER) AS {name}")
            hashed.append((name, "UINTEGER"))
        for text in self._table.text:
            inner.append(f"CAST(r.{identifier(text.name)} AS VARCHAR) AS {self._text_name(text.name)}")
            hashed.append((self._text_name(text.name), "VARCHAR"))
        for domain in self._table.finite:
            if isinstance(domain, NumberDomain) and domain.is_binned:
                x, name = codes.number(domain, f"r.{identifier(domain.name)}"), self._number_name(domain.name)
                inner.append(f"CASE WHEN {x} = 0 THEN 0.0e0 ELSE {x} END AS {name}")  # one text for both zeros
                hashed.append((name, "DOUBLE"))
        return inner, hashed

    def _window(self, hashed: Sequence[tuple[str, str]]) -> str:
        """Units and the order of their rows; the unit is part of the digest, else all keep the same favourites."""
        digest = (first_content if self._rule == 1 else content).row_digest(hashed)
        return f"PARTITION BY {self._told_apart(hashed[0])} ORDER BY {digest} ASC"

    def _told_apart(self, unit: tuple[str, str]) -> str:
        """SQL that is equal for the rows of one unit."""
        return unit[0] if self._rule == 1 else content.same_unit(*unit)
