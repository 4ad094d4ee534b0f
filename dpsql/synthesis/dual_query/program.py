"""A mixed integer program of conjunctions over columns, and HiGHS, which solves it. Public.

The only place that knows the solver: it is an extra of dpsql's, loaded when it is first needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from dpsql.errors import InterfaceError, OperationalError
from dpsql.synthesis.coins import Coins
from dpsql.synthesis.dual_query.solver import quiet

Shares = npt.NDArray[np.float64]
_PAUSE_SECONDS = 0.05
_PATIENCE_SECONDS = 20.0
_NEAR = 0.49
"""Whole values this close below the bound reach it, also where the tilt that decides between equals is as large."""
_EQUAL = 1e-6


@dataclass(frozen=True)
class Found:
    """A cell for each column of a program, and what no choice of cells exceeds."""

    cells: Mapping[str, int]
    bound: float


class Program:
    """maximise the sum of w y, where y is a product of factors, each over the cells of its columns.

    Variables are numbered as they come: ``cost``, ``upper`` and ``whole`` have one entry each; rows are lists of
    (variable, coefficient) with a lower and an upper end.
    """

    def __init__(self) -> None:
        self.cost: list[float] = []
        self.whole: list[bool] = []
        self.rows: list[tuple[list[tuple[int, float]], float, float]] = []
        self.columns: dict[str, range] = {}
        self._blocks: dict[tuple[str, ...], range] = {}

    def add(self, weight: float, factors: Sequence[tuple[tuple[str, ...], Shares]]) -> None:
        """``weight`` times the product of ``factors`` (columns, weights in [0, 1]), of which all but one are 0 or 1.

        The product is then the least of them, and at least their sum less all but one: with cells that are whole the
        side that the maximum pulls against is tight.
        """
        sums = [self._sum(columns, shares) for columns, shares in factors]
        y = self._variable(float(weight))
        if weight > 0:
            for terms in sums:
                self.rows.append(([(y, 1.0), *((v, -a) for v, a in terms)], -np.inf, 0.0))
        else:
            together = [term for terms in sums for term in terms]
            self.rows.append(([(y, -1.0), *together], -np.inf, float(len(sums) - 1)))

    def _sum(self, columns: tuple[str, ...], shares: Shares) -> list[tuple[int, float]]:
        flat = shares.reshape(-1)
        variables = self._cells(columns, shares.shape)
        return [(variables[i], float(flat[i])) for i in np.flatnonzero(flat).tolist()]

    def _cells(self, columns: tuple[str, ...], shape: tuple[int, ...]) -> range:
        """The variables of the cells of ``columns``; of one column they are whole and sum to 1."""
        if len(columns) == 1:
            return self._column(columns[0], shape[0])
        known = self._blocks.get(columns)
        if known is None:
            size = int(np.prod(shape))
            known = self._blocks[columns] = range(len(self.cost), len(self.cost) + size)
            for _ in range(size):
                self._variable(0.0)
            of_cell = np.arange(size).reshape(shape)
            for axis, (column, n) in enumerate(zip(columns, shape, strict=True)):
                # a joint cell is taken where each of its columns takes its part of it
                for part, variable in enumerate(self._column(column, n)):
                    terms = [(known[i], 1.0) for i in of_cell.take(part, axis=axis).reshape(-1).tolist()]
                    self.rows.append(([(variable, -1.0), *terms], 0.0, 0.0))
        return known

    def _column(self, column: str, size: int) -> range:
        known = self.columns.get(column)
        if known is None:
            known = self.columns[column] = range(len(self.cost), len(self.cost) + size)
            for _ in range(size):
                self._variable(0.0, whole=True)
            self.rows.append(([(v, 1.0) for v in known], 1.0, 1.0))
        return known

    def _variable(self, cost: float, *, whole: bool = False) -> int:
        self.cost.append(cost)
        self.whole.append(whole)
        return len(self.cost) - 1


def solved(program: Program, seconds: float, coins: Coins, *, whole: bool) -> Found | None:
    """The best cells, or the best that were found in ``seconds``; ``None`` where none were. An interrupt stops it.

    ``coins`` choose among equals. ``whole``: all values are whole numbers. InterfaceError without the extra.
    """
    highspy = _highspy()
    solver = quiet(highspy)
    solver.HandleUserInterrupt = True
    options = {"threads": 1, "random_seed": int(coins.integers(1 << 31)), "time_limit": seconds, "mip_rel_gap": 0.0}
    for option, value in (options | {"mip_abs_gap": _NEAR if whole else _EQUAL}).items():
        solver.setOptionValue(option, value)
    if solver.passModel(_model(highspy, program, coins, _NEAR if whole else _EQUAL)) == highspy.HighsStatus.kError:
        raise OperationalError("the solver does not take the program of a best response")
    _run(solver)
    values = np.array(solver.getSolution().col_value)
    if len(values) < len(program.cost):
        return None
    cells = {column: int(np.argmax(values[of.start : of.stop])) for column, of in program.columns.items()}
    bound = float(solver.getInfo().mip_dual_bound)
    return Found(cells, float(np.floor(bound + _EQUAL)) if whole else bound)


def _run(solver: Any) -> None:
    """In a thread of its own: Python hears an interrupt only between two of its own steps."""
    ended = Event()

    def work() -> None:
        try:
            solver.run()
        finally:
            ended.set()

    worker = Thread(target=work, daemon=True)
    worker.start()
    try:
        while not ended.wait(_PAUSE_SECONDS):
            pass
    except BaseException:
        solver.cancelSolve()
        ended.wait(_PATIENCE_SECONDS)  # not join: an interrupted join takes a running thread for a stopped one
        raise
    finally:
        if ended.is_set():
            worker.join()


def _model(highspy: Any, program: Program, coins: Coins, tilt: float) -> Any:
    """``tilt``: all cells together get less than so much more, evenly drawn, which decides between equals."""
    most = tilt / max(1, len(program.columns))
    tilts = np.where(program.whole, coins.random(len(program.whole)) * most, 0.0)
    model = highspy.HighsLp()
    variables, rows = len(program.cost), len(program.rows)
    model.num_col_, model.num_row_ = variables, rows
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = np.array(program.cost) + tilts
    model.col_lower_, model.col_upper_ = np.zeros(variables), np.ones(variables)
    model.row_lower_ = np.array([low for _, low, _ in program.rows])
    model.row_upper_ = np.array([high for _, _, high in program.rows])
    kinds = highspy.HighsVarType
    model.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in program.whole]
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_ = np.cumsum([0, *(len(terms) for terms, _, _ in program.rows)])
    matrix.index_ = np.array([v for terms, _, _ in program.rows for v, _ in terms])
    matrix.value_ = np.array([a for terms, _, _ in program.rows for _, a in terms])
    return model


def _highspy() -> Any:
    try:
        import highspy
    except ImportError as error:
        raise InterfaceError(
            "dual-query needs the solver HiGHS", hint="pip install 'dpsql[synth]' (or highspy)"
        ) from error
    return highspy
