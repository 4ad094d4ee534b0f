"""Spark's way to say what an engine needs: ``dpsql.engine.sql.dialect`` explains each sentence.

The same with ANSI and without: nothing is cast before a range test, nothing is looked up outside an array, no list
becomes branches of generated code. Strings are told apart by bytes, whatever a collation says.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Literal

from dpsql.engine.sql.dialect import SqlColumn, StandardEnds


def identifier(name: str) -> str:
    """A quoted identifier."""
    return "`" + name.replace("`", "``") + "`"


class SparkDialect(StandardEnds):
    """Expressions of Spark 4 in a session whose time zone is UTC."""

    def identifier(self, name: str) -> str:
        return identifier(name)

    def field(self, x: str, column: SqlColumn) -> str:
        match column.family:
            case "integer" | "boolean" | "date":
                text = f"CAST({x} AS STRING)"
            case "decimal":
                text = _decimal(x, column)
            case "float":
                return self.float_field(f"CAST({x} AS DOUBLE)")
            case "moment":
                text = f"CAST({_microseconds(x)} AS STRING)"
            case "bytes":
                return self.string_field(f"hex({x})")
            case _:
                return self.string_field(self.as_text(x, column))
        return f"coalesce({text} || ',', ',')"

    def string_field(self, text: str) -> str:
        return f"coalesce(CAST(octet_length({text}) AS STRING) || ':' || {text}, ',')"

    def integer_field(self, x: str) -> str:
        return f"CAST({x} AS STRING) || ','"

    def float_field(self, x: str) -> str:
        """Bits by Java's own function, which Spark has none of; ``coalesce``, since it fails on NULL."""
        signed = f"CAST(reflect('java.lang.Double', 'doubleToLongBits', coalesce({x}, 0.0D)) AS DECIMAL(20, 0))"
        unsigned = f"CASE WHEN {signed} < 0 THEN {signed} + 18446744073709551616 ELSE {signed} END"
        return f"CASE WHEN {x} IS NULL THEN ',' WHEN isnan({x}) THEN 'nan,' ELSE CAST({unsigned} AS STRING) || ',' END"

    def row_digest(self, columns: Sequence[tuple[str, SqlColumn]]) -> str:
        return self.md5_hex(" || ".join(self.field(x, c) for x, c in columns) or "''")

    def once(self, query: str) -> str:
        return query

    def md5_hex(self, text: str) -> str:
        return f"md5(CAST({text} AS BINARY))"

    def md5_byte(self, digest: str, number: int) -> str:
        return f"CAST(conv(substr({digest}, {2 * number + 1}, 2), 16, 10) AS BIGINT)"

    def hexadecimal(self, text: str) -> str:
        return f"hex(CAST({text} AS BINARY))"

    def as_text(self, x: str, column: SqlColumn) -> str:
        return f"(make_valid_utf8(CAST({x} AS STRING)) COLLATE UTF8_BINARY)"

    def prefix(self, text: str, length: int) -> str:
        return f"left({text}, {length})"

    def integer(self, x: str, column: SqlColumn, low: int, high: int) -> str:
        match column.family:
            case "decimal":  # comparisons of decimals round where 38 digits do not hold both
                inside, whole = f"floor({x}) BETWEEN ({low}) AND ({high}) AND floor({x}) = ceil({x})", f"floor({x})"
            case "float":
                whole = f"CAST({x} AS DOUBLE)"
                fits = f"{whole} BETWEEN -9.2e18D AND 9.2e18D"
                ends = f"CAST({low} AS DOUBLE) AND CAST({high} AS DOUBLE)"
                inside = f"{whole} BETWEEN {ends} AND {fits} AND {whole} = floor({whole})"  # NaN is above every number
            case _:
                inside, whole = f"{x} BETWEEN ({low}) AND ({high})", x
        return f"CASE WHEN {inside} THEN CAST({whole} AS BIGINT) - ({low}) END"

    def number(self, x: str, column: SqlColumn) -> str:
        double = f"CAST({x} AS DOUBLE)"
        return f"CASE WHEN NOT isnan({x}) THEN {double} END" if column.family == "float" else double

    def bin(self, x: str, edges: Sequence[float]) -> str:
        return f"{_not_above(_doubles(edges[:-1]), len(edges) - 1, x, 'n')} - 1"

    def fraction(self, x: str, low: str, span: str, parts: int) -> str:
        half = f"({x} * 0.5D - {low})"
        tiny = f"{half} < {span} * {self.double(2.0**-40)}"
        share = f"floor({half} / {span} * {self.double(parts)})"
        return (
            f"CASE WHEN {x} IS NULL OR {span} <= 0 OR {half} <= 0 OR {tiny} THEN 0L "
            f"WHEN {half} >= {span} THEN {parts}L ELSE {share} END"
        )

    def double(self, value: float) -> str:
        return f"CAST('{float(value)!r}' AS DOUBLE)"

    def day(self, x: str, column: SqlColumn) -> str:
        return x if column.family == "date" else f"CAST({x} AS DATE)"

    def moment(self, x: str, column: SqlColumn) -> str:
        return f"CAST({x} AS TIMESTAMP_NTZ)"

    def units_since(self, moment: str, first: datetime, seconds: int) -> str:
        begun = _microseconds(self.timestamp(first))
        return f"(({_microseconds(moment)} - {begun}) DIV {seconds * 1_000_000}L)"

    def timestamp(self, moment: datetime) -> str:
        return f"TIMESTAMP_NTZ '{moment}'"

    def days_since(self, day: str, first: date) -> str:
        return f"datediff({day}, {self.date(first)})"

    def part(self, day: str, part: Literal["year", "month", "quarter"]) -> str:
        return f"{part}({day})"

    def date(self, day: date) -> str:
        return f"DATE '{day.isoformat()}'"

    def pick(self, numbers: Sequence[int], index: str) -> str:
        return f"get({_array(map(str, numbers), 'BIGINT')}, CAST({index} AS INT))"

    def pick_double(self, numbers: Sequence[float], index: str) -> str:
        return f"get({_doubles(numbers)}, CAST({index} AS INT))"

    def lookup(self, numbers: Mapping[str, int], text: str) -> str:
        """By halving a sorted list of hexadecimal digits: a map of Spark's is read from its beginning."""
        held = sorted((s.encode().hex().upper(), n) for s, n in numbers.items() if not _has_surrogates(s))
        if not held:
            return "CAST(NULL AS INT)"
        keys, values = _array((f"x{h}" for h, _ in held), "STRING"), _array((str(n) for _, n in held), "INT")
        key = f"('x' || {self.hexadecimal(text)})"
        found = f"CASE WHEN get({keys}, n - 1) = {key} THEN get({values}, n - 1) END"
        return _not_above(keys, len(held), key, found)


def _not_above(values: str, size: int, x: str, then: str) -> str:
    """``then`` of ``n``, how many of the sorted ``values`` are not above ``x``, found by halving."""
    steps = ", ".join(str(1 << k) for k in reversed(range(max(size.bit_length(), 1))))
    step = f"(n, s) -> CASE WHEN get({values}, n + s - 1) <= {x} THEN n + s ELSE n END"
    return f"aggregate(array({steps}), 0, {step}, n -> {then})"


def _decimal(x: str, column: SqlColumn) -> str:
    """All digits, never an exponent, and no zeros at the end of a fraction."""
    scale = int(column.kind.rpartition(",")[2].rstrip(")")) if "," in column.kind else 0
    if scale == 0:
        return f"CAST({x} AS STRING)"
    return f"regexp_replace(replace(format_number({x}, {scale}), ',', ''), '[.]?0+$', '')"


def _microseconds(x: str) -> str:
    return f"unix_micros(CAST({x} AS TIMESTAMP))"


def _doubles(numbers: Sequence[float]) -> str:
    return _array((repr(float(n)) for n in numbers), "DOUBLE")


def _array(values: Iterable[str], kind: str) -> str:
    listed = f"split('{','.join(values)}', ',')"
    return listed if kind == "STRING" else f"CAST({listed} AS ARRAY<{kind}>)"


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in text)
