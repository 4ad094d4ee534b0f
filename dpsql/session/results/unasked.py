"""What is known beside answers, for numbers that are made of several: of models, and of releases. Public."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dpsql.query import Form, LinearQuery
from dpsql.session.own.by_value.measured_beside import Distance

MOST_FORMS = 1_000
"""Looked at together: each takes a millisecond. Of more nothing is said."""


class Said(NamedTuple):
    """What a model says of a sum, and its 95 % half-width, in the sum's unit."""

    value: float
    error: float


def _no_error(query: LinearQuery) -> float | None:
    return None


def _not_released(queries: Sequence[LinearQuery], errors: Sequence[float]) -> None:
    return None


def _no_line(query: LinearQuery, origin: float) -> Said | None:
    return None


def _no_forms(forms: Sequence[Form]) -> Sequence[Said | None]:
    return [None] * len(forms)


def _no_distance(summed: LinearQuery, counted: LinearQuery) -> Distance | None:
    return None


def _no_sum(summed: LinearQuery) -> Said | None:
    return None


def _no_rows(table: str) -> tuple[float, float] | None:
    return None


def _no_others(query: LinearQuery, columns: Sequence[str]) -> float | None:
    return None


class Unasked(NamedTuple):
    """Nothing is known where these return ``None``.

    ``error_of``: the 95 % half-width that a count would have. ``line_of``: a sum of distances from a place.
    ``forms_of``: affine forms, each as a whole: what is wrong with the rows of a cell is wrong in all of its terms.
    ``distance_of``: of a sum, and the count of its rows, what was measured from the middle of the values.
    ``sum_of``: a sum in shares of the range, as finely as it was measured. ``lone``: whether models say of sums of
    values that stand alone, too. ``as_released``: of counts of one outline that were told with these errors, each as it
    was released, before anything was made of it; for all of them or not at all. ``rows_of``: a private table's rows as
    they were released, with the sd of that. ``others_of``: how many more rows than a query counts it may count at most,
    with 95 %, for strings of these columns that were not released.
    """

    error_of: Callable[[LinearQuery], float | None] = _no_error
    line_of: Callable[[LinearQuery, float], Said | None] = _no_line
    forms_of: Callable[[Sequence[Form]], Sequence[Said | None]] = _no_forms
    distance_of: Callable[[LinearQuery, LinearQuery], Distance | None] = _no_distance
    sum_of: Callable[[LinearQuery], Said | None] = _no_sum
    lone: bool = False
    as_released: Callable[[Sequence[LinearQuery], Sequence[float]], Sequence[int] | None] = _not_released
    rows_of: Callable[[str], tuple[float, float] | None] = _no_rows
    others_of: Callable[[LinearQuery, Sequence[str]], float | None] = _no_others


NOTHING_SAID = Unasked()
