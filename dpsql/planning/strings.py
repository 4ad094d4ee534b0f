"""What a text column's first touch spends: its selection of keys, their counts, the number of strings. Public.

It is the only release that needs a delta of its own, which the plan sets aside first.
"""

from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting import Unshown, selection_threshold
from dpsql.domain import TableDomain
from dpsql.planning.sensitivity import contingency_l2_squared, query_sensitivity
from dpsql.planning.shares import Shares

SELECT_SHARE = Fraction(25, 100)
"""Of a column's units for choosing its keys; the threshold follows from this noise. Where strings have fewer units,
for few questions are planned, as many as otherwise are for choosing, MOST_SELECTING of them at most: what is compared
is part of the counts."""
MOST_SELECTING = Fraction(50, 100)
DISTINCT_SHARE = Fraction(2, 100)
"""For the number of strings, from which the rows of hidden ones are estimated; the rest is for counts."""
PAIR_SHARE = Fraction(20, 100)
"""For the heavier keys by each finite column, split evenly between these; to the counts where there is none."""
LONE_SELECT_SHARE, LONE_PAIR_SHARE = Fraction(20, 100), Fraction(45, 100)
"""The same where there is one finite column: the text has most of the start, so that fewer rows are enough to show a
string, and all conditions beside a list are about that column."""
EARLIER_LONE_SELECT, EARLIER_LONE_PAIR = Fraction(15, 100), Fraction(30, 100)
"""By the rules that keep nothing of what a selection compares."""
HEAVY = 3.0
"""A key is measured by a finite column when its released count is at least so many sds of these cells."""
EARLIER_HEAVY = 6.0
"""The same by the rules that take noise of lighter keys for their cells."""
HARDLY = 3.1
"""Noise exceeds so many of its sds with less than one chance in a thousand."""
FIRST_TRY = Fraction(3, 4)
"""Of a column's delta for its first selection; one that was lost is made again with this share of what is left."""


@dataclass(frozen=True)
class TextStart:
    """The first touch of one text column or prefix: units in all, and noise scales and threshold in counts.

    ``delta``: for all tries of its selection; ``threshold``: of a selection that spends all of it at once, as earlier
    versions did; ``sensitivity``: how much a count changes by one unit.
    """

    column: str
    units: int
    delta: Fraction
    sensitivity: int
    select_units: int
    distinct_units: int
    count_units: int
    pair_units: int
    select_sigma: Fraction
    threshold: int
    distinct_sigma: Fraction
    count_sigma: Fraction
    paired: tuple[str, ...]
    """Finite columns by which heavy keys are measured."""
    pair_sigma: Fraction
    heavy: float
    """Counts: a key is measured by a finite column when its released count is at least this."""
    compares: bool = False
    """Whether what selections compare is part of the counts."""
    hiding: Fraction = Fraction(1)
    """Of the delta of a selection for strings of which a unit is the only holder, before it is replaced or after."""

    @property
    def most_hidden(self) -> float:
        """Counts: a key that is not shown has hardly ever more rows than this (one chance in a thousand)."""
        return _most_hidden(self.threshold, self.select_sigma)

    @property
    def shown_from(self) -> int:
        """Counts: a key of so many rows is shown with about one chance in two by the first selection."""
        return self.selection(self.select_sigma, 1).threshold

    def hides(self, rows: int) -> bool:
        """Whether a key of at most so many rows is shown with less than one chance in a thousand by a selection."""
        return rows + HARDLY * float(self.select_sigma) <= self.shown_from

    def selection(self, sigma: Fraction, attempt: int) -> "Selection":
        """The ``attempt``-th selection (1, 2, ..), with noise ``sigma``, made after those before it were lost.

        All of them together spend less than ``delta``.
        """
        delta = self.delta * FIRST_TRY * (1 - FIRST_TRY) ** (attempt - 1)
        threshold = selection_threshold(sigma, delta * self.hiding, self.sensitivity)
        return Selection(attempt, delta, sigma, threshold, _most_hidden(threshold, sigma))


@dataclass(frozen=True)
class Selection:
    """One try to choose the keys that may be shown: its share of delta, its noise and threshold in counts. Public.

    ``most_hidden``: as a ``TextStart`` has it.
    """

    attempt: int
    delta: Fraction
    sigma: Fraction
    threshold: int
    most_hidden: float


def _most_hidden(threshold: int, sigma: Fraction) -> float:
    return threshold + HARDLY * float(sigma)


def unshown_texts(shares: Shares) -> tuple[Unshown, ...]:
    """The text columns of which a selection would show nothing, by their owner's word on the rows of a string.

    There a string of as many rows as the word allows is shown with less than one chance in a thousand: then less than
    a thousandth of the strings would be, however many there are, which nobody may know. No such promise can be made of
    all strings together, for each of them has a chance, those of one row too.
    """
    found = []
    for table in shares.policy.tables:
        starts = text_starts(shares, table) if table.most_rows else {}
        found += [
            Unshown(table.name, name, starts[name].shown_from)
            for name, most in table.most_rows.items()
            if name in starts and starts[name].hides(most)
        ]
    return tuple(found)


def text_starts(shares: Shares, table: TableDomain) -> dict[str, TextStart]:
    """The planned first touch of each text column and each declared prefix length, by name; empty without any."""
    plan, policy, units = shares.plan, shares.policy, shares.texts(table)
    if units == 0:
        return {}
    weights = shares.text_weights(table)
    delta = plan.delta_purse / sum(len(shares.text_weights(t)) for t in policy.tables)
    whole = sum(weights.values())
    return {
        column: _start(shares, table, column, int(units * weight / whole), delta) for column, weight in weights.items()
    }


def _start(shares: Shares, table: TableDomain, column: str, units: int, delta: Fraction) -> TextStart:
    plan, l2_squared = shares.plan, contingency_l2_squared(shares.policy, table)
    paired, mixed = tuple(c.name for c in table.varied), shares.rules.mixed_strings
    compares = shares.rules.selected_counts
    select_share, pair_share = _parts(shares, table, lone=mixed and len(paired) == 1)
    select, distinct = int(units * select_share), int(units * DISTINCT_SHARE)
    pair = int(units * pair_share / len(paired)) if paired else 0
    count = units - select - distinct - pair * len(paired)
    sigma, sensitivity = plan.release_sigma(select, l2_squared), query_sensitivity(table)
    pair_sigma = plan.release_sigma(pair, l2_squared) if paired else Fraction(0)
    return TextStart(
        column,
        units,
        delta,
        sensitivity,
        select,
        distinct,
        count,
        pair,
        sigma,
        selection_threshold(sigma, delta, sensitivity),
        plan.release_sigma(distinct, l2_squared),
        plan.release_sigma(count, l2_squared),
        paired,
        pair_sigma,
        (HEAVY if mixed else EARLIER_HEAVY) * float(pair_sigma),
        compares,
        # of what is read later, one that comes and one that goes have to be below the threshold (docs/privacy.md)
        Fraction(1, 2) if compares and shares.policy.privacy.neighbors == "replace-one" else Fraction(1),
    )


def _parts(shares: Shares, table: TableDomain, *, lone: bool) -> tuple[Fraction, Fraction]:
    """Of a column's units: for choosing its keys, and for the heavier ones by finite columns."""
    if not lone:
        return min(MOST_SELECTING, SELECT_SHARE / shares.fewer_strings(table)), PAIR_SHARE
    compares = shares.rules.selected_counts
    return (LONE_SELECT_SHARE, LONE_PAIR_SHARE) if compares else (EARLIER_LONE_SELECT, EARLIER_LONE_PAIR)
