"""Released numbers that are multiples of others of their statement: what one is off by says what the others are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose

import numpy as np

from dpsql.postprocess.variants import Floats, ReleasedColumn
from dpsql.query import Form

_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Multiple:
    """What ``of``, a column of a released table, says of another one: row by row ``offsets`` and so many ``times``."""

    of: tuple[str, str]
    times: Floats
    offsets: Floats

    def values(self, base: Floats) -> Floats:
        """The other column's values, where these are the base's."""
        found: Floats = self.offsets + self.times * base
        return found


def multiples(
    names: Sequence[tuple[str, str]], columns: Mapping[tuple[str, str], ReleasedColumn]
) -> dict[tuple[str, str], Multiple]:
    """Of those columns that are multiples of a column before them in the same released table, what that says."""
    out: dict[tuple[str, str], Multiple] = {}
    for i, name in enumerate(names):
        for other in names[:i]:
            if other[0] != name[0] or other in out:
                continue
            found = multiple(columns[name], columns[other])
            if found is not None:
                out[name] = Multiple(other, *found)
                break
    return out


def multiple(column: ReleasedColumn, base: ReleasedColumn) -> tuple[Floats, Floats] | None:
    """Factors and offsets, row by row; ``None`` where the column says anything that the base does not."""
    if len(column.forms) != len(column.values) or len(column.forms) != len(base.forms):
        return None
    if (np.isnan(column.values) != np.isnan(base.values)).any():
        return None
    centers, others = (c.centers or (0.0,) * len(c.forms) for c in (column, base))
    rows = zip(column.forms, base.forms, centers, others, strict=True)
    found = [_of_forms(own, of, center, other) for own, of, center, other in rows]
    if not found or any(f is None for f in found):
        return None
    times, offsets = np.array(found, dtype=np.float64).T
    return times, offsets


def _of_forms(own: Sequence[Form], base: Sequence[Form], center: float, other: float) -> tuple[float, float] | None:
    """Of a sum, or of a quotient of two whose divisors are the same, with what is added to it."""
    if not own or len(own) != len(base) or any(t.doubt for form in (*own, *base) for t in form.terms):
        return None
    times = _times(own[0], base[0])
    if times is None:
        return None
    constant = own[0].constant - times * base[0].constant
    if len(own) == 1:
        return times, constant
    same = own[1].constant == base[1].constant and _times(own[1], base[1]) == 1.0
    return (times, center - times * other) if same and constant == 0.0 else None


def _times(own: Form, base: Form) -> float | None:
    """How many times the terms of another form those of a form are."""
    if not base.terms or [t.query.digest for t in own.terms] != [t.query.digest for t in base.terms]:
        return None
    if base.terms[0].coefficient == 0.0:
        return None
    times = own.terms[0].coefficient / base.terms[0].coefficient
    pairs = zip(own.terms, base.terms, strict=True)
    return times if all(isclose(a.coefficient, times * b.coefficient, rel_tol=_SAME) for a, b in pairs) else None
