"""Hypotheses: the public estimate of a table, and the measurements that it is fitted to.

Everything in here is made of released numbers, so it is free, public, and may be as clever as it likes: a bad model
costs accuracy, never privacy.
"""

from dpsql.confidence import error_bound
from dpsql.hypothesis.bars.calibration import Calibration
from dpsql.hypothesis.bars.keyed_error import keyed_error
from dpsql.hypothesis.bars.lesson import learn_calibration, lesson_name
from dpsql.hypothesis.components import told
from dpsql.hypothesis.local.wide import WideHypothesis
from dpsql.hypothesis.measurement import Axis, Measurement, averaged, coarsen
from dpsql.hypothesis.model import TableModel
from dpsql.hypothesis.partition import LEAST_CELL, atoms
from dpsql.hypothesis.projection import split_identity
from dpsql.hypothesis.protocol import Hypothesis, IterativeConstruction, MakeByRules, MakeHypothesis
from dpsql.hypothesis.registry import STRATEGIES, Construction, Strategy, strategy_named
from dpsql.hypothesis.rules import MODEL_RULES, NEWEST, ModelRules
from dpsql.hypothesis.strings.sparse import SparseHypothesis
from dpsql.hypothesis.tensor.dense import DenseHypothesis
from dpsql.hypothesis.tensor.scoped import TENSOR_CELLS, ScopedHypothesis

__all__ = [
    "LEAST_CELL",
    "MODEL_RULES",
    "NEWEST",
    "STRATEGIES",
    "TENSOR_CELLS",
    "Axis",
    "Calibration",
    "Construction",
    "DenseHypothesis",
    "Hypothesis",
    "IterativeConstruction",
    "MakeByRules",
    "MakeHypothesis",
    "Measurement",
    "ModelRules",
    "ScopedHypothesis",
    "SparseHypothesis",
    "Strategy",
    "TableModel",
    "WideHypothesis",
    "atoms",
    "averaged",
    "coarsen",
    "error_bound",
    "keyed_error",
    "learn_calibration",
    "lesson_name",
    "split_identity",
    "strategy_named",
    "told",
]
