"""Linear queries: weights in [0, 1] over the cells of a scope, kept as a product over disjoint column sets.

Weights are exact fixed-point numbers: integer numerators over a common ``unit``. A query with text columns also has an
explicit finite list of keys. Everything here is public.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from math import prod
from operator import attrgetter
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from dpsql.domain import FIXED_POINT
from dpsql.errors import InternalError
from dpsql.memo import once

Counts = npt.NDArray[np.int64]
Weights = npt.NDArray[np.int64]
Estimates = npt.NDArray[np.float64]
Key = tuple[str | None, ...]

VALUE_UNIT = 1 << 18
"""The largest of weights of rows that count by value, too."""
DIGEST = attrgetter("digest")
"""Of a factor; ``tuple(map(DIGEST, factors))`` is a key for what depends on the product alone."""
COLUMNS = attrgetter("columns")


def _within(weights: Weights, unit: int) -> bool:
    flat = weights.reshape(-1)
    return not flat.size or bool(np.minimum.reduce(flat) >= 0 and np.maximum.reduce(flat) <= unit)


def _head(columns: tuple[str, ...], shape: tuple[int, ...], unit: int) -> bytes:
    """How a factor's digest begins."""
    return repr((columns, shape, unit)).encode()


@dataclass(frozen=True, eq=False)
class Factor:
    """Weights over the cells of ``columns`` (table order): ``weights / unit`` in [0, 1], shape = the columns' sizes."""

    columns: tuple[str, ...]
    weights: Weights
    unit: int = 1

    def __post_init__(self) -> None:
        self.weights.setflags(write=False)

    @classmethod
    def points(cls, column: str, size: int, cells: Sequence[int]) -> "Points":
        """For each of some cells of a column of ``size`` cells the factor of weight 1 there alone, as its groups have.

        >>> one, = Factor.points("a", 3, [2])
        >>> one.weights.tolist(), one.digest == Factor(("a",), np.array([0, 0, 1])).digest
        ([0, 0, 1], True)
        """
        return Points(column, size, np.array(cells, dtype=np.intp))

    @once
    def is_bounded(self) -> bool:
        """Every weight is between 0 and 1."""
        return _within(self.weights, self.unit)

    @once
    def support(self) -> npt.NDArray[np.intp]:
        """The cells, flat, of weight above 0."""
        return np.flatnonzero(self.weights)

    @once
    def stretch(self) -> npt.NDArray[np.intp] | slice:
        """The same, as a slice where they are neighbours: what is taken by it is not copied."""
        cells = self.support
        neighbours = len(cells) > 0 and int(cells[-1] - cells[0]) + 1 == len(cells)
        return slice(int(cells[0]), int(cells[-1]) + 1) if neighbours else cells

    @once
    def point(self) -> int | None:
        """The only cell, flat, of weight above 0, as a group of one value has it; ``None`` where there are more."""
        return int(self.support[0]) if len(self.support) == 1 else None

    @once
    def point_weight(self) -> int:
        """Its numerator; 0 where there are more cells, or none."""
        return 0 if self.point is None else int(self.weights.reshape(-1)[self.point])

    @once
    def digest(self) -> bytes:
        packed = np.packbits(self.weights.astype(bool)) if self.unit == 1 else self.weights
        return sha256(_head(self.columns, self.weights.shape, self.unit) + packed.tobytes()).digest()


class Points(Sequence[Factor]):
    """Factors of weight 1 in one cell of one column each (``Factor.points``). Each is made when somebody looks at it.

    ``cells``: int64, shape (factors,), of a column of ``size`` cells.
    """

    def __init__(self, column: str, size: int, cells: npt.NDArray[np.intp]) -> None:
        self.columns, self.size, self.cells = (column,), size, cells
        self._ruler = np.zeros(2 * size - 1, dtype=np.int64)  # the weights of each are a stretch of it
        self._ruler[size - 1] = 1
        self._ruler.setflags(write=False)
        self._made: dict[int, Factor] = {}

    @once
    def digests(self) -> bytes:
        """Those of the factors, 32 bytes each."""
        head, width, out = _head(self.columns, (self.size,), 1), (self.size + 7) // 8, []
        for cell in self.cells.tolist():
            packed = bytearray(width)  # np.packbits of the weights
            packed[cell >> 3] = 128 >> (cell & 7)
            out.append(sha256(head + packed).digest())
        return b"".join(out)

    @property
    def held(self) -> int:
        """Numbers that are kept for all of them, those made among these."""
        return 64 * len(self) + 2 * self.size

    def among(self, chosen: Counts) -> "Points":
        """Some of them, by place."""
        return self if len(chosen) == len(self) else Points(self.columns[0], self.size, self.cells[chosen])

    @overload
    def __getitem__(self, at: int) -> Factor: ...
    @overload
    def __getitem__(self, at: slice) -> list[Factor]: ...
    def __getitem__(self, at: int | slice) -> Factor | list[Factor]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        at = range(len(self))[at]
        made = self._made.get(at)
        if made is None:
            cell = int(self.cells[at])
            made = self._made[at] = Factor(self.columns, self._ruler[self.size - 1 - cell : 2 * self.size - 1 - cell])
            known = made.__dict__  # what is worked out of a factor when it is first needed
            known["point"], known["point_weight"] = cell, 1
        return made

    def __len__(self) -> int:
        return len(self.cells)


@dataclass(frozen=True, eq=False)
class KeyedFactor:
    """Weights over listed strings of the text columns and the cells of ``columns``.

    ``strings``: keys, one string for each text column, ``None`` for NULL; sorted and distinct. Those not listed have
    weight 0. ``weights`` has shape ``(len(strings), *sizes of columns)``.
    """

    text_columns: tuple[str, ...]
    strings: tuple[Key, ...]
    columns: tuple[str, ...]
    weights: Weights
    unit: int = 1

    def __post_init__(self) -> None:
        self.weights.setflags(write=False)

    @once
    def is_bounded(self) -> bool:
        """Every weight is between 0 and 1."""
        return _within(self.weights, self.unit)

    @once
    def digest(self) -> bytes:
        head = repr((self.text_columns, self.strings, self.columns, self.weights.shape, self.unit)).encode()
        return sha256(head + self.weights.tobytes()).digest()


@dataclass(frozen=True)
class Interval:
    """The rows whose ``column``, a number, is from ``low`` to ``high``, both among them. NULL is in none."""

    column: str
    low: float
    high: float

    def holds(self, value: float | None) -> bool:
        """Whether a row with this value is among them.

        >>> Interval("amount", 25.0, 41.5).holds(25), Interval("amount", 25.0, 41.5).holds(None)
        (True, False)
        """
        return value is not None and self.low <= value <= self.high

    @property
    def words(self) -> str:
        low, high = self.low + 0.0, self.high + 0.0  # not -0.0, which is equal and written differently
        return f"{self.column} from {low.hex()} to {high.hex()}"


@dataclass(frozen=True, eq=False)
class LinearQuery:
    """One counting question on one table: the product of its factors, summed over the rows.

    With ``value``, a number column, each row counts by where it stands between that column's min and max: 0 to 1, NULL
    nothing. With ``intervals``, of one column each and in the table's order, only the rows in all of them count. Then
    ``unit`` is at most VALUE_UNIT; with ``value`` it has no keyed factor, with intervals none over their columns.

    Build it with :func:`dpsql.query.canonical.linear_query`, which brings equal questions to equal keys.
    """

    table: str
    factors: tuple[Factor, ...]
    keyed: KeyedFactor | None = None
    value: str | None = None
    intervals: tuple[Interval, ...] = ()

    unit: int = field(init=False)
    """The common denominator of the weights: the product of the factors'."""

    def __post_init__(self) -> None:
        unit = self.keyed.unit if self.keyed else 1
        for factor in self.factors:
            unit *= factor.unit
        if unit > FIXED_POINT:
            raise InternalError("weights finer than the fixed point: their sums could leave 64 bits")
        if self.is_by_value and unit > VALUE_UNIT:
            raise InternalError("a question about values over finely weighted rows")
        if self.keyed is not None:
            beside = [i.column for i in self.intervals if i.column in self.keyed.columns]
            if beside or self.value is not None:
                raise InternalError("a question about values that listed strings are tied to")
        object.__setattr__(self, "unit", unit)

    @once
    def scope(self) -> tuple[str, ...]:
        """Finite columns: those of the keyed factor first, then those of each factor, in factor order."""
        keyed = self.keyed.columns if self.keyed else ()
        return keyed + tuple(chain.from_iterable(map(COLUMNS, self.factors)))

    @property
    def is_by_value(self) -> bool:
        """Whether what a row counts depends on more than its cell."""
        return self.value is not None or bool(self.intervals)

    @once
    def touched(self) -> tuple[str, ...]:
        """The finite columns that the answer depends on: the scope, and the columns whose values are looked at."""
        if not self.is_by_value:
            return self.scope
        beside = [*([] if self.value is None else [self.value]), *(i.column for i in self.intervals)]
        return (*self.scope, *(c for c in dict.fromkeys(beside) if c not in self.scope))

    @once
    def shape(self) -> tuple[int, ...]:
        keyed = self.keyed.weights.shape[1:] if self.keyed else ()
        return keyed + tuple([n for f in self.factors for n in f.weights.shape])

    @once
    def outline(self) -> tuple[object, ...]:
        """Table, columns of each factor, text columns and columns of the keyed factor, value, and intervals if there
        are any: what is asked about.

        Queries of one outline can be answered from one measurement.
        """
        keyed = self.keyed
        text, columns = (None, ()) if keyed is None else (keyed.text_columns, keyed.columns)
        return self.table, tuple([f.columns for f in self.factors]), text, columns, self.value, *self.intervals

    @property
    def cells(self) -> int:
        return prod(self.shape)

    @once
    def digest(self) -> str:
        """What equal questions share, and no others: the name under which an answer is kept."""
        parts = [self.table.encode(), *map(DIGEST, self.factors)]
        if self.keyed:
            parts.append(self.keyed.digest)
        if self.value is not None:
            parts.append(b"sum of " + self.value.encode())
        parts += [i.words.encode() for i in self.intervals]
        return sha256(b"\0".join(parts)).hexdigest()

    @once
    def is_single(self) -> bool:
        """Each factor is over one column: a conjunction of conditions on columns, as most questions are."""
        return set(map(len, map(COLUMNS, self.factors))) <= {1}

    @property
    def is_indicator(self) -> bool:
        """All rows count 0 or 1."""
        return self.unit == 1 and self.value is None

    def numerator(self, contingency: Counts) -> int:
        """Exact ``unit * q(D)`` for integer counts of shape ``(keys,) + shape`` (``shape`` without a keyed factor)."""
        return int(self._contract(contingency))

    def floor(self, contingency: Counts) -> int:
        """``floor(q(D))``, a query of sensitivity 1 in the rows (floor keeps it, rounding to even does not).

        Of a sum of values the contingency is in units of 1 / FIXED_POINT.
        """
        if self.value is None:
            return self.numerator(contingency) // self.unit
        # weighted, the sums of many rows leave 64 bits: Python's whole numbers have no end
        shares = contingency if self.unit == 1 else contingency.astype(object)
        return self.numerator(shares) // (self.unit * FIXED_POINT)

    def check_sensitivity(self) -> None:
        """``InternalError`` unless every row counts between 0 and 1: what the test is charged for."""
        parts: list[Factor | KeyedFactor] = [*self.factors, *([self.keyed] if self.keyed else [])]
        if not all(p.is_bounded for p in parts):
            raise InternalError("a query with weights outside [0, 1]")
        twice = self.keyed and len(set(self.keyed.strings)) < len(self.keyed.strings)
        if twice or len(set(self.scope)) < len(self.scope):
            raise InternalError("a query that counts a row twice")

    def estimate(self, contingency: Estimates) -> float:
        """``q`` of a real-valued contingency of shape ``(keys,) + shape``, in counts."""
        return float(self._contract(contingency)) / self.unit

    def _contract(self, array: Counts | Estimates) -> Any:
        flat: npt.NDArray[Any] = array
        for f in reversed(self.factors):  # trailing axes first: reshape and one matrix-vector product each
            n = f.weights.size
            flat = flat.reshape(-1, n) @ f.weights.reshape(n)
        if self.keyed:
            return flat.reshape(-1) @ self.keyed.weights.reshape(-1)
        return flat.reshape(-1)[0]
