"""Limits that are checked before any work is done on a text. Everything here is public.

A parser's work can grow faster than its input. The text is counted before the parser sees it.
"""

import re

from dpsql.errors import DataError, ProgrammingError, UnsupportedQuery
from dpsql.sql.text.position import line_column

MAX_TEXT_BYTES = 64 * 1024
MAX_EXPANDED_BYTES = 1 << 21
"""Of what the names in a SELECT stand for, together: columns of a look-up are long, one case for each key."""
MAX_NESTING = 64
MAX_UNARY_CHAIN = 64
MAX_LIST_ITEMS = 10_000
MAX_CELLS = 1 << 24
MAX_PARTS = 1 << 20
"""A product of conditions on more than MAX_CELLS cells is counted by the parts that it tells apart, at most so many."""
MAX_GROUPS = 100_000
"""Of one block: what memory holds, some kilobytes each, and what minutes are enough for."""
MAX_COUNTED_VALUES = 10_000
"""Values that a summary counts one by one, groups times values of each."""
MAX_UNIT_CELLS = 1 << 16
"""Numbers of rows of a unit, times groups, that one statement counts units by."""
LARGEST_VALUE = 1e15
"""Of a summed number: beyond it released sums would leave what a DOUBLE counts in, or any type at all."""
LARGEST_BIGINT = 1 << 31
"""Sums of larger whole numbers are DOUBLE: with 4e9 rows they would not fit into BIGINT."""
MAX_GROUP_CELLS = 1 << 27  # groups times cells of one connected component: the work of a GROUP BY


def too_many_groups(groups: int) -> UnsupportedQuery:
    """The refusal of a GROUP BY."""
    return UnsupportedQuery(
        f"GROUP BY would make {groups:,} groups",
        hint=f"at most {MAX_GROUPS:,}: group by fewer or coarser expressions, or keep some groups with WHERE",
    )


_BASES = ("0x", "0b", "0o")
_TOKEN = re.compile(
    r"""
      (?P<skip> --[^\n]* | '(?:[^']|'')*' | "(?:[^"]|"")*" )
    | (?P<comment> /\* )
    | (?P<dollar> \$(?:[A-Za-z_]\w*)?\$ )
    | (?P<open> [(\[{] | \bCASE\b )
    | (?P<close> [)\]}] | \bEND\b )
    | (?P<hex> (?<![\w.$"]) \d[\d_]*(?:\.\d*)? (?! [eE][+-]?\d ) [A-Za-z_]\w* )
    | (?P<unary> \bNOT\b | [-+~!@] )
    | (?P<word> [\w.$]+ | [^\s\w] )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def check_text(text: object) -> str:
    """``text`` itself when it may be parsed: a string of at most 64 KiB, shallow, without NUL or lone surrogates.

    >>> check_text("SELECT 1")
    'SELECT 1'

    Raises ProgrammingError for what is no SQL text at all, DataError for unusable characters, UnsupportedQuery for
    texts over a limit.
    """
    if not isinstance(text, str):
        raise ProgrammingError(f"SQL must be a string, not {type(text).__name__}", hint="pass the statement as str")
    if not text.isascii():
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise DataError("the text holds a lone surrogate", hint="send well-formed Unicode text") from None
    else:
        size = len(text)
    if size > MAX_TEXT_BYTES:
        raise UnsupportedQuery(
            f"the text has {size:,} bytes, more than {MAX_TEXT_BYTES:,}", hint="pass long lists as a parameter: IN ?"
        )
    if "\0" in text:
        raise DataError("the text holds a NUL character", hint="remove it")
    if not text.strip():
        raise ProgrammingError("the text is empty", hint="send one SELECT statement")
    _scan(text)
    return text


def _scan(text: str) -> None:
    depth = chain = position = 0
    while True:
        match = _TOKEN.search(text, position)
        if match is None:
            return
        position = match.end()
        kind = match.lastgroup
        if kind == "unary":
            chain += 1
            if chain > MAX_UNARY_CHAIN:
                raise _too_deep(text, match.start(), f"more than {MAX_UNARY_CHAIN} operators in a row")
            continue
        if kind == "skip":
            if match[0][0] != "-":
                chain = 0
            continue
        if kind == "comment":
            position = _comment_end(text, position)
            continue
        chain = 0
        if kind == "open":
            depth += 1
            if depth > MAX_NESTING:
                raise _too_deep(text, match.start(), f"nested deeper than {MAX_NESTING}")
        elif kind == "close":
            depth -= 1
        elif kind == "dollar":
            end = text.find(match[0], position)
            position = len(text) if end < 0 else end + len(match[0])
        elif kind == "hex" and not _exponent(match[0]):
            line, column = line_column(text, match.start())
            hint = "write it in decimal" if match[0][:2].lower() in _BASES else "write a space between the two"
            raise UnsupportedQuery(f"the number {match[0][:40]} runs into letters", line=line, column=column, hint=hint)


def _exponent(number: str) -> bool:
    return re.fullmatch(r"[\d_]+(\.\d*)?([eE]\d*)?_*", number) is not None


def _comment_end(text: str, position: int) -> int:
    end = text.find("*/", position)
    return len(text) if end < 0 else end + 2


def _too_deep(text: str, offset: int, reason: str) -> UnsupportedQuery:
    line, column = line_column(text, offset)
    return UnsupportedQuery(reason, line=line, column=column, hint="split the statement into simpler ones")
