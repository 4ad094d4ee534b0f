"""How a query is going to be answered, decided from public numbers before anything is drawn.

``route`` is the one place that decides; ``Asker`` performs what it returns and ``explaining`` describes it, so that an
explanation is about the very path that asking takes. The order of the cases is the privacy argument
(docs/privacy.md): what is known or measured is free, and only what must be is paid for or tested.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dpsql.confidence import error_bound
from dpsql.planning import Basis
from dpsql.planning.measured_axes import counted_together
from dpsql.query import LinearQuery
from dpsql.result import Answer
from dpsql.session.strings.by_word import by_word, widest
from dpsql.session.table_state import TableState

Queries = Sequence[LinearQuery]


@dataclass(frozen=True, eq=False)
class AnsweredBefore:
    """Equal questions were answered before."""

    queries: Queries
    answers: tuple[Answer, ...]
    payments = 0


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements with little enough noise determine the queries: ``found`` are (value, sd) in counts."""

    queries: Queries
    found: tuple[tuple[int, float], ...]
    payments = 0


@dataclass(frozen=True, eq=False)
class OwnRelease:
    """One release for these queries alone, with the noise that the plan gives each question."""

    queries: Queries
    payments = 1


@dataclass(frozen=True, eq=False)
class SpareRelease:
    """One release for these queries alone, because the model's answers could be far off; paid as so many ``spares``,
    ``times`` as many as one is."""

    queries: Queries
    spares: int
    times: int
    payments = 0


@dataclass(frozen=True, eq=False)
class Tested:
    """The model's answers if all pass the test, else the measurement of one hard round."""

    queries: Queries
    payments = 1


@dataclass(frozen=True, eq=False)
class Modelled:
    """The model's answers: the plan makes no test where measured pairs know the answer."""

    queries: Queries
    payments = 0


@dataclass(frozen=True, eq=False)
class Untested:
    """The model's answers, or a noisy measurement's: the test or release that the plan asks for cannot be paid."""

    queries: Queries
    payments = 1


@dataclass(frozen=True, eq=False)
class Declared:
    """The owner's word on the rows of a string answers as well as a test would, and is free: no row is asked."""

    queries: Queries
    answers: tuple[Answer, ...]
    payments = 0


Route = AnsweredBefore | Measured | Declared | OwnRelease | SpareRelease | Tested | Modelled | Untested
"""``payments``: how many hard rounds or planned questions the route may need at most."""


def route(state: TableState, queries: Queries, *, spent: bool, spares: int) -> tuple[Route, ...]:
    """Routes for one statement's queries of one outline, none of them known; each query is in exactly one route.

    ``spent``: whether no hard round, or planned question, is left; ``spares``: how many spare releases are. All of the
    queries come from measurements or all from one release or one model, so that the cells of a GROUP BY add up; only
    where nothing is measured first may a measurement of some of them stand beside the model of the others. Strategies
    that learn from single answers test each query by itself, and where a release could not hold what all of them tell
    apart, each is answered by itself.
    """
    out: list[Route] = []
    for same in _together(state, queries):
        ways = _routes(state, same, spent=spent, spares=spares)
        spares -= spares_of(ways)
        out += ways
    return tuple(out)


def by_word_alone(state: TableState, queries: Queries) -> tuple[Declared, ...]:
    """The routes of queries of one outline that the owner's word answers whole; empty where anything else is needed.

    Nothing is measured before such answers, not even a number of rows.
    """
    if queries[0].keyed is None or not state.plan.most_rows:
        return ()
    ways = route(state, queries, spent=False, spares=0)
    said = tuple([way for way in ways if isinstance(way, Declared)])
    return said if len(said) == len(ways) else ()


def tables_asked(states: Mapping[str, TableState], queries: Queries) -> list[str]:
    """The tables of which rows have to be asked for these queries."""
    tables = [*dict.fromkeys(q.table for q in queries)]
    if not any(states[table].plan.most_rows for table in tables):
        return tables
    groups = by_outline(queries)
    return [*dict.fromkeys(g[0].table for g in groups if not by_word_alone(states[g[0].table], g))]


def asking_rows(queries: Queries, routes: Iterable[Route]) -> list[LinearQuery]:
    """The queries without those that the owner's word or an earlier answer tells: nothing is measured for these."""
    told = {query.digest for way in routes if isinstance(way, Declared | AnsweredBefore) for query in way.queries}
    return [query for query in queries if query.digest not in told]


def _together(state: TableState, queries: Queries) -> list[Queries]:
    """Queries in groups that one release can answer; a construction tests each by itself as it is."""
    return [queries] if state.plan.strategy.construction is not None else [*counted_together(queries)]


def _routes(state: TableState, queries: Queries, *, spent: bool, spares: int) -> tuple[Route, ...]:
    found, said = state.readings(queries), by_word(state.plan, queries)
    if said is not None:  # what is read with more noise than that says nothing
        found = [_closer(query, f, s) for query, f, s in zip(queries, found, said, strict=True)]
    read = tuple([f for f in found if f is not None])
    if len(read) == len(queries):
        return (Measured(queries, read),)
    if said is not None and _is_enough(state, said):
        rest, measured = _parted(queries, found)
        declared = Declared(rest, tuple([s for s, f in zip(said, found, strict=True) if f is None]))
        return (Measured(measured, read), declared) if measured else (declared,)
    match state.plan.basis(queries[0]):
        case Basis.OWN:
            return (Untested(queries) if spent else OwnRelease(queries),)
        case Basis.START:
            return (_from_model(state, queries, spent=spent, spares=spares),)
        case Basis.NET:
            rest, measured = _parted(queries, found)
            # a construction learns from one answer at a time: each query has a test, and perhaps a release, of its own
            alone = state.plan.strategy.construction is not None
            models = [
                _from_model(state, same, spent=spent, spares=spares)
                for same in ([(q,) for q in rest] if alone else [rest])
            ]
            return (Measured(measured, read), *models) if measured else tuple(models)


def _parted(queries: Queries, found: Sequence[tuple[int, float] | None]) -> tuple[Queries, Queries]:
    """The queries of which nothing was read, and the others."""
    both = [*zip(queries, found, strict=True)]
    return tuple([q for q, f in both if f is None]), tuple([q for q, f in both if f is not None])


def _closer(query: LinearQuery, found: tuple[int, float] | None, said: Answer) -> tuple[int, float] | None:
    """What was read, unless the owner's word says more."""
    if found is None or (said.error is not None and said.error <= error_bound(found[1], not query.is_indicator)):
        return None
    return found


def _is_enough(state: TableState, said: Sequence[Answer]) -> bool:
    """Whether the owner's word is no wider than what a passed test certifies."""
    return state.plan.net.hard_rounds == 0 or widest(said) <= state.plan.bound


def _from_model(state: TableState, queries: Queries, *, spent: bool, spares: int) -> Route:
    times = state.own.spare_times(queries, spares)
    with state.own.paying(times):
        number = state.own.spares_for(queries)
    if 0 < number <= spares and state.own.wants_spare(queries):
        return SpareRelease(queries, number, times)
    if not state.is_tested(queries[0]):
        return Modelled(queries)
    return Untested(queries) if spent or state.plan.net.hard_rounds == 0 else Tested(queries)


def spares_of(ways: Iterable[Route]) -> int:
    """The spare releases that these routes are paid as."""
    return sum(way.spares for way in ways if isinstance(way, SpareRelease))


def by_outline(queries: Sequence[LinearQuery]) -> list[tuple[LinearQuery, ...]]:
    """The queries in groups of one outline, in the order in which these occur."""
    if len(queries) == 1:
        return [tuple(queries)]
    found: dict[object, list[LinearQuery]] = {}
    for query in queries:
        found.setdefault(query.outline, []).append(query)
    return [tuple(group) for group in found.values()]
