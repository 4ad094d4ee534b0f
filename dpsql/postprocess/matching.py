"""Which row of the result a row of a variant is. Public.

The order of rows changes with the numbers, and rows come and go. They are told apart by what does not depend on
released numbers: the row's number in its block, or the columns that are public.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Positions = npt.NDArray[np.int64]


def matched(base: pa.Table, variants: pa.Table) -> Positions | None:
    """For each row of the variants the position of the row of the base with the same keys, -1 where there is none.

    The tables hold the key columns, in the same order; none where there is one row only. ``None`` when two rows of the
    base have equal keys, so that no row can be told from another.

    >>> matched(pa.table({"k": ["a", None]}), pa.table({"k": [None, "b", "a"]}))
    array([ 1, -1,  0])
    """
    rows, size = base.num_rows, variants.num_rows
    codes = np.zeros(rows + size, dtype=np.int64)
    for ours, theirs in zip(base.columns, variants.columns, strict=True):
        own = _codes(ours, theirs)
        if own is None:
            return None
        codes = np.unique(codes * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1].astype(np.int64)
    first = np.full(int(codes.max(initial=-1)) + 1, -1, dtype=np.int64)
    first[codes[:rows]] = np.arange(rows)
    if len(np.unique(codes[:rows])) < rows:
        return None
    found: Positions = first[codes[rows:]]
    return found


def _codes(ours: pa.ChunkedArray, theirs: pa.ChunkedArray) -> Positions | None:
    """Equal numbers for equal values, from 0; ``None`` for a type that cannot be told apart."""
    try:
        both = pa.chunked_array([*ours.chunks, *theirs.chunks], ours.type).combine_chunks().dictionary_encode()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None
    found: Positions = both.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    return found
