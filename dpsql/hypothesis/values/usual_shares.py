"""How rows crowd on round numbers in all bins whose marks are equally far apart, as these tell together. Public.

Of one mark's rows its noise hides more than there are; those of all marks that are equally round are counted together.
"""

import numpy as np
import numpy.typing as npt

from dpsql.domain import NumberDomain
from dpsql.hypothesis.values.crowds import AT_ENDS, chances_at
from dpsql.hypothesis.values.places import as_less_round, bins_in, kinds_of, summed
from dpsql.query import Estimates

STANDS_OUT = 3.5
"""Sds of its noise by which a cell has to differ from its share of the bin's rest to be as counted, and by which marks
that are told together have to have rows."""
TOLD_TOGETHER = 3
"""Marks of a kind, of which noise hides less than of each; of fewer each is told by itself."""
_TINY = 1e-300


def usual_shares(
    domain: NumberDomain,
    n: Estimates,
    found: Estimates,
    sd: float,
    even: Estimates,
    *,
    hidden: bool,
    nested: bool,
) -> Estimates:
    """The share of each cell where its bin's rows crowd on round numbers as those of all bins of such a step do.

    The marks of one roundness and step are counted together, and kept where they stand out of their noise. ``hidden``:
    whether those that are alone tell nothing, for they would tell of themselves. ``nested``: whether rows crowd on them
    at least as on less round ones of their bin.
    """
    bins, kinds = bins_in(domain), kinds_of(domain).copy()
    if hidden:
        kinds[chances_at(domain.edges, domain.step) == AT_ENDS, 1] = 0
    rows = n[bins] * even
    labels, kind = np.unique(kinds, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    of_step = np.unique(labels[:, 0], return_inverse=True)[1].reshape(-1)
    whole = summed(of_step[kind], rows, int(of_step.max()) + 1)
    together, members = np.bincount(kind, found), np.bincount(kind)
    crowded = (labels[:, 1] > 0) & (members > hidden) & (together > STANDS_OUT * sd * np.sqrt(members))
    shares = np.where(crowded, np.clip(together / np.maximum(whole[of_step], 1.0), 0.0, 1.0), 0.0)
    held = summed(of_step, shares, len(whole))
    shares /= np.maximum(held, 1.0)[of_step]
    left = 1.0 - summed(of_step, shares, len(whole))
    _, same, number = np.unique(kind * len(n) + bins, return_inverse=True, return_counts=True)
    of_kind = shares[kind] / number[same.reshape(-1)]
    if nested:
        of_kind = np.where(of_kind > 0.0, of_kind, as_less_round(bins, kinds_of(domain)[:, 1], of_kind))
    usual = of_kind + np.maximum(left, 0.0)[of_step[kind]] * even
    return np.asarray(usual / np.maximum(summed(bins, usual, len(n)), _TINY)[bins])


def unseen(domain: NumberDomain, found: Estimates, expected: Estimates, sd: float) -> Estimates:
    """How many rows each mark may have on average of those that are told together, beyond what is ``expected``: by the
    noise of their sum, and what stands out of it; of few marks as those that are less round, or twice what is expected
    or none, for that is taken from others. An sd, in rows, no more than each mark's own; 0 between marks."""
    kinds = kinds_of(domain)
    kind = np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1)
    members = np.bincount(kind)
    together = members[kind] >= TOLD_TOGETHER
    beyond = (np.maximum(np.bincount(kind, found - expected), 0.0) + sd * np.sqrt(members)) / members
    of_cell = np.where(kinds[:, 1] > 0, np.minimum(np.where(together, beyond[kind], expected), sd), 0.0)
    less_round = as_less_round(bins_in(domain), kinds[:, 1], np.where(together, of_cell, 0.0) / sd) * sd
    return np.where(together, of_cell, np.maximum(of_cell, less_round))


def unlike(
    domain: NumberDomain, found: Estimates, expected: Estimates, out: npt.NDArray[np.bool_], sd: float
) -> Estimates:
    """By how much each cell's rows differ from what is expected, an sd: the same share of it in all cells of a kind.

    That share is what the distances of a kind's cells are beyond their noise (Efron and Morris 1973).
    """
    kind = np.unique(kinds_of(domain), axis=0, return_inverse=True)[1].reshape(-1)
    number, rest = int(kind.max()) + 1, ~out
    beyond = summed(kind, rest * ((found - expected) ** 2 - sd**2), number)
    squares = summed(kind, rest * expected**2, number)
    with np.errstate(all="ignore"):  # where nothing is expected of a whole kind
        spread = np.sqrt(np.maximum(beyond, 0.0) / np.maximum(squares, _TINY))[kind] * expected
    return np.where(expected > 0.0, spread, 0.0)
