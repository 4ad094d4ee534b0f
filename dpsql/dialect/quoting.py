"""Identifiers and literals of DuckDB's dialect. Public; analyst text never passes through here.

Every piece of SQL that we write ourselves is put together from these, so that a table named ``x; DROP`` is a name.
"""

from collections.abc import Iterable


def identifier(name: str) -> str:
    """A quoted identifier.

    >>> print(identifier('a "b"'))
    "a ""b\"""
    """
    return '"' + name.replace('"', '""') + '"'


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
