"""Queries of one outline as one value: at each place the different factors that stand there, and who has which.

The groups of one statement differ in the factors of the grouped columns alone. What depends on single factors is worked
out once for each of these, and what depends on several is one array over all their combinations; a single query is the
case of one.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import prod
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from dpsql.errors import InternalError
from dpsql.memo import once
from dpsql.query.linear import DIGEST, Counts, Estimates, Factor, LinearQuery, Points

MOST_CHOICES = 1 << 22
"""Combinations of factors at most that are counted together; queries that would make more are counted one by one."""

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class OneCells:
    """A matrix whose row k is ``weights[k]`` in column ``cells[k]`` and 0 elsewhere, without its zeros."""

    cells: Counts
    weights: Array
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.cells), self.columns

    @property
    def ndim(self) -> int:
        return 2


Matrix = Array | OneCells
Row = Array | tuple[int, float]
"""Weights of all cells of an axis, or the only cell of weight above 0 and its weight."""


def one_cells(factors: Sequence[Factor]) -> OneCells | None:
    """Factors over the same cells as a matrix of one cell in each row; ``None`` where one of them has more, or none."""
    if type(factors) is Points:
        return OneCells(factors.cells, np.ones(len(factors), dtype=np.int64), factors.size)
    points = [f.point for f in factors]
    if None in points:
        return None
    weights = np.array([f.point_weight for f in factors], dtype=np.int64)
    return OneCells(np.array(points, dtype=np.int64), weights, factors[0].weights.size)


def matrix_of(factors: Sequence[Factor]) -> Matrix:
    """The weights of factors over the same cells, one row for each."""
    found = one_cells(factors)
    return np.stack([f.weights.reshape(-1) for f in factors]) if found is None else found


def units_of(factors: Sequence[Factor]) -> Counts:
    """The denominators of the factors' weights; int64."""
    if type(factors) is Points:
        return np.ones(len(factors), dtype=np.int64)
    return np.array([f.unit for f in factors], dtype=np.int64)


def _digests_of(factors: Sequence[Factor]) -> bytes:
    return factors.digests if type(factors) is Points else b"".join(map(DIGEST, factors))


@dataclass(frozen=True, eq=False)
class Choices:
    """Products of factors: ``factors[i]`` are the different ones at place i, all over the same columns, and product k
    has ``factors[i][numbers[i][k]]`` there (``numbers``: int64, shape (products,), one array for each place).

    ``size``: the number of products.
    """

    factors: tuple[Sequence[Factor], ...]
    numbers: tuple[Counts, ...]
    size: int

    def __len__(self) -> int:
        return self.size

    @once
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """Of each place."""
        return tuple([here[0].columns for here in self.factors])

    @once
    def is_one(self) -> bool:
        """Whether there is one product, which most statements ask for."""
        return self.size == 1 and max(map(len, self.factors), default=1) == 1

    @once
    def identity(self) -> Hashable:
        """The same as ``key``, for what is kept in memory alone: one product needs no digest of its digests."""
        return self.identity_of_one if self.is_one else self.key

    @once
    def identity_of_one(self) -> tuple[bytes, ...]:
        """The digests of the first factor at each place: all that there are of one product."""
        return tuple([here[0].digest for here in self.factors])

    @once
    def key(self) -> bytes:
        """Equal for equal products in the same order."""
        found = sha256(repr((self.size, *map(len, self.factors))).encode())
        for here, numbers in zip(self.factors, self.numbers, strict=True):
            found.update(_digests_of(here) + numbers.tobytes())
        return found.digest()

    @once
    def units(self) -> Counts:
        """The common denominator of each product's weights; int64, shape (products,)."""
        if self.is_one:
            return np.array([prod([here[0].unit for here in self.factors])], dtype=np.int64)
        out = np.ones(self.size, dtype=np.int64)
        for here, numbers in zip(self.factors, self.numbers, strict=True):
            out *= units_of(here)[numbers]
        return out

    def only(self, places: Sequence[int]) -> "Choices":
        """The products of the factors at these places alone: of one product the same each time, with what it knows."""
        if not self.is_one:
            return self._only(places)
        key = tuple(places)
        known = self._parts.get(key)
        if known is None:
            known = self._parts[key] = self._only(key)
            columns, identity = self.columns.__getitem__, self.identity_of_one.__getitem__
            vars(known).update(is_one=True, columns=tuple(map(columns, key)), identity=tuple(map(identity, key)))
        return known

    @once
    def _parts(self) -> "dict[tuple[int, ...], Choices]":
        return {}

    def _only(self, places: Sequence[int]) -> "Choices":
        factors, numbers = self.factors.__getitem__, self.numbers.__getitem__
        return Choices(tuple(map(factors, places)), tuple(map(numbers, places)), self.size)

    def among(self, products: Counts) -> "Choices":
        """Some of the products, by number."""
        return Choices(self.factors, tuple([numbers[products] for numbers in self.numbers]), len(products))

    def each(self, place: int, value: Callable[[Factor], float]) -> Estimates | float:
        """``value`` of the factor at a place, worked out once for each of the different ones: shape (products,), or
        one number of one product."""
        if self.is_one:
            return value(self.factors[place][0])
        found: Estimates = np.array([value(f) for f in self.factors[place]], dtype=np.float64)[self.numbers[place]]
        return found

    def product(self, k: int) -> tuple[Factor, ...]:
        """The factors of one product."""
        return tuple([here[numbers[k]] for here, numbers in zip(self.factors, self.numbers, strict=True)])

    def summed(self, table: Array, matrices: Sequence[Matrix]) -> Array | None:
        """``sums`` of the products, of which axis i of ``table`` is about place i."""
        return sums(table, matrices, self.numbers, self.size)


class Crosstab(Sequence[LinearQuery]):
    """Queries of one outline, at least one, with their ``choices``. Build it with ``of`` or ``of_counts``.

    Queries are made when they are looked at: what answers all groups of a statement at once needs none of them.
    """

    def __init__(
        self, choices: Choices, make: Callable[[int], LinearQuery], made: tuple[LinearQuery, ...] = ()
    ) -> None:
        self.choices = choices
        self._make = make
        self._first = made[0] if made else make(0)
        self._made = made

    @classmethod
    def of(cls, queries: Sequence[LinearQuery]) -> "Crosstab":
        """The queries as a crosstab, which they may be already."""
        if isinstance(queries, Crosstab):
            return queries
        both = [numbered(here) for here in zip(*[q.factors for q in queries], strict=True)]
        choices = Choices(tuple([f for f, _ in both]), tuple([n for _, n in both]), len(queries))
        made = tuple(queries)
        return cls(choices, made.__getitem__, made)

    @classmethod
    def of_counts(cls, table: str, choices: Choices) -> "Crosstab":
        """The numbers of rows in each product of factors, which are canonical and in the table's order."""
        return cls(choices, lambda k: LinearQuery(table, choices.product(k)))

    @property
    def queries(self) -> tuple[LinearQuery, ...]:
        if not self._made:
            self._made = (self._first, *map(self._make, range(1, len(self))))
        return self._made

    @once
    def name(self) -> bytes:
        """What equal questions in the same order share, and no others."""
        keyed = b"".join(q.keyed.digest for q in self if q.keyed is not None) if self._first.keyed else b""
        return sha256(repr(self._first.outline).encode() + self.choices.key + keyed).digest()

    @once
    def raw_digests(self) -> bytes:
        """The digests of all queries, 32 bytes each."""
        if self._made or self._first.keyed is not None or self._first.is_by_value:
            return bytes.fromhex("".join([q.digest for q in self.queries]))
        table = np.frombuffer(self._first.table.encode(), dtype=np.uint8)  # in the order of LinearQuery.digest
        rows = [np.broadcast_to(table, (len(self), len(table)))]
        for here, numbers in zip(self.choices.factors, self.choices.numbers, strict=True):
            digests = np.frombuffer(_digests_of(here), dtype=np.uint8).reshape(len(here), -1)
            rows += [np.zeros((len(self), 1), dtype=np.uint8), digests[numbers]]
        text, width = np.concatenate(rows, axis=1).tobytes(), sum(r.shape[1] for r in rows)
        return b"".join([sha256(text[at : at + width]).digest() for at in range(0, len(text), width)])

    @once
    def digests(self) -> tuple[str, ...]:
        """``LinearQuery.digest`` of each."""
        text = self.raw_digests.hex()
        return tuple([text[at : at + 64] for at in range(0, len(text), 64)])

    @once
    def places(self) -> dict[str, int]:
        """The place of each query, by digest."""
        return dict(zip(self.digests, range(len(self)), strict=True))

    @once
    def indicators(self) -> npt.NDArray[np.bool_]:
        """``LinearQuery.is_indicator`` of each; bool, shape (queries,)."""
        if self._made:
            return np.array([q.is_indicator for q in self._made])
        return np.asarray(self.choices.units == 1)

    @overload
    def __getitem__(self, at: int) -> LinearQuery: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[LinearQuery, ...]: ...
    def __getitem__(self, at: int | slice) -> LinearQuery | tuple[LinearQuery, ...]:
        return self._first if at == 0 else self.queries[at]

    def __len__(self) -> int:
        return self.choices.size

    def __iter__(self) -> Iterator[LinearQuery]:
        return iter(self.queries)


def floors(queries: Sequence[LinearQuery], contingency: Counts) -> Counts:
    """``LinearQuery.floor`` of each query; int64, shape (queries,), in rows.

    ``queries``: counts of finite columns, at least one, all of one scope; those of several outlines are counted one by
    one. ``contingency``: int64 counts of their ``shape``. Sums of integers in another order: the same numbers.
    """
    if len(queries) > 1 and (isinstance(queries, Crosstab) or len({q.outline for q in queries}) == 1):
        choices = Crosstab.of(queries).choices
        matrices = [matrix_of(here) for here in choices.factors]
        counted = choices.summed(contingency.reshape([m.shape[1] for m in matrices]), matrices)
        if counted is not None:
            return np.asarray(counted // choices.units, dtype=np.int64)
    return np.array([q.floor(contingency) for q in queries], dtype=np.int64)


def floors_of_parts(
    queries: Sequence[LinearQuery], coarse: Sequence[Callable[[Counts], Counts | None]], parts: Counts
) -> Counts:
    """``floors`` of queries of one outline from counts of parts of the cells, one axis for each of their factors.

    ``coarse``: of each axis, a factor's weights of its parts, ``None`` where they are not constant on a part:
    InternalError. At most MOST_CHOICES combinations of factors.
    """
    choices = Crosstab.of(queries).choices
    matrices = []
    for here, weights_of in zip(choices.factors, coarse, strict=True):
        found = [weights for f in here if (weights := weights_of(f.weights)) is not None]
        if len(found) < len(here):
            raise InternalError("parts on which their own queries are not constant")
        matrices.append(np.stack(found) if len(found) > 1 else found[0][None])
    if choices.is_one:
        return np.asarray(sum_of_one(parts, [m[0] for m in matrices]) // choices.units, dtype=np.int64)
    counted = choices.summed(parts, matrices)
    if counted is None:
        raise InternalError("queries that cannot be counted together")
    return np.asarray(counted // choices.units, dtype=np.int64)


def sums(table: Array, matrices: Sequence[Matrix], numbers: Sequence[Counts], size: int) -> Array | None:
    """Sums over ``table``: the k-th with row ``numbers[i][k]`` of ``matrices[i]`` (rows, axis' length) along axis i.

    Shape (size, ...): matrices may have more axes between, which follow in their order. ``None`` where the rows have
    too many combinations to be summed together.
    """
    if prod(prod(m.shape[:-1]) for m in matrices) > MOST_CHOICES:
        return None
    places = range(len(matrices))
    about = [(i, 0) for i in places]  # of each axis of the table: its place, and 0 for the rows there
    for i in sorted(places, key=lambda i: prod(matrices[i].shape[:-1]) / matrices[i].shape[-1]):  # what shrinks most
        axis = about.index((i, 0))
        table = _contracted(table, axis, matrices[i])
        about[axis : axis + 1] = [(i, j) for j in range(matrices[i].ndim - 1)]
    order = sorted(range(table.ndim), key=lambda axis: (about[axis][1] > 0, about[axis]))
    found: Array = table.transpose(order)[tuple(numbers)] if numbers else table[None]
    return np.broadcast_to(found, (size, *found.shape[1:]))


def sum_of_one(table: Array, rows: Sequence[Row]) -> Any:
    """``sums`` of one row of weights along each axis of ``table``, in the same order and so to the same bit.

    A number, shape (), in what ``table`` counts times the weights.
    """
    shape, left = table.shape, list(range(len(rows)))
    for i in sorted(left, key=[-size for size in shape].__getitem__):
        axis, row = left.index(i), rows[i]
        left.remove(i)
        if isinstance(row, tuple):
            table = table.take(row[0], axis=axis) * row[1]
        else:
            rest = table.shape[:axis] + table.shape[axis + 1 :]
            first = table if axis == 0 else np.moveaxis(table, axis, 0)
            table = np.dot(row.reshape(1, -1), first.reshape(shape[i], -1)).reshape(rest)
    return table


def row_of(factor: Factor) -> Row:
    """A factor's weights, for ``sum_of_one``."""
    return factor.weights if factor.point is None else (factor.point, factor.point_weight)


def numbered(factors: Sequence[Factor]) -> tuple[tuple[Factor, ...], Counts]:
    """The different factors among these, and the number of each of these among them."""
    places: dict[bytes, int] = {}
    found: list[Factor] = []
    numbers = []
    for factor in factors:
        number = places.setdefault(factor.digest, len(found))
        if number == len(found):
            found.append(factor)
        numbers.append(number)
    return tuple(found), np.array(numbers, dtype=np.int64)


def _contracted(table: Array, axis: int, matrix: Matrix) -> Array:
    """The axis, summed with each row of ``matrix``: in its place stand the matrix' other axes."""
    if isinstance(matrix, OneCells):
        shape = [1] * table.ndim
        shape[axis] = len(matrix.cells)
        return np.asarray(np.take(table, matrix.cells, axis=axis) * matrix.weights.reshape(shape))
    rows = matrix.reshape(-1, matrix.shape[-1])
    of_one_value = np.count_nonzero(rows) == len(rows) and (np.count_nonzero(rows, axis=1) == 1).all()
    if of_one_value:  # nothing to sum
        cells = np.argmax(rows != 0, axis=1)
        shape = [1] * table.ndim
        shape[axis] = len(rows)
        out: Array = np.take(table, cells, axis=axis) * rows[np.arange(len(rows)), cells].reshape(shape)
    else:
        out = np.moveaxis(np.tensordot(rows, table, axes=([1], [axis])), 0, axis)
    return out.reshape(*out.shape[:axis], *matrix.shape[:-1], *out.shape[axis + 1 :])
