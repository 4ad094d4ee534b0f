"""What two coupled sessions give away: nothing, or sentences that say what and where."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from scipy import stats

from dpsql.accounting import Plan
from dpsql.mechanism.randomized_response import response_epsilon
from dpsql.query import KeyCounts
from tests.support.coupled.run import Run
from tests.support.coupled.tape import Opened, Paid, by_key


def compared(one: Run, other: Run) -> list[str]:
    """All differences in what is shown, and all private numbers that differ by more than is charged for."""
    return [*other.tape.odd, *_shown(one, other), *_outlines(one, other), *_charges(one, other)]


def differ(one: Run, other: Run) -> int:
    """How many opened values differ at all: a coupling over equal numbers would say nothing."""
    pairs = zip(one.tape.opened, other.tape.opened, strict=False)
    return sum(_distance(here, there) > 0 for here, there in pairs)


def _shown(one: Run, other: Run) -> Iterator[str]:
    if len(one.shown) != len(other.shown):
        yield f"shown: {len(one.shown)} entries, {len(other.shown)} on the neighbour"
    for (name, here), (_, there) in zip(one.shown, other.shown, strict=False):
        if here != there:
            yield f"shown: {name}: {here!r}, on the neighbour {there!r}"


def _outlines(one: Run, other: Run) -> Iterator[str]:
    if len(one.tape.opened) != len(other.tape.opened):
        yield f"order: {len(one.tape.opened)} values opened, {len(other.tape.opened)} on the neighbour"
    for number, (here, there) in enumerate(zip(one.tape.opened, other.tape.opened, strict=False)):
        if here.outline != there.outline:
            yield f"order: value {number} is opened as {here.outline}, on the neighbour as {there.outline}"
        if here.is_exact and here.vector != there.vector:
            yield f"exact: {here.vector}, on the neighbour {there.vector}"
    if [(p.cost, p.payload, p.opened) for p in one.tape.paid] != [
        (p.cost, p.payload, p.opened) for p in other.tape.paid
    ]:
        yield "order: other reservations pay, or for other values"


def _charges(one: Run, other: Run) -> Iterator[str]:
    read: dict[tuple[str, str], list[tuple[Paid, list[tuple[Opened, Opened]]]]] = {}
    for paid in one.tape.paid:
        pairs = [(one.tape.opened[i], other.tape.opened[i]) for i in paid.opened if i < len(other.tape.opened)]
        if paid.payload.get("purpose") in ("text start", "listed strings"):
            column = str(paid.payload["table"]), str(paid.payload["columns"][0][0])
            read.setdefault(column, []).append((paid, pairs))
        if paid.payload.get("purpose") != "listed strings":
            yield from _noise(paid, pairs, one.plan)
    for parts in read.values():
        yield from _read(parts, one.plan)
    for i in one.tape.unpaid:
        if one.tape.opened[i].draws:
            yield f"charge: noise on value {i} under no reservation"
    for here, there in zip(one.tape.opened, other.tape.opened, strict=False):
        yield from _test(here, there, one.plan)


def _read(parts: list[tuple[Paid, list[tuple[Opened, Opened]]]], plan: Plan) -> Iterator[str]:
    """What is drawn of strings that somebody lists was paid for when the first touch of their column counted others:
    all of them together must cost no more, and each is drawn once.
    """
    names = [
        tuple(c) for paid, _ in parts if paid.payload["purpose"] == "listed strings" for c in paid.payload["columns"]
    ]
    if len(names) != len(set(names)):
        yield "charge: a string that somebody listed is drawn twice"
    opened = [here for _, pairs in parts for here, _ in pairs]
    chosen = [here.selected for here in opened if here.selected is not None]
    if any(d.sigma not in chosen[-1:] for here in opened if here.entries for d in here.draws):
        yield "charge: what a selection compared is drawn with other noise than it was selected with"
    owed, units = sum(_owed(pairs, plan) for _, pairs in parts), sum(paid.cost for paid, _ in parts)
    if owed > units:
        share, paid = owed / plan.total_units, units / plan.total_units
        yield f"charge: strings cost {share:.4f} of the budget, {paid:.4f} is paid"


def _noise(paid: Paid, pairs: list[tuple[Opened, Opened]], plan: Plan) -> Iterator[str]:
    """The noise of one reservation must cost no more than it pays, at the distance that these neighbours have."""
    for here, there in pairs:
        yield from _strings(here, there, Fraction(paid.payload.get("delta", 0)))
    owed, units = _owed(pairs, plan), paid.cost - plan.test_cost * int(paid.payload.get("tests", 0))
    if owed > units:
        yield f"charge: {owed / plan.total_units:.4f} of the budget for noise that pays {units / plan.total_units:.4f}"


def _owed(pairs: list[tuple[Opened, Opened]], plan: Plan) -> int:
    """What the noise on these values costs, in units, at the distance that these neighbours have."""
    owed = 0
    for here, there in pairs:
        distance = _distance(here, there)
        if here.draws and distance and not here.entries:  # those are paid with their selection
            owed += plan.release_cost(min(d.sigma for d in (*here.draws, *there.draws)), distance)
        for _, scale in here.chosen:  # noise of this scale is 2 d / scale - DP where scores move by d
            moved = max((abs(a - b) for a, b in zip(here.vector, there.vector, strict=False)), default=0)
            owed += plan.pure_cost(2 * moved / scale) if moved else 0
        for positions, scale in here.weighted:
            moved = [0, *(b - a for a, b in zip(here.vector, there.vector, strict=False))]
            width = max(moved) - min(moved)
            owed += len(positions) * plan.range_cost(width / scale) if width else 0
        if here.flips and distance:  # so many bits differ, each a response of its own
            owed += distance * plan.pure_cost(response_epsilon(min(here.flips, there.flips)))
    return owed


def _strings(here: Opened, there: Opened, delta: Fraction) -> Iterator[str]:
    """Keys of one table alone are shown with probability delta at most, all together."""
    if here.compared is None or there.compared is None or here.selected is None:
        return
    mine, theirs, sigma = by_key(here.raw), by_key(there.raw), float(here.selected)
    for one, other in ((mine, theirs), (theirs, mine)):
        seen = sum(stats.norm.sf((here.compared - one[key]) / sigma) for key in one.keys() - other.keys())
        if seen > float(delta):
            yield f"charge: strings of one unit are shown with probability {seen:.3g}, delta is {float(delta):.3g}"


def _test(here: Opened, there: Opened, plan: Plan) -> Iterator[str]:
    """A test's law must move by no more than its hard outcome is charged for."""
    if here.slope is None or not here.coins or len(here.vector) != len(there.vector):
        return
    moved = max(abs(a - b) for a, b in zip(here.vector, there.vector, strict=True))
    if ceil(Fraction(moved, here.step)) * here.step * here.slope > plan.certified_slope:
        yield f"charge: a tested value differs by {moved}, its sensitivity is {here.step}"


def _distance(here: Opened, there: Opened) -> int:
    """Squared L2 distance: the norm of the Gaussian noise."""
    if isinstance(here.raw, KeyCounts) and isinstance(there.raw, KeyCounts):
        mine, theirs = by_key(here.raw), by_key(there.raw)
        return sum((mine.get(k, 0) - theirs.get(k, 0)) ** 2 for k in mine.keys() | theirs.keys())
    if len(here.vector) != len(there.vector):
        return 0  # told by their outlines
    return sum((a - b) ** 2 for a, b in zip(here.vector, there.vector, strict=True))
