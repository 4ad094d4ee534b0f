"""The solver HiGHS, without a word on standard output, where results are written."""

from typing import Any


def quiet(highspy: Any) -> Any:
    """A solver of the module ``highspy`` that prints nothing.

    The first one of a process prints who made it while it is made (1.16), before it can be told to be silent.
    """

    class Quiet(highspy.Highs):  # type: ignore[misc] # of a module that need not be there
        def enableCallbacks(self) -> None:  # noqa: N802 - the solver's own name
            self.silent()
            super().enableCallbacks()

    solver = Quiet()
    solver.silent()
    return solver
