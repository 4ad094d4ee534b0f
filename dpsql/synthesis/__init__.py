"""Synthetic tables: rows made from a public estimate of a private table, to take away and query with any tool.

A method is a function from a task to rows. What it asks of the private rows it pays for, step by step, from the ledger
of the table; every step is recorded before the next is made, so that a run that was interrupted goes on where it was.
"""

from dpsql.synthesis.runs import Runs
from dpsql.synthesis.steps import Steps
from dpsql.synthesis.synthetic import Synthetic
from dpsql.synthesis.task import Method, Task

__all__ = ["Method", "Runs", "Steps", "Synthetic", "Task"]
