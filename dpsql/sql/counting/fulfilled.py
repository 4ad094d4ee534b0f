"""Which declared values fulfil a condition: what none of them fulfils, or all do, asks for others. Public."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np

from dpsql.errors import Error
from dpsql.sql.counting.bins.points import is_unknown
from dpsql.sql.counting.evaluate import Evaluator, Grids
from dpsql.sql.expressions.changes.steps import Breaks, merged
from dpsql.sql.expressions.remarks import Question, Remarked
from dpsql.sql.public_sql import Truth
from dpsql.sql.statement import Remark


def settled(evaluator: Evaluator, found: Iterable[Remarked]) -> tuple[Remark, ...]:
    """The remarks, each question answered: by one where it is fulfilled by none of the declared values, or by all."""
    known, asked = list(found), dict[int, list[Question]]()
    for one in known:
        if isinstance(one, Question):
            asked.setdefault(id(one.table), []).append(one)
    told = {id(question): remark for several in asked.values() for question, remark in _told(evaluator, several)}
    answered = [told.get(id(one)) if isinstance(one, Question) else one for one in known]
    return tuple(dict.fromkeys([one for one in answered if one is not None]))


def _told(evaluator: Evaluator, asked: Sequence[Question]) -> Iterator[tuple[Question, Remark]]:
    """Those of one table that none of the values fulfils, or all do; asked together, as far as there are answers."""
    grids = Grids(asked[0].table, {}, merged(q.bound.steps for q in asked))
    known = [q for q in asked if not is_unknown(grids.axis(q.column.name).points, _breaks(q))]
    try:
        truths = evaluator.truths(grids, [q.bound for q in known])
    except Error:  # a CASE keeps one from such values, perhaps: then it is no condition on them all
        half = len(asked) // 2
        for some in (asked[:half], asked[half:]) if half else ():
            yield from _told(evaluator, some)
        return
    for question, truth in zip(known, truths, strict=True):
        remark = _remark(question, truth)
        if remark is not None:
            yield question, remark


def _breaks(question: Question) -> Breaks:
    return question.bound.steps.get(question.column.name, frozenset())


def _remark(asked: Question, truth: Truth) -> Remark | None:
    if asked.column.nullable and truth[-1]:
        return None  # NULL is counted, and so are the rows with other values
    declared = truth[:-1] if asked.column.nullable else truth
    if np.any(declared) and not np.all(declared):
        return None
    fulfilled: Literal["all", "none"] = "all" if np.all(declared) else "none"
    return Remark(asked.table.name, asked.column, (asked.text,), fulfilled=fulfilled)
