"""Error bars that are learned quickly, for tests in which their width is not the point."""

from functools import partial

import pytest

from dpsql.hypothesis import learn_calibration
from dpsql.session.model import error_bars


def learned_briefly(patch: pytest.MonkeyPatch) -> None:
    """From one simulation and a fifth of the questions: still the same for the same measurements, and kept as always.

    Not for sessions of ``tests.support.warm``: their ledgers share lessons with tests that look at widths.
    """
    patch.setattr(error_bars, "learn_calibration", partial(learn_calibration, simulations=1, queries=40))
