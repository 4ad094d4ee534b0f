"""Recorded steps give the rows that they always gave: what a ledger holds must not become another table."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpsql.synthesis.iterative import iterative
from dpsql.synthesis.mwem import mwem
from tests.support.offline import Exactly, PlainSteps, bench_of, marginals, task_of
from tests.support.simulated import table_of

GOLDEN = json.loads((Path(__file__).parent / "offline_rows.json").read_text(encoding="utf-8"))
TABLE = table_of([3, 2, 4])
METHODS: dict[str, Any] = {"iterative": iterative, "mwem": mwem}


def counts(case: dict[str, Any]) -> list[int]:
    """Rows in each cell, from recorded steps alone: the table itself has one row in every cell."""
    cells = np.full((3, 2, 4), case["rows"] // 24)
    bench, steps = bench_of(TABLE, cells, Exactly()), PlainSteps(case["steps"])
    units = bench.plan.noise_budget // 2
    task = task_of(TABLE, cells, marginals(TABLE, 2), units, rounds=str(len(case["steps"])), **case["options"])
    made = METHODS[case["method"]](task, bench, steps)
    assert steps.drawn == 0
    return np.bincount(np.ravel_multi_index(made.codes.T, (3, 2, 4)), minlength=24).tolist()


@pytest.mark.parametrize("case", GOLDEN, ids=lambda c: f"{c['method']} {c['options']}")
def test_recorded_steps_give_the_same_rows(case: dict[str, Any]) -> None:
    assert counts(case) == case["counts"]


def test_other_steps_give_others() -> None:
    case = GOLDEN[0]
    other = {**case, "steps": [*case["steps"][:-1], {"query": 0, "answer": 11}]}
    assert counts(other) != case["counts"]
