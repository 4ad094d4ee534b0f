"""Linear queries, their normal form, and affine forms of them.

Between SQL above and counting below stands one kind of question. Both the private data and the public model answer it,
and neither needs to know where it came from.
"""

from dpsql.query.canonical import SPLIT_CELLS, canonical_products, linear_query, sort_key
from dpsql.query.crosstab import (
    MOST_CHOICES,
    Choices,
    Crosstab,
    Matrix,
    OneCells,
    Row,
    floors,
    floors_of_parts,
    matrix_of,
    numbered,
    one_cells,
    row_of,
    sum_of_one,
    sums,
    units_of,
)
from dpsql.query.distinct import DistinctCount, Regions, regions_of
from dpsql.query.form import CountForms, Form, Term, centered, combination
from dpsql.query.key_counts import KeyCounts, Positions, key_counts
from dpsql.query.linear import (
    COLUMNS,
    DIGEST,
    VALUE_UNIT,
    Counts,
    Estimates,
    Factor,
    Interval,
    Key,
    KeyedFactor,
    LinearQuery,
    Points,
    Weights,
)
from dpsql.query.parts import is_part, most_counted, union
from dpsql.query.unit_table import UnitTable

__all__ = [
    "COLUMNS",
    "DIGEST",
    "MOST_CHOICES",
    "SPLIT_CELLS",
    "VALUE_UNIT",
    "Choices",
    "CountForms",
    "Counts",
    "Crosstab",
    "DistinctCount",
    "Estimates",
    "Factor",
    "Form",
    "Interval",
    "Key",
    "KeyCounts",
    "KeyedFactor",
    "LinearQuery",
    "Matrix",
    "OneCells",
    "Points",
    "Positions",
    "Regions",
    "Row",
    "Term",
    "UnitTable",
    "Weights",
    "canonical_products",
    "centered",
    "combination",
    "floors",
    "floors_of_parts",
    "is_part",
    "key_counts",
    "linear_query",
    "matrix_of",
    "most_counted",
    "numbered",
    "one_cells",
    "regions_of",
    "row_of",
    "sort_key",
    "sum_of_one",
    "sums",
    "union",
    "units_of",
]
