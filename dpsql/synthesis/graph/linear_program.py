"""The weighted graph that is released, by the linear program of Lemma 6.2 in cutting planes, for small graphs.

    minimise lambda   with   |sum over S x T of (x_ij - z_ij)| <= lambda for all S, T,   x_ij in [0, 1]

over pairs i < j, so that S x T are the pairs that SQL counts with ``src IN S AND dst IN T`` where each edge is stored
with its smaller vertex first; a cut without directions is the sum of two of them. Of exponentially many constraints
those are added that ``heavy_cuts`` finds violated. HiGHS solves the programs (Huangfu and Hall 2018), an extra.
"""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from dpsql.errors import NotSupportedError, OperationalError
from dpsql.synthesis.coins import Coins
from dpsql.synthesis.dual_query.solver import quiet
from dpsql.synthesis.graph.cut_norm import Cut, heavy_cuts
from dpsql.synthesis.graph.noise import Noisy
from dpsql.synthesis.graph.pairs import Matrix, Vertices

MOST_LP_VERTICES = 200
LP_ROUNDS = 15
LP_TOLERANCE = 0.25
"""The program is solved when no cut that is found exceeds lambda by more than this share of it: the source's rho."""
NOISE_CUT = 0.45
"""Or when it is no farther than the private graph itself: the cut norm of noise is about .43 sd n^1.5."""
_PER_ROUND = 8


def check_solver(vertices: Vertices) -> Any:
    """The solver's module. NotSupportedError, at no charge, without it or for a graph too large for it."""
    if vertices.number > MOST_LP_VERTICES:
        raise NotSupportedError(
            f"the linear program is for at most {MOST_LP_VERTICES} vertices, not {vertices.number:,}",
            hint="leave the form to spectral, which has no such limit",
        )
    try:
        return importlib.import_module("highspy")
    except ImportError:
        raise NotSupportedError(
            "the linear program needs the solver HiGHS",
            hint="pip install 'dpsql[synth]', or leave the form to spectral",
        ) from None


def program_weights(
    vertices: Vertices,
    noisy: Noisy,
    edges: float,
    generator: Coins,
    on_round: Callable[[int, int], None] = lambda done, of: None,
) -> Matrix:
    """Weights in [0, 1] of each pair that sum to ``edges``: of all iterates the one whose heaviest found cut is least.

    Shape (pairs,). Deterministic: it ends by rounds, not by the clock.
    """
    values = noisy.values
    program = _Program(check_solver(vertices), vertices, values, edges)
    near = NOISE_CUT * noisy.sd * vertices.number**1.5
    best, least = np.full(vertices.pairs, edges / vertices.pairs), np.inf
    weights = best
    for done in range(LP_ROUNDS):
        on_round(done, LP_ROUNDS)
        cuts = heavy_cuts(np.triu(vertices.matrix(weights - values)), generator)
        heaviest = abs(cuts[0].value)
        if heaviest < least:
            best, least = weights, heaviest
        if heaviest <= max(near, (1 + LP_TOLERANCE) * program.distance):
            break
        for cut in cuts[:_PER_ROUND]:
            program.bound(cut)
        weights = program.solve()
    return best


class _Program:
    """The cuts so far, the solver that holds them, and the least lambda for them (0 before the first)."""

    def __init__(self, solver: Any, vertices: Vertices, values: Matrix, edges: float) -> None:
        self.distance = 0.0
        self._vertices = vertices
        self._values = values
        pairs = vertices.pairs
        self._infinity = solver.kHighsInf
        self._highs = quiet(solver)
        self._highs.setOptionValue("threads", 1)
        self._highs.addVars(pairs + 1, np.zeros(pairs + 1), np.append(np.ones(pairs), self._infinity))
        self._highs.changeColCost(pairs, 1.0)
        self._highs.addRow(edges, edges, pairs, np.arange(pairs, dtype=np.int32), np.ones(pairs))
        self._optimal = solver.HighsModelStatus.kOptimal

    def bound(self, cut: Cut) -> None:
        """sign * (x - z)(S, T) <= lambda, for the side that the cut is on."""
        inside = np.flatnonzero(self._vertices.of_pairs(np.outer(cut.rows, cut.columns)))
        sign = 1.0 if cut.value > 0 else -1.0
        positions = np.append(inside, self._vertices.pairs).astype(np.int32)
        entries = np.append(np.full(inside.size, sign), -1.0)
        bound = sign * float(self._values[inside].sum())
        self._highs.addRow(-self._infinity, bound, positions.size, positions, entries)

    def solve(self) -> Matrix:
        """Weights of the least lambda."""
        self._highs.run()
        if self._highs.getModelStatus() != self._optimal:
            raise OperationalError("the linear program was not solved", hint="leave the form to spectral")
        found = np.array(self._highs.getSolution().col_value)
        self.distance = max(float(found[-1]), 0.0)
        weights: Matrix = np.clip(found[:-1], 0.0, 1.0)
        return weights
