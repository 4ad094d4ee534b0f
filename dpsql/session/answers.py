"""Answers in counts: from a measurement, from a model that passed its test, from a model alone. Public numbers.

What may be printed beside a number (a guarantee, an estimate of the error, nothing) depends on where it comes from, and
is decided nowhere else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import ceil, inf

import numpy as np

from dpsql.confidence import DEVIATIONS, error_bound
from dpsql.query import LinearQuery
from dpsql.result import Answer, CrosstabAnswers, Source


def rounded_together(estimates: Iterable[float]) -> list[int]:
    """Whole numbers, each less than 1 from its estimate, whose sum is the rounded sum: cells add up to their whole.

    >>> rounded_together([0.4, 0.4, 0.4, 2.8])
    [0, 1, 0, 3]
    """
    numbers = [*estimates]
    if len(numbers) == 1:
        return [round(numbers[0])]  # to the even one of two, as numpy does
    whole = np.rint(np.cumsum(np.array(numbers, dtype=np.float64)))
    return [int(n) for n in np.diff(whole, prepend=0.0).tolist()]


def error_of(answer: Answer) -> float:
    """Its error, in counts; infinite where nothing is known of it."""
    return inf if answer.error is None else answer.error


def exact(value: float, bound: float, source: Source) -> Answer:
    """An answer with a guaranteed bound; the interval of a count does not go below 0."""
    low, high = max(0, value - bound), max(0, value + bound)
    interval = (float(low), float(high))
    return Answer(value, float(bound), interval, "exact", source, True, float(bound))


def from_measurement(query: LinearQuery, value: int, sd: float, certain: float) -> Answer:
    """An answer read from a measurement with noise of that sd (counts): its error holds on any data with 95 %.

    ``certain``: sds of the certified bound, to hold for all planned questions at once, as a passed test's does.
    """
    error, certified = _bounds(sd, certain, fractional=not query.is_indicator)
    return replace(exact(value, error, "measurement"), certified_bound=float(certified))


def read_together(found: Sequence[tuple[int, float]], certain: float) -> CrosstabAnswers | None:
    """``from_measurement`` of counts of whole rows, of each (value, sd); ``None`` where their noise differs."""
    if len({sd for _, sd in found}) > 1:
        return None
    error, certified = _bounds(found[0][1], certain, fractional=False)
    values = np.array([value for value, _ in found], dtype=np.int64)
    return CrosstabAnswers(values, np.full(len(found), float(error)), "exact", "measurement", float(certified))


def _bounds(sd: float, certain: float, *, fractional: bool) -> tuple[int, int]:
    """Error and certified bound, in counts, of what is read from a measurement."""
    return error_bound(sd, fractional), ceil(certain * sd) + fractional


def moved_to(measured: Answer, value: float, error: float) -> Answer:
    """A measured answer with another value and 95 % error. Its certificate is the measurement's and how far the two are
    apart (the triangle inequality).
    """
    apart = abs(value - (measured.value or 0))
    bound = None if measured.certified_bound is None else measured.certified_bound + apart
    interval = (float(max(0, value - error)), float(max(0, value + error)))
    return replace(
        measured, value=value, error=float(error), interval=interval, error_kind="calibrated", certified_bound=bound
    )


def completed(
    estimate: float, sd: float, certain: float | None = None, *, fractional: bool = False, fine: bool = False
) -> Answer:
    """Released estimates, completed by a release of what they leave open: no certificate, for estimates have none.

    ``certain``: sds of the certified bound where they are measurements, whose noise is all that they are off by.
    ``fractional``: rows count other than 0 or 1, so that rounding is an error of its own; ``fine``: so that it is not
    rounded, unless it has a certificate.
    """
    if fractional and fine and certain is None:
        interval = max(0.0, estimate - DEVIATIONS * sd), max(0.0, estimate + DEVIATIONS * sd)
        return Answer(estimate, DEVIATIONS * sd, interval, "calibrated", "measurement", certified=False)
    value, error = round(estimate), error_bound(sd, fractional)
    if certain is not None:
        return replace(exact(value, error, "measurement"), certified_bound=float(ceil(certain * sd) + fractional))
    interval = (float(max(0, value - error)), float(max(0, value + error)))
    return Answer(value, float(error), interval, "calibrated", "measurement", certified=False)


def from_model(estimate: float, error: int | None, certified: int | None) -> Answer:
    """The model's estimate with its calibrated error bar, free of charge.

    ``certified``: the bound of a passed test, shown beside the error bar, or in its place when it is no wider.
    """
    if certified is not None and (error is None or certified <= error):
        return exact(estimate, certified, "hypothesis")
    if error is None:
        return Answer(estimate, None, None, "calibrated", "hypothesis", certified=False)
    interval = (float(max(0, estimate - error)), float(max(0, estimate + error)))
    bound = None if certified is None else float(certified)
    return Answer(estimate, float(error), interval, "calibrated", "hypothesis", bound is not None, bound)


def untested(query: LinearQuery, estimate: int, found: tuple[int, float] | None, bound: int, certain: float) -> Answer:
    """No test is left: the measurement if its noise is below what a test would certify, else the bare model."""
    if found is not None and error_bound(found[1], not query.is_indicator) <= bound:
        return from_measurement(query, *found, certain)
    return from_model(estimate, None, None)


def with_charge(answers: Sequence[Answer], charged: float) -> list[Answer]:
    """The answers, the first of them with ``charged`` (epsilon) more: one payment, one charge that is shown."""
    out = list(answers)
    if charged > 0.0:
        out[0] = replace(out[0], charged=out[0].charged + charged)
    return out
