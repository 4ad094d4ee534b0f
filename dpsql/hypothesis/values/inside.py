"""What an interval takes of each bin of a number column. Public."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpsql.query import Estimates


@dataclass(frozen=True, eq=False)
class Inside:
    """What an interval takes of each bin: float64, (bins,). ``sd``: of the ``share`` of its rows; ``doubt``: how far it
    may be wrong for rows between two round numbers; ``before``: both by older rules. ``center``: the mean place of the
    rows taken, in shares of the range from min to max; ``length`` and ``middle``: of what it covers, in the same.
    ``cut``: the bins that are taken in part. ``crowd``: the share of its rows that are at one place where they crowd,
    ``of_crowd`` what is taken of these, ``crowd_sd``: of how many they are, in rows. ``taken``: of each marked cell,
    (cells,). ``beyond``: of one value alone, how many rows its own count allows for beyond those of the share."""

    share: Estimates
    sd: Estimates
    doubt: Estimates
    before: tuple[Estimates, Estimates]
    center: Estimates
    length: Estimates
    middle: Estimates
    cut: npt.NDArray[np.intp]
    crowd: Estimates
    of_crowd: Estimates
    crowd_sd: Estimates
    taken: Estimates
    beyond: float = 0.0
