"""How each table is going to be answered, and how well: the plan in words, from public and released numbers."""

from dpsql.hypothesis import error_bound
from dpsql.result import TableOutlook
from dpsql.session.planning import is_narrow
from dpsql.session.predicting import half_width
from dpsql.session.table_state import TableState

OWN = "noise for each question"
HISTOGRAM = "one histogram"
CONTINGENCIES = "contingencies + net"
LOCAL = "local models + net"
KEYS = "frequent strings + net"
NET = "net"


def outlook(state: TableState) -> TableOutlook:
    """The table's strategy and the 95 % error of a typical answer in counts.

    Of a table with strings and several finite columns it is about the latter, of one with less about a frequent string.
    """
    name = state.table.name
    if state.own_sigma > 0:
        return TableOutlook(name, OWN, float(error_bound(float(state.own_sigma))))
    forecast = state.forecast()
    if forecast is not None:
        whole = len(forecast.planned) == 1 and len(forecast.planned[0].columns) > 1
        strategy = HISTOGRAM if whole else CONTINGENCIES if is_narrow(state.table) else LOCAL
        if state.texts is not None:
            strategy = f"{strategy.removesuffix(' + net')}, {KEYS}"
        return TableOutlook(name, strategy, float(half_width(forecast.typical_sd)))
    if state.texts is not None:
        return TableOutlook(
            name, KEYS, float(max(half_width(float(s.count_sigma)) for s in state.texts.starts.values()))
        )
    return TableOutlook(name, NET, float(state.bound) if state.net.hard_rounds else None)
