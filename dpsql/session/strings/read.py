"""Answers that measurements give: as they were released, and lists of strings as is likely of them. Public."""

from collections.abc import Sequence

from dpsql.confidence import error_bound
from dpsql.hypothesis.strings.read_lists import likely_readings
from dpsql.query import LinearQuery
from dpsql.result import Answer
from dpsql.session.answers import from_measurement, moved_to
from dpsql.session.table_state import TableState


def as_measured(
    state: TableState, queries: Sequence[LinearQuery], found: Sequence[tuple[int, float]]
) -> Sequence[Answer]:
    """Of queries of one outline, each with its released (value, sd) in counts.

    Strings that somebody listed are drawn to what is likely of them, so that their error is calibrated; what is
    certified is what their measurement certifies and how far they were moved.
    """
    certain = state.plan.certain_of(len(queries))
    answers = [from_measurement(q, *f, certain) for q, f in zip(queries, found, strict=True)]
    keyed = queries[0].keyed
    if state.model is None or keyed is None or queries[0].touched or not state.plan.rules.drawn_lists:
        return answers
    likely = likely_readings(state.model.sparse(keyed.text_columns), queries)
    return [
        answer if moved is None else moved_to(answer, moved[0], error_bound(moved[1], not query.is_indicator))
        for query, answer, moved in zip(queries, answers, likely, strict=True)
    ]
