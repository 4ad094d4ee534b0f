"""Strings that somebody lists and that no selection has shown: each is counted once, at the cost of the first touch.

A first touch pays for the counts of all strings that there could be, of which a row is in one: what it costs does not
grow with their number. It shows those that were selected; the number of any other is drawn when it is first asked for,
as if it had been drawn with them (docs/privacy.md, strings that are read later). The fold comes first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, nextafter
from typing import Any

from dpsql.accounting import Plan
from dpsql.first.bench import Bench
from dpsql.first.payload import COMPARED, LISTED, encode_measurement, encode_measurements
from dpsql.first.payment import pay_first
from dpsql.first.text_start import TextStarts
from dpsql.first.touch import Columns, FirstTouch, Released
from dpsql.first.turns import Step, Turns
from dpsql.hypothesis import Measurement
from dpsql.hypothesis.strings.compared import with_compared
from dpsql.mechanism import compared_counts
from dpsql.query import Key, LinearQuery, sort_key

MOST_READ = 1 << 14
"""Strings of one statement that are read at most; others of it are estimated."""


class ListedStrings(FirstTouch):
    """Strings of one table that were read one by one: measured, under way in some session, or lost. Public.

    Each is named by its text column and itself. One whose reservation was lost is never drawn again: its noise may have
    been seen.
    """

    purpose = "listed strings"
    planned_units = 0

    def __init__(self, texts: TextStarts) -> None:
        super().__init__()
        self.texts = texts
        self._done: set[Columns] = set()

    def unbegun_units(self) -> int:
        """None: what is read was paid for by the first touch of its column."""
        return 0

    def others_at_work(self, column: str, listed: Sequence[Key]) -> bool:
        """Whether some session reads one of the strings."""
        return any(self._is_under_way((column, *_named(k))) for k in listed) if self._open else False

    def unread(self, column: str, listed: Sequence[Key]) -> tuple[Key, ...]:
        """Those of the strings that can be read now: not shown, and nobody has begun them."""
        shown = self.texts.counted(column)
        if shown is None or not self.texts.plan.rules.every_string:
            return ()
        hidden = [k for k in listed if k not in shown.key_index][:MOST_READ]
        return tuple([k for k in hidden if not self._is_begun((column, *_named(k)))])

    def foreseen(self, column: str, listed: Sequence[Key]) -> dict[Key, float]:
        """The variances of the noise of strings that a question would read before it is answered, about, or at most:
        what was compared tells of those nothing that are near the threshold."""
        unread = self.unread(column, listed)
        return dict.fromkeys(unread, 1.0 / sum(s**-2 for s in self.texts.count_sigmas(column))) if unread else {}

    def sigma(self, column: str, plan: Plan) -> Fraction:
        """Noise (counts) of one draw that costs what the portions of the shown strings' counts cost, or less."""
        return one_for_all(plan, self.texts.count_sigmas(column), self.texts.plan.l2_squared)

    def _is_done(self, columns: Columns) -> bool:
        return columns in self._done

    def _learn(self, reservation: int, released: Sequence[Released]) -> None:
        hidden = [measurement for kind, measurement in released if kind == COMPARED]
        for kind, measurement in released:
            if kind != COMPARED:
                self._complete.append((kind, self._with(measurement, hidden)))

    def _with(self, counts: Measurement, hidden: Sequence[Measurement]) -> Measurement:
        """These counts, and what the selection compared of the same strings where that was released."""
        compared = self.texts.compared(counts.text_columns[0])
        if compared is None or not hidden:
            return counts
        return with_compared([counts], hidden[0], compared.threshold, shown=False)

    def _lose(self, columns: frozenset[Columns]) -> None:
        self._done |= columns


def read_listed(touch: ListedStrings, queries: Sequence[LinearQuery], bench: Bench, turns: Turns) -> None:
    """Read the strings of these queries of one outline that can be read and never were; charges nothing."""
    keyed = queries[0].keyed
    if keyed is None or len(keyed.text_columns) != 1:
        return
    (column,) = keyed.text_columns
    listed = sorted({k for q in queries if q.keyed is not None for k in q.keyed.strings}, key=sort_key)

    def next_step() -> Step | None:
        wanted = touch.unread(column, listed)
        return Step(0, lambda: _read(touch, column, wanted, bench, turns)) if wanted else None

    turns.take(f"strings of {column}", next_step, lambda: touch.others_at_work(column, listed))


def _read(touch: ListedStrings, column: str, keys: tuple[Key, ...], bench: Bench, turns: Turns) -> float:
    table, text, sigma = touch.texts.plan.name, (column,), touch.sigma(column, bench.plan)
    counts, compared = bench.engine.keyed_counts(table, text, keys, ()), touch.texts.compared(column)

    def draw() -> dict[str, Any]:
        found = bench.measured(counts, sigma, table, text=text, keys=keys)
        if compared is None:
            return encode_measurement(LISTED, found)
        scale = Fraction(compared.counts.sigma)
        hidden = compared_counts(counts, scale, compared.threshold, bench.entropy, shown=False)
        entries = replace(found, values=hidden, sigma=compared.counts.sigma)
        return encode_measurements([(COMPARED, entries), (LISTED, found)])

    return pay_first(touch, table, 0, draw, bench, turns, {"columns": [[column, *_named(k)] for k in keys]})


def one_for_all(plan: Plan, sigmas: Sequence[float], l2_squared: int) -> Fraction:
    """The sd (counts) of noise that costs at most what all of these cost together, whatever changes.

    Charges are proportional to the squared distance (docs/privacy.md, step 6). What was drawn may be a rounding above
    its float, and a charge a unit below what it is rounded to.
    """
    units = sum(plan.release_cost(Fraction(nextafter(s, inf)), l2_squared) - 1 for s in sigmas)
    return plan.release_sigma(units, l2_squared)


def _named(key: Key) -> Iterator[str]:
    """The string; nothing for NULL, which no string is named like."""
    return (part for part in key if part is not None)
