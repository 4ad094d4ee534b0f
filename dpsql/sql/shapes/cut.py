"""Cutting a text, without reading it: its frame, the conjuncts of its WHERE, and the values in a conjunct.

A cut is a guess that sqlglot confirms or refutes when a frame or a conjunct is first read on its own: then it must be
an expression, or a statement with one WHERE. Strings and quoted names are kept whole, so nothing is cut inside them.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlglot import exp

from dpsql.domain import Parameters
from dpsql.errors import Error
from dpsql.sql.text.limits import MAX_LIST_ITEMS
from dpsql.sql.text.parameters import literal, unwrapped

LONGEST = 4096
_STRING = r"(?<!\w)'(?:[^']|'')*+'"
_NAME = r'"(?:[^"]|"")*+"'
_VALUE = rf"(?:{_STRING}|-?\s*+[\w.]++|\?|\$\w++)"
_FLAGS = re.IGNORECASE | re.ASCII  # without ASCII the letters of IN would match Turkish ones
_WHERE = re.compile(rf"\bFROM\s+(?:\w+|{_NAME})(?:\s+(?:AS\s+)?\w+)?\s+WHERE\s+", _FLAGS)
_HEAD = re.compile(rf"(?:[^'\"]|{_STRING}|{_NAME})*+", _FLAGS)
_CLAUSES = "GROUP|HAVING|QUALIFY|WINDOW|ORDER|LIMIT|OFFSET"
_CONJUNCT = re.compile(
    rf"((?:[^\w'\";]++|{_STRING}|{_NAME}|BETWEEN\s+{_VALUE}\s+AND\s+{_VALUE}|(?!(?:AND|{_CLAUSES})\b)\w++)++)"
    rf"(?:(?<=[ \t\r\n])AND[ \t\r\n]+|((?:(?:{_CLAUSES})\b.*)?;?\s*)\Z)",
    _FLAGS | re.DOTALL,
)
_PLACES = re.compile(
    rf"(?P<string>{_STRING})|{_NAME}|(?P<number>(?<![\w.$])\d+(?:\.\d+)?(?![\w.]))|(?P<place>\?|\$[A-Za-z_]\w*)", _FLAGS
)
_SPANNING = re.compile(r"--|/\*|[{#\\\0]")
"""What may begin a comment, that could hide where a piece ends; NUL is refused elsewhere."""
_LISTED = re.compile(r"\s*,\s*")
_IN = re.compile(r"\bIN\s*\Z", _FLAGS)
_IN_PARENTHESIS = re.compile(r"\bIN\s*\(\s*\Z", _FLAGS)


class Cut(NamedTuple):
    """A text in pieces: everything before WHERE, the conjuncts, everything after them."""

    head: str
    conjuncts: list[str]
    tail: str


class Given(NamedTuple):
    """A conjunct with its values taken out: ``gaps`` is the text around them, ``values`` the text of each literal.

    ``kinds`` has a letter for each: ``s`` string, ``n`` number, ``S`` and ``N`` for a list of at least two, whose items
    are one tuple among ``values``.
    """

    gaps: tuple[str, ...]
    kinds: str
    values: tuple[Any, ...]


def cut(text: str) -> Cut | None:
    """The pieces of a text with one WHERE behind a table's name; ``None`` for any other, and for what needs a scan.

    >>> cut("SELECT COUNT(*) FROM t WHERE a BETWEEN 1 AND 2 AND b = 'x AND y' LIMIT 5")[1:]
    (['a BETWEEN 1 AND 2', "b = 'x AND y'"], 'LIMIT 5')
    """
    start = _WHERE.search(text)
    if start is None or len(text) > LONGEST or _SPANNING.search(text) is not None:
        return None
    if (not text.isascii() and not _is_unicode(text)) or ("$" in text and not _are_names(text)):
        return None
    head = text[: start.end()]
    if ("'" in head or '"' in head) and _HEAD.fullmatch(head) is None:
        return None
    conjuncts = []
    position = start.end()
    while True:
        match = _CONJUNCT.match(text, position)
        if match is None:
            return None
        conjunct, tail = match.groups()
        conjuncts.append(conjunct.rstrip())
        if tail is not None:
            return Cut(head, conjuncts, tail)
        position = match.end()


def given(text: str, parameters: Sequence[Any]) -> Given | None:
    """A conjunct with its literals and ``parameters`` (for its places, in order) taken out.

    >>> given("a IN (1, 2)", [])[0:3], given("b = ?", ["it's"])[0:3]
    ((('a IN (', ')'), 'N', (('1', '2'),)), (('b = ', ''), 's', ("it's",)))

    ``None`` where a parameter is no string, number or, behind IN, list of at least one of these, and not too many.
    """
    gaps, kinds = [""], ""
    values: list[str] = []
    position, taken = 0, iter(parameters)
    for match in _PLACES.finditer(text):
        gaps[-1] += text[position : match.start()]
        position = match.end()
        if match.lastgroup is None:
            gaps[-1] += match[0]
            continue
        if match.lastgroup == "place":
            found = _parameter(next(taken, None), gaps, text[position:])
            if found is None:
                return None
            items, after = found
        else:
            string = match.lastgroup == "string"
            items, after = [("s", match[0][1:-1].replace("''", "'")) if string else ("n", match[0])], ""
        for i, (kind, value) in enumerate(items):
            if i:
                gaps[-1] += ", "
            kinds += kind
            values.append(value)
            gaps.append("")
        gaps[-1] += after
    gaps[-1] += text[position:]
    return _collapsed(gaps, kinds, values)


def _parameter(value: Any, gaps: list[str], behind: str) -> tuple[list[tuple[str, str]], str] | None:
    """The literals of a parameter and the text after them; what stands before them goes into the last gap."""
    if isinstance(value, (list, tuple)):
        if len(value) > MAX_LIST_ITEMS:
            return None
        bare = _IN.search(gaps[-1]) is not None
        alone = _IN_PARENTHESIS.search(gaps[-1]) is not None and behind.lstrip()[:1] == ")"
        items = [_literal(v) for v in value]
        if not items or not (bare or alone) or any(i is None or i[2] for i in items):
            return None
        gaps[-1] += "(" if bare else ""
        return [i[:2] for i in items if i is not None], ")" if bare else ""
    one = _literal(value)
    if one is None or _IN.search(gaps[-1]) is not None:
        return None
    gaps[-1] += "(-" if one[2] else ""
    return [one[:2]], ")" if one[2] else ""


def _literal(value: Any) -> tuple[str, str, bool] | None:
    """Kind, text and sign of a parameter's literal; ``None`` for what is no string and no number."""
    try:
        value = unwrapped(value)
        if type(value) not in (int, float, str):
            return None
        node = literal(value)
    except Error:
        return None
    negative = type(node) is exp.Paren
    number = node.this.this if negative else node
    if type(number) is not exp.Literal:
        return None
    return ("s" if number.is_string else "n"), str(number.this), negative


def _collapsed(gaps: Sequence[str], kinds: str, values: Sequence[str]) -> Given:
    """Neighbours of one kind with nothing but a comma between are one list: lists of any length have one shape."""
    out_gaps, out_kinds, out_values = [gaps[0]], list[str](), list[list[str]]()
    for i, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        follows = i > 0 and out_kinds[-1].lower() == kind and _LISTED.fullmatch(gaps[i]) is not None
        if follows and out_gaps[-2].rstrip()[-1:] == "(":
            out_values[-1].append(value)
            out_kinds[-1] = kind.upper()
            out_gaps[-1] = gaps[i + 1]
        else:
            out_gaps.append(gaps[i + 1])
            out_kinds.append(kind)
            out_values.append([value])
    listed = (tuple(found) if kind.isupper() else found[0] for kind, found in zip(out_kinds, out_values, strict=True))
    return Given(tuple(out_gaps), "".join(out_kinds), tuple(listed))


def places(text: str) -> tuple[str, ...]:
    """The places for parameters in a piece of text: ``?`` and ``$name``, in order.

    >>> places("a = ? AND b = '?' AND c = $low")
    ('?', '$low')
    """
    if "?" not in text and "$" not in text:
        return ()
    return tuple(m["place"] for m in _PLACES.finditer(text) if m["place"])


def parameter_values(found: Sequence[str], parameters: Parameters) -> list[Any] | None:
    """The value for each place; ``None`` where places and parameters do not fit, or are numbered."""
    if found.count("?") == len(found):
        if not isinstance(parameters, (list, tuple)) or len(parameters) != len(found):
            return None
        return list(parameters)
    names = [place[1:] for place in found]
    if not isinstance(parameters, dict) or "" in names or set(names) != set(parameters):
        return None
    return [parameters[name] for name in names]


def _are_names(text: str) -> bool:
    """Whether sqlglot takes every ``$`` for a parameter: it tries strings between dollar signs first."""
    return "''" not in text and all(" " in between for between in text.split("$")[1:-1])


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
