"""Planning: what the budget buys and how each table will be answered, from the policy and released numbers alone."""

from dpsql.planning.contingencies import PlannedContingency, planned_contingencies
from dpsql.planning.forecast import Forecast
from dpsql.planning.outlook import distance_words, forecast, outlook, paper_notices
from dpsql.planning.plans import make_plan
from dpsql.planning.shares import Payment, Shares
from dpsql.planning.strings import TextStart
from dpsql.planning.table_plan import Share, TablePlan, plan_tables
from dpsql.planning.ways import Basis, Way

__all__ = [
    "Basis",
    "Forecast",
    "Payment",
    "PlannedContingency",
    "Share",
    "Shares",
    "TablePlan",
    "TextStart",
    "Way",
    "distance_words",
    "forecast",
    "make_plan",
    "outlook",
    "paper_notices",
    "plan_tables",
    "planned_contingencies",
]
