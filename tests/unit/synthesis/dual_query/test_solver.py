"""The solver writes nothing beside the results."""

import subprocess
import sys

import pytest

pytest.importorskip("highspy")
SOLVED = """
import highspy
from dpsql.synthesis.dual_query.solver import quiet
solver = quiet(highspy)
solver.addVar(0.0, 1.0)
solver.changeColCost(0, -1.0)
solver.run()
assert solver.getSolution().col_value == [1.0]
"""


def test_the_first_solver_of_a_process_prints_nothing() -> None:
    shown = subprocess.run([sys.executable, "-c", SOLVED], capture_output=True, check=True, encoding="utf-8")
    assert (shown.stdout, shown.stderr) == ("", "")
