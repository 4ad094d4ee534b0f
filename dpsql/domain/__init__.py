"""Column and table domains: the public universe that queries, contingencies and hypotheses share.

Everything above agrees on a column's codes by asking these classes, so that a count, a weight and a printed group can
never be out of step by one cell.
"""

from dpsql.domain.column import (
    EXACT_BELOW,
    FIXED_POINT,
    Beyond,
    BooleanDomain,
    CategoryDomain,
    ColumnDomain,
    DateDomain,
    DateUnit,
    FiniteDomain,
    IntegerDomain,
    NumberDomain,
    Value,
    as_text,
    cell_values,
    code_of,
    truncate,
)
from dpsql.domain.derived import Derived, Expression
from dpsql.domain.identifier import looks_like_identifier
from dpsql.domain.marks import marks_of
from dpsql.domain.parameters import Parameters
from dpsql.domain.prefix import LONGEST_PREFIX, Prefix
from dpsql.domain.row_count import row_count_obstacle
from dpsql.domain.scales import log_edges
from dpsql.domain.table import RowCount, TableDomain
from dpsql.domain.text import MOST_ROWS_OF_A_VALUE, TextDomain
from dpsql.domain.undeclared import Fate, undeclared_become

__all__ = [
    "EXACT_BELOW",
    "FIXED_POINT",
    "LONGEST_PREFIX",
    "MOST_ROWS_OF_A_VALUE",
    "Beyond",
    "BooleanDomain",
    "CategoryDomain",
    "ColumnDomain",
    "DateDomain",
    "DateUnit",
    "Derived",
    "Expression",
    "Fate",
    "FiniteDomain",
    "IntegerDomain",
    "NumberDomain",
    "Parameters",
    "Prefix",
    "RowCount",
    "TableDomain",
    "TextDomain",
    "Value",
    "as_text",
    "cell_values",
    "code_of",
    "log_edges",
    "looks_like_identifier",
    "marks_of",
    "row_count_obstacle",
    "truncate",
    "undeclared_become",
]
