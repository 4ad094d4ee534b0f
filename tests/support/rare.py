"""Key counts whose rare keys are counted in place of being listed, as an engine with many strings has them."""

import numpy as np

from dpsql.query import KeyCounts, Positions


def rare(found: KeyCounts, least: int) -> KeyCounts:
    """The same with keys of fewer than ``least`` rows counted; for keys that are all listed."""
    listed = np.flatnonzero(found.counts >= least)
    fewer = np.bincount(found.counts[found.counts < least], minlength=least)

    def named(chosen: Positions) -> tuple[str, ...]:
        return tuple(found.keys[i] for n, at in chosen.items() for i in np.flatnonzero(found.counts == n)[list(at)])

    return KeyCounts(tuple(found.keys[i] for i in listed), found.counts[listed], fewer, named)
