"""How all noise but a hard round's is paid for: reserved, drawn, made durable and followed; an interrupt waits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpsql.first.bench import Bench
from dpsql.first.touch import FirstTouch
from dpsql.first.turns import Turns
from dpsql.ledger import interrupts_held
from dpsql.result import Answer


@dataclass(frozen=True, eq=False)
class Drawn:
    """What becomes durable at once: the payload of a release, and the answers that it gives, by digest."""

    payload: dict[str, Any]
    answers: Sequence[tuple[str, Answer]] = ()


def pay(
    cost: int,
    bench: Bench,
    turns: Turns,
    reserve: Callable[[], int | None],
    is_late: Callable[[int], bool],
    draw: Callable[[], Drawn],
) -> Drawn | None:
    """One reservation of ``cost`` units and what is drawn under it; ``None``, at no charge, when there is none or
    another session was earlier.

    Private counts are taken before, so that an engine that fails charges nothing. ``reserve``: of ``Turns``.
    ``is_late``: whether the reservation is to be given back, asked when the ledger up to it was followed; so it is
    where that raises. What fails in ``draw`` leaves a reservation that can only be burnt.
    """
    with interrupts_held():
        reservation = reserve()
        if reservation is None:
            return None
        try:
            turns.follow()
            late = is_late(reservation)
        except BaseException:
            bench.ledger.free(reservation)
            raise
        if late:
            bench.ledger.free(reservation)
            turns.follow()
            return None
        with bench.drawing(reservation, cost):
            drawn = draw()
            bench.ledger.release(reservation, drawn.payload, drawn.answers)
    turns.follow()
    return drawn


def pay_first(
    touch: FirstTouch,
    table: str,
    cost: int,
    draw: Callable[[], dict[str, Any]],
    bench: Bench,
    turns: Turns,
    told: Mapping[str, object] | None = None,
) -> float:
    """``pay`` for a first measurement; what was charged (epsilon), 0.0 when others were faster.

    ``draw`` makes the release's payload. ``told``: what the reservation's payload says beside purpose and table.
    """
    payload = {"purpose": touch.purpose, "table": table, **(told or {})}
    drawn = pay(
        cost,
        bench,
        turns,
        reserve=lambda: turns.reserve_first(cost, payload),
        is_late=touch.opened_before,
        draw=lambda: Drawn(draw()),
    )
    return 0.0 if drawn is None else bench.plan.as_epsilon(cost)
