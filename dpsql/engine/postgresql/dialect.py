"""PostgreSQL's way to say what an engine needs: ``dpsql.engine.sql.dialect`` explains each sentence.

What makes PostgreSQL fail on a value is kept away from it: casts of decimals that no double holds, products that
underflow, moments beyond a bigint, texts of a gigabyte, comparisons by a column's collation, functions of the owner's
that have the names of its own.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Literal

from dpsql.engine.postgresql.connection import identifier, literal
from dpsql.engine.sql.dialect import SqlColumn, StandardEnds

_HALVED = 2.0**-1073
"""The smallest number whose half PostgreSQL finds: below it there is none but 0."""
_TINY, _UNDERFLOWS = 2.0**-40, 2.0**-1035
"""A part of a span that counts as nothing, and the greatest span of which PostgreSQL does not find that part."""
_DIGITS = 300
"""Digits after the point of a decimal that becomes a double: below, PostgreSQL fails where it would be zero."""
LARGEST = 800_000_000
"""Bytes of a field's text, or of a row's strings together: above, their lengths and digests stand for them, for
PostgreSQL fails where it would make a text of 2^30."""
_WIDE = ("string", "bytes")


class PostgresDialect(StandardEnds):
    """Expressions of PostgreSQL 14 and later."""

    def identifier(self, name: str) -> str:
        return identifier(name)

    def field(self, x: str, column: SqlColumn) -> str:
        match column.family:
            case "integer" | "boolean" | "date":
                text = f"{x}::text"
            case "decimal":
                text = f"pg_catalog.trim_scale({x})::text"
            case "float":
                return self.float_field(f"{x}::float8")
            case "moment":
                text = f"CASE WHEN pg_catalog.isfinite({x}) THEN {_microseconds(x, column.kind)} ELSE {x}::text END"
            case "time":
                text = f"(extract(epoch FROM {x}) * 1000000)::bigint::text"
            case "string" | "bytes" | "other":
                whole, short = self._whole(x, column), _short(x, column)
                return f"CASE WHEN {_size(x, column)} > {LARGEST} THEN {short} ELSE {whole} END"
        return f"coalesce({text} || ',', ',')"

    def string_field(self, text: str) -> str:
        told = f"coalesce(pg_catalog.octet_length(pg_catalog.convert_to({text}, 'UTF8')) || ':' || {text}, ',')"
        return f'({told} COLLATE "C")'  # units are told apart by it: the column's may call different strings equal

    def integer_field(self, x: str) -> str:
        return f"{x}::text || ','"

    def float_field(self, x: str) -> str:
        bits = f"('x' || pg_catalog.encode(pg_catalog.float8send({x}), 'hex'))::bit(64)::bigint::numeric"
        unsigned = f"CASE WHEN {bits} < 0 THEN {bits} + 18446744073709551616 ELSE {bits} END"
        return f"CASE WHEN {x} IS NULL THEN ',' WHEN {x} = 'NaN' THEN 'nan,' ELSE ({unsigned})::text || ',' END"

    def row_digest(self, columns: Sequence[tuple[str, SqlColumn]]) -> str:
        wide = [(x, c) for x, c in columns if c.family in _WIDE]
        whole, short = (
            self.md5_hex(" || ".join(told(x, c) if c.family in _WIDE else self.field(x, c) for x, c in columns) or "''")
            for told in (self._whole, _short)
        )
        size = " + ".join(f"coalesce({_size(x, c)}, 0)" for x, c in wide)
        return f"CASE WHEN {size} > {LARGEST} THEN {short} ELSE {whole} END" if wide else whole

    def once(self, query: str) -> str:
        return f"{query} OFFSET 0"

    def _whole(self, x: str, column: SqlColumn) -> str:
        return self.string_field(_hexadecimal(x) if column.family == "bytes" else f"{x}::text")

    def md5_hex(self, text: str) -> str:
        return f"(pg_catalog.md5(pg_catalog.convert_to({text}, 'UTF8')) COLLATE \"C\")"

    def md5_byte(self, digest: str, number: int) -> str:
        return f"pg_catalog.get_byte(pg_catalog.decode({digest}, 'hex'), {number})"

    def hexadecimal(self, text: str) -> str:
        return _hexadecimal(f"pg_catalog.convert_to({text}, 'UTF8')")

    def as_text(self, x: str, column: SqlColumn) -> str:
        return f"{x}::text"

    def prefix(self, text: str, length: int) -> str:
        return f"pg_catalog.left({text}, {length})"

    def integer(self, x: str, column: SqlColumn, low: int, high: int) -> str:
        inside = f"{x} BETWEEN ({low}) AND ({high})"  # NaN is above every number
        match column.family:
            case "decimal":
                inside, whole = f"{inside} AND {x} = pg_catalog.trunc({x})", f"{x}::bigint"
            case "float":
                fits = f"{x} BETWEEN -9.2e18 AND 9.2e18"
                inside, whole = f"{inside} AND {fits} AND {x} = pg_catalog.floor({x})", f"{x}::bigint"
            case _:
                whole = f"{x}::bigint"
        return f"CASE WHEN {inside} THEN {whole} - ({low}) END"

    def number(self, x: str, column: SqlColumn) -> str:
        match column.family:
            case "decimal":
                held = f"least(greatest(pg_catalog.round({x}, {_DIGITS}), '-1e308'), '1e308')::float8"
                return f"CASE WHEN {x} <> 'NaN' THEN {held} END"
            case "float":
                return f"CASE WHEN {x} <> 'NaN' THEN {x}::float8 END"
            case _:
                return f"{x}::float8"

    def bin(self, x: str, edges: Sequence[float]) -> str:
        return f"pg_catalog.width_bucket({x}, {_array(map(repr, edges[:-1]), 'float8')}) - 1"

    def fraction(self, x: str, low: str, span: str, parts: int) -> str:
        vanishes = f"pg_catalog.abs({x}) < {self.double(_HALVED)}"
        half = f"(CASE WHEN {vanishes} THEN 0.0::float8 ELSE {x} * 0.5::float8 END - {low})"
        least = f"CASE WHEN {span} > {self.double(_UNDERFLOWS)} THEN {span} * {self.double(_TINY)} ELSE 0 END"
        tiny = f"{half} < {least}"
        share = f"pg_catalog.floor({half} / {span} * {parts}::float8)::bigint"
        return (
            f"CASE WHEN {x} IS NULL OR {span} <= 0 OR {half} <= 0 OR {tiny} THEN 0 "
            f"WHEN {half} >= {span} THEN {parts} ELSE {share} END"
        )

    def double(self, value: float) -> str:
        return f"'{float(value)!r}'::float8"

    def day(self, x: str, column: SqlColumn) -> str:
        if column.kind == "timestamptz":
            return f"({x} AT TIME ZONE 'UTC')::date"
        return x if column.family == "date" else f"{x}::date"

    def moment(self, x: str, column: SqlColumn) -> str:
        return f"({x} AT TIME ZONE 'UTC')" if column.kind == "timestamptz" else x

    def units_since(self, moment: str, first: datetime, seconds: int) -> str:
        return f"pg_catalog.floor(extract(epoch FROM {moment} - {self.timestamp(first)}) / {seconds})::int"

    def timestamp(self, moment: datetime) -> str:
        return f"TIMESTAMP '{moment}'"

    def days_since(self, day: str, first: date) -> str:
        return f"({day} - {self.date(first)})"

    def part(self, day: str, part: Literal["year", "month", "quarter"]) -> str:
        return f"extract({part} FROM {day})::int"

    def date(self, day: date) -> str:
        return f"DATE '{day.isoformat()}'"

    def pick(self, numbers: Sequence[int], index: str) -> str:
        return f"({_array(map(str, numbers), 'bigint')})[1 + ({index})]"

    def pick_double(self, numbers: Sequence[float], index: str) -> str:
        return f"({_array(map(repr, numbers), 'float8')})[1 + ({index})]"

    def lookup(self, numbers: Mapping[str, int], text: str) -> str:
        held = {s: n for s, n in numbers.items() if "\0" not in s and not any("\ud800" <= c <= "\udfff" for c in s)}
        return f"({literal(json.dumps(held, ensure_ascii=False))}::jsonb ->> ({text}))::int"


def _microseconds(x: str, kind: str) -> str:
    """Since 1970, by way of 2000: the last moments are further from 1970 than a bigint counts, and rounded there."""
    middle = f"{kind} '2000-01-01{'+00' if kind == 'timestamptz' else ''}'"
    return f"pg_catalog.trunc(extract(epoch FROM {x} - {middle}) * 1000000 + 946684800000000)::text"


def _hexadecimal(data: str) -> str:
    """COLLATE, since other collations take four bytes for each digit."""
    return f"pg_catalog.upper(pg_catalog.encode({data}, 'hex') COLLATE \"C\")"


def _size(x: str, column: SqlColumn) -> str:
    """Of a field's text, which is not made for it."""
    digits = f"2 * pg_catalog.octet_length({x})::bigint"
    return digits if column.family == "bytes" else f"pg_catalog.octet_length({x}::text)::bigint"


def _short(x: str, column: SqlColumn) -> str:
    held = x if column.family == "bytes" else f"{x}::text"
    told = f"pg_catalog.octet_length({held}) || ':' || pg_catalog.md5({held})"
    return f"(coalesce({told}, ',') COLLATE \"C\")"


def _array(values: "map[str]", kind: str) -> str:
    return f"'{{{','.join(values)}}}'::{kind}[]"
