"""How a first measurement is paid for: reserved, drawn, made durable and folded; an interrupt waits until it is."""

from collections.abc import Callable, Mapping
from typing import Any

from dpsql.first.bench import Bench
from dpsql.first.touch import FirstTouch
from dpsql.first.turns import Turns
from dpsql.ledger import interrupts_held


def release_first(
    touch: FirstTouch,
    table: str,
    cost: int,
    draw: Callable[[], dict[str, Any]],
    bench: Bench,
    turns: Turns,
    told: Mapping[str, object] | None = None,
) -> float:
    """One reservation of ``cost`` units and its release; what was charged (epsilon), 0.0 when others were faster.

    ``draw`` makes the release's payload; private counts are taken before, so that an engine that fails charges nothing.
    ``told``: what the reservation's payload says beside purpose and table.
    """
    with interrupts_held():
        payload = {"purpose": touch.purpose, "table": table, **(told or {})}
        reservation = turns.reserve_first(cost, payload, touch.opened_before)
        if reservation is None:
            return 0.0
        with bench.drawing(reservation, cost):
            bench.ledger.release(reservation, draw())
    turns.follow()
    return bench.plan.as_epsilon(cost)
