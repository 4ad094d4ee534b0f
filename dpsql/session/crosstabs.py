"""The groups of a statement asked as one crosstab, where the model or a measurement has them all: arrays to the end.

Whatever is paid for, tested or known in part is asked query by query (``Asker.ask``); nothing is decided here that is
not decided there.
"""

from dpsql.query import Crosstab
from dpsql.result import CrosstabAnswers
from dpsql.session.answers import read_together
from dpsql.session.asker import Asker
from dpsql.session.model.modelled import modelled_together
from dpsql.session.route import Measured, Modelled, route
from dpsql.session.table_state import TableState


def ask_crosstab(asker: Asker, asked: Crosstab) -> tuple[CrosstabAnswers | None, float]:
    """The free answers to all of the queries, and what measuring what they wait for charged before, in epsilon.

    ``None`` where they are to be asked one by one: nothing else is drawn, charged or kept then. BudgetExhausted when
    the row count cannot be paid.
    """
    found, first = asker.given.crosstab(asked), asked[0]
    if found is not None or not asker.given.takes(asked):
        return found, 0.0
    state, charged = asker.states[first.table], 0.0
    if state.model is None or not state.touches.warm.is_ready(first.touched):
        if asker.known_of(asked):  # what is known waits for nothing
            return None, 0.0
        asker.check(asked)
        charged = asker.first_touches(first.table, first.touched)
    return _answered(asker, state, asked), charged


def _answered(asker: Asker, state: TableState, asked: Crosstab) -> CrosstabAnswers | None:
    if state.model is None:
        return None
    spent, spares = asker.payments_left() == 0, asker.purses.spares_left()
    match route(state, asked, spent=spent, spares=spares):
        case (Modelled(),):
            answers = modelled_together(state, state.model, asked)
        case (Measured() as way,):
            certain = state.plan.certain_of(len(asked))
            answers = read_together(way.found, certain) if bool(asked.indicators.all()) else None
        case _:
            return None
    if answers is None or not asker.given.keep_crosstab(asked, answers):
        return None
    asker.fold.pace.ask()
    return answers
