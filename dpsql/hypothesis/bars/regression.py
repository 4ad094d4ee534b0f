"""Errors of simulated answers, regressed on features of their queries. Public."""

from dataclasses import dataclass

import numpy as np

from dpsql.confidence import CONFIDENCE
from dpsql.query import Estimates

_RIDGE = 1e-2


@dataclass(frozen=True, eq=False)
class Regression:
    """log rms error = ``features . weights``; 95 % of the simulated errors stay below ``quantile`` times that."""

    weights: Estimates
    quantile: float

    def predict(self, features: Estimates) -> Estimates:
        return np.asarray(np.exp(features @ self.weights) * self.quantile)

    @classmethod
    def of(cls, design: Estimates, errors: Estimates) -> "Regression":
        """Fitted to ``design`` (queries, features) and ``errors`` (simulations, queries); ridge, but for the mean."""
        rms = np.sqrt((errors**2).mean(axis=0)) + 0.5
        penalty = _RIDGE * len(design) * np.diag([0.0] + [1.0] * (design.shape[1] - 1))
        weights = np.linalg.solve(design.T @ design + penalty, design.T @ np.log(rms))
        ratios = np.abs(errors) / np.exp(design @ weights)[None, :]
        return cls(weights, float(np.quantile(ratios, CONFIDENCE)))
