"""What the session keeps for one private table: its model, its test and the bounds they give. Public."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from dpsql.accounting import Net, Plan
from dpsql.domain import TableDomain
from dpsql.hypothesis import Axis, Measurement, TableModel, error_bound, split_identity
from dpsql.mechanism import ThresholdTest
from dpsql.policy import Policy
from dpsql.query import LinearQuery
from dpsql.session.planning import FALSE_ALARMS, contingency_l2_squared, query_sensitivity


@dataclass
class TableState:
    """One table of the session; ``model`` is ``None`` until the table's total is known."""

    table: TableDomain
    net: Net
    theta: int
    bound: int
    """Counts: an answer that passed the test is this close to the truth (all planned queries at once, 95 %)."""
    model: TableModel | None = None
    pending: list[Measurement] = field(default_factory=list)

    @classmethod
    def make(cls, table: TableDomain, plan: Plan, policy: Policy) -> "TableState":
        net = plan.for_sensitivity(query_sensitivity(table), contingency_l2_squared(policy, table))
        planned = policy.privacy.planned_queries
        if net.hard_rounds == 0:
            return cls(table, net, 0, 0)
        theta = net.threshold(planned, FALSE_ALARMS)
        return cls(table, net, theta, net.certified_bound(planned, theta=theta))

    @cached_property
    def test(self) -> ThresholdTest:
        return ThresholdTest(self.net.slope, self.net.certified_slope, self.net.sensitivity)

    def know_total(self, total: Measurement) -> TableModel:
        """The model, started with the table's released (or, with sigma 0, public) number of rows.

        Two sessions may have measured the number at once: the first one starts the model, a later one is one more
        measurement.
        """
        if self.model is not None:
            self.model.absorb(total)
            return self.model
        self.model = TableModel(self.table, total, float(max(self.theta, 1)))
        for measurement in self.pending:
            self.model.absorb(measurement)
        self.pending.clear()
        return self.model

    def absorb(self, measurement: Measurement) -> None:
        if self.model is None:
            self.pending.append(measurement)
        else:
            self.model.absorb(measurement)


def measurement_axes(
    query: LinearQuery, siblings: Sequence[LinearQuery], total: float, sigma: float, bound: float
) -> tuple[Axis, ...]:
    """The parts that a hard round on ``query`` measures: public, chosen before any noise is drawn.

    Every cell of the scope while their noise stays below the table (cells * sigma <= total) and the paid answer's own
    error below what a passed test would have certified (``bound``); else the coarsest parts on which the query and its
    ``siblings`` (the same statement's queries on the same factor columns) are constant.
    """
    keyed, keys = query.keyed, len(query.keyed.keys) if query.keyed else 1
    axes: list[Axis] = []
    used = prod(int(np.count_nonzero(f.weights)) for f in query.factors)
    fine = query.cells * keys * sigma <= total and error_bound(sigma * used**0.5) <= bound
    if keyed is not None and keyed.columns:
        shape = keyed.weights.shape[1:]
        axes.append(Axis.cells(keyed.columns, shape) if fine else Axis.level_sets(keyed.columns, [*keyed.weights]))
    for i, factor in enumerate(query.factors):
        if fine:
            axes.append(Axis.cells(factor.columns, factor.weights.shape))
        else:
            same = [s.factors[i].weights for s in siblings if s.factors[i].columns == factor.columns]
            axes.append(Axis.level_sets(factor.columns, [factor.weights, *same]))
    return split_identity(axes) if keyed is None or not keyed.columns else tuple(axes)


def same_shape(a: LinearQuery, b: LinearQuery) -> bool:
    """Whether two queries ask about the same factor columns and text columns of one table."""
    if a.table != b.table or [f.columns for f in a.factors] != [f.columns for f in b.factors]:
        return False
    if a.keyed is None or b.keyed is None:
        return a.keyed is b.keyed
    return (a.keyed.text_columns, a.keyed.columns) == (b.keyed.text_columns, b.keyed.columns)
