"""Linear queries, their normal form, and affine forms of them."""

from dpsql.query.canonical import linear_query, sort_key
from dpsql.query.form import Form, Term
from dpsql.query.linear import FIXED_POINT, Counts, Estimates, Factor, Key, KeyedFactor, LinearQuery, Weights

__all__ = [
    "FIXED_POINT",
    "Counts",
    "Estimates",
    "Factor",
    "Form",
    "Key",
    "KeyedFactor",
    "LinearQuery",
    "Term",
    "Weights",
    "linear_query",
    "sort_key",
]
