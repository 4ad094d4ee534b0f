"""Reading a TOML table key by key: every complaint names the key's path.

Unknown and misspelt keys are the usual mistake, and silence about them the dangerous one: they are refused, with the
likeliest correction.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, NoReturn

from dpsql.errors import PolicyError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_DIGITS = 400  # exponents beyond this leave every range below, and would cost memory as exact fractions


class TomlTable:
    """One TOML table at ``path``. Values come out typed, or as a PolicyError at the key's path.

    >>> TomlTable({"epsilon": 1}, "privacy").number("epsilon")
    Fraction(1, 1)
    >>> TomlTable({"epsilon": "1"}, "privacy").number("epsilon")
    Traceback (most recent call last):
        ...
    dpsql.errors.PolicyError: privacy.epsilon: must be a number, not a string
    """

    def __init__(self, table: Mapping[str, Any], path: str = "") -> None:
        self._table = table
        self.path = path

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def names(self) -> tuple[str, ...]:
        return tuple(self._table)

    def at(self, key: str, index: int | None = None) -> str:
        """The path of ``key``, or of an item of the list there, quoted where TOML quotes it."""
        path = f"{self.path}.{quoted_key(key)}" if self.path else quoted_key(key)
        return path if index is None else f"{path}[{index}]"

    def refuse(self, key: str, message: str, hint: str, index: int | None = None) -> NoReturn:
        raise PolicyError(message, path=self.at(key, index), hint=hint)

    def only(self, known: Collection[str], what: str) -> None:
        """Refuse every key that is not ``known``; ``what`` names the table in the message."""
        for key in self._table:
            if key in known:
                continue
            close = get_close_matches(key.lower(), known, n=1)
            listing = f"{what} has the keys {', '.join(known)}"
            self.refuse(key, "unknown key", f"did you mean {close[0]}? {listing}" if close else listing)

    def value(self, key: str, example: str) -> Any:
        if key not in self._table:
            self.refuse(key, "missing", f"add {example}")
        return self._table[key]

    def table(self, key: str, example: str) -> "TomlTable":
        found = self.value(key, example)
        if not isinstance(found, dict):
            self.refuse(key, f"must be a table, not {kind(found)}", f"write {example}")
        return TomlTable(found, self.at(key))

    def string(self, key: str, example: str) -> str:
        found = self.value(key, example)
        if not isinstance(found, str):
            self.refuse(key, f"must be a string, not {kind(found)}", f"write {example}")
        return found

    def choice(self, key: str, choices: Collection[str]) -> str:
        listing = " or ".join(f'"{c}"' for c in choices)
        found = self.value(key, f"{key} = {listing}")
        if not isinstance(found, str) or found not in choices:
            close = get_close_matches(found.lower(), choices, n=1) if isinstance(found, str) else []
            shown = f'"{found}" is not known' if isinstance(found, str) else f"must be a string, not {kind(found)}"
            self.refuse(key, shown, f'did you mean "{close[0]}"? write {listing}' if close else f"write {listing}")
        return found

    def boolean(self, key: str) -> bool:
        found = self.value(key, f"{key} = true or false")
        if not isinstance(found, bool):
            self.refuse(key, f"must be true or false, not {kind(found)}", f"write {key} = true or {key} = false")
        return found

    def integer(self, key: str, low: int | None = None, high: int | None = None, *, example: str = "") -> int:
        found = self.value(key, example or f"{key} = a whole number")
        if isinstance(found, bool) or not isinstance(found, int):
            self.refuse(key, f"must be a whole number, not {kind(found)}", f"write {example or key + ' = 1'}")
        if (low is not None and found < low) or (high is not None and found > high):
            self.refuse(key, f"must be {_range(low, high)}", f"write {example or key + f' = {low}'}")
        return found

    def number(self, key: str, example: str = "") -> Fraction:
        """An integer or decimal, exactly as written."""
        return self.exact(key, self.value(key, example or f"{key} = a number"), example)

    def exact(self, key: str, found: object, example: str = "", index: int | None = None) -> Fraction:
        """``found``, the value at ``key`` or an item of its list, exactly as written."""
        hint = f"write {example or key + ' = 1.0'}"
        if isinstance(found, bool) or not isinstance(found, int | Decimal):
            self.refuse(key, f"must be a number, not {kind(found)}", hint, index)
        if isinstance(found, Decimal) and not (found.is_finite() and abs(found.adjusted()) < _DIGITS):
            self.refuse(key, "must be a finite number of ordinary size", hint, index)
        if isinstance(found, int) and found.bit_length() > 1023:
            self.refuse(key, "must be a finite number of ordinary size", hint, index)
        return Fraction(found)

    def array(self, key: str, example: str) -> list[Any]:
        found = self.value(key, example)
        if not isinstance(found, list):
            self.refuse(key, f"must be a list, not {kind(found)}", f"write {example}")
        return found

    def strings(self, key: str, example: str) -> tuple[str, ...]:
        found = self.array(key, example)
        for i, item in enumerate(found):
            if not isinstance(item, str):
                self.refuse(key, f"must be a string, not {kind(item)}", f"write {example}", i)
        return tuple(found)


def quoted_key(key: str) -> str:
    """A key as TOML writes it.

    >>> quoted_key("age"), quoted_key("marital status")
    ('age', '"marital status"')
    """
    return key if _BARE.fullmatch(key) else quoted(key)


def quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's, but for DEL, which JSON leaves bare."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def quoted_list(texts: Iterable[str]) -> str:
    """Strings as TOML lists them."""
    return f"[{', '.join(quoted(t) for t in texts)}]"


def kind(value: object) -> str:
    """What a TOML value is called in a message."""
    names = {bool: "a boolean", int: "a whole number", Decimal: "a decimal number", str: "a string", list: "a list"}
    return names.get(type(value), "a table" if isinstance(value, dict) else "a date or time")


def _range(low: int | None, high: int | None) -> str:
    if high is None:
        return f"at least {low:,}"
    return f"at most {high:,}" if low is None else f"from {low:,} to {high:,}"


def exact_decimal(value: Fraction, path: str) -> str:
    """The finite decimal that equals ``value``; PolicyError at ``path`` where there is none.

    >>> exact_decimal(Fraction(5, 2), "privacy.epsilon")
    '2.5'
    """
    if value.denominator == 1:
        return str(value.numerator)
    places = value.denominator.bit_length()  # 2^a 5^b divides 10^max(a, b)
    scaled = value * 10**places
    if scaled.denominator != 1:
        raise PolicyError(f"{value} is not a finite decimal", path=path, hint="write it as a decimal, such as 0.33")
    digits = tuple(int(d) for d in str(abs(scaled.numerator)).rstrip("0"))
    zeros = len(str(abs(scaled.numerator))) - len(digits)
    return str(Decimal((int(value < 0), digits, zeros - places))).lower()
