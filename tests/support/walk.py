"""A method of synthesis for tests: each step measures the rows by one column, its rows are even, seeded by the steps.

It charges for rows that come or go one by one: on units of several rows it is wrong, as tests show.
"""

import signal
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dpsql.first import Bench
from dpsql.mechanism.choice import choose
from dpsql.synthesis import Steps, Synthetic, Task
from dpsql.synthesis.coins import coins
from dpsql.synthesis.methods import METHODS, Entry

NAME = "walk"
Before = Callable[[int], None]
"""Called inside a step, with its number from 0, before its coins."""


def walk(before: Before = lambda number: None) -> Entry:
    """The method; its option ``steps`` says how many, 4 by default."""

    def make(task: Task, bench: Bench, steps: Steps) -> Synthetic:
        number = int(task.options.get("steps", "4"))
        columns = task.table.finite
        kept = bench.plan.pure_cost(Fraction(task.options["choice"])) if "choice" in task.options else 0
        cost = (task.units - kept) // number
        seen: list[list[int]] = []
        for i in range(number):
            column = columns[i % len(columns)]

            def draw(i: int = i, name: str = column.name) -> dict[str, Any]:
                before(i)
                counts = bench.engine.contingency(task.table.name, (name,))
                sigma = bench.plan.release_sigma(cost)
                return {"values": bench.measured(counts, sigma, task.table.name).values.tolist()}

            seen.append(list(steps.pay(cost, draw)["values"]))
            task.on_progress("steps", i + 1, number)
        if "choice" in task.options:  # of the largest cell of the first column, epsilon-DP
            epsilon = Fraction(task.options["choice"])

            def pick() -> dict[str, Any]:
                counts = bench.engine.contingency(task.table.name, (columns[0].name,))
                return {"chosen": choose(counts, epsilon, 1, bench.entropy)}

            seen.append([int(steps.pay(bench.plan.pure_cost(epsilon), pick)["chosen"])])
        rng = coins(NAME, seen)
        rows = task.rows or 100
        codes = np.stack([rng.integers(c.size, size=rows) for c in columns], axis=1)
        return Synthetic(task.table, codes, scale=task.model.row_count / rows)

    return Entry(make, "a walk through the columns", True, ("choice", "steps"))


def methods(before: Before = lambda number: None) -> dict[str, Entry]:
    """What ``dpsql.synthesis.methods.METHODS`` is to be replaced by."""
    return {**METHODS, NAME: walk(before)}


def interrupted_at(number: int) -> Before:
    """An interrupt that arrives inside a step."""

    def send(i: int) -> None:
        if i == number:
            signal.raise_signal(signal.SIGINT)

    return send
