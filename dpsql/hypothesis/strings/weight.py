"""The weight of one string in sparse multiplicative weights: what all its measurements say together. Public."""

from dataclasses import dataclass

from dpsql.hypothesis.strings.fitted import GARROTE

_TINY = 1e-9


@dataclass
class Weight:
    """Sum of the measured totals of one key, each weighted by its precision 1/variance."""

    weighted: float = 0.0
    precision: float = 0.0

    def estimate(self) -> float:
        y, var = self.weighted / self.precision, 1.0 / self.precision
        return y * max(0.0, 1.0 - GARROTE * var / max(y * y, _TINY)) if y > 0 else 0.0
