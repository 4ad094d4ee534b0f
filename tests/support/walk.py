"""A method of synthesis for tests: each step measures the rows by one column; the rows follow the last one measured."""

import signal
from collections.abc import Callable
from typing import Any

import numpy as np

from dpsql.first import Bench
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
        cost, columns = task.units // number, task.table.finite
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
        rng = coins(NAME, seen)
        rows = task.rows or 100
        codes = np.stack([rng.integers(c.size, size=rows) for c in columns], axis=1)
        return Synthetic(task.table, codes, scale=task.model.row_count / rows)

    return Entry(make, "a walk through the columns", pays=True)


def methods(before: Before = lambda number: None) -> dict[str, Entry]:
    """What ``dpsql.synthesis.methods.METHODS`` is to be replaced by."""
    return {**METHODS, NAME: walk(before)}


def interrupted_at(number: int) -> Before:
    """An interrupt that arrives inside a step."""

    def send(i: int) -> None:
        if i == number:
            signal.raise_signal(signal.SIGINT)

    return send
