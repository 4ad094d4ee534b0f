"""What the processes do that the durability tests kill: test, go hard, release, show."""

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

from dpsql.errors import BudgetExhausted
from dpsql.ledger import Registry, SqliteLedger, Totals
from dpsql.result import Answer

HEADER = {"policy": "policy", "data": "data", "plan": "{}"}
COST, BURN = 10, 3

STEPS = [
    *(f"{kind}:{step}" for kind in ("reserve", "hard", "release", "free") for step in ("begin", "appended")),
    *(f"{kind}:{step}" for kind in ("reserve", "hard", "release", "free") for step in ("committed", "anchored")),
    *("remember:begin", "remember:written", "remember:committed"),
    *("create:written", "create:named", "close:begin", "close:appended", "close:committed"),
]


def within(budget: int) -> Callable[[Totals], None]:
    def check(totals: Totals) -> None:
        if totals.spent + totals.reserved + COST > budget:
            raise BudgetExhausted("spent", requested=COST, remaining=0)

    return check


def open_ledger(directory: Path, on_step: Callable[[str], None] | None = None) -> SqliteLedger:
    registry = Registry(directory / "state")
    return SqliteLedger.open(directory / "a.ledger", HEADER, registry=registry, on_step=on_step)


def note(directory: Path, word: str, reservation: int) -> None:
    """Outlives a kill: what the page cache has, the next reader sees."""
    descriptor = os.open(directory / "shown", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, f"{word} {reservation}\n".encode())
    os.close(descriptor)


def play(directory: Path, seed: int, rounds: int, budget: int, on_step: Callable[[str], None] | None) -> None:
    """A session: each round reserves, tests, and goes hard or gives the reservation back."""
    coins = random.Random(seed)  # noqa: S311 - which path is taken, no noise
    ledger = open_ledger(directory, on_step)
    for number in range(rounds):
        try:
            reservation = ledger.reserve(COST, within(budget), {"burn": BURN})
        except BudgetExhausted:
            break
        with ledger.drawing(reservation):
            ledger.remember([(f"easy {seed} {number}", Answer(1, 2.0, None, "calibrated", "hypothesis", True))])
            hard = coins.random() < 0.6
            if hard:
                note(directory, "coin", reservation)
                ledger.hard(reservation, {"query": number})
        if not hard:
            ledger.free(reservation)
            continue
        answer = Answer(reservation, 1.0, None, "exact", "measurement", True, charged=0.5)
        ledger.release(reservation, {"values": [reservation]}, [(f"released {reservation}", answer)])
        note(directory, "shown", reservation)
    ledger.reserve(COST, lambda totals: None, {"burn": BURN}) if budget > 10**6 else None
    ledger.close()


def play_until_step(directory: Path, seed: int, step: str, occurrence: int) -> None:
    """Dies by SIGKILL at the ``occurrence``-th time that ``step`` is reached; the process must have no other way."""
    left = [occurrence]

    def on_step(name: str) -> None:
        if name == step:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    play(directory, seed, 40, 10**9, on_step)


def play_for_good(directory: Path, seed: int, budget: int) -> None:
    """Runs until it is killed or the budget is spent."""
    note(directory, "ready", seed)
    play(directory, seed, 10**6, budget, None)


def reserve_many(directory: Path, seed: int, rounds: int, budget: int) -> None:
    """One of several processes on one ledger; ends with exit code 0 unless something else than a refusal comes up."""
    coins = random.Random(seed)  # noqa: S311 - which path is taken, no noise
    with open_ledger(directory) as ledger:
        for _ in range(rounds):
            try:
                reservation = ledger.reserve(COST, within(budget), {"burn": BURN})
            except BudgetExhausted:
                continue
            if coins.random() < 0.5:
                ledger.release(reservation, {"seed": seed})
                note(directory, "shown", reservation)
            else:
                ledger.free(reservation)
