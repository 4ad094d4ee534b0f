"""What the owner's word says of listed strings: a string is in no row, or in as many as the word allows. Public.

It depends on the policy and the statement alone, so it is said without asking a row, and charges nothing. Whether the
word is true is the owner's affair: it decides whether the interval holds, and nothing else.
"""

from collections.abc import Sequence
from math import ceil

from dpsql.planning import TablePlan
from dpsql.query import Key, KeyedFactor, LinearQuery
from dpsql.result import Answer
from dpsql.session.answers import error_of, rounded_together


def by_word(plan: TablePlan, queries: Sequence[LinearQuery]) -> list[Answer] | None:
    """The answers to queries of one outline; ``None`` where the word does not bound all of them, as NULL's rows.

    Each listed string is taken to be in half of the rows that it may be in, spread evenly over the cells of the finite
    columns: then no answer is farther from the truth than it must be, and cells add up to their whole.
    """
    ends = [_ends(plan, query) for query in queries] if plan.most_rows else [None]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return None
    values = rounded_together([middle for middle, _ in known])
    return [_answer(value, ceil(high)) for value, (_, high) in zip(values, known, strict=True)]


def narrower(found: Sequence[Answer], said: Sequence[Answer] | None) -> list[Answer]:
    """Of each answer and the owner's word the one with the smaller error."""
    if said is None:
        return list(found)
    return [s if a.error is None or error_of(s) < a.error else a for a, s in zip(found, said, strict=True)]


def widest(said: Sequence[Answer]) -> float:
    """The largest error of these answers, in counts."""
    return max(map(error_of, said))


def _ends(plan: TablePlan, query: LinearQuery) -> tuple[float, float] | None:
    """What is taken for the query's answer, and the most that it can be, in counts."""
    keyed = query.keyed
    if keyed is None or not keyed.is_bounded or not all(factor.is_bounded for factor in query.factors):
        return None
    rows = [_most(plan, keyed, key) for key in keyed.strings]
    known = [n for n in rows if n is not None]
    if len(known) < len(rows):
        return None
    weights = keyed.weights.reshape(len(rows), -1) / keyed.unit
    middle = sum(n / 2.0 * float(w.mean()) for n, w in zip(known, weights, strict=True))
    high = sum(n * float(w.max()) for n, w in zip(known, weights, strict=True))
    for factor in query.factors:
        middle *= float(factor.weights.mean()) / factor.unit
        high *= float(factor.weights.max()) / factor.unit
    return middle, high


def _most(plan: TablePlan, keyed: KeyedFactor, key: Key) -> int | None:
    """The most counted rows that hold the key; ``None`` where no word speaks of it.

    NULL is no string: its rows are not bounded, unless rows with it are not counted.
    """
    told = []
    for column, part in zip(keyed.text_columns, key, strict=True):
        declared = plan.table.by_name.get(column.lower())
        if part is not None:
            told.append(plan.most_rows.get(column))
        elif declared is not None and not declared.nullable:
            told.append(0)
    return min((n for n in told if n is not None), default=None)


def _answer(value: int, high: int) -> Answer:
    error = float(max(value, high - value))
    return Answer(value, error, (0.0, float(max(value, high))), "calibrated", "public", certified=False)
