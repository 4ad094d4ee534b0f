"""What an owner should look at again in a policy that is right in form: it may promise less than it seems to. Public.

The proof holds for every epsilon and every choice of units. Whether they protect people is decided in the policy, by
somebody who may not have thought of it.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from dpsql.domain import IntegerDomain, TableDomain, TextDomain, looks_like_identifier
from dpsql.policy.policy import Mechanism, Policy

MANY_VALUES = 10_000
"""Above so many values of an integer column, each a cell, a first look takes more than some seconds."""
LARGE_EPSILON = 10
"""Above it the odds of what is seen may change by more than exp(10), about 22,000, for one unit's presence."""


def cautions(
    policy: Policy,
    columns: Mapping[str, Collection[str]] = MappingProxyType({}),
    *,
    owner: bool = False,
    units: bool = True,
) -> tuple[str, ...]:
    """One sentence each: an epsilon above 10; keys that the strategy makes no use of; integer columns of more than
    10,000 values; a table without a unit that has a column which looks like one.

    ``columns``: by a table's name in lower case all columns that it has. Undeclared ones do not exist for analysts, who
    may read this: only the ``owner`` is told their names. ``units``: whether tables without a unit are looked at.

    >>> from fractions import Fraction
    >>> from dpsql.policy import Privacy
    >>> print(*cautions(Policy(Privacy(Fraction(20), Fraction(0)), ())))
    epsilon = 20 is above 10: such a guarantee hardly protects a single person
    """
    out = []
    if policy.privacy.epsilon > LARGE_EPSILON:
        epsilon = f"{float(policy.privacy.epsilon):g}"
        out.append(f"epsilon = {epsilon} is above {LARGE_EPSILON}: such a guarantee hardly protects a single person")
    out += _idle(policy.mechanism)
    for table in policy.tables:
        out += [
            _of_many_values(table, c) for c in table.columns if isinstance(c, IntegerDomain) and c.size > MANY_VALUES
        ]
        if not units:
            continue
        named, unnamed = _identifiers(table, columns.get(table.name.lower(), ()))
        if owner:
            named, unnamed = named + unnamed, []
        alone = f"each row of {table.name} is protected by itself"
        if named:
            told = " or ".join(named)
            out.append(f'{alone}: if rows can have the same {told}, name it in the policy, as unit = "{named[0]}"')
        elif unnamed:
            out.append(f"{alone}, and a column looks as if it told people apart: the owner's `dpsql check` names it")
    return tuple(out)


def _idle(mechanism: Mechanism) -> list[str]:
    """Of what only a warm start reads, what was changed where the strategy makes none."""
    usual, strategy = Mechanism(), mechanism.strategy
    idle = [key for key in ("warm_start", "error_factor") if getattr(mechanism, key) != getattr(usual, key)]
    if strategy == usual.strategy or not idle:
        return []
    change = "change" if len(idle) > 1 else "changes"
    return [
        f'{" and ".join(idle)} {change} nothing: strategy = "{strategy}" measures nothing before the first question'
    ]


def _of_many_values(table: TableDomain, column: IntegerDomain) -> str:
    values = f"{table.name}.{column.name} has {column.high - column.low + 1:,} values, each of which is counted"
    return f'{values}: a first look takes long, and does not with type = "number", step = 1'


def _identifiers(table: TableDomain, columns: Collection[str]) -> tuple[list[str], list[str]]:
    """Columns of a table without a unit that look like one: declared, undeclared."""
    if table.unit is not None:
        return [], []
    declared = [c.name for c in table.columns if isinstance(c, IntegerDomain | TextDomain)]
    others = [name for name in sorted(columns) if name.lower() not in table.by_name]
    return list(filter(looks_like_identifier, declared)), list(filter(looks_like_identifier, others))
