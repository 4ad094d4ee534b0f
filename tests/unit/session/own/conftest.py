"""What tests of releases look at."""

from fractions import Fraction

import pytest

from tests.support.warm import Coins


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Fraction, int]]:
    """(sigma, numbers) of each draw of noise."""
    found: list[tuple[Fraction, int]] = []
    draws = Coins.discrete_gaussian

    def noted(coins: Coins, sigma: Fraction, size: int) -> list[int]:
        found.append((sigma, size))
        return draws(coins, sigma, size)

    monkeypatch.setattr(Coins, "discrete_gaussian", noted)
    return found
