"""How text looks on a terminal: colour or none, which signs, and no control character from data.

Strings of private tables may hold escape sequences; whatever reaches a terminal goes through here.
"""

import unicodedata
from dataclasses import dataclass

_WIDE = frozenset("WF")
_ESCAPED_CATEGORIES = frozenset(["Cc", "Cf", "Cs", "Co", "Zl", "Zp"])
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass(frozen=True)
class Style:
    """``colour``: ANSI colours may be used. ``unicode``: the stream can encode the signs ± and ─ and █.

    ``terminal``: somebody reads it as it is, so even formats for programs must not carry control characters.
    ``columns``: of that terminal, 0 where nobody knows; sentences are broken between words to fit.
    """

    colour: bool = False
    unicode: bool = True
    terminal: bool = False
    columns: int = 0

    @property
    def plus_minus(self) -> str:
        return "±" if self.unicode else "+/-"

    @property
    def rule(self) -> str:
        return "─" if self.unicode else "-"

    def bold(self, text: str) -> str:
        return self._paint(text, "1")

    def dim(self, text: str) -> str:
        return self._paint(text, "2")

    def red(self, text: str) -> str:
        return self._paint(text, "31")

    def green(self, text: str) -> str:
        return self._paint(text, "32")

    def yellow(self, text: str) -> str:
        return self._paint(text, "33")

    def cyan(self, text: str) -> str:
        return self._paint(text, "36")

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


PLAIN = Style()


def escape(text: str) -> str:
    r"""``text`` with control, format (bidirectional), surrogate and separator characters written as escapes.

    >>> escape("a\x1b[31mb\n"), escape("naïve 東京"), escape("\u202e")
    ('a\\x1b[31mb\\n', 'naïve 東京', '\\u202e')
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(c) for c in text)


def _escaped(char: str) -> str:
    if unicodedata.category(char) not in _ESCAPED_CATEGORIES:
        return char
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width(text: str) -> int:
    """Columns that ``text`` takes on a terminal; East Asian wide characters take two, combining marks none.

    >>> width("abc"), width("東京"), width("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in _WIDE else 1 for c in text)


def left(text: str, columns: int) -> str:
    """``text`` padded on the right to a display width."""
    return text + " " * (columns - width(text))


def right(text: str, columns: int) -> str:
    """``text`` padded on the left to a display width."""
    return " " * (columns - width(text)) + text


def shorten(text: str, columns: int, style: Style = PLAIN) -> str:
    """``text`` cut to a display width, with dots where it was cut.

    >>> shorten("abcdefgh", 5)
    'abcd…'
    """
    if width(text) <= columns:
        return text
    dots = "…" if style.unicode else "..."
    out = ""
    for char in text:
        if width(out + char) > columns - len(dots):
            break
        out += char
    return out + dots
