"""Results for programs: JSON, JSON lines, CSV, Markdown and Parquet.

A released number is an object in JSON (value, error, low, high, certified, certified_bound, source, error_kind,
charged); in the flat formats it stays a plain number and columns for it follow at the end of the row: in CSV
``NAME_error``, ``NAME_low``, ``NAME_high``, ``NAME_source`` and ``NAME_certified``, in Markdown the first and the last,
in Parquet every field of the object.
"""

import io
import json
import re
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import Any

import pyarrow as pa

from dpsql.dialect.types import written_column
from dpsql.interface.render.number import plain
from dpsql.interface.render.style import escape
from dpsql.result import Answer, Result

_ONE_LINE = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_CSV = ("error", "low", "high", "source", "certified")
_TO_QUOTE = re.compile(r'[",\r\n]')
_MARKDOWN = ("error", "certified")
_FIELDS: dict[str, pa.DataType] = {
    "error": pa.float64(),
    "low": pa.float64(),
    "high": pa.float64(),
    "certified": pa.bool_(),
    "certified_bound": pa.float64(),
    "source": pa.string(),
    "error_kind": pa.string(),
    "charged": pa.float64(),
}


def unique_names(names: Sequence[str]) -> list[str]:
    """Names made different, as objects and files need them: ``n, n`` becomes ``n, n_2``.

    >>> unique_names(["n", "n", "n_2"])
    ['n', 'n_3', 'n_2']
    """
    taken, seen, out = set(names), set[str](), []
    for name in names:
        number, new = 2, name
        while new in seen or (new != name and new in taken):
            new, number = f"{name}_{number}", number + 1
        seen.add(new)
        out.append(new)
    return out


def json_rows(result: Result) -> list[dict[str, Any]]:
    """One object per row, JSON-able: released numbers as objects, dates in ISO form, what JSON lacks as strings."""
    columns = []
    for i in range(result.table.num_columns):
        values = [_jsonable(v) for v in written_column(result.table.column(i))]
        answers = result.column_answers.get(i)
        if answers is not None:
            values = [answer_object(v, a) for v, a in zip(values, answers, strict=True)]
        columns.append(values)
    names = unique_names(result.names)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def answer_object(value: object, answer: Answer) -> dict[str, Any]:
    """``value`` with everything known about it."""
    return {"value": value} | {name: _jsonable(v) for name, v in _fields(answer).items()}


def to_json(value: object, *, indent: int | None = None) -> str:
    """JSON text that a terminal can show: characters that control it are escaped."""
    if indent is None:
        text = _ONE_LINE.encode(value)  # json.dumps would make an encoder for every row
    else:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    if text.isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() or c == " " else _json_escape(c) for c in text)


def render_json(result: Result) -> str:
    """An array with one object per row, a row per line."""
    rows = [to_json(r) for r in json_rows(result)]
    return "[\n  " + ",\n  ".join(rows) + "\n]\n" if rows else "[]\n"


def render_jsonl(result: Result) -> str:
    """One object per row and line."""
    return "".join(to_json(r) + "\n" for r in json_rows(result))


def render_csv(result: Result, *, escaped: bool = False) -> str:
    """RFC 4180 with a header and ``\\n`` line ends. ``escaped``: no control characters.

    NULL is an empty field and the empty string ``""``, as in DuckDB and PostgreSQL; a row of one NULL is ``""``, too:
    readers pass over empty lines.
    """
    names, columns = _flat(result, _CSV)
    texts = [[None if v is None else _field(v) for v in column] for column in columns]
    return csv_text([names, *zip(*texts, strict=True)], escaped=escaped)


def csv_text(rows: Sequence[Sequence[str | None]], *, escaped: bool = False) -> str:
    """Rows of fields, the header's among them, by the rules of ``render_csv``."""
    if escaped:
        rows = [[None if f is None else escape(f) for f in row] for row in rows]
    return "".join((",".join(map(_quoted, row)) or '""') + "\n" for row in rows)


def render_markdown(result: Result) -> str:
    """A pipe table, then a paragraph for each note; cells are escaped, numbers are aligned right."""
    names, columns = _flat(result, _MARKDOWN)
    rules = ["---:" if _numeric(c) else "---" for c in columns]
    rows = [[_cell(n) for n in names], rules, *([_cell(plain(v)) for v in row] for row in zip(*columns, strict=True))]
    table = "".join("| " + " | ".join(row) + " |\n" for row in rows)
    return table + "".join(f"\n{_cell(f'note: {note.text}')}\n" for note in result.notes)


def parquet_table(result: Result) -> pa.Table:
    """The result with the fields of each released number appended, as ``NAME_error``, ``NAME_low`` and so on.

    Its notes are a JSON list in the metadata of the schema, under ``dpsql.notes``. Intervals, which have no type, are
    text.
    """
    names = list(result.names)
    columns = [pa.array(written_column(c)) if pa.types.is_interval(c.type) else c for c in result.table.columns]
    for i, answers in sorted(result.column_answers.items()):
        fields = [_fields(a) for a in answers]
        for name, arrow_type in _FIELDS.items():
            names.append(f"{result.names[i]}_{name}")
            columns.append(pa.array([f[name] for f in fields], arrow_type))
    table = pa.table(columns, names=unique_names(names))
    if not result.notes:
        return table
    return table.replace_schema_metadata({"dpsql.notes": to_json([note.text for note in result.notes])})


def render_parquet(result: Result) -> bytes:
    """A Parquet file."""
    from pyarrow import parquet  # a second's import that no other format needs

    out = io.BytesIO()
    parquet.write_table(parquet_table(result), out)
    return out.getvalue()


def _flat(result: Result, chosen: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    names = list(result.names)
    columns = [written_column(c) for c in result.table.columns]
    for i, answers in sorted(result.column_answers.items()):
        fields = [_fields(a) for a in answers]
        for name in chosen:
            names.append(f"{result.names[i]}_{name}")
            columns.append([f[name] for f in fields])
    return unique_names(names), columns


def _fields(answer: Answer) -> dict[str, Any]:
    low, high = (None, None) if answer.interval is None else answer.interval
    return {
        "error": answer.error,
        "low": low,
        "high": high,
        "certified": answer.certified,
        "certified_bound": answer.certified_bound,
        "source": answer.source,
        "error_kind": answer.error_kind,
        "charged": answer.charged,
    }


def _jsonable(value: object) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if isfinite(value) else str(value)
        case Decimal():
            return int(value) if value.as_tuple().exponent == 0 else float(value)
        case datetime() | date() | time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case list() | tuple():
            return [_jsonable(v) for v in value]
        case dict():
            return {str(k): _jsonable(v) for k, v in value.items()}
        case _:
            return str(value)


def _field(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else plain(value)


def _quoted(field: str | None) -> str:
    """A field of CSV; Python's writer leaves a carriage return bare, and NULL and the empty string alike."""
    if field is None:
        return ""
    return '"' + field.replace('"', '""') + '"' if not field or _TO_QUOTE.search(field) else field


def _numeric(column: list[Any]) -> bool:
    known = [v for v in column if v is not None]
    return bool(known) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in known)


def _cell(text: str) -> str:
    return escape(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _json_escape(char: str) -> str:
    return json.dumps(char)[1:-1]
