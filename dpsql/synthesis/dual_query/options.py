"""What a run of dual-query is told: its options read and checked, before anything is charged. Public."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpsql.accounting import Plan
from dpsql.errors import DataError
from dpsql.planning.sensitivity import query_sensitivity
from dpsql.synthesis.dual_query.setting import CHARGES, MOST_ROUNDS, SAMPLES, Setting, bought, rounds_for, total_cost
from dpsql.synthesis.task import Task

SECONDS = 10.0
"""For one best response, until the best record that was found has to do."""
OPTIONS = ("rounds", "samples", "rate", "seconds", "accounting")
_MOST = 1_000_000


@dataclass(frozen=True)
class Options:
    """``setting``: numbers of the run; ``charge``: one of ``CHARGES``; ``seconds``: for one best response."""

    setting: Setting
    charge: str
    seconds: float


@dataclass(frozen=True)
class Told:
    """What is said, or usual; ``rounds`` and ``rate`` are 0 where nothing is said: the budget decides."""

    charge: str
    samples: int
    rounds: int
    rate: Fraction
    seconds: float


def settled(task: Task, plan: Plan) -> Options:
    """The options of ``task``, the rest chosen from public numbers. DataError, before any charge, for what is wrong."""
    options = read(task.options, plan)
    if not task.workload:
        raise DataError("dual-query needs a workload", hint="write a file of statements, or marginals:3")
    if not task.table.finite:
        raise DataError(f"{task.table.name} has no finite columns", hint="dual-query fills no text columns")
    if task.units < 1:
        raise DataError("dual-query spends budget, and none was given", hint="give it a share of epsilon")
    charge, samples = options.charge, options.samples
    rows, width = max(1, round(task.model.row_count)), _width(task)
    shape = Setting(2, samples, Fraction(1), rows, width)
    shape = replace(shape, rounds=options.rounds or rounds_for(plan, task.units, shape, charge))
    if options.rate:
        setting = replace(shape, rate=options.rate)
        _check_total(plan, setting, charge, task.units)
    else:
        setting = bought(plan, task.units, shape, charge)
    return Options(setting, charge, options.seconds)


def read(options: Mapping[str, str], plan: Plan) -> Told:
    """The options by themselves, as far as they do not depend on the table. DataError for what is wrong."""
    return Told(
        _charge(options.get("accounting", CHARGES[0]), plan),
        int(_number(options, "samples", SAMPLES, whole=True)),
        int(_number(options, "rounds", 0, whole=True)),
        Fraction(_number(options, "rate", 0.0)),
        float(_number(options, "seconds", SECONDS)),
    )


def _width(task: Task) -> int:
    """Rows by which the changes that one unit makes to counts and complements can differ: c come or c go, or both."""
    return query_sensitivity(task.table) * (2 if task.neighbors == "replace-one" else 1)


def _charge(word: str, plan: Plan) -> str:
    if word == "subsampled":
        raise DataError(
            "the subsampled accounting is not sound for this ledger: it holds for a run as a whole, not step by step",
            hint="see docs/papers/dual-query.md; take accounting=range",
        )
    if word == "zcdp" and plan.alpha is None:
        raise DataError(
            "a plan with two purses cannot charge concentrated privacy", hint="take accounting=range, which is tighter"
        )
    if word not in CHARGES:
        raise DataError(f"there is no accounting {word!r}", hint="accounting: " + ", ".join(CHARGES))
    return word


def _check_total(plan: Plan, setting: Setting, charge: str, units: int) -> None:
    if setting.range_of(setting.rounds) > 1:
        raise DataError("so large a rate makes draws certain", hint="take a smaller rate, or leave it out")
    cost = total_cost(plan, setting, charge)
    if cost > units:
        raise DataError(
            f"these rounds cost epsilon {plan.as_epsilon(cost):.4g} of {plan.as_epsilon(units):.4g} that the run has",
            hint="take a smaller rate, fewer rounds or fewer samples",
        )


def _number(options: Mapping[str, str], name: str, default: float, *, whole: bool = False) -> float:
    text = options.get(name)
    if text is None:
        return default
    try:
        number = float(int(text)) if whole else float(text)
    except ValueError:
        number = -1.0
    if not 0 < number <= _MOST:
        kind = "a whole number" if whole else "a number"
        raise DataError(f"{name}={text} is not {kind} above 0", hint=f"write {name}={MOST_ROUNDS if whole else 1}")
    return number
