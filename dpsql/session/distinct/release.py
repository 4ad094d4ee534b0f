"""Counts of different values: known, or one release of their own for the groups of an aggregate. No test, no model.

The order is that of every payment: refused from public numbers, counted, reserved durably, drawn, recorded, shown
(docs/privacy.md, reservations). The noise is made for what one unit changes (``distinct_l2_squared``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil

from dpsql.confidence import error_bound
from dpsql.errors import BudgetExhausted
from dpsql.first.payload import encode_measurements
from dpsql.first.payment import Drawn, pay
from dpsql.planning.distinct import DistinctShare, distinct_share
from dpsql.planning.sensitivity import distinct_l2_squared
from dpsql.query import DistinctCount, regions_of
from dpsql.result import Answer
from dpsql.session.answers import exact, with_charge
from dpsql.session.asker import Asker
from dpsql.session.distinct.numbers import Number, encode_numbers
from dpsql.session.own.release import PURPOSE, SPARE

_NOTHING_LEFT = "nothing of the budget is left for counts of different values"
_HINT = "what is left is kept for first measurements and other questions: ask the owner for a larger budget"


@dataclass(frozen=True, eq=False)
class Question:
    """Counts of the values of one column over selections that share no row: one release answers them.

    ``most`` above 1: not how many values there are, but how many have 1, 2, .. ``most`` rows.
    """

    counts: tuple[DistinctCount, ...]
    most: int = 1

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """Of its numbers, by selection and number of rows."""
        if self.most == 1:
            return tuple([c.digest for c in self.counts])
        return tuple([one.digest for c in self.counts for one in c.repeated(self.most)])

    @property
    def table(self) -> str:
        return self.counts[0].table

    @property
    def column(self) -> str:
        return self.counts[0].column

    @property
    def whole_text(self) -> bool:
        """Whether it asks for the strings of all rows, which a first touch of the column counts."""
        (first, *others) = self.counts
        alone = not others and len(first.rows.terms) == 1 and self.most == 1
        query = first.rows.terms[0].query
        return alone and not query.factors and query.keyed is None and not query.is_by_value


@dataclass(frozen=True, eq=False)
class Priced:
    """A question that must be released, what pays for it, and its noise (counts)."""

    question: Question
    share: DistinctShare
    sigma: Fraction


def numbers_of(asker: Asker, question: Question) -> list[Number] | None:
    """What is released for a question already; ``None`` unless it is all of it."""
    known = asker.fold.numbers
    if question.whole_text:
        found = known.strings(question.table, question.column)
        if found is not None:
            return [found]
    numbers = [known.of(d) for d in question.digests]
    return [n for n in numbers if n is not None] if None not in numbers else None


def missing(asker: Asker, questions: Sequence[Question]) -> list[Question]:
    """What of the questions is not released: of different values in groups, the groups that are not."""
    out: dict[str, Question] = {}
    for question in questions:
        if numbers_of(asker, question) is not None:
            continue
        if question.most == 1:
            unknown = [c for c in question.counts if asker.fold.numbers.of(c.digest) is None and c.digest not in out]
            question = Question(tuple(unknown))
        if question.counts and not any(d in out for d in question.digests):
            out |= dict.fromkeys(question.digests, question)
    return list(dict.fromkeys(out.values()))


def touched_first(asker: Asker, question: Question) -> bool:
    """Whether a first touch that is still to come, or under way, answers a question."""
    state = asker.states[question.table]
    return (
        question.whole_text
        and question.column in state.plan.texts
        and state.touches.texts.keys(question.column) is None
    )


def priced(asker: Asker, questions: Sequence[Question]) -> list[Priced]:
    """What releases for the questions take now, in order. BudgetExhausted where it is not left. Draws nothing."""
    plan, purses, left, out = asker.plan, asker.purses, asker.purses.spares_left(), []
    for question in questions:
        table = asker.states[question.table].plan
        share = distinct_share(plan, table, asker.payment, question.column, left, question.most)
        left -= share.spares
        if share.units == 0:
            raise _refused(asker, _NOTHING_LEFT, 0)
        l2 = distinct_l2_squared(table.neighbors, table.table, question.column, len(question.counts), question.most)
        out.append(Priced(question, share, plan.release_sigma(share.units, l2)))
    units = sum(p.share.units for p in out)
    if units and not purses.covers(asker.bench.ledger.totals(), units, kept=purses.unbegun()):
        raise _refused(asker, "what is left does not pay for counts of different values", units)
    return out


def check_distinct_paid(asker: Asker, wanted: Sequence[tuple[str, str]]) -> None:
    """BudgetExhausted where nothing is left for counts of different values of these (table, column)."""
    left = asker.purses.spares_left()
    for table, column in wanted:
        share = distinct_share(asker.plan, asker.states[table].plan, asker.payment, column, left)
        left -= share.spares
        if share.units == 0:
            raise _refused(asker, _NOTHING_LEFT, 0)


def _refused(asker: Asker, reason: str, units: int) -> BudgetExhausted:
    share = asker.plan.as_epsilon(units)
    return BudgetExhausted(reason, requested=share, remaining=asker.remaining_epsilon(), hint=_HINT)


def ask_distinct(asker: Asker, questions: Sequence[Question]) -> tuple[dict[str, tuple[str, Number]], float]:
    """Tables and numbers by digest, all or none of them, and what they charged (epsilon).

    BudgetExhausted, before anything is charged, when they cannot be paid.
    """
    priced(asker, [q for q in missing(asker, questions) if not touched_first(asker, q)])
    charged = 0.0
    out: dict[str, tuple[str, Number]] = {}
    for question in questions:
        if numbers_of(asker, question) is None and touched_first(asker, question):
            charged += asker.first_touches(question.table, text_columns=(question.column,))
    for found in priced(asker, missing(asker, questions)):
        charged += _release(asker, found)
    for question in questions:
        numbers = numbers_of(asker, question)
        if numbers is None:
            raise _refused(asker, "another session has spent what was left for counts of different values", 0)
        out |= {d: (question.table, n) for d, n in zip(question.digests, numbers, strict=True)}
    return out, charged


def answer_of(asker: Asker, table: str, number: Number) -> Answer:
    """A released number with its bound, which holds on any data."""
    found = exact(number.value, error_bound(number.sd), "measurement")
    return replace(found, certified_bound=float(ceil(asker.states[table].plan.certain * number.sd)))


def _release(asker: Asker, priced_question: Priced) -> float:
    """One release; what it charged, in epsilon. Nothing where another session was faster."""
    question, share, sigma = priced_question.question, priced_question.share, priced_question.sigma
    bench, turns = asker.bench, asker.turns
    regions = regions_of([c.rows for c in question.counts])
    counts = bench.engine.distinct_counts(question.table, question.column, regions, question.most)  # a failure is free
    payload = {"purpose": PURPOSE, "table": question.table, "burn": share.units}
    if share.spares:
        payload |= {"purpose": SPARE, "spares": share.spares}
    charged = bench.plan.as_epsilon(share.units)

    def is_late(_: int) -> bool:
        if share.spares > 0 and asker.fold.spares_used() > bench.plan.spares:
            return True
        return numbers_of(asker, question) is not None

    def draw() -> Drawn:
        values = [int(v) for v in bench.noisy(counts, sigma).reshape(-1)]
        numbers = [answer_of(asker, question.table, Number(v, float(sigma))) for v in values]
        released = encode_measurements([]) | encode_numbers(list(question.digests), values, float(sigma))
        return Drawn(released, list(zip(question.digests, with_charge(numbers, charged), strict=True)))

    paid = pay(share.units, bench, turns, lambda: turns.reserve_beside(share.units, payload), is_late, draw)
    return 0.0 if paid is None else charged
