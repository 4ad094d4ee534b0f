"""What one session opened and drew, in order; nothing of it may be shown to an analyst."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpsql.query import KeyCounts


@dataclass(frozen=True)
class Draw:
    """Noise of one call, and where in the opened vector it was added."""

    sigma: Fraction
    noise: tuple[int, ...]
    begin: int


@dataclass
class Opened:
    """One private value that the mechanism opened, and what was drawn before the next was opened.

    ``slope``, ``step``: of a test, what a change by one count is charged for, and how many counts are one step.
    ``compared``: of a selection of keys, what a count plus noise must exceed, and ``selected`` the scale of that noise,
    which is drawn for the keys that there are: for none nothing is drawn, and none is shown. ``chosen``: the position
    that a choice told, and the scale of its noise. ``weighted``: the positions of weighted draws, and their scale.
    ``flips``: of a randomised response, of 2^32, and ``told`` what it told. ``entries``: of strings, what their
    selection compared.
    """

    raw: Any
    draws: list[Draw] = field(default_factory=list)
    coins: list[int] = field(default_factory=list)
    slope: Fraction | None = None
    step: int = 1
    compared: int | None = None
    selected: Fraction | None = None
    chosen: list[tuple[int, Fraction]] = field(default_factory=list)
    weighted: list[tuple[tuple[int, ...], Fraction]] = field(default_factory=list)
    flips: int = 0
    told: tuple[bool, ...] = ()
    entries: bool = False

    @property
    def vector(self) -> list[int]:
        """The private numbers, flat."""
        return vector(self.raw)

    @property
    def outline(self) -> tuple[Any, ...]:
        """What must be the same on neighbours: everything but the private numbers."""
        if isinstance(self.raw, KeyCounts):
            return ("keys", self.selected, *sorted({d.sigma for d in self.draws} - {self.selected}), self.compared)
        drawn = [(d.sigma, len(d.noise), d.begin) for d in self.draws]
        by_choice = (self.chosen, self.weighted, self.flips, self.told)
        return (np.shape(self.raw), drawn, self.coins, self.slope, self.step, *by_choice)

    @property
    def is_exact(self) -> bool:
        """Nothing was drawn for it, though there is something of it."""
        of_none = self.selected is not None and not self.vector
        return not (self.draws or self.coins or self.chosen or self.weighted or self.flips or of_none)


@dataclass(frozen=True)
class Paid:
    """A reservation that was released: its units and payload, and which opened values it pays for."""

    cost: int
    payload: Mapping[str, Any]
    opened: tuple[int, ...]


@dataclass
class Tape:
    """Of one session. ``odd``: what could not be coupled, in words. ``flips``: of the response that is being drawn;
    ``hidden``: whether the entries that are being drawn are of strings that were not shown, and taken off."""

    opened: list[Opened] = field(default_factory=list)
    paid: list[Paid] = field(default_factory=list)
    reserved: dict[int, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    written: list[Any] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    flips: int = 0
    hidden: bool = False
    _accounted: int = 0

    def reveal(self, raw: Any) -> None:
        self.opened.append(Opened(raw))

    def release(self, reservation: int) -> None:
        """What was opened since the last release was opened under this reservation."""
        cost, payload = self.reserved[reservation]
        self.paid.append(Paid(cost, payload, tuple(range(self._accounted, len(self.opened)))))
        self._accounted = len(self.opened)

    @property
    def unpaid(self) -> range:
        """Opened values after the last release."""
        return range(self._accounted, len(self.opened))


def vector(raw: Any) -> list[int]:
    """Any private value as a flat list of integers."""
    if isinstance(raw, KeyCounts):
        return [int(n) for n in raw.counts]
    return [int(n) for n in np.asarray(raw).ravel().tolist()]


def by_key(raw: KeyCounts) -> dict[str, int]:
    return dict(zip(raw.keys, vector(raw), strict=True))


def begin_of(draws: Sequence[Draw]) -> int:
    """Where the next draw's noise is added."""
    return sum(len(d.noise) for d in draws)
