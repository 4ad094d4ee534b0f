"""Hypotheses: the public estimate of a table, and the measurements that it is fitted to."""

from dpsql.hypothesis.dense import TENSOR_CELLS, DenseHypothesis, split_identity
from dpsql.hypothesis.measurement import Axis, Measurement, coarsen, error_bound
from dpsql.hypothesis.model import TableModel
from dpsql.hypothesis.sparse import SparseHypothesis

__all__ = [
    "TENSOR_CELLS",
    "Axis",
    "DenseHypothesis",
    "Measurement",
    "SparseHypothesis",
    "TableModel",
    "coarsen",
    "error_bound",
    "split_identity",
]
