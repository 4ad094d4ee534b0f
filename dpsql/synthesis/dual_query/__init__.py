"""DualQuery: a synthetic table of records that answer, one after another, the queries that the others miss.

For many columns: the weights are kept over the queries of the workload, not over the universe.
"""

from dpsql.synthesis.dual_query.method import check_dual_query, dual_query
from dpsql.synthesis.dual_query.options import OPTIONS

__all__ = ["OPTIONS", "check_dual_query", "dual_query"]
