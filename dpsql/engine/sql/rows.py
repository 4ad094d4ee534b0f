"""The rows of a private table that are counted, as a query over codes, in any dialect.

The two rules are those of :mod:`dpsql.engine.duckdb.kept_rows`, each about one unit at a time: a row without a value in
a column that is not nullable is dropped, and of a unit's rows those with the smallest digests are kept.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from math import inf

from dpsql.domain import (
    FIXED_POINT,
    BooleanDomain,
    CategoryDomain,
    DateDomain,
    FiniteDomain,
    IntegerDomain,
    NumberDomain,
    TableDomain,
    TextDomain,
)
from dpsql.engine.duckdb.codes import last_day
from dpsql.engine.sql.dialect import Dialect, SqlColumn, SqlTable
from dpsql.errors import PolicyError
from dpsql.query import Interval


class SqlRows:
    """SQL over one table: ``query(columns)`` has the columns that ``code``, ``token``, ``share`` name."""

    def __init__(self, dialect: Dialect, table: TableDomain, source: SqlTable) -> None:
        self._dialect, self._table, self._source = dialect, table, source
        for column in table.columns:
            _check_fits(column, self._column(column.name), table.name)
        if table.unit is not None and self._column(table.unit).family == "other":
            kind = self._column(table.unit).kind
            raise PolicyError(f"values of type {kind} cannot be told apart", path=f"tables.{table.name}.unit")

    def code(self, column: str) -> str:
        """The code of a finite column in ``query``."""
        return f"c{self._table.order[column]}"

    def codes(self, columns: Sequence[str]) -> list[str]:
        return [self.code(c) for c in columns]

    def token(self, columns: Sequence[str]) -> str:
        """Text columns, declared or derived, as one string of ASCII that tells their bytes apart, NULL too."""
        return " || ',' || ".join(self._token(c) for c in columns)

    def holder(self, column: str) -> str:
        """What tells values of the unit or of a text column apart; see ``is_somebody`` and ``NO_TEXT``."""
        return "u" if column == self._table.unit else self._token(column)

    def is_somebody(self, column: str, holder: str) -> str:
        """Whether it is the value of a row that has one."""
        return f"{holder} <> '{',' if column == self._table.unit else NO_TEXT}'"

    def share(self, number: NumberDomain) -> str:
        """Where a row's number stands between min and max."""
        low, high = number.edges[0] * 0.5, number.edges[-1] * 0.5
        d = self._dialect
        return d.fraction(self._held(number.name), d.double(low), d.double(high - low), FIXED_POINT)

    def position(self, number: NumberDomain) -> str:
        """Where it stands between the edges of its bin."""
        halves, code, d = [edge * 0.5 for edge in number.edges], self.code(number.name), self._dialect
        lows, spans = [*halves[:-1], 0.0], [*(b - a for a, b in pairwise(halves)), 1.0]
        x = self._held(number.name)
        return d.fraction(x, d.pick_double(lows, code), d.pick_double(spans, code), FIXED_POINT)

    def where(self, inside: Sequence[tuple[NumberDomain, Interval]]) -> str:
        """The clause that leaves rows whose numbers are in their intervals; empty without any."""
        d = self._dialect
        tests = [f"{self._held(n.name)} BETWEEN {d.double(i.low)} AND {d.double(i.high)}" for n, i in inside]
        return f" WHERE {' AND '.join(tests)}" if tests else ""

    def value_cell(self, number: NumberDomain, marks: Sequence[float]) -> str:
        """Twice the place of the last of increasing ``marks`` that a row's number reaches, and 1 more beyond it."""
        d, x = self._dialect, self._held(number.name)
        place = f"CASE WHEN {x} IS NOT NULL THEN {d.bin(x, (*marks, inf))} END"
        return f"2 * ({place}) + CASE WHEN {x} = {d.pick_double(marks, place)} THEN 0 ELSE 1 END"

    def query(self, columns: Sequence[str], *, every: bool = False) -> str:
        """The counted rows with these columns: codes, texts and numbers as the other methods name them.

        ``every``: of a unit all rows, not only those that its limit allows.
        """
        table = self._table
        required = [c.name for c in table.columns if not c.nullable]
        named = [c.name for c in table.columns] if table.unit is not None else [*columns, *required]
        wanted = dict.fromkeys(map(self._declared, named))
        raw, out = self._raw(list(wanted)), self._coalesced(list(wanted))
        unit = (
            []
            if table.unit is None
            else [f"{self._dialect.field(self._sql(table.unit), self._column(table.unit))} AS u"]
        )
        tests = [f"{self.code(c)} IS NOT NULL" for c in required if not self._is_text(c)]
        tests += [f"{self._text(c)} IS NOT NULL" for c in required if self._is_text(c)]
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        coded = f"SELECT {', '.join([*unit, *raw]) or '1 AS one'} FROM {self._source.sql} AS r"
        if table.unit is None:
            return f"SELECT {', '.join(out) or '1 AS one'} FROM ({coded}) AS coded{where}"
        counted = f"SELECT {', '.join(['u', *out])} FROM ({coded}) AS coded{where}"
        if every:
            return counted
        number = f"row_number() OVER (PARTITION BY u ORDER BY {self._digest()}) AS dpsql_place"
        placed = f"SELECT counted.*, {number} FROM ({counted}) AS counted"
        return f"SELECT * FROM ({placed}) AS placed WHERE dpsql_place <= {int(table.max_rows_per_unit)}"

    def all_rows(self) -> str:
        """Every row, with the code of each finite column (NULL outside), whether it has a value, and the numbers."""
        finite = [c.name for c in self._table.finite]
        has = [f"CASE WHEN {self._sql(c)} IS NULL THEN 0 ELSE 1 END AS h{self._table.order[c]}" for c in finite]
        plain = [
            f"{self._dialect.number(self._sql(c.name), self._column(c.name))} AS y{self._table.order[c.name]}"
            for c in self._table.finite
            if isinstance(c, NumberDomain)
        ]
        return f"SELECT {', '.join([*self._raw(finite), *has, *plain]) or '1 AS one'} FROM {self._source.sql} AS r"

    def is_outside(self, column: FiniteDomain) -> str:
        """Whether a row of ``all_rows`` has a value that is not declared."""
        at = self._table.order[column.name]
        if isinstance(column, NumberDomain):
            low, high = self._dialect.double(column.edges[0]), self._dialect.double(column.edges[-1])
            return f"h{at} = 1 AND NOT coalesce(y{at} BETWEEN {low} AND {high}, FALSE)"
        return f"h{at} = 1 AND {self.code(column.name)} IS NULL"

    def beyond(self, column: str, most: int) -> str:
        """The number of counted rows that hold a string which is in more than ``most`` of them."""
        keyed = f"SELECT {self.token((column,))} AS k FROM ({self.query((column,))}) AS counted"
        each = f"SELECT k, count(*) AS n FROM ({keyed}) AS keyed GROUP BY k"
        more = f"k <> '{NO_TEXT}' AND n > {int(most)}"
        return f"SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM ({each}) AS each_one WHERE {more}"

    def _raw(self, columns: Sequence[str]) -> list[str]:
        out = []
        for name in columns:
            if self._is_text(name):
                out.append(f"{self._dialect.as_text(self._sql(name), self._column(name))} AS {self._text(name)}")
                continue
            domain = self._table.finite_domain(name)
            out.append(f"{self._code(domain)} AS {self.code(name)}")
            if isinstance(domain, NumberDomain) and domain.is_binned:
                out.append(f"{self._clipped(domain)} AS {self._held(name)}")
        return out

    def _coalesced(self, columns: Sequence[str]) -> list[str]:
        """The same columns, NULL and what is outside as the last code, and one zero."""
        out = []
        for name in columns:
            if self._is_text(name):
                out.append(self._text(name))
                continue
            domain, code = self._table.finite_domain(name), self.code(name)
            out.append(f"coalesce({code}, {len(domain.values)}) AS {code}")
            if isinstance(domain, NumberDomain) and domain.is_binned:
                x, zero = self._held(name), self._dialect.double(0.0)
                out.append(f"CASE WHEN {x} = {zero} THEN {zero} ELSE {x} END AS {x}")
        return out

    def _digest(self) -> str:
        """The digest that a unit's rows are ordered by: unit, codes, texts, numbers."""
        d, table = self._dialect, self._table
        told = ["u"]
        told += [d.integer_field(self.code(c.name)) for c in table.finite]
        told += [d.string_field(self._text(c.name)) for c in table.text]
        told += [d.float_field(self._held(c.name)) for c in table.finite if isinstance(c, NumberDomain) and c.is_binned]
        return d.md5_hex(" || ".join(told))

    def _code(self, domain: FiniteDomain) -> str:
        d, column = self._dialect, self._column(domain.name)
        x = self._sql(domain.name)
        match domain:
            case IntegerDomain():
                return d.integer(x, column, domain.low, domain.high)
            case NumberDomain():
                clipped = self._clipped(domain)
                return f"CASE WHEN {clipped} IS NOT NULL THEN {d.bin(clipped, domain.edges)} END"
            case CategoryDomain():
                return d.lookup({value: i for i, value in enumerate(domain.values)}, d.as_text(x, column))
            case BooleanDomain():
                return f"CASE WHEN {x} THEN 1 WHEN NOT {x} THEN 0 END"
            case DateDomain():
                if domain.step is not None:
                    return self._moment(domain, d.moment(x, column), domain.step)
                return self._date(domain, d.day(x, column))

    def _clipped(self, domain: NumberDomain) -> str:
        x = self._dialect.number(self._sql(domain.name), self._column(domain.name))
        low, high = domain.edges[0], domain.edges[-1]
        return self._dialect.inside(x, low, high) if domain.outside == "null" else self._dialect.between(x, low, high)

    def _moment(self, domain: DateDomain, moment: str, step: timedelta) -> str:
        d, first, last = self._dialect, domain.values[0], domain.values[-1]
        if not isinstance(first, datetime) or not isinstance(last, datetime):  # they are moments, never NULL
            return "NULL"
        ends = f"{d.timestamp(first)} AND {d.timestamp(last + step - timedelta(microseconds=1))}"
        code = d.units_since(moment, first, int(step.total_seconds()))
        return f"CASE WHEN {moment} BETWEEN {ends} THEN {code} END"

    def _date(self, domain: DateDomain, day: str) -> str:
        d, first, last = self._dialect, domain.values[0], domain.values[-1]
        if not isinstance(first, date) or not isinstance(last, date):  # the domain's values are dates, never NULL
            return "NULL"
        match domain.unit:
            case "day":
                code = d.days_since(day, first)
            case "week":
                code = f"CAST(floor({d.days_since(day, first)} / 7.0) AS INTEGER)"
            case "month":
                code = f"({d.part(day, 'year')} - {first.year}) * 12 + {d.part(day, 'month')} - {first.month}"
            case "quarter":
                quarter = (first.month + 2) // 3
                code = f"({d.part(day, 'year')} - {first.year}) * 4 + {d.part(day, 'quarter')} - {quarter}"
            case "year":
                code = f"{d.part(day, 'year')} - {first.year}"
        ends = f"{d.date(first)} AND {d.date(last_day(last, domain.unit))}"
        return f"CASE WHEN {day} BETWEEN {ends} THEN {code} END"

    def _token(self, column: str) -> str:
        prefix, text = self._table.prefixes.get(column), self._text(self._declared(column))
        text = text if prefix is None else self._dialect.prefix(text, int(prefix.length))
        return f"coalesce('{SOME_TEXT}' || {self._dialect.hexadecimal(text)}, '{NO_TEXT}')"

    def _declared(self, column: str) -> str:
        prefix = self._table.prefixes.get(column)
        return column if prefix is None else prefix.column

    def _is_text(self, column: str) -> bool:
        return isinstance(self._table.by_name[column.lower()], TextDomain)

    def _text(self, column: str) -> str:
        return f"t{self._table.order[column]}"

    def _held(self, column: str) -> str:
        return f"x{self._table.order[column]}"

    def _sql(self, column: str) -> str:
        return f"r.{self._dialect.identifier(self._column(column).name)}"

    def _column(self, name: str) -> SqlColumn:
        found = self._source.column(name)
        if found is None:
            path = f"tables.{self._table.name}"
            existing = ", ".join(c.name for c in self._source.columns[:8])
            where = f"{path}.columns.{name}" if name.lower() in self._table.by_name else f"{path}.unit"
            raise PolicyError("the table has no such column", path=where, hint=f"it has {existing}")
        return found


SOME_TEXT, NO_TEXT = "x", "n"
_FITS = {
    "integer": ("integer", "decimal", "float"),
    "number": ("integer", "decimal", "float"),
    "category": ("string", "integer", "boolean"),
    "text": ("string", "integer", "boolean"),
    "boolean": ("boolean",),
    "date": ("date", "moment"),
}


def _check_fits(domain: FiniteDomain | TextDomain, column: SqlColumn, table: str) -> None:
    if column.family not in _FITS[domain.kind] or (domain.sql_type == "TIMESTAMP" and column.family != "moment"):
        raise PolicyError(
            f"a column of type {column.kind} cannot be declared as {domain.kind}",
            path=f"tables.{table}.columns.{domain.name}",
            hint=f"declare another type, or a view that casts it to {domain.sql_type} where it can be",
        )


def token_of(key: Sequence[str | None]) -> str:
    """A listed key as ``SqlRows.token`` writes it; surrogates match no stored string.

    >>> token_of(("é", None))
    'xC3A9,n'
    """
    return ",".join(
        NO_TEXT if part is None else SOME_TEXT + part.encode("utf-8", "surrogatepass").hex().upper() for part in key
    )


def text_of(token: str) -> str | None:
    """The string that a token of one column stands for; ``None`` for NULL.

    >>> text_of("xC3A9"), text_of("n")
    ('é', None)
    """
    return None if token == NO_TEXT else bytes.fromhex(token.removeprefix(SOME_TEXT)).decode()
