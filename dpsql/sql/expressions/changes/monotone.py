"""Along which columns the value of an expression rises throughout, or falls throughout. Public.

Where a condition on such a value may change is not known, but between two places it is what it is at one of them.
"""

from collections.abc import Sequence

from sqlglot import exp

from dpsql.sql.expressions.changes.steps import Steps

MONOTONE: frozenset[type | str] = frozenset(
    {
        *(exp.Add, exp.Sub, exp.Mul, exp.LT, exp.LTE, exp.GT, exp.GTE),
        *("cbrt", "ceil", "ceiling", "coalesce", "floor", "greatest", "ifnull", "least", "round", "trunc"),
    }
)
"""What rises or falls throughout along each of its parts, the others held. Logarithms and roots do not: below 0 they
are NaN, which is above all numbers; nor does ``exp``, which is soon infinite, and infinite times 0 is NaN."""


def monotone_along(kind: type | str, parts: Sequence[tuple[frozenset[str], Steps]]) -> frozenset[str]:
    """The columns along which an operation rises or falls throughout, by those along which each of its ``parts`` does
    and the steps of these: where one column moves several of them nothing is known.

    >>> from dpsql.sql.expressions.changes.steps import UNKNOWN
    >>> x, y = (frozenset("x"), {"x": UNKNOWN}), (frozenset("y"), {"y": UNKNOWN})
    >>> [sorted(monotone_along(*of)) for of in ((exp.Add, [x, y]), (exp.Add, [x, x]), (exp.Mod, [x, y]))]
    [['x', 'y'], [], []]
    """
    moved_by = [name for _, steps in parts for name in steps]
    known = parts if kind in MONOTONE else ()
    return frozenset(name for along, _ in known for name in along if moved_by.count(name) == 1)
