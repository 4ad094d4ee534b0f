"""Parameters become typed literals in the tree: values, never text.

A value that is printed into SQL is how injections begin. Here it becomes a node of the tree, with its type.
"""

import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from sqlglot import exp

from dpsql.dialect.types import natural_values
from dpsql.domain import Parameters
from dpsql.errors import DataError, ProgrammingError
from dpsql.sql.text.limits import MAX_LIST_ITEMS

_MAX_INT = 2**127 - 1  # HUGEINT
_BELOW_MICROSECONDS = ("ns", "ps", "fs", "as")
_TOO_FINE = "a timestamp parameter is finer than microseconds"
_ROUND = "round it to microseconds"
_NO_LIST = (
    "pass a list, as [1, 2] for numbers and ['a', 'b'] for strings; where values are passed one by one, as by -p, "
    "write IN (?, ?) or IN ($a, $b)"
)
_ZONE = "moments are in UTC: pass value.astimezone(UTC).replace(tzinfo=None), with datetime.UTC"
_COUNTED: tuple[tuple[pa.DataType, pa.DataType, str, Literal["D", "us"]], ...] = (
    (pa.date32(), pa.int32(), "DATE", "D"),
    (pa.timestamp("us"), pa.int64(), "TIMESTAMP", "us"),
)


def bind(tree: exp.Expr, parameters: Parameters) -> None:
    """Replaces every ``?``, ``$1`` and ``$name`` in ``tree`` by its value, in place.

    Raises ProgrammingError when placeholders and parameters do not match, DataError for a value without a literal.
    """
    places = list(tree.find_all(exp.Placeholder, exp.Parameter))
    listed = isinstance(parameters, (list, tuple, Mapping)) or (isinstance(parameters, np.ndarray) and parameters.ndim)
    if parameters is not None and not listed:
        raise ProgrammingError("parameters must be a list, tuple or mapping", hint="write execute(sql, [value])")
    if not places:
        if parameters is not None and len(parameters):
            raise ProgrammingError(
                f"{_several(len(parameters), 'parameter')} for no placeholder", hint="write ? where they belong"
            )
        return
    places.sort(key=lambda p: int(p.meta["start"]))
    names = [str(p.args.get("this") or "") for p in places]
    if all(name == "" for name in names):
        values = _positional(parameters, len(places))
    elif all(name.isdigit() for name in names):
        given = _positional(parameters, max(int(n) for n in names))
        if set(names) != {str(i + 1) for i in range(len(given))}:
            raise ProgrammingError("numbered placeholders skip a number", hint="number them $1, $2, ... without gaps")
        values = [given[int(n) - 1] for n in names]
    elif all(name and not name.isdigit() for name in names):
        values = _named(parameters, names)
    else:
        raise ProgrammingError("?, $1 and $name are mixed", hint="use one kind of placeholder in a statement")
    for node, value in zip(places, values, strict=True):
        _replace(node, value)


def _positional(parameters: Parameters, count: int) -> list[Any]:
    if parameters is None or isinstance(parameters, Mapping):
        given = "none" if parameters is None else "a mapping"
        raise ProgrammingError(
            f"{_several(count, 'positional parameter')} wanted, {given} given",
            hint="pass a list of values; at the command line write $name, and -p name=value",
        )
    values = list(parameters)
    if len(values) != count:
        raise ProgrammingError(
            f"{_several(count, 'parameter')} wanted, {len(values)} given", hint="pass one value for each ?"
        )
    return values


def _several(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _named(parameters: Parameters, names: list[str]) -> list[Any]:
    if not isinstance(parameters, Mapping):
        raise ProgrammingError("named parameters wanted", hint="pass a mapping from names to values")
    missing = sorted(set(names) - set(parameters))
    extra = sorted(str(k) for k in set(parameters) - set(names))
    if missing:
        raise ProgrammingError(f"no value for ${missing[0]}", hint=f"add {missing[0]!r} to the mapping")
    if extra:
        raise ProgrammingError(f"no placeholder ${extra[0]}", hint=f"remove {extra[0]!r} from the mapping")
    return [parameters[n] for n in names]


def _replace(node: exp.Expr, value: Any) -> None:
    parent = node.parent
    value = unwrapped(value)
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        listed = isinstance(parent, exp.In) and (parent.args.get("field") is node or parent.expressions == [node])
        if not listed or not isinstance(parent, exp.In):
            raise DataError("a list is only a value for IN", hint="write column IN ?")
        items = [literal(v) for v in value]
        if len(items) > MAX_LIST_ITEMS:
            raise DataError(f"{len(items):,} list items, more than {MAX_LIST_ITEMS:,}", hint="ask in several parts")
        parent.set("field", None)
        parent.set("expressions", items)
        if not items:
            parent.replace(exp.false())
        return
    replacement = literal(value)
    if isinstance(parent, exp.In) and parent.args.get("field") is node:
        if isinstance(value, str):  # to DuckDB this asks for the parts of the string
            raise DataError("a string is no list of values for IN", hint=_NO_LIST)
        parent.set("field", None)
        parent.set("expressions", [replacement])
    else:
        replacement.meta.update(node.meta)
        node.replace(replacement)


def unwrapped(value: Any) -> Any:
    """Python's value for one of NumPy's, an array without dimensions included; others as they are.

    DataError for a time that Python's cannot hold: NumPy itself would make a bare integer of it.

    >>> unwrapped(np.int64(3)), unwrapped(np.array(0.5)), unwrapped(np.datetime64("2020-01-02T03:04:05", "ns"))
    (3, 0.5, datetime.datetime(2020, 1, 2, 3, 4, 5))
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return _python_time(value)
    return value.item() if isinstance(value, np.generic) else value


def _python_time(value: np.datetime64 | np.timedelta64) -> date | timedelta | None:
    if np.isnat(value):
        return None
    if isinstance(value, np.datetime64) and np.datetime_data(value.dtype)[0] in _BELOW_MICROSECONDS:
        rounded = value.astype("datetime64[us]")
        if rounded != value:
            raise DataError(_TOO_FINE, hint=_ROUND)
        value = rounded
    found: object = value.item()
    if isinstance(found, (date, timedelta)):
        return found
    raise DataError(
        f"a parameter of type {value.dtype.name} cannot be bound",
        hint="pass a date of the years 1 to 9999, or a number",
    )


def literal(value: Any) -> exp.Expr:
    """The literal of a value; DuckDB reads it back as the same value of the same type.

    >>> [literal(v).sql("duckdb") for v in (1, -2, 0.5, "it's", None, True, date(2020, 1, 2))]
    ['1', '(-2)', '5e-1', "'it''s'", 'NULL', 'TRUE', "CAST('2020-01-02' AS DATE)"]
    """
    value = unwrapped(value)
    match value:
        case None:
            return exp.null()
        case bool():
            return exp.Boolean(this=value)
        case int():
            if not -_MAX_INT <= value <= _MAX_INT:
                raise DataError("an integer parameter is beyond 128 bits")
            return _signed(str(abs(value)), value < 0)
        case float():
            if not math.isfinite(value):
                return _cast(str(value), "DOUBLE")
            return _signed(_scientific(abs(value)), math.copysign(1, value) < 0)
        case Decimal():
            if not value.is_finite() or len(value.as_tuple().digits) > 38 or abs(value.adjusted()) > 37:
                raise DataError("a decimal parameter does not fit DECIMAL(38)", hint="pass it as float")
            return _signed(f"{abs(value):f}", value.is_signed())
        case str():
            return exp.Literal.string(_text(value))
        case datetime() if value != value:  # the NaT of pandas
            return exp.null()
        case datetime():
            if value.tzinfo is not None:
                raise DataError("a timestamp parameter has a time zone", hint=_ZONE)
            if getattr(value, "nanosecond", 0):  # a Timestamp of pandas
                raise DataError(_TOO_FINE, hint=_ROUND)
            return _cast(value.isoformat(sep=" "), "TIMESTAMP")
        case date():
            return _cast(value.isoformat(), "DATE")
        case time():
            if value.tzinfo is not None:
                raise DataError("a time parameter has a time zone", hint="pass it without tzinfo")
            return _cast(value.isoformat(), "TIME")
        case timedelta():
            raise DataError(
                "a parameter of type timedelta cannot be bound", hint="write INTERVAL ? SECOND for a number"
            )
        case _:
            hint = (
                "write column IN ? and pass its values as a list: values.tolist()" if hasattr(value, "tolist") else None
            )
            raise DataError(f"a parameter of type {type(value).__name__} cannot be bound", hint=hint)


def literals(column: pa.ChunkedArray) -> list[exp.Expr]:
    """The different values of a column of a result; days and moments that Python does not have are among them.

    >>> days = pa.array([0, 2**31 - 1, -735_525], pa.int32()).view(pa.date32())
    >>> [v.this.this for v in literals(pa.chunked_array([days]))]
    ['1970-01-01', 'infinity', '0045-03-15 (BC)']
    """
    for arrow, integer, kind, unit in _COUNTED:
        if column.type == arrow:
            numbers = dict.fromkeys(column.cast(integer).to_pylist())
            return [exp.null() if n is None else _cast(_moment(n, unit), kind) for n in numbers]
    values = natural_values(column)
    nested = pa.types.is_nested(column.type)  # lists and structs cannot be bound: the first one says so
    return [literal(v) for v in (values if nested else dict.fromkeys(values))]


def _moment(number: int, unit: Literal["D", "us"]) -> str:
    """A number of days or microseconds since 1970 as DuckDB writes it, which has infinity and years before Christ."""
    if abs(number) == (2**31 - 1 if unit == "D" else 2**63 - 1):
        return "infinity" if number > 0 else "-infinity"
    day, _, clock = str(np.datetime64(number, unit)).partition("T")
    sign, body = ("-", day[1:]) if day.startswith("-") else ("", day)
    year, _, rest = body.partition("-")
    if sign or int(year) == 0:
        day = f"{int(year) + 1:04d}-{rest} (BC)"
    return f"{day} {clock}".rstrip()


def _text(value: str) -> str:
    if "\0" in value:
        raise DataError("a string parameter holds a NUL character", hint="remove it")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DataError("a string parameter holds a lone surrogate", hint="send well-formed Unicode") from None
    return value


def _scientific(value: float) -> str:
    """Shortest digits that read back as the same DOUBLE; the exponent keeps DuckDB from reading a DECIMAL."""
    _, digits, exponent = Decimal(repr(value)).as_tuple()
    return f"{''.join(map(str, digits))}e{exponent}"


def _signed(digits: str, negative: bool) -> exp.Expr:
    number = exp.Literal.number(digits)
    return exp.Paren(this=exp.Neg(this=number)) if negative else number


def _cast(text: str, kind: str) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(kind, dialect="duckdb"))
