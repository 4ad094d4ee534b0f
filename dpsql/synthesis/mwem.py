"""Offline private multiplicative weights: in each round the worst query is chosen, measured, and the weights follow it.

Hardt, Ligett, McSherry 2012 (MWEM), and as told in J. Ullman's slides on private multiplicative weights: there only the
choice looks at the table, of a query or of its negation, and the step has a fixed length (``update=sign``). With
``update=measured`` the chosen query is measured too, and past measurements can be replayed.
"""

import math
from collections.abc import Mapping

import numpy as np

from dpsql.first import Bench
from dpsql.ledger.event import Payload
from dpsql.planning.sensitivity import query_sensitivity
from dpsql.query import Estimates
from dpsql.synthesis.offline.distinguisher import Distinguisher
from dpsql.synthesis.offline.options import whole, word
from dpsql.synthesis.offline.parts import asked, checked_by
from dpsql.synthesis.offline.rounds import CHOSEN, MOST_ROUNDS, Rounds, balanced_rounds, plan_rounds, usual_rounds
from dpsql.synthesis.offline.table import rows_from, with_answers
from dpsql.synthesis.offline.weights import Weights
from dpsql.synthesis.steps import Steps
from dpsql.synthesis.synthetic import Synthetic
from dpsql.synthesis.task import Task

DENSITY = 4.0
"""Rounds, in square roots of the number at which the two terms of the worst-case bound are equal."""
REPLAYS = 1
"""How often each round goes through all measurements so far."""
OPTIONS = ("iterate", "replays", "rounds", "update")


def mwem(task: Task, bench: Bench, steps: Steps) -> Synthetic:
    """``Method`` of MWEM. Options: ``iterate=last|average``, ``replays=N``, ``rounds=T``, ``update=measured|sign``.

    NotSupportedError for a workload that joins more cells than fit in memory; BudgetExhausted where the budget buys
    no round. Charges one choice and one measurement for each round (``Rounds``).
    """
    measured, average, told, replays = _read(task.options)
    queries = asked([task.model.by_cells(q) for q in task.workload])
    weights, chosen = Weights(task.table, queries), CHOSEN if measured else 1.0
    sensitivity, known = query_sensitivity(task.table), task.model.row_count
    balanced = balanced_rounds(bench.plan, task.units, chosen, sensitivity, known, weights.log_cells, len(queries))
    count = told or usual_rounds(balanced, DENSITY)
    rounds = plan_rounds(bench.plan, task.units, count, chosen, sensitivity)
    private = Distinguisher(task.table.name, weights, rounds, bench)
    made: list[Payload] = []
    sums = [np.zeros(p.shape) for p in weights.parts]
    for done in range(count):
        task.on_progress("rounds", done, count)
        if average:
            _add(sums, weights)
        estimates = np.rint(weights.answers() * known).astype(np.int64)
        draw = private.choice(estimates) if measured else private.signed_choice(estimates)
        made.append(steps.pay(rounds.cost, draw))
        if measured:
            _follow(weights, made, known, replays)
        else:
            _turn(weights, made[-1], rounds)
    task.on_progress("rounds", count, count)
    tensors = [s / s.sum() for s in sums] if average else weights.tensors
    rows = rows_from(task, weights, tensors, made)
    return with_answers(rows, weights, made, float(rounds.sigma)) if measured else rows


def _read(options: Mapping[str, str]) -> tuple[bool, bool, int, int]:
    """Whether queries are measured, whether iterates are averaged; rounds, 0 where nothing is said; replays."""
    measured = word(options, "update", ("measured", "sign")) == "measured"
    average = word(options, "iterate", ("last", "average")) == "average"
    return measured, average, whole(options, "rounds", 0, 1, MOST_ROUNDS), whole(options, "replays", REPLAYS, 0, 100)


check_mwem = checked_by(_read)
"""What ``mwem`` refuses of its options and its workload, said before anything is charged."""


def error_bound(log_cells: float, rounds: Rounds, queries: int, row_count: float, beta: float) -> float:
    """The average iterate is within this of every answer (counts) with probability 1 - beta, for either update.

    2 n sqrt(ln|X| / T) + 2 c ln(2 T |Q| / beta) / epsilon (Ullman's slides; there the expected choice, 2 ln|Q| /
    epsilon, here the choice of every round at once), plus, where queries are measured, the noise of all rounds at once
    (Hardt, Ligett, McSherry 2012, Thm 2.2).
    """
    share = beta / 2
    chosen = rounds.choice_error(2 * queries, share / rounds.count)
    noise = rounds.noise_bound(rounds.count, share) if rounds.sigma else 0.0
    return 2 * row_count * math.sqrt(log_cells / rounds.count) + chosen + noise


def _add(sums: list[Estimates], weights: Weights) -> None:
    for total, tensor in zip(sums, weights.tensors, strict=True):
        total += tensor


def _follow(weights: Weights, made: list[Payload], row_count: float, replays: int) -> None:
    """A step on the newest measurement, and again on all."""
    for payload in [made[-1], *made * replays]:
        weights.half_error_step(payload["query"], payload["answer"] / row_count)


def _turn(weights: Weights, payload: Payload, rounds: Rounds) -> None:
    """The slides' step: loss q where the hypothesis is above the table, 1 - q where below; eta = sqrt(ln|X| / T)."""
    rate = min(1.0, math.sqrt(weights.log_cells / rounds.count))
    weights.multiply(payload["query"], rate if payload["above"] else -rate)
