"""Counts with a bound that the analyst names: what is released already is free, the rest is one release of its own.

The order is that of every payment: priced and refused from public numbers, counted, reserved durably, drawn, recorded,
shown (docs/privacy.md, reservations). The noise is a function of the statement, the plan and the bound: an adaptively
chosen step, as both theorems there admit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, floor, inf

from dpsql.errors import BudgetExhausted, InternalError, UnsupportedQuery
from dpsql.first import ON_DEMAND
from dpsql.first.payload import encode_measurements
from dpsql.first.payment import Drawn, pay
from dpsql.hypothesis import Measurement
from dpsql.planning.measured_axes import counted_together, own_axes, own_sds
from dpsql.query import Form, LinearQuery
from dpsql.result import Answer, Terms
from dpsql.session.answers import from_measurement, with_charge
from dpsql.session.asker import Asker
from dpsql.session.route import by_outline
from dpsql.session.terms.demands import encode_numbers
from dpsql.session.terms.price import Priced, price, priced
from dpsql.sql.statement import Statement

_NEVER = "ask without within"
_NOT_COUNTS = "within bounds counts of rows: other aggregates have other units, and a part of a bin is no count"
MOST_WITHIN = 1 << 40
"""No wider bound is proposed."""


@dataclass(frozen=True, eq=False)
class Offer:
    """What a statement's bound takes: ``free`` answers by digest, and the releases that the others need.

    ``units`` of the plan in all, ``left`` of what was set aside. ``limits``: bounds (counts) of queries by digest.
    """

    free: dict[str, Answer]
    releases: tuple[Priced, ...]
    limits: dict[str, float]
    units: int
    left: int


def ask_within(asker: Asker, statement: Statement, queries: Sequence[LinearQuery], terms: Terms) -> dict[str, Answer]:
    """Answers by digest, each with a bound on any data that keeps what the statement was asked for.

    UnsupportedQuery for what is not counted over declared values, BudgetExhausted where it cannot be paid; both at no
    charge, and before rows are counted but for those of a table whose number of rows is public.
    """
    for name in dict.fromkeys(q.table for q in queries):
        state = asker.states[name]
        if state.model is None and state.plan.row_count_is_public:
            asker.first_touches(name)  # charges nothing, draws nothing
    offered = offer(asker, statement, queries, terms)
    check(asker, offered, terms)
    if not offered.releases:
        return offered.free
    return offered.free | _released(asker, offered)


def offer(asker: Asker, statement: Statement, queries: Sequence[LinearQuery], terms: Terms) -> Offer:
    """What the statement would take now; draws nothing, charges nothing. UnsupportedQuery as in ``ask_within``."""
    limits = _limits(statement, queries, terms)
    free = _guaranteed(asker, queries, limits)
    missing = [q for q in queries if q.digest not in free]
    groups = [group for same in by_outline(missing) for group in counted_together(same)] if missing else []
    releases = []
    for group in groups:
        found = priced(
            asker.plan, asker.states[group[0].table].plan.l2_squared, group, [limits[q.digest] for q in group]
        )
        if found is None:
            share = asker.plan.as_epsilon(asker.purses.on_demand_left())
            raise BudgetExhausted(
                f"no release of this plan is within {terms.within:g}: its noise is larger",
                requested=float(asker.plan.epsilon),
                remaining=share,
                hint="name a wider bound",
            )
        releases.append(found)
    units = sum(r.share.units for r in releases)
    return Offer(free, tuple(releases), limits, units, asker.purses.on_demand_left())


def check(asker: Asker, offered: Offer, terms: Terms) -> None:
    """BudgetExhausted where the offer cannot be paid, or is dearer than the analyst's terms."""
    plan, units, left = asker.plan, offered.units, offered.left
    if units == 0:
        return
    costs, share = f"within {terms.within:g} costs epsilon {plan.as_epsilon(units):.3g}", plan.as_epsilon(left)
    if plan.on_demand_units == 0:
        raise BudgetExhausted(
            f"{costs}, and this ledger sets nothing aside for precision on demand",
            requested=plan.as_epsilon(units),
            remaining=0.0,
            hint=f"{_NEVER}; an owner who begins a ledger sets a share aside with on_demand in [mechanism]",
        )
    if units > left:
        raise BudgetExhausted(
            f"{costs}, and {share:.3g} is left on demand",
            requested=plan.as_epsilon(units),
            remaining=share,
            hint=_wider(asker, offered, terms),
        )
    if terms.max_charge is not None and plan.as_epsilon(units) > terms.max_charge:
        raise BudgetExhausted(
            f"{costs}, more than max_charge",
            requested=plan.as_epsilon(units),
            remaining=float(terms.max_charge),
            hint="raise max_charge, or name a wider bound",
        )


def is_guaranteed(answer: Answer, limit: float) -> bool:
    """Whether an answer has a bound of at most ``limit`` that holds on any data."""
    return _guaranteed_bound(answer) <= limit


def _guaranteed_bound(answer: Answer) -> float:
    """An answer's bound that holds on any data: a release's own, or a certificate; infinite where it has none.

    A model's error bar is an estimate, and does not count.
    """
    own = answer.error if answer.error_kind == "exact" else None
    certified = answer.certified_bound if answer.certified else None
    return min(inf if own is None else own, inf if certified is None else certified)


def _limits(statement: Statement, queries: Sequence[LinearQuery], terms: Terms) -> dict[str, float]:
    """The bound of each query, by digest: a count that is put together of several shares its own among them."""
    if statement.awaited or any(q.keyed is not None for q in queries):
        raise UnsupportedQuery("within is for columns with declared values, and this asks about strings", hint=_NEVER)
    limits: dict[str, float] = {}
    asked = ((block, aggregate) for block in statement.blocks for aggregate in block.aggregates)
    for block, aggregate in asked:
        other = aggregate.denominator is not None or aggregate.summary is not None
        for form in chain.from_iterable(aggregate.forms(group) for group in range(len(block.groups))):
            if other or not _is_exact_count(form):
                raise UnsupportedQuery(_NOT_COUNTS, hint="ask for COUNT(*) within it, and for the rest without within")
            whole = sum(abs(t.coefficient) for t in form.terms)
            for term in form.terms:
                limit = (inf if terms.within is None else float(terms.within)) / whole
                limits[term.query.digest] = min(limit, limits.get(term.query.digest, inf))
    return limits


def _is_exact_count(form: Form) -> bool:
    return form.is_public or (form.is_count and all(t.doubt == 0 and t.query.value is None for t in form.terms))


def _guaranteed(asker: Asker, queries: Sequence[LinearQuery], limits: dict[str, float]) -> dict[str, Answer]:
    """What is within its limit already, by digest: post-processing of released numbers, free."""
    out: dict[str, Answer] = {}
    for query in queries:
        for answer in _known(asker, query):
            if is_guaranteed(answer, limits[query.digest]):
                out[query.digest] = answer
                break
    return out


def _known(asker: Asker, query: LinearQuery) -> list[Answer]:
    """What was released of a query, as it was told before all else."""
    state = asker.states[query.table]
    found = state.model.measured(query) if state.model is not None else None
    read = None if found is None else from_measurement(query, *found, state.plan.certain)
    return [a for a in (asker.known(query), asker.fold.demands.answer(query.digest), read) if a is not None]


def _wider(asker: Asker, offered: Offer, terms: Terms) -> str:
    """The hint that names the narrowest bound, in whole counts, that is known already or that what is left pays for."""
    if terms.within is None:
        return _NEVER
    queries = [q for release in offered.releases for q in release.queries]
    known = {q.digest: min((_guaranteed_bound(a) for a in _known(asker, q)), default=inf) for q in queries}
    low, high = floor(terms.within), 2 * ceil(terms.within)
    while _units(asker, offered, high / terms.within, known) > offered.left:
        low, high = high, 2 * high
        if high > MOST_WITHIN:
            return _NEVER
    while high - low > 1:  # a wider bound is never dearer
        middle = (low + high) // 2
        fits = _units(asker, offered, middle / terms.within, known) <= offered.left
        low, high = (low, middle) if fits else (middle, high)
    if _units(asker, offered, high / terms.within, known) == 0:
        return f"it is known to within {high:,} already, and nothing narrower can be paid"
    return f"within {high:,} can be paid"


def _units(asker: Asker, offered: Offer, times: float, known: Mapping[str, float]) -> float:
    """What bounds so many times wider take, beside what is within them already; infinity where there are none.
    ``known``: the bound that each query has already, by digest."""
    units = 0.0
    for release in offered.releases:
        limits = {q.digest: offered.limits[q.digest] * times for q in release.queries}
        missing, sds = [q for q in release.queries if known[q.digest] > limits[q.digest]], release.sds
        if not missing:
            continue
        if len(missing) < len(release.queries):
            sds = tuple(own_sds(missing, 1.0))
        l2_squared = asker.states[missing[0].table].plan.l2_squared
        found = price(asker.plan, l2_squared, missing, sds, [limits[q.digest] for q in missing])
        units += inf if found is None else found.units
    return units


def _released(asker: Asker, offered: Offer) -> dict[str, Answer]:
    """One reservation for all releases of the statement, so that it is never paid or answered in part."""
    bench, turns = asker.bench, asker.turns
    missing = [q for r in offered.releases for q in r.queries]
    for query in missing:
        query.check_sensitivity()
    prepared = [(r, own_axes(r.queries)) for r in offered.releases]
    first = [r.queries[0] for r in offered.releases]
    counts = [  # a failure is free
        bench.counted(q.table, axes, intervals=q.intervals) for q, (_, axes) in zip(first, prepared, strict=True)
    ]
    payload = {"purpose": ON_DEMAND, "burn": offered.units}

    def is_late(reservation: int) -> bool:
        if asker.fold.demands.used_before(reservation) + offered.units > bench.plan.on_demand_units:
            return True
        return len(_guaranteed(asker, missing, offered.limits)) == len(missing)

    def draw() -> Drawn:
        answers: list[tuple[str, Answer]] = []
        for (release, axes), cells in zip(prepared, counts, strict=True):
            table, told = release.queries[0].table, release.queries[0].intervals
            measured = bench.measured(cells, release.share.sigma, table, axes, intervals=told)
            certain = asker.states[table].plan.certain_of(len(release.queries))
            answers += _answers(measured, release, certain)
        charged = with_charge([a for _, a in answers], bench.plan.as_epsilon(offered.units))
        given = [(digest, a) for (digest, _), a in zip(answers, charged, strict=True)]
        return Drawn(encode_measurements([]) | {"numbers": encode_numbers(given)}, given)

    paid = pay(offered.units, bench, turns, lambda: turns.reserve_beside(offered.units, payload), is_late, draw)
    if paid is not None:
        return dict(paid.answers)
    found = _guaranteed(asker, missing, offered.limits)
    if len(found) < len(missing):
        raise _too_late(asker, offered.units)
    return found


def _answers(measured: Measurement, release: Priced, certain: float) -> list[tuple[str, Answer]]:
    out = []
    for query in release.queries:
        found = measured.answer(query)
        if found is None:
            raise InternalError("a release that does not determine its own query")
        out.append((query.digest, from_measurement(query, *found, certain)))
    return out


def _too_late(asker: Asker, units: int) -> BudgetExhausted:
    return BudgetExhausted(
        "another session has spent what was left on demand",
        requested=asker.plan.as_epsilon(units),
        remaining=asker.plan.as_epsilon(asker.purses.on_demand_left()),
        hint=_NEVER,
    )
