"""Values given on the command line as ``-p name=value``.

A shell knows text only; what ``30`` or ``NULL`` means as a value is decided here, once for all commands.
"""

import re
from collections.abc import Iterable, Mapping

from click import UsageError

from dpsql.errors import DataError

_NAME = re.compile(r"[^\W\d]\w*")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

Scalar = int | float | str | bool | None


def parse_value(text: str) -> Scalar:
    """An integer, a float, true, false, null, or the string itself; ``'...'`` keeps anything a string.

    >>> [parse_value(t) for t in ("30", "-1.5", "true", "NULL", "Male", "'30'", "02134")]
    [30, -1.5, True, None, 'Male', '30', '02134']
    """
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    digits = text.lstrip("+-")
    if digits[:1] == "0" and digits[1:2].isdigit():  # a code with leading zeros, such as a postal code
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def parse_parameters(items: Iterable[str]) -> dict[str, Scalar]:
    """``name=value`` items; a usage error for one without a name or given twice."""
    out: dict[str, Scalar] = {}
    for item in items:
        name, sign, value = item.partition("=")
        if not sign or not _NAME.fullmatch(name):
            raise UsageError(f"parameter {name[:40]!r} is not name=value: write -p name=value, use $name in SQL")
        if name in out:
            raise UsageError(f"parameter {name} is given twice: give each name once")
        out[name] = parse_value(value)
    return out


def chosen(parameters: Mapping[str, Scalar], names: Iterable[str]) -> dict[str, Scalar] | None:
    """The parameters that a statement names, so that one list serves a whole file; ``None`` when it names none.

    Raises DataError for a name that was not given. Positions such as ``$1`` are left to the statement's own check.
    """
    wanted = sorted(n for n in names if not n.isdigit())
    missing = [n for n in wanted if n not in parameters]
    if missing:
        raise DataError(f"no value for ${missing[0]}", hint=f"add -p {missing[0]}=VALUE")
    return {n: parameters[n] for n in wanted} or None


def unused(parameters: Mapping[str, Scalar], names: Iterable[str]) -> list[str]:
    """A sentence for each parameter that no statement names: it may have been mistyped.

    >>> unused({"low": 1, "hihg": 2}, {"low", "high"})
    ['no statement names $hihg: its value is not used']
    """
    known = set(names)
    return [f"no statement names ${name}: its value is not used" for name in parameters if name not in known]
