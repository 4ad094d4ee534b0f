"""The ways in which a table can be answered: the one list of strategies that all code matches on.

A member more is found by the type checker at every ``match`` that must say something about it.
"""

from collections.abc import Collection
from enum import Enum

from dpsql.accounting import Unshown
from dpsql.domain import TableDomain
from dpsql.hypothesis import NEWEST, ModelRules, Strategy, strategy_named
from dpsql.planning.contingencies import is_narrow
from dpsql.policy import Policy

LONE_CELLS = 1 << 13
"""A lone column of more values is not measured first: 1.96 sds of the noise of a quarter of them are about what a test
certifies, at any epsilon."""


class Way(Enum):
    """How a table's questions are answered; the value is what an owner reads."""

    OWN = "noise for each question"
    CONTINGENCIES = "contingencies + net"
    """Few cells: contingencies of few columns, or one of all, fitted as one tensor."""
    LOCAL = "local models + net"
    """Many cells: single columns and pairs, and a model for each set of columns that is asked about."""
    KEYS = "frequent strings + net"
    """Nothing but text columns is worth measuring first."""
    NET = "net"
    """Nothing is measured first: the test guards a model that begins uniform."""


class Kind(Enum):
    """What a whole plan spends its budget on: one for all tables of a ledger."""

    QUESTIONS = "a release for each planned question"
    MODELS = "models of whole tables, and hard rounds where they are wrong"


class Basis(Enum):
    """What the answer to one query rests on."""

    OWN = "a release of its own"
    START = "what is measured first"
    NET = "the test alone"


def strategy_of(policy: Policy) -> Strategy:
    """The strategy that the policy names, under its calibration. PolicyError for words without a meaning."""
    mechanism = policy.mechanism
    return strategy_named(mechanism.strategy, paper=mechanism.calibration == "paper")


def selected_texts(table: TableDomain, unshown: Collection[Unshown]) -> tuple[str, ...]:
    """The table's text columns and declared prefix lengths of which strings may be selected, by name."""
    never = {found.column for found in unshown if found.table == table.name}
    return tuple([name for name in table.text_names if name not in never])


def model_way(
    policy: Policy,
    table: TableDomain,
    *,
    keys: bool = True,
    rules: ModelRules = NEWEST,
    unshown: Collection[Unshown] = (),
) -> Way:
    """The table's way in a plan with models, from the policy alone.

    Contingencies are worth measuring wherever a column varies, unless it is alone and has too many values (by the first
    rules: any number). ``keys``: whether the plan has a delta for selections of keys. ``rules``: the ledger's.
    ``unshown``: text columns that count for nothing here, for none of their strings could be shown.

    >>> from fractions import Fraction
    >>> from dpsql.domain import BooleanDomain
    >>> from dpsql.policy import Privacy
    >>> table = TableDomain("t", (BooleanDomain("a"), BooleanDomain("b")))
    >>> model_way(Policy(Privacy(Fraction(1), Fraction(1, 10**6)), (table,)), table).name
    'CONTINGENCIES'
    """
    if not strategy_of(policy).starts:
        return Way.NET
    texts = selected_texts(table, unshown)
    match len(table.varied):
        case 0:
            return Way.KEYS if texts and keys else Way.NET
        case 1 if not texts and table.cells > (LONE_CELLS if rules.lone_columns else 0):
            return Way.NET
        case _:
            return Way.CONTINGENCIES if is_narrow(table) else Way.LOCAL
