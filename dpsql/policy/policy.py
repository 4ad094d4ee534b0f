"""The owner's policy as a frozen value: privacy parameters, mechanism choices, private and public tables. Public.

A ledger is bound to it by its digest; hence it is frozen, compares by value, and holds nothing that differs between
machines.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import Literal

from dpsql.domain import ColumnDomain, NumberDomain, TableDomain, row_count_obstacle
from dpsql.errors import PolicyError

Neighbors = Literal["add-remove", "replace-one"]
WhenSpent = Literal["uncertified", "refuse"]
Calibration = Literal["tight", "paper"]

RETIRED_STRATEGIES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("sparse-pmw", "median", "frieze-kannan"), "pmw")
)
"""Words that policies could write before there was a registry of strategies, and the strategy that they all ran then.

They have come back with a meaning of their own: a policy that writes one has another digest than it had then.
"""


@dataclass(frozen=True)
class Privacy:
    """``epsilon`` and ``delta`` of the whole session, exact; ``planned_queries`` is no part of the claim."""

    epsilon: Fraction
    delta: Fraction
    neighbors: Neighbors = "add-remove"
    planned_queries: int = 100_000


@dataclass(frozen=True)
class Mechanism:
    """Choices that change accuracy, never the guarantee. ``hard_rounds = None`` lets the plan choose.

    ``strategy``: a word of ``dpsql.hypothesis.STRATEGIES``.
    ``warm_start``: share of the squared precision, in (0, 1), for what strategy ``auto`` measures before any question,
    row counts included. ``error_factor``: multiplies the predicted part of calibrated error bars, above 0.
    ``calibration``: "paper" takes thresholds, noise and number of updates from the papers, where they are no less than
    the plan's; n is ``planned_rows`` for them. ``on_demand``: share of the squared precision, in [0, 1), for releases
    whose noise an analyst chooses.
    """

    strategy: str = "auto"
    hard_rounds: int | None = None
    when_spent: WhenSpent = "uncertified"
    warm_start: Fraction = Fraction(96, 100)
    error_factor: Fraction = Fraction(115, 100)
    calibration: Calibration = field(default="tight", repr=False)
    planned_rows: int = field(default=100_000, repr=False)
    on_demand: Fraction = field(default=Fraction(0), repr=False)


@dataclass(frozen=True)
class Policy:
    """One session's rules. ``digest`` names everything that the ledger must agree with.

    PolicyError when a row count is declared public where neighbours can change it, or a weight has nothing beside it.
    """

    privacy: Privacy
    tables: tuple[TableDomain, ...]
    mechanism: Mechanism = field(default_factory=Mechanism)
    public_tables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for table in self.tables:
            obstacle = row_count_obstacle(table, self.privacy.neighbors)
            if table.row_count == "public" and obstacle is not None:
                raise PolicyError(
                    f"the number of rows cannot be public: {obstacle}",
                    path=f"tables.{table.name}.row_count",
                    hint="leave row_count out: the number of rows is then measured",
                )
            self._check_weights(table)
            wrong = self._wrong_join(table)
            if wrong is not None:
                raise PolicyError(
                    wrong,
                    path=f"tables.{table.name}.joins",
                    hint='name two private tables: a view of patients JOIN visits has joins = ["patients", "visits"]',
                )

    def _check_weights(self, table: TableDomain) -> None:
        """PolicyError for a weight that would do nothing."""
        hint = "leave weight out: it says how much more is measured first than of others"
        if table.weight != 1 and len(self.tables) == 1:
            raise PolicyError("there is no other table", path=f"tables.{table.name}.weight", hint=hint)
        for column in table.text:
            if column.weight != 1 and len(table.text) == 1 and not table.varied:
                path = f"tables.{table.name}.columns.{column.name}.weight"
                raise PolicyError("there is no other column that varies", path=path, hint=hint)

    def _wrong_join(self, table: TableDomain) -> str | None:
        """Why a table is not the view of two others joined by their unit; ``None`` where it may be."""
        if not table.joins:
            return None
        found = [self.by_name.get(name.lower()) for name in table.joins]
        if len({id(t) for t in found}) != 2 or None in found or table in found:
            return "names other than two private tables"
        if table.unit is None or any(t is None or (t.unit or "").lower() != table.unit.lower() for t in found):
            return "the view and the two tables need the same unit"
        other = self.join_of(*table.joins)
        return None if other is table else f"{table.joins[0]} and {table.joins[1]} have another view"

    @cached_property
    def by_name(self) -> dict[str, TableDomain]:
        """Private tables by lower-cased name."""
        return {t.name.lower(): t for t in self.tables}

    def join_of(self, first: str, second: str) -> TableDomain | None:
        """The private view that is declared as the join of two tables by their unit; ``None`` where there is none."""
        wanted = {first.lower(), second.lower()}
        return next((t for t in self.tables if t.joins and {n.lower() for n in t.joins} == wanted), None)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the policy's canonical form: equal policies, equal digest, whatever the file looks like."""
        digest = self.digest_without_row_counts
        mechanism = self.mechanism
        if mechanism.strategy in RETIRED_STRATEGIES:
            digest = sha256(repr((digest, "strategy", "as in its source")).encode()).hexdigest()
        if mechanism.calibration != "tight":
            digest = sha256(
                repr((digest, "calibration", mechanism.calibration, mechanism.planned_rows)).encode()
            ).hexdigest()
        return self._with_tables(self._with_demands(digest))

    def _with_demands(self, digest: str) -> str:
        aside = self.mechanism.on_demand
        return digest if aside == 0 else sha256(repr((digest, "on_demand", aside)).encode()).hexdigest()

    def _with_tables(self, digest: str) -> str:
        public = tuple(table.name for table in self.tables if table.row_count == "public")
        if public:
            digest = sha256(repr((digest, "row_count", public)).encode()).hexdigest()
        null = tuple((t.name, c.name) for t in self.tables for c in t.columns if _is_null_outside(c))
        if null:  # what is beside it in the ledger's header says how numbers outside are read that are not listed here
            digest = sha256(repr((digest, "outside", null)).encode()).hexdigest()
        derived = tuple((t.name, d.name, d.sql) for t in self.tables for d in t.derived)
        if derived:
            digest = sha256(repr((digest, "derived", derived)).encode()).hexdigest()
        most = tuple((t.name, *said) for t in self.tables for said in t.most_rows.items())
        if most:
            digest = sha256(repr((digest, "max_rows_per_value", most)).encode()).hexdigest()
        numbers = [(t.name, c) for t in self.tables for c in t.columns if isinstance(c, NumberDomain)]
        steps = tuple((name, c.name, Fraction(c.step)) for name, c in numbers if c.step is not None)
        if steps:
            digest = sha256(repr((digest, "step", steps)).encode()).hexdigest()
        said = [(t, [(c.name, Fraction(c.weight)) for c in t.text]) for t in self.tables if t.weighs]
        weights = tuple((t.name, Fraction(t.weight), *strings) for t, strings in said)
        if weights:
            digest = sha256(repr((digest, "weight", weights)).encode()).hexdigest()
        return digest

    @cached_property
    def digest_without_row_counts(self) -> str:
        """The digest as it was before policies said which row counts are public: by it earlier ledgers are known."""
        return sha256(repr((1, self.privacy, self.mechanism, self.tables, self.public_tables)).encode()).hexdigest()

    @cached_property
    def former_digests(self) -> frozenset[str]:
        """Digests of the same rules in words that meant this then: a ledger that has one is this policy's too."""
        mechanism = self.mechanism
        if mechanism.calibration != "tight":
            return frozenset()
        words = [word for word, ran in RETIRED_STRATEGIES.items() if ran == mechanism.strategy]
        return frozenset(self._then(word) for word in words)

    @cached_property
    def with_former_edges(self) -> "Policy | None":
        """The same policy as versions read it that made other bins of the same words; ``None`` where they made these.

        A ledger that was begun with those bins keeps them.
        """
        tables = tuple(replace(t, columns=tuple(_formerly(c) for c in t.columns)) for t in self.tables)
        return None if tables == self.tables else replace(self, tables=tables)

    @cached_property
    def retired_digest(self) -> str | None:
        """What the digest was while the strategy's word ran another strategy; ``None`` for words that never did."""
        word, tight = self.mechanism.strategy, self.mechanism.calibration == "tight"
        return self._then(word) if word in RETIRED_STRATEGIES and tight else None

    def _then(self, word: str) -> str:
        then = replace(self, mechanism=replace(self.mechanism, strategy=word))
        return then._with_tables(then._with_demands(then.digest_without_row_counts))


def _formerly(column: ColumnDomain) -> ColumnDomain:
    if isinstance(column, NumberDomain) and column.former:
        return replace(column, edges=column.former, former=())
    return column


def _is_null_outside(column: ColumnDomain) -> bool:
    return isinstance(column, NumberDomain) and column.outside == "null"
