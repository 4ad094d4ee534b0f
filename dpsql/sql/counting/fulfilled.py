"""Which declared values fulfil a condition: what none of them fulfils, or all do, asks for others. Public."""

from collections.abc import Iterable

import numpy as np

from dpsql.errors import Error
from dpsql.sql.counting.bins.points import is_unknown
from dpsql.sql.counting.evaluate import Evaluator, Grids
from dpsql.sql.expressions.remarks import Question, Remarked
from dpsql.sql.expressions.steps import NO_STEPS
from dpsql.sql.statement import Remark


def settled(evaluator: Evaluator, found: Iterable[Remarked]) -> tuple[Remark, ...]:
    """The remarks, each question answered: by one where it is fulfilled by none of the declared values, or by all."""
    known = [_told(evaluator, one) if isinstance(one, Question) else one for one in found]
    return tuple(dict.fromkeys([one for one in known if one is not None]))


def _told(evaluator: Evaluator, asked: Question) -> Remark | None:
    bound, name = asked.bound, asked.column.name
    grids = Grids(asked.table, {}, bound.steps or NO_STEPS)
    if is_unknown(grids.axis(name).points, bound.steps.get(name, frozenset())):
        return None
    try:
        (truth,) = evaluator.truths(grids, [bound])
    except Error:  # of what a CASE around it keeps from those values, perhaps: then it is no condition on them all
        return None
    if asked.column.nullable:
        if truth[-1]:
            return None  # which counts NULL, and so the rows with other values
        truth = truth[:-1]
    if np.any(truth) and not np.all(truth):
        return None
    return Remark(asked.table.name, asked.column, (asked.text,), fulfilled="all" if np.all(truth) else "none")
