"""Identifiers and literals of DuckDB's dialect. Public; analyst text never passes through here.

Every piece of SQL that we write ourselves is put together from these, so that a table named ``x; DROP`` is a name.
"""

import re
from collections.abc import Iterable

RESERVED = frozenset(
    (
        *("all", "analyse", "analyze", "and", "anti", "any", "array", "as", "asc", "asof", "asymmetric", "at"),
        *("both", "case", "cast", "check", "collate", "column", "constraint", "create", "cross", "default"),
        *("deferrable", "desc", "describe", "distinct", "do", "else", "end", "except", "false", "fetch", "for"),
        *("foreign", "from", "full", "glob", "group", "having", "ilike", "in", "initially", "inner", "intersect"),
        *("into", "is", "isnull", "join", "lambda", "lateral", "leading", "left", "like", "limit", "natural"),
        *("not", "notnull", "null", "offset", "on", "only", "or", "order", "outer", "overlaps", "pivot"),
        *("pivot_longer", "pivot_wider", "placing", "positional", "primary", "qualify", "references"),
        *("returning", "right", "select", "semi", "show", "similar", "some", "summarize", "symmetric", "table"),
        *("tablesample", "then", "to", "trailing", "true", "union", "unique", "unpivot", "using", "variadic"),
        *("when", "where", "window", "with"),
    )
)
"""Words that DuckDB reads as names only between double quotes."""


def identifier(name: str) -> str:
    """A quoted identifier.

    >>> print(identifier('a "b"'))
    "a ""b\"""
    """
    return '"' + name.replace('"', '""') + '"'


def written(name: str) -> str:
    """A name as people write it: between quotes only where DuckDB wants them.

    >>> [written(name) for name in ("age", "Age", "group", "my table")]
    ['age', 'Age', '"group"', '"my table"']
    """
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None and name.lower() not in RESERVED
    return name if plain else identifier(name)


def double(value: float) -> str:
    """A DOUBLE literal that reads back exactly: without an exponent DuckDB would read a DECIMAL.

    >>> double(0.1), double(1e22)
    ('0.1e0', '1e+22')
    """
    text = repr(float(value))
    return text if "e" in text else text + "e0"


def double_list(values: Iterable[float]) -> str:
    """A DOUBLE[] literal.

    >>> double_list([0.5, 1])
    '[0.5e0, 1.0e0]::DOUBLE[]'
    """
    return "[" + ", ".join(double(v) for v in values) + "]::DOUBLE[]"
