"""What went wrong in the process of public work, as an error of ours.

Its messages are about public values and the analyst's own text, so they are kept, shortened.
"""

import re

from dpsql.errors import DataError, Error, InternalError, ProgrammingError, SqlSyntaxError, UnsupportedQuery
from dpsql.public.worker import Header

_MESSAGE = 300  # characters of DuckDB's that are quoted
_NEAR = re.compile(r'at or near "(.*?)"\s*$')
_MEMORY = frozenset({"OutOfMemoryException", "MemoryError", "ArrowMemoryError", "_TooLarge"})
_BREAKING = _MEMORY | {"FatalException", "InternalException"}
_LINE = re.compile(r"^LINE (\d+): (.*)$")


def late(seconds: float) -> Error:
    """The refusal of a statement whose public work takes too long."""
    return UnsupportedQuery(
        f"takes longer than {seconds:g} s", hint="write a simpler expression, or one over fewer columns"
    )


_FAILS = "the expression fails on a declared or released value; guard it with CASE or TRY_CAST"
_HINTS = (
    (
        re.compile(r"invalid (?:date|timestamp) field format"),
        "write a day as '2024-01-31', a moment as '2024-01-31 10:00:00'",
    ),
    (
        re.compile(r"^Could not convert string"),
        "compare strings with strings, as in '50', and numbers with numbers; or guard a cast with TRY_CAST",
    ),
)
"""What the values of an expression say that fails on one: a slip of the analyst's, or else ``_FAILS``."""
_ZERO = re.compile(r"^(Division by zero.*?)\. Use TRY\(")
_OURS = re.compile(r" (?:in expression .*|when casting from source column )\b[ag]\d+\b.*$")
"""What of a message is about columns that nobody wrote: released numbers and groups."""
_BY_ZERO = "write nullif(y, 0) for y, by which it is divided: then it is NULL where y is 0"
_CAST = "cast one of the two, as in CAST(x AS VARCHAR) = 'a', or write a value of the other's type"
_NUMBERS = re.compile(r"\b(?:[A-Z]*INT(?:EGER(?:_LITERAL)?)?|DOUBLE|DECIMAL|FLOAT)\b")
_CAST_TEXT = "cast what is text to a number, as in TRY_CAST(x AS DOUBLE) > 5; as text it is compared with '5'"


_NO_FUNCTION = "explicit type casts"  # what DuckDB says where a function takes no such types
_LIKES = {"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE", "~~~": "GLOB"}
_LIKE = re.compile(r"(?<= types ')(?:" + "|".join(map(re.escape, _LIKES)) + r")(?=\()")
_CAST_LIKE = "patterns are for text: write CAST(x AS VARCHAR) LIKE 'a%', or compare with =, < or BETWEEN"
_CAST_ARGUMENT = "cast to a type that is taken here, as in CAST(x AS VARCHAR) or TRY_CAST(x AS DOUBLE)"
_DAYS = re.compile(
    r" types '(?:[-+]\(DATE, {0}\)|\+\({0}, DATE\))'".format(r"(?:U?BIGINT|U?HUGEINT|UINTEGER|DOUBLE|DECIMAL.*?)")
)
_CAST_DAYS = "days are added to a date as INTEGER: write DATE '2020-01-31' + x::INT"
_NO_COLUMN = re.compile(r'^Referenced column ".*" not found|does not have a column named ".*"$')
_INNER_COLUMN = "name a column of the inner SELECT as it is called there, by its alias if it has one"


def _mistake(text: str) -> ProgrammingError:
    """What DuckDB's binder says of a statement, in the words of SQL, with what to do about it."""
    hint = None
    if _NO_FUNCTION in text:
        told = ((_LIKE, _CAST_LIKE), (_DAYS, _CAST_DAYS))
        hint = next((h for said, h in told if said.search(text) is not None), _CAST_ARGUMENT)
    elif "explicit cast" in text:
        hint = _cast(text)
    elif _NO_COLUMN.search(text) is not None:
        hint = _INNER_COLUMN
    return ProgrammingError(_LIKE.sub(lambda found: _LIKES[found[0]], text), hint=hint)


def _cast(text: str) -> str:
    """What to do about types that DuckDB does not compare or mix."""
    return _CAST_TEXT if "VARCHAR" in text and _NUMBERS.search(text) is not None else _CAST


def is_broken(reply: Header) -> bool:
    """Whether the process had better not go on: DuckDB refuses all work after a fatal error, and after one of memory
    nothing is where it was."""
    return not _BREAKING.isdisjoint(reply["kinds"])


def failure(reply: Header) -> Error:
    """The error that a reply speaks of: ``kinds`` are the names of its class and of those above."""
    text = _text(reply)
    if not _MEMORY.isdisjoint(reply["kinds"]):
        return UnsupportedQuery("needs too much memory", hint="write a simpler expression, or ask for fewer rows")
    for kind in reply["kinds"]:
        match kind:
            case "PermissionException" | "NotImplementedException":
                return UnsupportedQuery(text)
            case "FatalException" | "InternalException":
                return InternalError("DuckDB failed on public values", hint="write the expression in another way")
            case "InvalidInputException" if (found := _ZERO.match(text)) is not None:
                return DataError(_OURS.sub("", found[1]), hint=_BY_ZERO)  # what DuckDB advises is not answered here
            case "InvalidInputException" | "DataError" | "ValueError":
                return DataError(_OURS.sub("", text), hint=next((h for said, h in _HINTS if said.search(text)), _FAILS))
            case "ProgrammingError" if text.startswith("ORDER term out of range"):
                # DuckDB counts columns that the statement around it has in addition
                reason = "ORDER BY names a position that the select list does not have"
                return ProgrammingError(reason, hint="positions run from 1 to the number of its columns")
            case "ProgrammingError":
                return _mistake(text)
    return DataError(text)


def syntax_error(text: str, reply: Header) -> Error:
    """What DuckDB's parser says of a text that it does not read, with line and column in that text."""
    if "ParserException" not in reply["kinds"]:
        return failure(reply)
    lines = str(reply["text"]).splitlines() or [""]
    if lines[0].endswith("end of input"):
        last = text.rstrip().rpartition("\n")[2]
        return SqlSyntaxError("the text ends too early", line=text.rstrip().count("\n") + 1, column=len(last) + 1)
    near = _NEAR.search(lines[0])
    message = f"syntax error near {near[1][:40]!r}" if near else _text(reply)
    for i, shown in enumerate(lines[:-1]):
        found = _LINE.match(shown)
        if found is not None:
            line, column = _place(text, int(found[1]), found[2], shown, lines[i + 1])
            return SqlSyntaxError(message, line=line, column=column)
    return SqlSyntaxError(message)


def _place(text: str, line: int, excerpt: str, shown: str, caret: str) -> tuple[int, int]:
    """Line and column: DuckDB shows a part of the line and marks a place below it."""
    whole = text.split("\n")[line - 1] if line <= text.count("\n") + 1 else ""
    at = caret.find("^") - (len(shown) - len(excerpt))
    part = excerpt
    if part.startswith("..."):
        part, at = part[3:], at - 3
    start = whole.find(part.removesuffix("..."))
    return line, max(1, start + at + 1) if start >= 0 and at >= 0 else 1


def _text(reply: Header) -> str:
    lines = str(reply["text"]).strip().splitlines() or [str(reply["kinds"][0])]
    return lines[0].partition(": ")[2][:_MESSAGE] or lines[0][:_MESSAGE]
