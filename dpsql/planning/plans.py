"""The plan of a new ledger, from the policy alone: noise for each question, or models of whole tables and a net.

Which of them is decided here once, before any data is touched, and frozen with the ledger.
"""

from dataclasses import replace
from fractions import Fraction
from math import comb, floor, hypot, sqrt

from dpsql.accounting import Plan, Unshown, calibrate
from dpsql.domain import TableDomain
from dpsql.errors import PolicyError
from dpsql.planning.contingencies import EAGER_COLUMNS, ONE_WAY_SHARE
from dpsql.planning.forecast import Forecast, own_noise_is_better
from dpsql.planning.paper import solved_updates
from dpsql.planning.sensitivity import contingency_l2_squared, measures_differences, query_sensitivity
from dpsql.planning.shares import (
    ROW_COUNT_SHARE,
    Shares,
    private_row_counts,
    release_share,
    tables_with_start,
    with_on_demand,
)
from dpsql.planning.strings import unshown_texts
from dpsql.planning.ways import Way, model_way, selected_texts, strategy_of
from dpsql.policy import Policy

HARD_ROUNDS = 20
MEASURE_SHARE = 0.65
"""Share of a hard round's precision for its measurement, without a warm start (docs/decisions/0003-hard-rounds.md)."""
WARM_FALSE_ALARMS = 0.1
"""Share of the hard rounds that a perfect hypothesis may lose after a warm start: the net is for rare surprises."""
WARM_HARD_ROUNDS = (6, 10, 30, 100)
"""After a warm start: the fewest whose threshold is at least THRESHOLD times the noise of a wide table's pairs."""
THRESHOLD = 5.0
MOST_UPDATES = 1000
"""Hard rounds of a plan with the papers' constants at most."""

SPARE_SHARE = 0.35
"""Of the local models' budget for spare releases, at least."""
MOST_SPARE_SHARE = 0.75
"""The same at most, where so few questions are planned that models are hardly worth what they cost."""
SPARE_QUESTIONS = 0.6
"""Of the planned questions, at least: so many may get noise of their own where a local model could be far off."""
TENSOR_SPARES = 0.4
"""A table with one tensor has spare releases where its foreseen sd is so many times that of noise for each question."""
MOST_SPARES = 6000
WIDE_SPARES = 1500
"""The same where pairs wait for a question to touch them: there less than a third of MOST_SPARES was used, and pairs
are what all questions share."""
WIDE_SPARE_SHARE = 0.6
"""Of the budget for spare releases, so much at least stays where WIDE_SPARES are fewer than would be planned."""
DELTA_SHARE = Fraction(1, 4)
"""Of delta for the selections of keys, split evenly between text columns and declared prefix lengths."""


def make_plan(policy: Policy) -> Plan:
    """The plan of a new ledger: noise for each question alone where few are planned, else models of whole tables.

    PolicyError when epsilon is too small for it, or the strategy cannot model a table.
    """
    _check_tables(policy)
    own, models = _own_noise_plan(policy), _settled_plan(policy)
    if own is None:
        return models
    alone = replace(models, spares=0, spare_units=0)  # what spare releases take from models they give to questions
    better = all(
        own_noise_is_better(_own_sd(own, policy, t), _model_sd(alone, policy, t, cutting=True)) for t in policy.tables
    )
    return own if better else models


def _check_tables(policy: Policy) -> None:
    construction = strategy_of(policy).construction
    for table in policy.tables:
        obstacle = None if construction is None else construction.obstacle(table)
        if obstacle is not None:
            raise PolicyError(
                f'{table.name} cannot be modelled by "{policy.mechanism.strategy}": {obstacle}',
                path=f"tables.{table.name}",
                hint='declare fewer or coarser columns, or write strategy = "auto"',
            )


def _own_sd(plan: Plan, policy: Policy, table: TableDomain) -> float:
    """Sd (counts) foreseen for a question's own release."""
    shares, l2_squared = Shares(plan, policy), contingency_l2_squared(policy, table)
    known = shares.row_count(table)
    noise = [float(plan.release_sigma(units, l2_squared)) for units in (shares.question, known) if units > 0]
    return _halved(policy, *noise)


def _halved(policy: Policy, question: float, row_count: float = 0.0) -> float:
    """The sd of a question's answer, from those of cells with its noise and of a row count.

    Half the rows are known. The rest changes by 1/2 with a row that comes or goes, and by 1 with one that is replaced,
    where cells change by sqrt(2).
    """
    return hypot(question * (sqrt(0.5) if policy.privacy.neighbors == "replace-one" else 0.5), row_count / 2.0)


def _own_noise_plan(policy: Policy) -> Plan | None:
    """``planned_queries`` questions with equal shares and no test; ``None`` where the owner wants another strategy.

    Neither with text columns: which of their strings may be shown is a release of another kind.
    """
    privacy, mechanism = policy.privacy, policy.mechanism
    possible = strategy_of(policy).own_noise and not any(t.text for t in policy.tables)
    if not possible or mechanism.hard_rounds is not None:
        return None
    number = privacy.planned_queries
    plan = with_on_demand(calibrate(privacy.epsilon, privacy.delta, hard_rounds=0, releases=number), 1.0, policy)
    plan = replace(plan, questions=number)
    return plan if Shares(plan, policy).question > 0 else None


def _model_sd(plan: Plan, policy: Policy, table: TableDomain, *, cutting: bool = False) -> float:
    """Sd (counts) foreseen for a typical question; without a warm start that of a paid answer.

    ``cutting``: of one that cuts bins of numbers, if there are any.
    """
    match model_way(policy, table, unshown=plan.unshown):
        case Way.CONTINGENCIES | Way.LOCAL:
            precision = Shares(plan, policy).precision(table)
            foreseen = Forecast(table, precision, differences=measures_differences(policy))
            return foreseen.cutting_sd if cutting else foreseen.typical_sd
        case Way.OWN | Way.KEYS | Way.NET:
            return float(plan.for_sensitivity(query_sensitivity(table), contingency_l2_squared(policy, table)).sigma)


def _settled_plan(policy: Policy) -> Plan:
    """The plan without the selections that would show nothing, by what the plan with all of them says."""
    plan = _model_plan(policy)
    unshown = unshown_texts(Shares(plan, policy))
    return _model_plan(policy, unshown) if unshown else plan


def _model_plan(policy: Policy, unshown: tuple[Unshown, ...] = ()) -> Plan:
    if tables_with_start(policy, unshown=unshown):
        return _warm_plan(policy, unshown)
    privacy, mechanism = policy.privacy, policy.mechanism
    share = float(ROW_COUNT_SHARE) if private_row_counts(policy) else 0.0
    plan = calibrate(
        privacy.epsilon,
        privacy.delta,
        hard_rounds=_hard_rounds(policy) if mechanism.hard_rounds is None else mechanism.hard_rounds,
        measure_share=MEASURE_SHARE,
        release_share=release_share(share, policy),
    )
    return replace(with_on_demand(plan, share, policy), unshown=unshown)


def _hard_rounds(policy: Policy) -> int:
    """Of plans that measure nothing first: HARD_ROUNDS, or the papers' B at the planned number of rows."""
    construction, mechanism = strategy_of(policy).construction, policy.mechanism
    if mechanism.calibration == "tight" or construction is None:
        return HARD_ROUNDS
    found = [solved_updates(policy.privacy, t, construction, mechanism.planned_rows) for t in policy.tables]
    return min(max(1, floor(sum(found))), MOST_UPDATES)


def _warm_plan(policy: Policy, unshown: tuple[Unshown, ...]) -> Plan:
    privacy, chosen = policy.privacy, policy.mechanism.hard_rounds
    share = float(policy.mechanism.warm_start)
    selects = any(selected_texts(t, unshown) for t in policy.tables)
    purse = privacy.delta * DELTA_SHARE if selects else Fraction(0)
    for rounds in WARM_HARD_ROUNDS if chosen is None else (chosen,):
        plan = calibrate(
            privacy.epsilon,
            privacy.delta,
            hard_rounds=rounds,
            release_share=release_share(share, policy),
            delta_purse=purse,
            releases=_releases(policy, unshown),
        )
        plan = replace(with_on_demand(plan, share, policy), unshown=unshown)
        if plan.hard_rounds == 0 or all(_threshold_is_high(plan, policy, table) for table in policy.tables):
            break
    return _with_spares(plan, policy)


def _with_spares(plan: Plan, policy: Policy) -> Plan:
    """The plan with a part of its releases kept for questions that models could answer badly.

    Each gets about the noise that every planned question would have alone, so no kind of question is answered much
    worse; the more of them, the less the models are worth.
    """
    shares = Shares(plan, policy)
    least = TENSOR_SPARES if shares.spared is Way.CONTINGENCIES else 0.0
    worse = [_times_worse(plan, policy, t) / (least or 1.0) for t in policy.tables if shares.way(t) is shares.spared]
    if not worse or (least and max(worse) < 1.0):
        return plan
    times = max(1.0, *worse)
    planned = max(1, int(min(1.0, SPARE_QUESTIONS * times) * policy.privacy.planned_queries))
    waits = any(len(t.varied) > EAGER_COLUMNS for t in policy.tables if shares.way(t) is Way.LOCAL)
    number = min(planned, WIDE_SPARES if waits else MOST_SPARES)
    kept = max(WIDE_SPARE_SHARE, number / planned) if waits else 1.0
    units = int(min(MOST_SPARE_SHARE, SPARE_SHARE * times) * kept * shares.spared_starts) // number
    return replace(plan, spares=number, spare_units=units) if min(number, units) > 0 else plan


def _times_worse(plan: Plan, policy: Policy, table: TableDomain) -> float:
    """How many times the foreseen sd of a table's model is that of noise for each planned question."""
    units = plan.planned_releases // policy.privacy.planned_queries
    if units == 0:
        return 0.0
    own = float(plan.release_sigma(units, contingency_l2_squared(policy, table)))
    return _model_sd(plan, policy, table) / _halved(policy, own)


def _releases(policy: Policy, unshown: tuple[Unshown, ...]) -> int:
    """About how many releases the starts of tables will make: row counts, columns, pairs, triples, three for a text."""
    number = 0
    if any(model_way(policy, table, unshown=unshown) is Way.LOCAL for table in policy.tables):
        number = min(MOST_SPARES, policy.privacy.planned_queries)
    for table in policy.tables:
        columns = len(table.varied)
        texts = set(selected_texts(table, unshown)).difference(table.prefixes)
        threes = comb(columns, 3) if columns <= EAGER_COLUMNS else 0
        number += 1 + columns + comb(columns, 2) + threes + 3 * len(texts)
    return number


def _threshold_is_high(plan: Plan, policy: Policy, table: TableDomain) -> bool:
    """Whether noise of a wide table's pairs alone will hardly ever make a test hard (mechanism: theta >= 5 sd)."""
    match model_way(policy, table, unshown=plan.unshown):
        case Way.LOCAL if len(table.varied) > 1:
            pairs = comb(len(table.varied), 2)
            precision = Shares(plan, policy).precision(table) * (1.0 - ONE_WAY_SHARE) / pairs
            net = plan.for_sensitivity(query_sensitivity(table), contingency_l2_squared(policy, table))
            return net.threshold(policy.privacy.planned_queries, WARM_FALSE_ALARMS) >= THRESHOLD / sqrt(precision)
        case Way.OWN | Way.CONTINGENCIES | Way.LOCAL | Way.KEYS | Way.NET:
            return True
