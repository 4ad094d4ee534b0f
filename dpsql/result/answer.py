"""Released numbers: a value with its error bound, where it came from and what it charged. All public.

A number without its error invites to be read as exact, so the two are never apart from the moment of release.
"""

from dataclasses import dataclass
from datetime import date
from typing import Literal

from dpsql.domain import Value

Source = Literal["public", "hypothesis", "measurement"]
"""``public``: depends on the policy alone: exact, or, with an error, what the owner's word leaves open (``calibrated``:
it holds where the word does, and no further). ``hypothesis``: the model's estimate. ``measurement``: read from a
released noisy contingency. An equal question shows the first answer's own source."""

ErrorKind = Literal["exact", "calibrated", "computed"]

Label = str | date | bool | dict[Value, int] | tuple[Value, ...]
Shown = Value | Label


@dataclass(frozen=True)
class Answer:
    """One released number.

    ``value``: in the aggregate's own unit (counts for COUNT); ``None`` where SQL gives NULL (an average over nothing).
    ``error``: half-width of the 95 % interval around the unclamped estimate, same unit; ``None`` when nothing is known.
    ``interval``: (low, high), clamped at 0 for counts.
    ``error_kind``: ``exact`` holds on any data; ``calibrated`` is a model estimate;
    ``computed``: SQL made the number of released ones, and the error is what their errors make of it.
    ``certified``: whether the bound ``certified_bound`` (same unit) is guaranteed by a passed test or a fresh release.
    ``charged``: epsilon-equivalent share of the session's budget paid for this number; 0.0 when it was free.
    ``label``: what is shown that is no number, a date, a string or a boolean, as ``MAX`` may give, or several values,
    as ``histogram`` does; a note says how far off it may be.
    """

    value: int | float | None
    error: float | None
    interval: tuple[float, float] | None
    error_kind: ErrorKind
    source: Source
    certified: bool
    certified_bound: float | None = None
    charged: float = 0.0
    label: Label | None = None

    @property
    def shown(self) -> Shown:
        """What stands in the table."""
        return self.value if self.label is None else self.label

    @property
    def is_open(self) -> bool:
        """Whether something is shown whose error is no number, or not known."""
        return self.error is None and self.shown is not None


EXACT_ZERO = Answer(0, 0.0, (0.0, 0.0), "exact", "public", certified=True, certified_bound=0.0)
