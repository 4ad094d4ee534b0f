"""From answers to the numbers of an aggregate: affine forms and ratios, with their error bounds. Post-processing."""

from collections.abc import Callable, Sequence

from dpsql.query import Form, LinearQuery
from dpsql.result import Answer, Source

Lookup = Callable[[LinearQuery], Answer]


def combine(form: Form, lookup: Lookup, *, integer: bool) -> Answer:
    """The value of an affine form, in the aggregate's own unit; public and exact when it has no terms.

    The error is the sum of |coefficient| * error: it holds with the same confidence whenever each part's does and the
    parts' errors are Gaussian (a sum's standard deviation is at most the sum of the standard deviations), and always
    for certified bounds, which hold together.
    """
    if form.is_public:
        value = round(form.constant) if integer else form.constant
        return Answer(value, 0.0, (float(value), float(value)), "exact", "public", True, 0.0)
    parts = [lookup(term.query) for term in form.terms]
    if len(parts) == 1 and form.constant == 0 and form.terms[0].coefficient == 1 and integer:
        return parts[0]
    weights = [term.coefficient for term in form.terms]
    value = form.constant + sum(w * float(p.value or 0) for w, p in zip(weights, parts, strict=True))
    error = _weighted(weights, [p.error for p in parts])
    rounded: int | float = round(value) if integer else value
    return Answer(
        rounded,
        error,
        _interval(float(rounded), error, nonnegative=integer and _is_count(form)),
        "calibrated" if any(p.error_kind == "calibrated" for p in parts) else "exact",
        merged_source([p.source for p in parts]),
        all(p.certified for p in parts),
        _weighted(weights, [p.certified_bound for p in parts]),
        sum(p.charged for p in parts),
    )


def divide(numerator: Answer, denominator: Answer) -> Answer:
    """``numerator / denominator`` (AVG): NULL when the denominator is not above 0.

    |a/b - A/B| <= (|A - a| + |a/b| |B - b|) / B; B is taken at the low end of its interval, and the bound is unknown
    (``None``) when that reaches 0.
    """
    top, bottom = numerator.value, denominator.value
    charged = numerator.charged + denominator.charged
    source = merged_source([numerator.source, denominator.source])
    kind = "calibrated" if "calibrated" in (numerator.error_kind, denominator.error_kind) else "exact"
    certified = numerator.certified and denominator.certified
    if top is None or bottom is None or bottom <= 0:
        return Answer(None, None, None, "exact" if kind == "exact" else "calibrated", source, False, None, charged)
    value = top / bottom
    error = _ratio_error(value, bottom, numerator.error, denominator.error)
    bound = _ratio_error(value, bottom, numerator.certified_bound, denominator.certified_bound)
    return Answer(
        value,
        error,
        _interval(value, error, nonnegative=False),
        "calibrated" if kind == "calibrated" else "exact",
        source,
        certified and bound is not None,
        bound,
        charged,
    )


def merged_source(sources: Sequence[Source]) -> Source:
    """The least certain source among the parts.

    >>> merged_source(["public", "measurement", "hypothesis"])
    'hypothesis'
    """
    order: tuple[Source, ...] = ("hypothesis", "measurement", "cache", "public")
    return next((s for s in order if s in sources), "public")


def _ratio_error(value: float, bottom: float, top_error: float | None, bottom_error: float | None) -> float | None:
    if top_error is None or bottom_error is None or bottom - bottom_error <= 0:
        return None
    return (top_error + abs(value) * bottom_error) / (bottom - bottom_error)


def _weighted(weights: Sequence[float], errors: Sequence[float | None]) -> float | None:
    total = 0.0
    for w, e in zip(weights, errors, strict=True):
        if e is None:
            return None
        total += abs(w) * e
    return total


def _is_count(form: Form) -> bool:
    return form.constant >= 0 and all(float(t.coefficient).is_integer() for t in form.terms)


def _interval(value: float, error: float | None, *, nonnegative: bool) -> tuple[float, float] | None:
    if error is None:
        return None
    low, high = value - error, value + error
    return (max(0.0, low), max(0.0, high)) if nonnegative else (low, high)


__all__ = ["Lookup", "combine", "divide", "merged_source"]
