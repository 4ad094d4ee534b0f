"""Derived columns worked out in Python, one row at a time, and random expressions in the SQL that owners write."""

import math
import operator
import random
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from dpsql.domain import Expression

Row = Mapping[str, Any]
"""Values by lower-cased column: text, doubles, booleans, moments, or None."""

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def value(e: Expression, row: Row) -> Any:
    """What the expression is in a row, by SQL's rules of NULL; NaN is equal to itself and above all numbers."""
    if e.operation == "column":
        return row[str(e.value).lower()]
    if e.operation == "constant":
        return e.value
    if e.operation == "case":
        return _case(e.parts, row)
    parts = [value(part, row) for part in e.parts]
    if e.operation in ("and", "or"):
        return _joined(e.operation, parts)
    if e.operation == "is null":
        return parts[0] is None
    if e.operation == "coalesce":
        return next((x for x in parts if x is not None), None)
    if e.operation == "nullif":
        return None if parts[0] is None or _key(parts[0]) == _key(parts[1]) else parts[0]
    if e.operation == "in":
        found = [None if parts[0] is None or x is None else _key(parts[0]) == _key(x) for x in parts[1:]]
        return _joined("or", found)
    if None in parts:
        return None
    if e.operation in _COMPARED:
        return _COMPARED[e.operation](_key(parts[0]), _key(parts[1]))
    return _worked_out(e.operation, parts)


def _key(x: Any) -> Any:
    if isinstance(x, float):
        return (math.isnan(x), 0.0 if math.isnan(x) else x)
    return x.encode() if isinstance(x, str) else x


def _case(parts: Sequence[Expression], row: Row) -> Any:
    for condition, then in zip(parts[0:-1:2], parts[1::2], strict=False):
        if value(condition, row):
            return value(then, row)
    return value(parts[-1], row) if len(parts) % 2 else None


def _joined(operation: str, parts: Sequence[Any]) -> bool | None:
    decisive = operation == "or"
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive


def _worked_out(operation: str, parts: Sequence[Any]) -> Any:
    match operation, parts:
        case ("+", [x, y]):
            return x + y
        case ("-", [x, y]):
            return x - y
        case ("*", [x, y]):
            return x * y
        case ("/", [x, y]):
            return None if y == 0 else x / y
        case ("%", [x, y]):
            return None if y == 0 else math.nan if math.isinf(x) else math.fmod(x, y)
        case ("negative", [x]):
            return -x
        case ("abs", [x]):
            return abs(x)
        case ("floor" | "ceil" | "round", [x]) if not math.isfinite(x):
            return x
        case ("floor", [x]):
            return float(math.floor(x))
        case ("ceil", [x]):
            return float(math.ceil(x))
        case ("round", [x]):  # halves away from zero
            whole = float(math.trunc(x))
            return whole + math.copysign(1.0, x) if abs(x - whole) >= 0.5 else whole
        case ("||", [x, y]):
            return x + y
        case ("lower", [x]):
            return x.lower()
        case ("upper", [x]):
            return x.upper()
        case ("trim", [x]):
            return x.strip(" ")
        case ("ltrim", [x]):
            return x.lstrip(" ")
        case ("rtrim", [x]):
            return x.rstrip(" ")
        case ("length", [x]):
            return float(len(x))
        case ("contains", [x, y]):
            return y in x
        case ("starts_with", [x, y]):
            return x.startswith(y)
        case ("ends_with", [x, y]):
            return x.endswith(y)
        case ("like" | "ilike", [x, pattern]):
            read = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
            return re.fullmatch(read, x, re.DOTALL | (re.IGNORECASE if operation == "ilike" else 0)) is not None
        case ("not", [x]):
            return not x
        case ("number", [x]):
            return _number(x)
        case (part, [datetime() as x]):
            return float({"quarter": (x.month + 2) // 3, "isodow": x.isoweekday()}.get(part) or getattr(x, part))
    raise AssertionError(operation)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def text_of(rng: random.Random, sort: str, columns: Mapping[str, str], depth: int) -> str:
    """A random expression of a sort; ``columns``: the sort of each."""

    def of(wanted: str) -> str:
        return text_of(rng, wanted, columns, depth - 1)

    if depth <= 0 or rng.random() < 0.15:
        return _leaf(rng, sort, columns)
    if rng.random() < 0.2:
        return rng.choice(
            [
                f"CASE WHEN {of('boolean')} THEN {of(sort)} WHEN {of('boolean')} THEN NULL ELSE {of(sort)} END",
                f"CASE {of('number')} WHEN 3 THEN {of(sort)} END",
                f"coalesce({of(sort)}, {of(sort)})",
                f"nullif({of(sort)}, {of(sort)})",
                f"if({of('boolean')}, {of(sort)}, {of(sort)})",
            ]
        )
    match sort:
        case "number":
            part = rng.choice(["year", "quarter", "month", "day", "hour", "minute", "isodow"])
            call = rng.choice(["abs", "floor", "ceil", "round"])
            return rng.choice(
                [
                    f"({of('number')} {rng.choice('+-*/%')} {of('number')})",
                    f"{call}({of('number')})",
                    f"length({of('text')})",
                    f"TRY_CAST({of('text')} AS DOUBLE)",
                    f"{part}({of('moment')})",
                    f"EXTRACT({part} FROM {of('moment')})",
                    f"(- {of('number')})",
                ]
            )
        case "text":
            call = rng.choice(["lower", "upper", "trim", "ltrim", "rtrim"])
            return rng.choice([f"({of('text')} || {of('text')})", f"{call}({of('text')})"])
        case "boolean":
            kind = rng.choice(["number", "text", "moment"])
            x, compare = of(kind), rng.choice(["=", "<>", "<", "<=", ">", ">="])
            word = rng.choice(["LIKE", "NOT LIKE", "ILIKE"])
            return rng.choice(
                [
                    f"({x} {compare} {of(kind)})",
                    f"({x} {rng.choice(['', 'NOT '])}BETWEEN {of(kind)} AND {of(kind)})",
                    f"({x} {rng.choice(['', 'NOT '])}IN ({of(kind)}, {of(kind)}, NULL))",
                    f"({x} IS {rng.choice(['', 'NOT '])}NULL)",
                    f"(NOT {of('boolean')})",
                    f"({of('boolean')} {rng.choice(['AND', 'OR'])} {of('boolean')})",
                    f"({of('text')} {word} '{rng.choice(['%a%', 'A_', '%', '', 'x%y', '1%'])}')",
                    f"{rng.choice(['contains', 'starts_with', 'ends_with'])}({of('text')}, {of('text')})",
                ]
            )
    return _leaf(rng, sort, columns)


def _leaf(rng: random.Random, sort: str, columns: Mapping[str, str]) -> str:
    named = [name for name, of in columns.items() if of == sort]
    if named and rng.random() < 0.7:
        return rng.choice(named)
    match sort:
        case "number":
            return rng.choice(["0", "3", "-2.5", "1e300", "7"])
        case "text":
            return rng.choice(["'a'", "''", "'it''s'", "'12'", "'A'"])
        case "boolean":
            return rng.choice(["true", "false"])
    return rng.choice(["DATE '2020-02-29'", "TIMESTAMP '1999-12-31 23:59:59'"])
