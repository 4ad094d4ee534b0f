"""Variances, skewness, correlations and regressions from released sums, with their intervals. Post-processing.

Each is a quotient of sums of squares, all of which come with a bar. The function takes its farthest values at the ends
of the bars of all sums together, or where it turns inside them: the interval then holds however the errors depend on
each other.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from dpsql.query.summary import MomentsKind

Floats = npt.NDArray[np.float64]
_RANGES: dict[MomentsKind, tuple[float, float]] = {
    "corr": (-1.0, 1.0),
    "kurtosis_pop": (-2.0, np.inf),  # Pearson: the fourth moment is at least the square of the second
}
_SPREADS: frozenset[MomentsKind] = frozenset({"var_pop", "var_samp", "stddev_pop", "stddev_samp", "sem"})
_SIGNED = frozenset(
    {"covar_pop", "covar_samp", "regr_intercept", "regr_slope", "regr_sxy", "corr", "skewness", "kurtosis"}
)


def moment(
    kind: MomentsKind,
    sums: Sequence[float],
    errors: Sequence[float | None],
    centers: Sequence[float],
    around: Sequence[float | None] = (),
) -> tuple[float, tuple[float, float] | None] | None:
    """The value and its interval, ``None`` where an error is not known; nothing where the count is within its bar.

    ``sums``: of 1, x, x^2, for higher moments x^3 and x^4, and with two arguments (y, x) of 1, y, y^2, x, x^2, xy, each
    y and x less its center.
    ``errors``: 95 % half-widths of these; ``around``: how far the sums of ``distances_of`` may be from 0, if known.

    >>> moment("var_pop", [4.0, 0.0, 8.0], [0.0, 0.0, 2.0], [0.0])
    (2.0, (1.5, 2.5))
    """
    if kind == "regr_r2":
        found = moment("corr", sums, errors, centers, around)
        return None if found is None else _squared(*found)
    rows, error = sums[0], errors[0]
    if error is None or rows <= error or rows <= 0:
        return None
    value = _bounded(kind, float(moments(kind, np.array([sums]), centers)[0]))
    if value is None:
        return None
    known, told = ([e for e in some if e is not None] for some in (errors, around))
    least, most = _RANGES.get(kind, (-np.inf if kind in _SIGNED else 0.0, np.inf))
    if len(known) < len(errors):
        return value, None
    low, high = _ends(moments(kind, _farthest(sums, known), centers), value)
    if told and len(told) == len(around):
        nearer = _ends(moments(kind, _around(sums, error, told), centers), value)
        low, high = max(low, nearer[0]), min(high, nearer[1])
    if not (np.isfinite(low) and np.isfinite(high)):
        return value, (least, most) if kind in _RANGES else None
    return value, (max(low, least), min(high, most))


def _squared(value: float, interval: tuple[float, float] | None) -> tuple[float, tuple[float, float] | None]:
    """A number's square, which is least where the number is nearest to 0, and not at an end of its interval."""
    if interval is None:
        return value**2, None
    low, high = interval
    least = max(low, -high, 0.0)
    return value**2, (least**2, max(low**2, high**2))


def confined(
    kind: MomentsKind, value: float, interval: tuple[float, float] | None, width: float, rows: float
) -> tuple[float, tuple[float, float] | None]:
    """A spread of values that stand in a stretch so wide: at most that of half of the rows at either end (Popoviciu
    1935), of so many ``rows`` at least. Where sums tell no more than that, the value is that of rows spread evenly.

    >>> confined("stddev_pop", 0.0, (0.0, 900.0), 12.0, 40.0)
    (3.4641016151377544, (0.0, 6.0))
    """
    if kind not in _SPREADS or interval is None:
        return value, interval
    rows = max(rows, 2.0)
    times = 1.0 if kind.endswith("_pop") else rows / (rows - 1.0)
    most, even = (_spread(kind, times * width**2 / parts, rows) for parts in (4.0, 12.0))
    low, high = interval
    if low <= 0.0 and high >= most:
        return even, (0.0, most)
    return min(value, most), (min(low, most), min(high, most))


def _spread(kind: MomentsKind, variance: float, rows: float) -> float:
    """What a kind makes of a variance."""
    if kind.startswith("var"):
        return variance
    return float(np.sqrt(variance / rows if kind == "sem" else variance))


def _ends(found: Floats, value: float) -> tuple[float, float]:
    """The least and the most of these and the value; infinite where one is not known."""
    if not np.isfinite(found).all():
        return -np.inf, np.inf
    return min(float(found.min()), value), max(float(found.max()), value)


def distances_of(sums: Sequence[float]) -> list[tuple[float, ...]]:
    """What to take each sum times for sums of distances from the released means, which are 0: of x - m, and of its
    square less the released variance; with two arguments of both of y, of both of x, and of the product of their
    distances less the covariance. None of higher moments, or of no rows.

    >>> distances_of([2.0, 6.0, 20.0])
    [(-3.0, 1.0, 0.0), (8.0, -6.0, 1.0)]
    """
    if sums[0] <= 0.0 or len(sums) not in (3, 6):
        return []
    per_row = [s / sums[0] for s in sums]
    out = []
    for i in range(1, len(sums) - 1, 2):
        mean, rest = per_row[i], (0.0,) * (len(sums) - i - 2)
        squares = 2.0 * mean * mean - per_row[i + 1]
        out += [(-mean, *(0.0,) * (i - 1), 1.0, 0.0, *rest), (squares, *(0.0,) * (i - 1), -2.0 * mean, 1.0, *rest)]
    if len(sums) == 6:
        y, x = per_row[1], per_row[3]
        out.append((2.0 * y * x - per_row[5], -x, 0.0, -y, 0.0, 1.0))
    return out


def _around(sums: Sequence[float], rows_error: float, around: Sequence[float]) -> Floats:
    """Sums at the ends of what the rows n, means m, variances and covariance may be. As they are, marked by ', and as
    they were released, n' (m' - m) is the sum of x - m over the rows, and n' (v' - v) that of (x - m)^2 - v less
    n' (m' - m)^2; so with the covariance and both means.
    """
    rows, least = sums[0], sums[0] - rows_error
    off = [e / least for e in around]
    means, spreads = [sums[i] / rows for i in range(1, len(sums) - 1, 2)], []
    ends = [[rows - rows_error, rows + rows_error]]
    for i, mean in enumerate(means):
        variance = sums[2 * i + 2] / rows - mean * mean
        ends.append([mean - off[2 * i], mean + off[2 * i]])
        spreads.append([max(variance - off[2 * i + 1] - off[2 * i] ** 2, 0.0), max(variance + off[2 * i + 1], 0.0)])
    ends += spreads
    if len(means) == 2:
        covariance, more = sums[5] / rows - means[0] * means[1], off[4] + off[0] * off[2]
        low, high = covariance - more, covariance + more
        ends.append([low, high] if low > 0.0 or high < 0.0 else [low, 0.0, high])
    corners = np.array(list(product(*ends)))
    n, m, v = corners[:, :1], corners[:, 1 : 1 + len(means)], corners[:, 1 + len(means) : 1 + 2 * len(means)]
    of_each = [np.column_stack([m[:, i], v[:, i] + m[:, i] ** 2]) for i in range(len(means))]
    products = [corners[:, -1] + m[:, 0] * m[:, 1]] if len(means) == 2 else []
    found: Floats = n * np.column_stack([np.ones(len(corners)), *of_each, *products])
    return found


def _farthest(sums: Sequence[float], errors: Sequence[float]) -> Floats:
    """Where a function of the sums can be largest or least: at the ends of their bars; at 0 of a sum of distances, for
    squares around the mean are then the most; and for one column at the rows where its variance turns."""
    ends = [[s - e, s + e] if e else [s] for s, e in zip(sums, errors, strict=True)]
    for i in (1, 3) if len(sums) == 6 else (1,):
        ends[i] = [*ends[i], 0.0] if abs(sums[i]) < errors[i] else ends[i]
    corners = np.array(list(product(*ends)))
    if len(sums) > 3:
        return corners
    with np.errstate(all="ignore"):
        s, q = corners[:, 1] ** 2, corners[:, 2]
        # d/dn of (q - s / n) / n, of the same / n^2, and of (q - s / n) / (n - 1)
        turns = [2.0 * s / q, 1.5 * s / q, (s + np.sqrt(np.maximum(s**2 - q * s, 0.0))) / q]
    rows = [np.clip(np.nan_to_num(n, nan=sums[0]), ends[0][0], ends[0][-1]) for n in turns]
    return np.concatenate([corners, *[np.column_stack([n, corners[:, 1:]]) for n in rows]])


def moments(kind: MomentsKind, sums: Floats, centers: Sequence[float]) -> Floats:
    """The function of each row of ``sums``; NaN or infinite where it is not defined. Sums of squares are at least 0."""
    with np.errstate(all="ignore"):
        rows = sums[:, 0]
        squares = np.maximum(sums[:, 2] - sums[:, 1] ** 2 / rows, 0.0)
        if sums.shape[1] == 3:
            return _of_one(kind, rows, squares)
        if sums.shape[1] == 5:
            return _of_shape(kind, sums, squares)
        others = np.maximum(sums[:, 4] - sums[:, 3] ** 2 / rows, 0.0)
        products = sums[:, 5] - sums[:, 1] * sums[:, 3] / rows
        return _of_two(kind, rows, (squares, others, products), sums, centers)


def _of_one(kind: MomentsKind, rows: Floats, squares: Floats) -> Floats:
    match kind:
        case "var_pop":
            return squares / rows
        case "stddev_pop":
            return np.sqrt(squares / rows)
        case "var_samp":
            return squares / _but_one(rows)
        case "stddev_samp":
            return np.sqrt(squares / _but_one(rows))
        case "sem":
            return np.sqrt(squares) / rows
        case _:
            raise AssertionError(kind)


def _of_shape(kind: MomentsKind, sums: Floats, squares: Floats) -> Floats:
    """DuckDB's estimators: of skewness G1 and of kurtosis G2 of Joanes and Gill 1998, and the excess g2 of all rows."""
    rows, mean = sums[:, 0], sums[:, 1] / sums[:, 0]
    second = squares / rows
    if kind == "skewness":
        third = sums[:, 3] / rows - 3 * mean * sums[:, 2] / rows + 2 * mean**3
        return np.where(rows > 2, np.sqrt(rows * (rows - 1)) / (rows - 2) * third / second**1.5, np.nan)
    fourth = sums[:, 4] / rows - 4 * mean * sums[:, 3] / rows + 6 * mean**2 * sums[:, 2] / rows - 3 * mean**4
    excess = fourth / second**2 - 3
    if kind == "kurtosis_pop":
        return excess
    corrected = (rows - 1) / ((rows - 2) * (rows - 3)) * ((rows + 1) * excess + 6)
    return np.where(rows > 3, corrected, np.nan)


def _of_two(
    kind: MomentsKind, rows: Floats, squares: tuple[Floats, Floats, Floats], sums: Floats, centers: Sequence[float]
) -> Floats:
    """``squares``: of y, of x, and of the products."""
    yy, xx, xy = squares
    match kind:
        case "covar_pop":
            return xy / rows
        case "covar_samp":
            return xy / _but_one(rows)
        case "corr":
            return xy / np.sqrt(xx * yy)
        case "regr_slope":
            return xy / xx
        case "regr_intercept":
            return sums[:, 1] / rows + centers[0] - xy / xx * (sums[:, 3] / rows + centers[1])
        case "regr_sxx":
            return xx
        case "regr_syy":
            return yy
        case "regr_sxy":
            return xy
        case _:
            raise AssertionError(kind)


def _but_one(rows: Floats) -> Floats:
    return np.where(rows > 1, rows - 1, np.nan)


def _bounded(kind: MomentsKind, value: float) -> float | None:
    """The value inside the range of the function; ``None`` for none."""
    if not np.isfinite(value):
        return None
    low, high = _RANGES.get(kind, (-np.inf, np.inf))
    return min(max(value, low), high)
