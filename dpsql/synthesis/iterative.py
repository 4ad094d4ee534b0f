"""The iterative construction, offline: a private distinguisher finds a query, its noisy answer updates the hypothesis.

Gupta, Roth, Ullman 2011, Algorithm 3. It ends as soon as the query that was found is answered well, or after T rounds.
"""

import math
from collections.abc import Mapping

import numpy as np

from dpsql.errors import DataError
from dpsql.first import Bench
from dpsql.ledger.event import Payload
from dpsql.planning.sensitivity import query_sensitivity
from dpsql.synthesis.offline.distinguisher import Distinguisher
from dpsql.synthesis.offline.options import whole, word
from dpsql.synthesis.offline.parts import asked, checked_by
from dpsql.synthesis.offline.rounds import CHOSEN, MOST_ROUNDS, Rounds, balanced_rounds, plan_rounds, usual_rounds
from dpsql.synthesis.offline.table import rows_from, with_answers
from dpsql.synthesis.offline.weights import Weights
from dpsql.synthesis.steps import Steps
from dpsql.synthesis.synthetic import Synthetic
from dpsql.synthesis.task import Task

DENSITY = 2.0
"""Rounds, in square roots of the number at which the two terms of the worst-case bound are equal."""
REFITS = 1
"""How often a fit goes through all measurements so far."""
BETA = 0.05
"""Probability that Theorem 7.3 fails, where its alpha is taken."""
OPTIONS = ("alpha", "hypothesis", "rounds")


def iterative(task: Task, bench: Bench, steps: Steps) -> Synthetic:
    """``Method`` of Algorithm 3. Options: ``hypothesis=fitted|mw``, ``rounds=T``, ``alpha=none|paper|COUNTS``.

    ``mw``: multiplicative weights as in the paper's Algorithm 5; ``fitted``: fitted to all answers so far. ``alpha``:
    where the construction may end before T rounds, which are then not charged; ``paper``: what Theorem 7.3 asks for.
    Without it all rounds are made: a choice that was poor by chance would end it early. NotSupportedError for a
    workload that joins more cells than fit in memory; BudgetExhausted where the budget buys no round.
    """
    fitted, told, said = _read(task.options)
    queries = asked([task.model.by_cells(q) for q in task.workload])
    weights, known = Weights(task.table, queries), task.model.row_count
    sensitivity = query_sensitivity(task.table)
    balanced = balanced_rounds(bench.plan, task.units, CHOSEN, sensitivity, known, weights.log_cells, len(queries))
    count = told or usual_rounds(balanced, DENSITY)
    rounds = plan_rounds(bench.plan, task.units, count, CHOSEN, sensitivity)
    alpha = _alpha(said, rounds, len(queries))
    rate = update_rate(alpha or theorem_alpha(rounds, len(queries), BETA), known)
    private = Distinguisher(task.table.name, weights, rounds, bench)
    made: list[Payload] = []
    for done in range(count):
        task.on_progress("rounds", done, count)
        estimates = np.rint(weights.answers() * known).astype(np.int64)
        found = steps.pay(rounds.cost, private.choice(estimates))
        made.append(found)
        if abs(found["answer"] - int(estimates[found["query"]])) < 3 * alpha / 4:
            break
        if fitted:
            _refit(weights, made, known)
        else:
            weights.textbook_step(found["query"], found["answer"] / known, rate)
    task.on_progress("rounds", count, count)
    return with_answers(rows_from(task, weights, weights.tensors, made), weights, made, float(rounds.sigma))


def _read(options: Mapping[str, str]) -> tuple[bool, int, str]:
    """Whether the weights are fitted; rounds, 0 where nothing is said; what is said of alpha."""
    fitted = word(options, "hypothesis", ("fitted", "mw")) == "fitted"
    said = options.get("alpha", "none")
    if said not in ("none", "paper") and not (said.isascii() and said.isdigit() and len(said) < 13 and int(said) > 0):
        raise DataError(f"option alpha is {said!r}", hint="write alpha=none, alpha=paper, or a whole number of rows")
    return fitted, whole(options, "rounds", 0, 1, MOST_ROUNDS), said


check_iterative = checked_by(_read)
"""What ``iterative`` refuses of its options and its workload, said before anything is charged."""


def _alpha(said: str, rounds: Rounds, queries: int) -> float:
    """The accuracy (counts) at which to stop; 0 for never."""
    if said == "none":
        return 0.0
    if said == "paper":
        return theorem_alpha(rounds, queries, BETA)
    return float(said)


def theorem_alpha(rounds: Rounds, queries: int, beta: float) -> float:
    """The least alpha (counts) of Theorem 7.3: four times the noise of T answers, twice the error F of T choices."""
    noise = rounds.noise_bound(rounds.count, beta / 2)
    return max(4 * noise, 2 * rounds.choice_error(queries, beta / 2 / rounds.count))


def update_rate(alpha: float, row_count: float) -> float:
    """eta = (alpha / 2) / (2 n): Algorithm 3 updates by U at alpha / 2, and Algorithm 5 takes eta = alpha / (2 n)."""
    return alpha / (4 * row_count)


def update_bound(alpha: float, row_count: float, log_cells: float) -> int:
    """B(alpha / 2) of multiplicative weights: 16 n^2 ln|X| / alpha^2 rounds at most, if all noise is within alpha / 4.

    Theorem A.4 at alpha / 2. (Algorithm 3 as printed stops after B(alpha), where its own argument needs B(alpha / 2).)
    """
    return math.floor(16 * row_count**2 * log_cells / alpha**2)


def accuracy(alpha: float, rounds: Rounds, queries: int, beta: float) -> float:
    """With probability 1 - beta no query is off by more (counts) than this when the construction stops by itself.

    alpha + F: a found query whose noisy answer is within 3 alpha / 4 is off by less than alpha when noise is within
    alpha / 4, and no other by more than F beyond it. (Theorem 7.3 as printed says alpha / 2 + F; the sign of the noise
    is lost there.) Infinite where the noise is not within alpha / 4 often enough.
    """
    if 4 * rounds.noise_bound(rounds.count, beta / 2) > alpha:
        return math.inf
    return alpha + rounds.choice_error(queries, beta / 2 / rounds.count)


def _refit(weights: Weights, made: list[Payload], row_count: float) -> None:
    """Iterative proportional fitting to all answers, the newest first and last."""
    least = min(0.25, 0.5 / row_count)
    for payload in [made[-1], *made * REFITS]:
        weights.fitting_step(payload["query"], payload["answer"] / row_count, least)
