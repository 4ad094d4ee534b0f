"""Rows in the parts that a measurement has: what its noise is added to. Not released."""

import numpy as np

from dpsql.engine.protocol import Engine
from dpsql.hypothesis import Axis, coarsen
from dpsql.private import Private
from dpsql.query import Counts, Key


def counted_parts(
    engine: Engine, table: str, axes: tuple[Axis, ...], text: tuple[str, ...] = (), keys: tuple[Key, ...] = ()
) -> Private[Counts]:
    """Counts over the parts of ``axes``, int64 of shape ``([keys,] *axis sizes)``, in rows. Private.

    With ``text`` columns, for each of the listed ``keys``. Raises EngineError.
    """
    scope = tuple(c for a in axes for c in a.columns)
    counts = engine.keyed_counts(table, text, keys, scope) if text else engine.contingency(table, scope)
    return counts.map(lambda cells: np.asarray(coarsen(cells, axes, bool(text)), dtype=np.int64))
