"""Dollar signs: between two of DuckDB's a name may stand as a tag; sqlglot takes anything without a blank for one.

``IN ($a,$b)`` would begin a string there. Where a text has such a pair of signs, those of parameters are written as
the other sign by which sqlglot knows a parameter.
"""

import re

_NO_TAG = re.compile(r"\$\w*+[^\w\s$][^\s$]*+\$")
_PIECE = re.compile(
    r"[eE]'(?:[^'\\]|\\.|'')*+'?|'(?:[^']|'')*+'?|\"(?:[^\"]|\"\")*+\"?|--[^\n\r]*+|(?P<comment>/\*)"
    r"|\$(?P<tag>(?:[^\W\d]\w*+)?)\$(?:.*?\$(?P=tag)\$|.*)|(?P<place>\$(?=\w))|\w[\w$]*+|[^\w'\"/$-]++|.",
    re.DOTALL,
)
_COMMENT_MARK = re.compile(r"/\*|\*/")


def without_false_tags(text: str) -> str:
    """The text with ``@`` for the ``$`` of parameters where sqlglot would see a tag; each character at its place.

    >>> without_false_tags("a IN ($1,$2) AND b = '$a,$'"), without_false_tags("$a, $tag$ $b,$c $tag$")
    ("a IN (@1,@2) AND b = '$a,$'", '@a, $tag$ $b,$c $tag$')
    """
    if _NO_TAG.search(text) is None:
        return text
    out, position = [], 0
    while (piece := _PIECE.match(text, position)) is not None:
        end = piece.end() if piece["comment"] is None else _comment_end(text, piece.end())
        out.append("@" if piece["place"] else text[position:end])
        position = end
    return "".join(out)


def _comment_end(text: str, position: int) -> int:
    """Comments nest."""
    depth = 1
    while depth and (mark := _COMMENT_MARK.search(text, position)) is not None:
        depth += 1 if mark[0] == "/*" else -1
        position = mark.end()
    return len(text) if depth else position
