"""``Private[T]`` holds a value that has not been released.

Code between the engine and the mechanism must hand private values on without looking at them. Wrapped in this type they
can be transformed, but not printed, iterated or pickled; what opens them is one word, which a test looks for.
"""

from collections.abc import Callable, Iterable
from typing import Generic, NoReturn, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Private(Generic[T]):
    """An unreleased value: it can be transformed, but not printed, compared, formatted, pickled or iterated.

    Only ``dpsql.mechanism`` may call ``reveal`` (a test greps for it).

    >>> Private(41).map(lambda n: n + 1)
    <private>
    >>> f"{Private(41)}"
    '<private>'
    >>> Private(41) == Private(41)
    Traceback (most recent call last):
        ...
    TypeError: a private value cannot be compared
    """

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def map(self, function: Callable[[T], U]) -> "Private[U]":
        """The private image of the value. ``function`` must be pure and must not raise on the value's content."""
        return Private(function(self._value))

    def reveal(self) -> T:
        """The value itself, for ``dpsql.mechanism`` alone: it adds the noise."""
        return self._value

    def __repr__(self) -> str:
        return "<private>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "<private>"

    def _refuse(self, what: str) -> NoReturn:
        raise TypeError(f"a private value cannot be {what}")

    def __eq__(self, other: object) -> bool:
        self._refuse("compared")

    def __hash__(self) -> int:
        self._refuse("hashed")

    def __bool__(self) -> bool:
        self._refuse("used as a condition")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._refuse("pickled")

    def __iter__(self) -> NoReturn:
        self._refuse("iterated")


def together(values: Iterable[Private[T]]) -> Private[tuple[T, ...]]:
    """Several private values as one: what depends on all of them is as private as they are.

    >>> together([Private(1), Private(2)]).map(sum)
    <private>
    """
    return Private(tuple(v.reveal() for v in values))
