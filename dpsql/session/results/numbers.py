"""Columns and cells of a computed table as numbers. Public."""

from decimal import Decimal
from math import isnan

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpsql.postprocess.spread import Floats


def as_number(value: object) -> int | float | None:
    """A cell as an answer's value: NULL and what is no number are ``None``."""
    match value:
        case int():
            return value
        case float():
            return None if isnan(value) else value
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
    return None


def floats(column: pa.ChunkedArray) -> Floats:
    """As floats, NULL as NaN."""
    found: Floats = pc.cast(column, pa.float64(), safe=False).to_numpy()
    return found.astype(np.float64)
