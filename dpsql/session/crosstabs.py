"""The groups of a statement asked as one crosstab, where the model or a measurement has them all: arrays to the end.

Whatever is paid for, tested or known in part is asked query by query (``Asker.ask``); nothing is decided here that is
not decided there.
"""

from dpsql.query import Crosstab
from dpsql.result import CrosstabAnswers
from dpsql.session.answers import read_together
from dpsql.session.asker import Asker
from dpsql.session.modelled import modelled_together
from dpsql.session.route import Measured, Modelled, route


def ask_crosstab(asker: Asker, asked: Crosstab) -> CrosstabAnswers | None:
    """The free answers to all of the queries; ``None``, and nothing is drawn, charged or kept, where there are none."""
    found = asker.given.crosstab(asked)
    if found is not None:
        return found
    first = asked[0]
    state = asker.states[first.table]
    model = state.model
    if model is None or first.keyed is not None or not state.touches.warm.is_ready(first.touched):
        return None
    spent, spares = asker.payments_left() == 0, asker.purses.spares_left()
    match route(state, asked, spent=spent, spares=spares):
        case (Modelled(),):
            answers = modelled_together(state, model, asked)
        case (Measured() as way,):
            answers = read_together(way.found, state.plan.certain) if bool(asked.indicators.all()) else None
        case _:
            return None
    return answers if answers is not None and asker.given.keep_crosstab(asked, answers) else None
